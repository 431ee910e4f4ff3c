// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/dynamic_resources/claim_json.h"

#include <array>
#include <cstdint>

#include "berth/base/time.h"

namespace berth::plugins {
namespace {

using codec::json::array;
using codec::json::object;
using codec::json::value;

using Nanos = api::Quantity::Nanos;

std::string Digits(Nanos amount) {
  const bool is_negative = amount < 0;
  std::string text;
  do {
    const int digit = static_cast<int>(amount % 10);
    text.insert(text.begin(), static_cast<char>('0' + (digit < 0 ? -digit : digit)));
    amount /= 10;
  } while (amount != 0);
  return is_negative ? "-" + text : text;
}

std::string WithSuffix(Nanos amount, Nanos base, const std::array<std::string_view, 7>& suffixes) {
  std::size_t power = 0;
  while (amount != 0 && power + 1 < suffixes.size() && amount % base == 0) {
    amount /= base;
    ++power;
  }
  return Digits(amount) + std::string(suffixes[power]);
}

array Strings(const std::vector<std::string>& texts) {
  array out;
  for (const std::string& text : texts) out.emplace_back(text);
  return out;
}

void SetUnlessEmpty(object& out, std::string_view key, const std::string& text) {
  if (!text.empty()) out[key] = text;
}
void SetUnlessEmpty(object& out, std::string_view key, const std::vector<std::string>& texts) {
  if (!texts.empty()) out[key] = Strings(texts);
}

// Configurations are kept as the text that was read.
object ConfigJson(const std::string& text) {
  auto parsed = codec::ParseJson(text.empty() ? "{}" : text);
  if (!parsed.ok() || !parsed->is_object()) return {};
  return std::move(parsed->as_object());
}

object Amounts(const std::vector<std::pair<std::string, api::Quantity>>& amounts) {
  object out;
  for (const auto& [name, amount] : amounts) out[name] = QuantityText(amount);
  return out;
}

array Requirements(const std::vector<api::Requirement>& requirements) {
  array out;
  for (const api::Requirement& requirement : requirements) {
    object item{{"key", requirement.key}};
    item["operator"] = requirement.op == api::SelectorOperator::kUnknown ? std::string_view(requirement.unknown_op)
                                                                         : api::ToString(requirement.op);
    SetUnlessEmpty(item, "values", requirement.values);
    out.push_back(std::move(item));
  }
  return out;
}

object NodeSelectorJson(const std::vector<api::NodeSelectorTerm>& terms) {
  array items;
  for (const api::NodeSelectorTerm& term : terms) {
    object item;
    if (!term.match_expressions.empty()) item["matchExpressions"] = Requirements(term.match_expressions);
    if (!term.match_fields.empty()) item["matchFields"] = Requirements(term.match_fields);
    items.push_back(std::move(item));
  }
  return {{"nodeSelectorTerms", std::move(items)}};
}

array Tolerations(const std::vector<api::DeviceToleration>& tolerations) {
  array out;
  for (const api::DeviceToleration& toleration : tolerations) {
    object item;
    SetUnlessEmpty(item, "key", toleration.key);
    SetUnlessEmpty(item, "operator", toleration.op);
    SetUnlessEmpty(item, "value", toleration.value);
    SetUnlessEmpty(item, "effect", toleration.effect);
    if (toleration.toleration_seconds) item["tolerationSeconds"] = *toleration.toleration_seconds;
    out.push_back(std::move(item));
  }
  return out;
}

array Configs(const std::vector<api::DeviceClaimConfiguration>& configs) {
  array out;
  for (const api::DeviceClaimConfiguration& config : configs) {
    object item = ConfigJson(config.config);
    SetUnlessEmpty(item, "source", config.source);
    SetUnlessEmpty(item, "requests", config.requests);
    out.push_back(std::move(item));
  }
  return out;
}

object DeviceResult(const api::DeviceAllocationResult& result) {
  object out{{"request", result.request}, {"driver", result.driver}, {"pool", result.pool}, {"device", result.device}};
  if (result.admin_access) out["adminAccess"] = true;
  if (!result.tolerations.empty()) out["tolerations"] = Tolerations(result.tolerations);
  SetUnlessEmpty(out, "bindingConditions", result.binding_conditions);
  SetUnlessEmpty(out, "bindingFailureConditions", result.binding_failure_conditions);
  if (result.share_id) out["shareID"] = *result.share_id;
  if (!result.consumed_capacity.empty()) out["consumedCapacity"] = Amounts(result.consumed_capacity);
  return out;
}

object RequestJson(const api::ExactDeviceRequest& request) {
  object out{{"deviceClassName", request.device_class_name}};
  SetUnlessEmpty(out, "name", request.name);
  SetUnlessEmpty(out, "allocationMode", request.allocation_mode);
  if (request.count != 0) out["count"] = request.count;
  if (request.admin_access) out["adminAccess"] = true;
  array selectors;
  for (const std::string& selector : request.selectors) {
    selectors.push_back(object{{"cel", object{{"expression", selector}}}});
  }
  if (!selectors.empty()) out["selectors"] = std::move(selectors);
  if (!request.tolerations.empty()) out["tolerations"] = Tolerations(request.tolerations);
  if (request.capacity_requests) out["capacity"] = object{{"requests", Amounts(*request.capacity_requests)}};
  return out;
}

object SpecJson(const api::ResourceClaimSpec& spec) {
  object devices;
  array requests;
  for (const api::DeviceRequest& request : spec.requests) {
    object item{{"name", request.name}};
    if (request.exactly) item["exactly"] = RequestJson(*request.exactly);
    array alternatives;
    for (const api::ExactDeviceRequest& alternative : request.first_available) {
      alternatives.push_back(RequestJson(alternative));
    }
    if (!alternatives.empty()) item["firstAvailable"] = std::move(alternatives);
    requests.push_back(std::move(item));
  }
  if (!requests.empty()) devices["requests"] = std::move(requests);
  array constraints;
  for (const api::DeviceConstraint& constraint : spec.constraints) {
    object item;
    SetUnlessEmpty(item, "requests", constraint.requests);
    if (constraint.match_attribute) item["matchAttribute"] = *constraint.match_attribute;
    if (constraint.distinct_attribute) item["distinctAttribute"] = *constraint.distinct_attribute;
    constraints.push_back(std::move(item));
  }
  if (!constraints.empty()) devices["constraints"] = std::move(constraints);
  if (!spec.configs.empty()) devices["config"] = Configs(spec.configs);
  return {{"devices", std::move(devices)}};
}

object MetadataJson(const api::ResourceClaim& claim) {
  const api::ObjectMeta& metadata = claim.metadata;
  object out;
  SetUnlessEmpty(out, "name", metadata.name);
  SetUnlessEmpty(out, "namespace", metadata.namespace_name);
  SetUnlessEmpty(out, "uid", metadata.uid);
  SetUnlessEmpty(out, "resourceVersion", metadata.resource_version);
  const auto map = [](const api::StringMap& entries) {
    object texts;
    for (const auto& [key, text] : entries) texts[key] = text;
    return texts;
  };
  if (!metadata.labels.empty()) out["labels"] = map(metadata.labels);
  if (!metadata.annotations.empty()) out["annotations"] = map(metadata.annotations);
  if (metadata.creation_time) out["creationTimestamp"] = FormatRfc3339(*metadata.creation_time);
  if (metadata.deletion_time) out["deletionTimestamp"] = FormatRfc3339(*metadata.deletion_time);
  SetUnlessEmpty(out, "finalizers", claim.finalizers);
  array owners;
  for (const api::OwnerReference& owner : claim.owners) {
    object item{{"apiVersion", owner.api_version}, {"kind", owner.kind}, {"name", owner.name}, {"uid", owner.uid}};
    if (metadata.controller == owner) item["controller"] = true;
    owners.push_back(std::move(item));
  }
  if (!owners.empty()) out["ownerReferences"] = std::move(owners);
  return out;
}

array DeviceStatuses(const std::vector<api::AllocatedDeviceStatus>& devices) {
  array out;
  for (const api::AllocatedDeviceStatus& device : devices) {
    object item{{"driver", device.driver}, {"pool", device.pool}, {"device", device.device}};
    if (device.share_id) item["shareID"] = *device.share_id;
    array conditions;
    for (const api::DeviceCondition& condition : device.conditions) {
      conditions.push_back(object{{"type", condition.type},
                                  {"status", condition.status},
                                  {"reason", condition.reason},
                                  {"message", condition.message}});
    }
    if (!conditions.empty()) item["conditions"] = std::move(conditions);
    out.push_back(std::move(item));
  }
  return out;
}

}  // namespace

std::string QuantityText(const api::Quantity& quantity) {
  constexpr Nanos kNanosPerUnit = 1'000'000'000;
  const Nanos nanos = quantity.nanos();
  if (nanos % kNanosPerUnit != 0) return WithSuffix(nanos, 1000, {"n", "u", "m", "", "", "", ""});
  const std::string decimal = WithSuffix(nanos / kNanosPerUnit, 1000, {"", "k", "M", "G", "T", "P", "E"});
  const std::string binary = WithSuffix(nanos / kNanosPerUnit, 1024, {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"});
  return binary.size() < decimal.size() ? binary : decimal;
}

object ToJson(const api::AllocationResult& allocation) {
  object devices;
  array results;
  for (const api::DeviceAllocationResult& result : allocation.results) results.push_back(DeviceResult(result));
  if (!results.empty()) devices["results"] = std::move(results);
  if (!allocation.configs.empty()) devices["config"] = Configs(allocation.configs);
  object out{{"devices", std::move(devices)}};
  if (allocation.node_selector) out["nodeSelector"] = NodeSelectorJson(*allocation.node_selector);
  if (allocation.allocation_timestamp) {
    out["allocationTimestamp"] = FormatRfc3339(*allocation.allocation_timestamp);
  }
  return out;
}

array ToJson(const std::vector<api::ClaimConsumer>& consumers) {
  array out;
  for (const api::ClaimConsumer& consumer : consumers) {
    object item;
    SetUnlessEmpty(item, "apiGroup", consumer.api_group);
    item["resource"] = consumer.resource;
    item["name"] = consumer.name;
    item["uid"] = consumer.uid;
    out.push_back(std::move(item));
  }
  return out;
}

object ToJson(const api::ResourceClaim& claim) {
  object out{{"apiVersion", "resource.k8s.io/v1"}, {"kind", "ResourceClaim"}};
  out["metadata"] = MetadataJson(claim);
  out["spec"] = SpecJson(claim.spec);
  object status;
  if (claim.allocation) status["allocation"] = ToJson(*claim.allocation);
  if (!claim.reserved_for.empty()) status["reservedFor"] = ToJson(claim.reserved_for);
  if (!claim.devices.empty()) status["devices"] = DeviceStatuses(claim.devices);
  if (!status.empty()) out["status"] = std::move(status);
  return out;
}

std::string ExtendedClaimBody(const api::ResourceClaim& claim, std::string_view pod_name) {
  object body = ToJson(claim);
  body.stable_erase("status");
  object& metadata = body["metadata"].as_object();
  metadata.stable_erase("name");
  metadata.stable_erase("uid");
  metadata["generateName"] = std::string(pod_name) + "-extended-resources-";
  return codec::WriteJson(body);
}

}  // namespace berth::plugins
