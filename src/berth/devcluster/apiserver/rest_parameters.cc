// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/apiserver/rest_parameters.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "berth/base/text.h"
#include "berth/base/utf8.h"
#include "berth/codec/json.h"
#include "berth/codec/yaml.h"
#include "berth/devcluster/apiserver/base64_url.h"
#include "berth/devcluster/objects/protobuf.h"

namespace berth::apiserver {
namespace {

std::optional<std::int64_t> ParseInteger(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// As strconv.ParseBool, and as the API server reads its boolean parameters: "watch" alone is true.
std::optional<bool> ParseBool(std::string_view text) {
  for (const std::string_view yes : {"", "1", "t", "T", "true", "TRUE", "True"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"0", "f", "F", "false", "FALSE", "False"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

objects::Outcome<std::optional<std::int64_t>> IntegerParameter(const net::Target& target, std::string_view name) {
  const std::string_view text = target.Query(name);
  if (text.empty()) return std::optional<std::int64_t>();
  const auto value = ParseInteger(text);
  if (!value || *value < 0) {
    return objects::BadRequest("the query parameter " + std::string(name) +
                               " must be a whole number from 0, and is \"" + std::string(text) + '"');
  }
  return value;
}

std::optional<objects::StatusError> CheckListParameters(const ListParameters& list, const net::Target& target) {
  std::vector<objects::FieldError> errors;
  const auto forbid = [&](std::string_view field, std::string_view why) {
    errors.push_back({std::string(field), "FieldValueForbidden", "Forbidden: " + std::string(why)});
  };
  const bool sends_initial = list.sends_initial_events.value_or(false);
  if (list.is_watch && !list.match.empty() && !list.sends_initial_events) {
    forbid("resourceVersionMatch", "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
  }
  if (!list.is_watch && list.sends_initial_events)
    forbid("sendInitialEvents", "sendInitialEvents is forbidden for list");
  if (list.is_watch && list.sends_initial_events) {
    if (list.match != "NotOlderThan") {
      forbid("resourceVersionMatch", "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    }
    if (sends_initial && !list.has_bookmarks)
      forbid("allowWatchBookmarks", "sendInitialEvents requires allowWatchBookmarks");
  }
  if (!list.is_watch && !list.match.empty()) {
    if (!target.Has("resourceVersion") || target.Query("resourceVersion").empty()) {
      forbid("resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided");
    }
    if (!list.continue_token.empty()) {
      forbid("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided");
    }
    if (list.match != "Exact" && list.match != "NotOlderThan") {
      errors.push_back({"resourceVersionMatch", "FieldValueNotSupported",
                        "Unsupported value: " + json::serialize(json::string(list.match)) +
                            ": supported values: \"Exact\", \"NotOlderThan\""});
    }
    if (list.match == "Exact" && target.Query("resourceVersion") == "0") {
      forbid("resourceVersionMatch", "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
    }
  }
  if (errors.empty()) return std::nullopt;
  return objects::InvalidKind("meta.k8s.io", "ListOptions", "", errors);
}

objects::Outcome<bool> ReadDryRun(const std::vector<std::string>& values, std::string_view kind) {
  for (const std::string& value : values) {
    if (value != "All") {
      return objects::InvalidKind(
          "meta.k8s.io", kind, "",
          {{"dryRun", "FieldValueNotSupported",
            "Unsupported value: " + json::serialize(json::string(value)) + ": supported values: \"All\""}});
    }
  }
  return !values.empty();
}

bool IsPrintable(char c) { return static_cast<unsigned char>(c) >= ' ' && c != 0x7f; }

objects::Outcome<objects::FieldWriter> ReadFieldWriter(const net::Request& request, const net::Target& target,
                                                       std::string_view kind) {
  objects::FieldWriter writer;
  writer.manager = target.Query("fieldManager");
  writer.is_named = !writer.manager.empty();
  if (!writer.is_named) {
    const std::string_view agent = request.Get("User-Agent");
    for (const char c : agent.substr(0, agent.find('/'))) {
      if (IsPrintable(c) && writer.manager.size() < kFieldManagerBytesMax) writer.manager += c;
    }
    if (!IsValidUtf8(writer.manager)) writer.manager.clear();
    return writer;
  }
  std::vector<objects::FieldError> errors;
  if (writer.manager.size() > kFieldManagerBytesMax) {
    errors.push_back({"fieldManager", "FieldValueTooLong",
                      "Too long: may not be more than " + std::to_string(kFieldManagerBytesMax) + " bytes"});
  }
  if (!std::all_of(writer.manager.begin(), writer.manager.end(), IsPrintable)) {
    errors.push_back({"fieldManager", "FieldValueInvalid",
                      "Invalid value: " + json::serialize(json::string(writer.manager)) +
                          ": it must have printable characters only"});
  }
  if (!errors.empty()) return objects::InvalidKind("meta.k8s.io", kind, "", errors);
  return writer;
}

std::vector<std::string> QueryAll(const net::Target& target, std::string_view name) {
  std::vector<std::string> values;
  for (const auto& [key, value] : target.query) {
    if (key == name && !value.empty()) values.push_back(value);
  }
  return values;
}

objects::Outcome<std::string> CheckPropagation(std::string_view policy, std::optional<bool> orphan_dependents) {
  if (!policy.empty() && orphan_dependents) {
    return objects::InvalidKind("meta.k8s.io", "DeleteOptions", "",
                                {{"propagationPolicy", "FieldValueInvalid",
                                  "Invalid value: " + json::serialize(json::string(policy)) +
                                      ": orphanDependents and deletionPropagation cannot be both set"}});
  }
  if (policy.empty() || policy == "Background" || policy == "Foreground" || policy == "Orphan")
    return std::string(policy);
  return objects::InvalidKind("meta.k8s.io", "DeleteOptions", "",
                              {{"propagationPolicy", "FieldValueNotSupported",
                                "Unsupported value: " + json::serialize(json::string(policy)) +
                                    ": supported values: \"Background\", \"Foreground\", \"Orphan\""}});
}

objects::Outcome<json::value> DecodeBody(std::string_view body, std::string_view type,
                                         const json::storage_ptr& storage) {
  if (body.size() > kBodyBytesMax) {
    return objects::TooLarge("Request entity too large: limit is " + std::to_string(kBodyBytesMax));
  }
  if (type == "application/yaml") {
    auto parsed = codec::ParseYaml(body, {.bytes_max = kBodyBytesMax});
    if (!parsed.ok())
      return objects::BadRequest("the body of the request is not valid YAML: " + parsed.error().message);
    // Other formats can hold what JSON cannot (not-a-number, broken UTF-8); it ends here and not in the store.
    return DecodeJson(json::serialize(*parsed), storage);
  }
  if (type == objects::kProtobufMediaType) {
    auto decoded = objects::DecodeProtobuf(body);
    if (!decoded.ok())
      return objects::BadRequest("the body of the request is not valid protobuf: " + decoded.error().message);
    return DecodeJson(json::serialize(*decoded), storage);
  }
  if (!type.empty() && type != "application/json") return objects::UnsupportedMediaType(kBodyMediaTypes);
  return DecodeJson(body, storage);
}

}  // namespace

objects::Outcome<std::optional<bool>> BoolParameter(const net::Target& target, std::string_view name) {
  if (!target.Has(name)) return std::optional<bool>();
  const auto value = ParseBool(target.Query(name));
  if (!value) {
    return objects::BadRequest("the query parameter " + std::string(name) + " must be true or false, and is \"" +
                               std::string(target.Query(name)) + '"');
  }
  return value;
}

std::string MediaType(std::string_view header) {
  std::string type;
  for (const char c : header.substr(0, header.find(';'))) {
    if (c != ' ' && c != '\t') type += LowerCase(c);
  }
  return type;
}

objects::Outcome<json::value> DecodeJson(std::string_view text, const json::storage_ptr& storage) {
  auto parsed = codec::ParseJson(text, {.bytes_max = kBodyBytesMax}, storage);
  if (parsed.ok()) return std::move(parsed).value();
  if (parsed.error().code == ErrorCode::kTooLarge) {
    return objects::TooLarge("Request entity too large: limit is " + std::to_string(kBodyBytesMax));
  }
  return objects::BadRequest("the body of the request is not valid JSON: " + parsed.error().message);
}

objects::Outcome<json::object> DecodeObject(std::string_view body, std::string_view media_type,
                                            const json::storage_ptr& storage) {
  BERTH_ASSIGN_OR_RETURN(json::value document, DecodeBody(body, media_type, storage));
  if (!document.is_object()) return objects::BadRequest("the body of the request must be an object");
  return std::move(document.get_object());
}

objects::Outcome<Rendering> NegotiateRendering(const net::Request& request, const net::Target& target,
                                               const objects::ServedType& served, Time now) {
  Rendering rendering;
  rendering.served = &served;
  rendering.representation = objects::NegotiateRepresentation(request.Get("Accept"));
  if (rendering.representation == objects::Representation::kNone) return objects::NotAcceptable("application/json");
  rendering.include = objects::ParseIncludeObject(target.Query("includeObject"));
  rendering.now_seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  return rendering;
}

objects::Outcome<ListParameters> ParseListParameters(const net::Target& target, const objects::ServedType& served,
                                                     std::string_view namespace_name) {
  ListParameters list;
  list.selector.namespace_name = namespace_name;
  BERTH_ASSIGN_OR_RETURN(list.selector.labels, ParseLabels(target.Query("labelSelector")));
  BERTH_ASSIGN_OR_RETURN(list.selector.fields,
                         ParseFieldSelector(target.Query("fieldSelector"), *served.stored, served.field_to_stored));
  BERTH_ASSIGN_OR_RETURN(const auto watch, BoolParameter(target, "watch"));
  list.is_watch = watch.value_or(false);
  BERTH_ASSIGN_OR_RETURN(const auto bookmarks, BoolParameter(target, "allowWatchBookmarks"));
  list.has_bookmarks = bookmarks.value_or(false);
  BERTH_ASSIGN_OR_RETURN(list.sends_initial_events, BoolParameter(target, "sendInitialEvents"));
  BERTH_ASSIGN_OR_RETURN(const auto limit, IntegerParameter(target, "limit"));
  list.limit = static_cast<std::size_t>(limit.value_or(0));
  BERTH_ASSIGN_OR_RETURN(list.resource_version, IntegerParameter(target, "resourceVersion"));
  BERTH_ASSIGN_OR_RETURN(const auto timeout, IntegerParameter(target, "timeoutSeconds"));
  constexpr std::int64_t kTimeoutSecondsMax = 366LL * 24 * 3600;  // keeps sums of times in range
  if (timeout && *timeout > 0) list.timeout = std::chrono::seconds(std::min(*timeout, kTimeoutSecondsMax));
  list.match = target.Query("resourceVersionMatch");
  list.continue_token = target.Query("continue");
  if (auto error = CheckListParameters(list, target)) return *std::move(error);
  return list;
}

objects::Outcome<objects::WriteOptions> ParseWriteOptions(const net::Request& request, const net::Target& target,
                                                          std::string_view kind) {
  objects::WriteOptions options;
  BERTH_ASSIGN_OR_RETURN(options.writer, ReadFieldWriter(request, target, kind));
  BERTH_ASSIGN_OR_RETURN(options.is_dry_run, ReadDryRun(QueryAll(target, "dryRun"), kind));
  const std::string_view validation = target.Query("fieldValidation");
  if (validation == "Strict") {
    options.field_validation = objects::FieldValidation::kStrict;
  } else if (validation == "Warn" || validation.empty()) {
    options.field_validation = objects::FieldValidation::kWarn;
  } else if (validation != "Ignore") {
    return objects::InvalidKind("meta.k8s.io", kind, "",
                                {{"fieldValidation", "FieldValueNotSupported",
                                  "Unsupported value: " + json::serialize(json::string(validation)) +
                                      ": supported values: \"\", \"Ignore\", \"Strict\", \"Warn\""}});
  }
  return options;
}

objects::Outcome<DeleteOptions> ReadDeleteOptions(const json::object& body) {
  DeleteOptions options;
  if (const json::value* period = objects::FindMember(body, "gracePeriodSeconds");
      period != nullptr && !period->is_null()) {
    if (!period->is_int64()) return objects::BadRequest("gracePeriodSeconds must be a whole number");
    options.grace_period_seconds = period->get_int64();
  }
  if (const json::object* preconditions = objects::ObjectMember(body, "preconditions")) {
    options.preconditions.uid = objects::StringMember(*preconditions, "uid");
    options.preconditions.resource_version = objects::StringMember(*preconditions, "resourceVersion");
  }
  if (const json::value* orphan = objects::FindMember(body, "orphanDependents");
      orphan != nullptr && orphan->is_bool()) {
    options.orphan_dependents = orphan->get_bool();
  }
  BERTH_ASSIGN_OR_RETURN(options.propagation_policy,
                         CheckPropagation(objects::StringMember(body, "propagationPolicy"), options.orphan_dependents));
  std::vector<std::string> dry_run;
  if (const json::array* values = objects::ArrayMember(body, "dryRun")) {
    for (const json::value& value : *values)
      dry_run.push_back(value.is_string() ? std::string(objects::View(value.get_string())) : "");
  }
  BERTH_ASSIGN_OR_RETURN(options.is_dry_run, ReadDryRun(dry_run, "DeleteOptions"));
  return options;
}

objects::Outcome<DeleteOptions> ParseDeleteOptions(std::string_view body, std::string_view media_type,
                                                   const net::Target& target) {
  if (!body.empty()) {
    BERTH_ASSIGN_OR_RETURN(const json::object document, DecodeObject(body, media_type));
    const std::string_view kind = objects::StringMember(document, "kind");
    if (!kind.empty() && kind != "DeleteOptions") {
      return objects::BadRequest("the body of a deletion must be DeleteOptions, and is " + std::string(kind));
    }
    BERTH_ASSIGN_OR_RETURN(DeleteOptions options, ReadDeleteOptions(document));
    if (!QueryAll(target, "dryRun").empty()) {
      BERTH_ASSIGN_OR_RETURN(options.is_dry_run, ReadDryRun(QueryAll(target, "dryRun"), "DeleteOptions"));
    }
    return options;
  }
  DeleteOptions options;
  BERTH_ASSIGN_OR_RETURN(options.grace_period_seconds, IntegerParameter(target, "gracePeriodSeconds"));
  BERTH_ASSIGN_OR_RETURN(options.orphan_dependents, BoolParameter(target, "orphanDependents"));
  BERTH_ASSIGN_OR_RETURN(options.propagation_policy,
                         CheckPropagation(target.Query("propagationPolicy"), options.orphan_dependents));
  BERTH_ASSIGN_OR_RETURN(options.is_dry_run, ReadDryRun(QueryAll(target, "dryRun"), "DeleteOptions"));
  return options;
}

std::string EncodeContinueToken(const ContinueToken& token) {
  return EncodeBase64Url(json::serialize(
      json::object{{"v", "meta.k8s.io/v1"}, {"rv", token.resource_version}, {"start", token.after_key}}));
}

objects::Outcome<ContinueToken> DecodeContinueToken(std::string_view text) {
  const auto bytes = DecodeBase64Url(text);
  const auto parsed = bytes ? codec::ParseJson(*bytes, {.bytes_max = 4096, .depth_max = 2})
                            : Expected<json::value>(InvalidError("not base64"));
  ContinueToken token;
  const json::object* object = parsed.ok() ? parsed->if_object() : nullptr;
  const json::value* version = object == nullptr ? nullptr : objects::FindMember(*object, "rv");
  if (version == nullptr || !version->is_int64() || version->get_int64() == 0 || version->get_int64() < -1 ||
      objects::StringMember(*object, "start").empty()) {
    return objects::BadRequest("continue key is not valid: it must be the continue value of an earlier list");
  }
  token.resource_version = version->get_int64();
  token.after_key = objects::StringMember(*object, "start");
  return token;
}

}  // namespace berth::apiserver
