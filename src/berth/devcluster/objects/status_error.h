// SPDX-License-Identifier: Apache-2.0
// Kubernetes Status objects: how the server says no, with upstream's codes, reasons and messages. Values, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "berth/base/check.h"
#include "berth/devcluster/objects/resource.h"

namespace berth::objects {

struct StatusCause {
  std::string reason;
  std::string message;
  std::string field;
};

struct StatusError {
  int code = 500;
  std::string reason;  // metav1.StatusReason: "NotFound", "Conflict", ...
  std::string message;
  std::string name;  // details, as far as they are known
  std::string group;
  std::string kind;
  std::string uid;
  std::vector<StatusCause> causes;
  int retry_after_seconds = 0;

  json::object ToObject() const;
};

// A value, or the Status that took its place. Works with BERTH_ASSIGN_OR_RETURN.
template <typename T>
class [[nodiscard]] Outcome {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor)
  Outcome(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  Outcome(StatusError error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  T& value() & {
    BERTH_CHECK(ok());
    return std::get<0>(state_);
  }
  const T& value() const& {
    BERTH_CHECK(ok());
    return std::get<0>(state_);
  }
  T&& value() && {
    BERTH_CHECK(ok());
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const StatusError& error() const {
    BERTH_CHECK(!ok());
    return std::get<1>(state_);
  }

 private:
  std::variant<T, StatusError> state_;
};

// The value of an Outcome that only says that something succeeded.
using Done = std::monostate;

// "deployments.apps", "pods".
std::string QualifiedResource(const ResourceType& type);

StatusError BadRequest(std::string message);                                 // 400
StatusError NotFound(const ResourceType& type, std::string_view name);       // 404
StatusError NoSuchPath();                                                    // 404
StatusError NoContainers();                                                  // 404
StatusError MethodNotAllowed();                                              // 405
StatusError NotAcceptable(std::string_view accepted);                        // 406
StatusError AlreadyExists(const ResourceType& type, std::string_view name);  // 409
StatusError Conflict(const ResourceType& type, std::string_view name, std::string_view why,
                     std::string_view subresource = "");                        // 409
StatusError ModifiedConflict(const ResourceType& type, std::string_view name);  // 409, the usual one
StatusError Expired(std::string message);                                       // 410
StatusError TooLarge(std::string message);                                      // 413
StatusError UnsupportedMediaType(std::string_view accepted);                    // 415
StatusError Invalid(const ResourceType& type, std::string_view name, const std::vector<FieldError>& errors);  // 422
// For kinds that no ResourceType describes: "ListOptions.meta.k8s.io", "Binding".
StatusError InvalidKind(std::string_view group, std::string_view kind, std::string_view name,
                        const std::vector<FieldError>& errors);                                // 422
StatusError Forbidden(const ResourceType& type, std::string_view name, std::string_view why);  // 403

// {"kind":"Status","status":"Success"} with details when `type` is given.
std::string SuccessStatus(const ResourceType* type = nullptr, std::string_view name = "", std::string_view uid = "");

}  // namespace berth::objects
