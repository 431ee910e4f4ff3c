// SPDX-License-Identifier: Apache-2.0
#include "berth/provisioning/provisioning_request.h"

#include <algorithm>
#include <charconv>

#include "berth/codec/json.h"
#include "berth/codec/json_reader.h"

namespace berth::provisioning {
namespace {

namespace json = codec::json;

// Bounds of the API.
constexpr std::size_t kDetailBytesMax = 32'768;
constexpr std::size_t kDetailsMax = 16;  // of ours; the API allows 64, and an object 1.5 MB
constexpr std::string_view kDetailPrefix = "berth-nodes-";

std::map<std::string, std::string, std::less<>> ReadMap(const simdjson::dom::element& of, std::string_view key) {
  std::map<std::string, std::string, std::less<>> read;
  const auto object = codec::FindObject(of, key);
  if (!object) return read;
  for (const auto& [name, value] : *object) {
    std::string_view text;
    if (value.get(text) == simdjson::SUCCESS) read.emplace(name, text);
  }
  return read;
}

Condition ReadCondition(const simdjson::dom::element& object) {
  Condition condition;
  condition.type = codec::StringOrEmpty(object, "type");
  condition.status = codec::StringOrEmpty(object, "status");
  condition.reason = codec::StringOrEmpty(object, "reason");
  condition.message = codec::StringOrEmpty(object, "message");
  condition.observed_generation = codec::FindInt(object, "observedGeneration").value_or(0);
  condition.transition_time = ParseRfc3339(codec::StringOrEmpty(object, "lastTransitionTime")).value_or(Time{});
  return condition;
}

}  // namespace

const Condition* ProvisioningRequest::Find(std::string_view type) const {
  const auto at = std::ranges::find(conditions, type, &Condition::type);
  return at == conditions.end() ? nullptr : &*at;
}

bool ProvisioningRequest::Is(std::string_view type) const {
  const Condition* const condition = Find(type);
  return condition != nullptr && condition->status == "True";
}

Expected<RequestPtr> DecodeProvisioningRequest(const simdjson::dom::element& object) {
  auto request = std::make_shared<ProvisioningRequest>();
  const auto metadata = codec::FindMember(object, "metadata");
  if (!metadata) return InvalidError("metadata: missing");
  request->namespace_name = codec::StringOrEmpty(*metadata, "namespace");
  request->name = codec::StringOrEmpty(*metadata, "name");
  request->uid = codec::StringOrEmpty(*metadata, "uid");
  request->resource_version = codec::StringOrEmpty(*metadata, "resourceVersion");
  request->generation = codec::FindInt(*metadata, "generation").value_or(0);
  request->creation_time = ParseRfc3339(codec::StringOrEmpty(*metadata, "creationTimestamp")).value_or(Time{});
  if (request->namespace_name.empty() || request->name.empty()) return InvalidError("metadata.name: missing");
  const auto spec = codec::FindMember(object, "spec");
  if (!spec) return InvalidError("spec: missing");
  request->class_name = codec::StringOrEmpty(*spec, "provisioningClassName");
  request->parameters = ReadMap(*spec, "parameters");
  if (const auto sets = codec::FindArray(*spec, "podSets")) {
    for (const simdjson::dom::element set : *sets) {
      PodSet& read = request->pod_sets.emplace_back();
      if (const auto ref = codec::FindMember(set, "podTemplateRef")) {
        read.template_name = codec::StringOrEmpty(*ref, "name");
      }
      read.count = codec::FindInt(set, "count").value_or(0);
      const std::string field = "spec.podSets[" + std::to_string(request->pod_sets.size() - 1) + "].";
      if (read.template_name.empty()) return InvalidError(field + "podTemplateRef.name: missing");
      if (read.count < 1) return InvalidError(field + "count: must be at least 1");
    }
  }
  if (request->pod_sets.empty()) return InvalidError("spec.podSets: must have at least one");
  const auto status = codec::FindMember(object, "status");
  if (!status) return RequestPtr(std::move(request));
  if (const auto conditions = codec::FindArray(*status, "conditions")) {
    for (const simdjson::dom::element each : *conditions) request->conditions.push_back(ReadCondition(each));
  }
  request->details = ReadMap(*status, "provisioningClassDetails");
  return RequestPtr(std::move(request));
}

bool IsForProcessor(const ProvisioningRequest& request, std::string_view instance) {
  if (request.class_name != kCheckCapacityClass) return false;
  const auto named = request.parameters.find(kProcessorInstance);
  return named != request.parameters.end() && named->second == instance;
}

void SetCondition(std::vector<Condition>& conditions, Condition condition) {
  const auto at = std::ranges::find(conditions, condition.type, &Condition::type);
  if (at == conditions.end()) {
    conditions.push_back(std::move(condition));
    return;
  }
  if (at->status == condition.status) condition.transition_time = at->transition_time;
  *at = std::move(condition);
}

// Each value is "0 node-a=2 node-b=1": the index of the pod set, and places.
std::map<std::string, std::string, std::less<>> DetailsOf(const Places& places) {
  std::vector<std::string> values;
  for (std::size_t set = 0; set < places.size(); ++set) {
    std::string value = std::to_string(set);
    for (const auto& [node, count] : places[set]) {
      const std::string place = " " + node + "=" + std::to_string(count);
      if (value.size() + place.size() > kDetailBytesMax) {
        values.push_back(std::move(value));
        value = std::to_string(set);
      }
      value += place;
    }
    values.push_back(std::move(value));
  }
  std::map<std::string, std::string, std::less<>> details;
  if (values.size() > std::max(kDetailsMax, places.size())) return details;
  for (std::size_t i = 0; i < values.size(); ++i)
    details[std::string(kDetailPrefix) + std::to_string(i)] = std::move(values[i]);
  return details;
}

Places PlacesOf(const std::map<std::string, std::string, std::less<>>& details, std::size_t set_count) {
  Places places(set_count);
  // In the order in which they were written, as far as that matters: by set, and within one by number.
  std::map<std::size_t, std::string_view> values;
  for (const auto& [key, value] : details) {
    if (!key.starts_with(kDetailPrefix)) continue;
    std::size_t number = 0;
    const char* const end = key.data() + key.size();
    const auto [at, error] = std::from_chars(key.data() + kDetailPrefix.size(), end, number);
    if (error == std::errc() && at == end) values[number] = value;
  }
  for (const auto& [number, value] : values) {
    std::size_t set = 0;
    std::string_view rest = value;
    const auto index = std::from_chars(rest.data(), rest.data() + rest.size(), set);
    if (index.ec != std::errc() || set >= set_count) continue;
    rest.remove_prefix(static_cast<std::size_t>(index.ptr - rest.data()));
    while (rest.starts_with(' ')) {
      rest.remove_prefix(1);
      const std::string_view place = rest.substr(0, rest.find(' '));
      rest.remove_prefix(place.size());
      const std::size_t equals = place.rfind('=');
      if (equals == std::string_view::npos || equals == 0) continue;
      std::uint64_t count = 0;
      const char* const end = place.data() + place.size();
      const auto [at, error] = std::from_chars(place.data() + equals + 1, end, count);
      if (error == std::errc() && at == end && count > 0)
        places[set].emplace_back(std::string(place.substr(0, equals)), count);
    }
  }
  return places;
}

std::string StatusPatch(const ProvisioningRequest& request, const std::vector<Condition>& conditions,
                        const std::map<std::string, std::string, std::less<>>& details) {
  json::array list;
  for (const Condition& each : conditions) {
    list.push_back(json::object{{"type", each.type},
                                {"status", each.status},
                                {"reason", each.reason},
                                {"message", each.message},
                                {"observedGeneration", each.observed_generation},
                                {"lastTransitionTime", FormatRfc3339(each.transition_time)}});
  }
  json::object values;
  for (const auto& [key, value] : request.details) {
    if (!details.contains(key) && key.starts_with(kDetailPrefix)) values[key] = nullptr;
  }
  for (const auto& [key, value] : details) values[key] = value;
  json::object status{{"conditions", std::move(list)}};
  if (!values.empty()) status["provisioningClassDetails"] = std::move(values);
  return codec::WriteJson(
      json::object{{"metadata", json::object{{"uid", request.uid}, {"resourceVersion", request.resource_version}}},
                   {"status", std::move(status)}});
}

}  // namespace berth::provisioning
