// SPDX-License-Identifier: Apache-2.0
// What the embedded API server knows of each resource type: names, verbs, defaults, validation, table columns. The REST
// code is generic and asks here; nothing else in the server knows a kind by name. Immutable, thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/codec/json.h"

namespace berth::objects {

namespace json = codec::json;

// One cause of a 422: a field path, a reason as metav1.CauseType spells it, and a message.
struct FieldError {
  std::string field;    // "spec.containers[0].name"
  std::string reason;   // "FieldValueRequired", "FieldValueInvalid", ...
  std::string message;  // "Required value", "Invalid value: \"x\": must be ..."
};

struct TableColumn {
  std::string name;
  std::string type;    // "string", "integer", "date"
  std::string format;  // "name" or empty
  std::string description;
  int priority = 0;  // above 0: only with -o wide
};

class CustomSchema;  // custom_schema.h

// Where a custom resource keeps what its scale subresource shows, as ".spec.replicas"; the selector's may be empty.
struct ScalePaths {
  std::string replicas;
  std::string status_replicas;
  std::string selector;
};

struct ResourceType {
  std::string group;    // "" for core
  std::string version;  // "v1"
  std::string kind;
  std::string plural;
  std::string singular;
  std::vector<std::string> short_names;
  std::vector<std::string> categories;  // "all"
  bool namespaced = true;
  bool has_status = false;  // a status subresource; writes to the object itself then ignore .status
  bool has_scale = false;
  ScalePaths scale_paths;                          // of custom resources
  std::shared_ptr<const CustomSchema> structural;  // null for the kinds of Kubernetes, which the schema tables describe
  bool is_stored = true;   // false: a question, which a create answers and nothing keeps (access_reviews.h)
  std::string unattended;  // a warning for the creator that nothing acts on such an object; empty for most
  // Types that share one store under several group/versions (Events): the group/version that stores.
  std::string storage_group;
  std::string storage_version;

  // The order for a create (Registry::Create): CheckBody, the server's own metadata (uid, creationTimestamp ...),
  // admission, set_defaults, prepare_create, ValidateMetadata, and if that found nothing validate. For an update the
  // same with prepare_update. None of the functions is null.
  //
  // Fills in what kube-apiserver's defaulting and creation strategy fill in (phase, schedulerName, tolerations' seconds
  // ...).
  std::function<void(json::object& object)> set_defaults;
  std::function<void(json::object& object)> prepare_create;
  // Carries over what an update may not change and bumps metadata.generation when the spec changed.
  std::function<void(json::object& object, const json::object& old)> prepare_update;
  // `old` is null on create.
  std::function<std::vector<FieldError>(const json::object& object, const json::object* old)> validate;

  std::vector<TableColumn> columns;
  // One cell for each column; `now_seconds` is for ages.
  std::function<json::array(const json::object& object, std::int64_t now_seconds)> row;
  // Values of the field selectors that the type supports, beside metadata.name and metadata.namespace; null:
  // unsupported.
  std::function<const json::value*(const json::object& object, std::string_view field)> field;
  std::vector<std::string> selectable_fields;
};

// Every type that the server serves, in the order in which discovery lists them.
const std::vector<ResourceType>& ResourceTypes();

// The type at these path elements ("apps", "v1", "deployments"); null when there is none.
const ResourceType* FindResource(std::string_view group, std::string_view version, std::string_view plural);

}  // namespace berth::objects
