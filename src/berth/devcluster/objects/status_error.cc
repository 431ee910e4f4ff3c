// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/status_error.h"

#include "berth/base/go_text.h"

namespace berth::objects {
namespace {

StatusError About(const ResourceType& type, std::string_view name) {
  StatusError error;
  error.name = name;
  error.group = type.group;
  error.kind = type.plural;
  return error;
}

}  // namespace

json::object StatusError::ToObject() const {
  json::object status{{"kind", "Status"},
                      {"apiVersion", "v1"},
                      {"metadata", json::object()},
                      {"status", "Failure"},
                      {"message", message}};
  if (!reason.empty()) status["reason"] = reason;
  json::object details;
  if (!name.empty()) details["name"] = name;
  if (!group.empty()) details["group"] = group;
  if (!kind.empty()) details["kind"] = kind;
  if (!uid.empty()) details["uid"] = uid;
  if (!causes.empty()) {
    json::array list;
    for (const StatusCause& cause : causes) {
      json::object entry;
      if (!cause.reason.empty()) entry["reason"] = cause.reason;
      if (!cause.message.empty()) entry["message"] = cause.message;
      if (!cause.field.empty()) entry["field"] = cause.field;
      list.push_back(std::move(entry));
    }
    details["causes"] = std::move(list);
  }
  if (retry_after_seconds > 0) details["retryAfterSeconds"] = retry_after_seconds;
  if (!details.empty()) status["details"] = std::move(details);
  status["code"] = code;
  return status;
}

std::string QualifiedResource(const ResourceType& type) {
  return type.group.empty() ? type.plural : type.plural + '.' + type.group;
}

StatusError BadRequest(std::string message) {
  return {.code = 400, .reason = "BadRequest", .message = std::move(message)};
}

StatusError NotFound(const ResourceType& type, std::string_view name) {
  StatusError error = About(type, name);
  error.code = 404;
  error.reason = "NotFound";
  error.message = QualifiedResource(type) + ' ' + GoQuoted(name) + " not found";
  return error;
}

StatusError NoSuchPath() {
  return {.code = 404, .reason = "NotFound", .message = "the server could not find the requested resource"};
}

StatusError NoContainers() {
  return {.code = 404,
          .reason = "NotFound",
          .message =
              "nodes of this server are simulated and run no containers: there are no logs, and nothing to "
              "connect to"};
}

StatusError MethodNotAllowed() {
  return {.code = 405,
          .reason = "MethodNotAllowed",
          .message = "the server does not allow this method on the requested resource"};
}

StatusError NotAcceptable(std::string_view accepted) {
  return {.code = 406,
          .reason = "NotAcceptable",
          .message = "only the following media types are accepted: " + std::string(accepted)};
}

StatusError AlreadyExists(const ResourceType& type, std::string_view name) {
  StatusError error = About(type, name);
  error.code = 409;
  error.reason = "AlreadyExists";
  error.message = QualifiedResource(type) + ' ' + GoQuoted(name) + " already exists";
  return error;
}

StatusError Conflict(const ResourceType& type, std::string_view name, std::string_view why,
                     std::string_view subresource) {
  StatusError error = About(type, name);
  error.code = 409;
  error.reason = "Conflict";
  if (!subresource.empty()) error.kind += '/' + std::string(subresource);
  const std::string resource = type.group.empty() ? error.kind : error.kind + '.' + type.group;
  error.message = "Operation cannot be fulfilled on " + resource + ' ' + GoQuoted(name) + ": " + std::string(why);
  return error;
}

StatusError ModifiedConflict(const ResourceType& type, std::string_view name) {
  return Conflict(type, name,
                  "the object has been modified; please apply your changes to the latest version and try again");
}

StatusError Expired(std::string message) { return {.code = 410, .reason = "Expired", .message = std::move(message)}; }

StatusError TooLarge(std::string message) {
  return {.code = 413, .reason = "RequestEntityTooLarge", .message = std::move(message)};
}

StatusError UnsupportedMediaType(std::string_view accepted) {
  return {.code = 415,
          .reason = "UnsupportedMediaType",
          .message = "the body of the request was in an unknown format - accepted media types include: " +
                     std::string(accepted)};
}

StatusError InvalidKind(std::string_view group, std::string_view kind, std::string_view name,
                        const std::vector<FieldError>& errors) {
  StatusError error;
  error.code = 422;
  error.reason = "Invalid";
  error.name = name;
  error.group = group;
  error.kind = kind;
  std::string text;
  for (const FieldError& each : errors) {
    if (!text.empty()) text += ", ";
    text += each.field.empty() ? each.message : each.field + ": " + each.message;
    error.causes.push_back({each.reason, each.message, each.field});
  }
  if (errors.size() > 1) text = '[' + text + ']';
  error.message = std::string(kind) + (group.empty() ? "" : '.' + std::string(group)) + ' ' + GoQuoted(name) +
                  " is invalid: " + text;
  return error;
}

StatusError Invalid(const ResourceType& type, std::string_view name, const std::vector<FieldError>& errors) {
  return InvalidKind(type.group, type.kind, name, errors);
}

StatusError Forbidden(const ResourceType& type, std::string_view name, std::string_view why) {
  StatusError error = About(type, name);
  error.code = 403;
  error.reason = "Forbidden";
  error.message = QualifiedResource(type) + ' ' + GoQuoted(name) + " is forbidden: " + std::string(why);
  return error;
}

std::string SuccessStatus(const ResourceType* type, std::string_view name, std::string_view uid) {
  json::object status{{"kind", "Status"}, {"apiVersion", "v1"}, {"metadata", json::object()}, {"status", "Success"}};
  if (type != nullptr) {
    json::object details{{"name", name}};
    if (!type->group.empty()) details["group"] = type->group;
    details["kind"] = type->plural;
    if (!uid.empty()) details["uid"] = uid;
    status["details"] = std::move(details);
  }
  return json::serialize(status);
}

}  // namespace berth::objects
