// SPDX-License-Identifier: Apache-2.0
#include "berth/buy/catalogue_sources.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "berth/api/decode.h"
#include "berth/api/selector.h"
#include "berth/base/text.h"
#include "berth/buy/node_catalogue.h"
#include "berth/codec/yaml.h"
#include "berth/framework/resource.h"
#include "berth/plugins/best_price/best_price_args.h"
#include "berth/plugins/best_price/price.h"

namespace berth::buy {
namespace {

namespace json = codec::json;
using NodePtr = std::shared_ptr<const api::Node>;

constexpr std::string_view kOldInstanceTypeLabel = "beta.kubernetes.io/instance-type";
constexpr std::string_view kOldZoneLabel = "failure-domain.beta.kubernetes.io/zone";
// Labels and taints that are of one node, or of its life so far.
constexpr std::string_view kNodeLifePrefix = "node.kubernetes.io/";
constexpr std::size_t kNamesMax = 5;

std::string LabelOf(const api::Node& node, std::string_view key, std::string_view old_key = {}) {
  const std::string* value = node.metadata.labels.Find(key);
  if (value == nullptr && !old_key.empty()) value = node.metadata.labels.Find(old_key);
  return value == nullptr ? std::string() : *value;
}

std::string EffectOf(api::TaintEffect effect) {
  if (effect == api::TaintEffect::kNoExecute) return "NoExecute";
  return effect == api::TaintEffect::kPreferNoSchedule ? "PreferNoSchedule" : "NoSchedule";
}

json::array TaintsOf(const api::Node& node) {
  json::array taints;
  for (const api::Taint& taint : node.taints) {
    if (taint.key.starts_with(kNodeLifePrefix)) continue;
    taints.push_back(json::object{{"key", taint.key}, {"value", taint.value}, {"effect", EffectOf(taint.effect)}});
  }
  return taints;
}

bool IsOfOneNode(const std::string& key) {
  return key == "kubernetes.io/hostname" || key == kZoneLabel || key == kRegionLabel || key == kOldZoneLabel ||
         key == "failure-domain.beta.kubernetes.io/region" || key.starts_with("topology.") ||
         key.find("/zone") != std::string::npos || key == kInstanceTypeLabel || key == kOldInstanceTypeLabel ||
         key == kCapacityTypeLabel;
}

// A name of a shape from any text.
std::string NameFrom(std::string_view text) {
  std::string name;
  for (const char c : LowerCase(text)) name += IsAlphanumeric(c) || c == '.' || c == '-' ? c : '-';
  while (!name.empty() && !IsAlphanumeric(name.back())) name.pop_back();
  while (!name.empty() && !IsAlphanumeric(name.front())) name.erase(0, 1);
  constexpr std::size_t kNameMax = 50;
  return name.empty() ? "node" : name.substr(0, kNameMax);
}

std::string BytesText(std::int64_t bytes) { return std::to_string(bytes / 1024) + "Ki"; }

struct NodesAlike {
  std::vector<NodePtr> nodes;
  std::set<std::string> zones;
};

json::object EntryOf(const NodesAlike& alike, const std::string& price) {
  const api::Node& first = *alike.nodes.front();
  api::ResourceList least = first.allocatable;
  for (const NodePtr& node : alike.nodes) {
    for (auto& [name, amount] : least) {
      const api::Quantity* other = api::FindResource(node->allocatable, name);
      amount = std::min(amount, other == nullptr ? api::Quantity() : *other);
    }
  }
  const std::string type = LabelOf(first, kInstanceTypeLabel, kOldInstanceTypeLabel);
  json::object entry{{"name", NameFrom(type.empty() ? first.metadata.name : type)}};
  json::object others;
  for (const auto& [name, amount] : least) {
    if (name == framework::resources::kCpu) {
      entry["cpu"] = std::to_string(amount.MilliValue()) + "m";
    } else if (name == framework::resources::kMemory) {
      entry["memory"] = BytesText(amount.Value());
    } else if (name == framework::resources::kPods) {
      entry["pods"] = amount.Value();
    } else if (!amount.IsZero()) {
      others[name] =
          name == framework::resources::kEphemeralStorage ? BytesText(amount.Value()) : std::to_string(amount.Value());
    }
  }
  if (!others.empty()) entry["resources"] = std::move(others);
  entry["price"] = price;
  if (!alike.zones.empty()) {
    json::array zones;
    for (const std::string& zone : alike.zones) zones.emplace_back(zone);
    entry["zones"] = std::move(zones);
  }
  if (const std::string region = LabelOf(first, kRegionLabel); !region.empty()) entry["region"] = region;
  if (const std::string capacity = LabelOf(first, kCapacityTypeLabel); !capacity.empty())
    entry["capacityType"] = capacity;
  json::object labels;
  for (const auto& [key, value] : first.metadata.labels) {
    if (!IsOfOneNode(key)) labels[key] = value;
  }
  if (!type.empty()) labels[kInstanceTypeLabel] = type;
  if (!labels.empty()) entry["labels"] = std::move(labels);
  if (json::array taints = TaintsOf(first); !taints.empty()) entry["taints"] = std::move(taints);
  return entry;
}

// Requirements of Karpenter, as a NodePool and an offering have them.
Expected<std::vector<api::Requirement>> RequirementsIn(const json::value* list, const std::string& where) {
  std::vector<api::Requirement> requirements;
  if (list == nullptr) return requirements;
  if (!list->is_array()) return InvalidError(where + ": it should be a list");
  for (const json::value& each : list->get_array()) {
    const json::object* object = each.if_object();
    const auto text = [&](const char* key) -> std::string {
      const json::value* value = object == nullptr ? nullptr : object->if_contains(key);
      return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
    };
    api::Requirement requirement;
    requirement.key = text("key");
    const std::string op = text("operator");
    static const std::map<std::string, api::SelectorOperator, std::less<>> kOperators = {
        {"In", api::SelectorOperator::kIn},         {"NotIn", api::SelectorOperator::kNotIn},
        {"Exists", api::SelectorOperator::kExists}, {"DoesNotExist", api::SelectorOperator::kDoesNotExist},
        {"Gt", api::SelectorOperator::kGt},         {"Lt", api::SelectorOperator::kLt}};
    const auto known = kOperators.find(op);
    if (requirement.key.empty() || known == kOperators.end())
      return InvalidError(where + ": " + json::serialize(each) + " should have a key and an operator such as In");
    requirement.op = known->second;
    if (const json::value* values = object->if_contains("values"); values != nullptr && values->is_array()) {
      for (const json::value& value : values->get_array()) {
        if (value.is_string()) requirement.values.emplace_back(value.get_string());
      }
    }
    requirements.push_back(std::move(requirement));
  }
  return requirements;
}

struct InstanceType {
  std::string name;
  std::map<std::string, std::string> labels;  // by key; of what is the same for all its offerings
  json::object resources;
  struct Offering {
    std::string price;
    std::string zone, capacity_type;
  };
  std::vector<Offering> offerings;
};

Expected<std::vector<InstanceType>> ReadInstanceTypes(std::string_view text) {
  BERTH_ASSIGN_OR_RETURN(const json::value document, codec::ParseYaml(text, {.bytes_max = kCatalogueBytesMax}));
  if (!document.is_array()) return InvalidError("instance types should be a list");
  std::vector<InstanceType> types;
  for (std::size_t i = 0; i < document.get_array().size(); ++i) {
    const std::string where = '[' + std::to_string(i) + ']';
    const json::object* object = document.get_array()[i].if_object();
    const json::value* name = object == nullptr ? nullptr : object->if_contains("name");
    const json::value* resources = object == nullptr ? nullptr : object->if_contains("resources");
    const json::value* offerings = object == nullptr ? nullptr : object->if_contains("offerings");
    if (name == nullptr || !name->is_string() || resources == nullptr || !resources->is_object() ||
        offerings == nullptr || !offerings->is_array())
      return InvalidError(where + ": want a map with name, resources and offerings");
    InstanceType& type = types.emplace_back();
    type.name = std::string(name->get_string());
    type.labels[std::string(kInstanceTypeLabel)] = type.name;
    type.resources = resources->get_object();
    if (const json::value* arch = object->if_contains("architecture"); arch != nullptr && arch->is_string())
      type.labels["kubernetes.io/arch"] = std::string(arch->get_string());
    if (const json::value* systems = object->if_contains("operatingSystems");
        systems != nullptr && systems->is_array() && !systems->get_array().empty() &&
        systems->get_array().front().is_string())
      type.labels["kubernetes.io/os"] = std::string(systems->get_array().front().get_string());
    for (const json::value& each : offerings->get_array()) {
      const json::object* offering = each.if_object();
      const json::value* price = offering == nullptr ? nullptr : offering->if_contains("Price");
      if (price == nullptr || !price->is_number()) return InvalidError(where + ".offerings: want a Price for each");
      if (const json::value* available = offering->if_contains("Available");
          available != nullptr && available->is_bool() && !available->get_bool())
        continue;
      BERTH_ASSIGN_OR_RETURN(const auto requirements,
                             RequirementsIn(offering->if_contains("Requirements"), where + ".offerings.Requirements"));
      const double amount = price->to_number<double>();
      constexpr double kMost = static_cast<double>(plugins::kPriceMicroMax) / plugins::kPriceMicroPerUnit;
      if (!(amount >= 0) || amount > kMost)
        return InvalidError(where + ".offerings.Price: " + plugins::NotAPrice(json::serialize(*price)));
      InstanceType::Offering read;
      read.price = plugins::FormatPrice(static_cast<std::int64_t>(amount * 1e6 + 0.5));
      for (const api::Requirement& requirement : requirements) {
        if (requirement.values.size() != 1) continue;
        if (requirement.key == kZoneLabel) read.zone = requirement.values.front();
        if (requirement.key == kCapacityTypeLabel) read.capacity_type = requirement.values.front();
      }
      type.offerings.push_back(std::move(read));
    }
  }
  return types;
}

const json::object& Part(const json::object& object, std::string_view key) {
  static const json::object none;
  const json::value* value = object.if_contains(key);
  return value == nullptr || !value->is_object() ? none : value->get_object();
}

// Keys that neither side knows are not asked: they become labels of the node only when it is made.
bool Allows(const std::vector<api::Requirement>& requirements, const std::map<std::string, std::string>& labels) {
  return std::ranges::all_of(requirements, [&](const api::Requirement& requirement) {
    const auto at = labels.find(requirement.key);
    return at == labels.end() || requirement.Matches(&at->second);
  });
}

void AddPool(const json::object& pool, const std::vector<api::Requirement>& requirements,
             const std::vector<InstanceType>& types, json::array& shapes) {
  const json::object& node_template = Part(Part(pool, "spec"), "template");
  const json::object& spec = Part(node_template, "spec");
  const json::value* pool_name = Part(pool, "metadata").if_contains("name");
  const std::string name = pool_name != nullptr && pool_name->is_string() ? std::string(pool_name->get_string()) : "";
  for (const InstanceType& type : types) {
    // Zones of the same price and kind of capacity are one shape.
    std::map<std::pair<std::string, std::string>, std::set<std::string>> zones;
    for (const InstanceType::Offering& offering : type.offerings) {
      std::map<std::string, std::string> labels = type.labels;
      if (!offering.zone.empty()) labels[std::string(kZoneLabel)] = offering.zone;
      if (!offering.capacity_type.empty()) labels[std::string(kCapacityTypeLabel)] = offering.capacity_type;
      if (Allows(requirements, labels)) zones[{offering.price, offering.capacity_type}].insert(offering.zone);
    }
    for (const auto& [what, in] : zones) {
      json::object entry{{"name", NameFrom(type.name)}};
      json::object others;
      for (const auto& [resource, amount] : type.resources) {
        if (resource == "cpu" || resource == "memory" || resource == "pods") {
          entry[resource] = amount;
        } else {
          others[resource] = amount;
        }
      }
      if (!others.empty()) entry["resources"] = std::move(others);
      entry["price"] = what.first;
      json::array in_zones;
      for (const std::string& zone : in) {
        if (!zone.empty()) in_zones.emplace_back(zone);
      }
      if (!in_zones.empty()) entry["zones"] = std::move(in_zones);
      if (!what.second.empty()) entry["capacityType"] = what.second;
      json::object labels = Part(Part(node_template, "metadata"), "labels");
      for (const auto& [key, value] : type.labels) labels[key] = value;
      for (const api::Requirement& requirement : requirements) {
        // A NodePool's own label with one value is on each of its nodes.
        if (requirement.op == api::SelectorOperator::kIn && requirement.values.size() == 1 &&
            requirement.key != kZoneLabel && !labels.contains(requirement.key))
          labels[requirement.key] = requirement.values.front();
      }
      labels.erase(kCapacityTypeLabel);
      labels[kNodePoolLabel] = name;
      entry["labels"] = std::move(labels);
      if (const json::value* taints = spec.if_contains("taints")) entry["taints"] = *taints;
      if (const json::value* reference = spec.if_contains("nodeClassRef")) entry["nodeClassRef"] = *reference;
      shapes.push_back(std::move(entry));
    }
  }
}

}  // namespace

CatalogueDraft CatalogueOfNodes(const std::vector<NodePtr>& nodes, const TypePrice& price_of) {
  std::map<std::string, NodesAlike> by_look;
  for (const NodePtr& node : nodes) {
    json::array look{LabelOf(*node, kInstanceTypeLabel, kOldInstanceTypeLabel), LabelOf(*node, kCapacityTypeLabel),
                     LabelOf(*node, kRegionLabel)};
    json::object labels;
    for (const auto& [key, value] : node->metadata.labels) {
      if (!IsOfOneNode(key)) labels[key] = value;
    }
    look.push_back(std::move(labels));
    look.push_back(TaintsOf(*node));
    if (const std::string* price = node->metadata.annotations.Find(plugins::kPriceAnnotation))
      look.emplace_back(*price);
    NodesAlike& alike = by_look[json::serialize(look)];
    alike.nodes.push_back(node);
    if (std::string zone = LabelOf(*node, kZoneLabel, kOldZoneLabel); !zone.empty())
      alike.zones.insert(std::move(zone));
  }
  CatalogueDraft draft;
  json::array shapes;
  std::vector<std::string> unpriced;
  for (const auto& [look, alike] : by_look) {
    const api::Node& first = *alike.nodes.front();
    const std::string type = LabelOf(first, kInstanceTypeLabel, kOldInstanceTypeLabel);
    const std::string* annotated = first.metadata.annotations.Find(plugins::kPriceAnnotation);
    const auto price = annotated != nullptr ? std::optional(*annotated) : price_of(type);
    if (price && plugins::ParsePrice(*price)) {
      shapes.push_back(EntryOf(alike, *price));
    } else {
      unpriced.push_back(type.empty() ? "node " + first.metadata.name : type);
    }
  }
  if (!unpriced.empty()) {
    std::string line = "left out, nothing says what they cost: ";
    for (std::size_t i = 0; i < unpriced.size() && i < kNamesMax; ++i)
      line.append(i == 0 ? "" : ", ").append(unpriced[i]);
    if (unpriced.size() > kNamesMax) line += " and " + std::to_string(unpriced.size() - kNamesMax) + " more";
    draft.notes.push_back(std::move(line));
  }
  draft.document = {{"shapes", std::move(shapes)}};
  return draft;
}

Expected<std::vector<NodePtr>> ReadNodes(std::string_view text) {
  BERTH_ASSIGN_OR_RETURN(const auto documents, codec::ParseYamlStream(text, {.bytes_max = kCatalogueBytesMax}));
  std::vector<NodePtr> nodes;
  const auto add = [&](const json::value& value, const std::string& where) -> Expected<void> {
    const json::value* kind = value.is_object() ? value.get_object().if_contains("kind") : nullptr;
    if (kind == nullptr || !kind->is_string() || kind->get_string() != "Node")
      return InvalidError(where + ": want an object of kind Node, as kubectl get nodes -o json writes it");
    const auto node = api::DecodeNode(codec::WriteJson(value));
    if (!node.ok()) return InvalidError(where + ": " + node.error().message);
    nodes.push_back(*node);
    return {};
  };
  for (const json::value& document : documents) {
    const json::value* items = document.is_object() ? document.get_object().if_contains("items") : nullptr;
    if (items == nullptr || !items->is_array()) {
      BERTH_RETURN_IF_ERROR(add(document, "document"));
      continue;
    }
    for (std::size_t i = 0; i < items->get_array().size(); ++i)
      BERTH_RETURN_IF_ERROR(add(items->get_array()[i], "items[" + std::to_string(i) + ']'));
  }
  return nodes;
}

Expected<CatalogueDraft> CatalogueOfNodePools(std::string_view node_pools, std::string_view instance_types) {
  BERTH_ASSIGN_OR_RETURN(const std::vector<InstanceType> types, ReadInstanceTypes(instance_types));
  BERTH_ASSIGN_OR_RETURN(const auto documents, codec::ParseYamlStream(node_pools, {.bytes_max = kCatalogueBytesMax}));
  CatalogueDraft draft;
  json::array shapes;
  std::size_t pools = 0;
  for (const json::value& document : documents) {
    const json::object* pool = document.if_object();
    const json::value* kind = pool == nullptr ? nullptr : pool->if_contains("kind");
    if (kind == nullptr || !kind->is_string() || kind->get_string() != "NodePool") continue;
    ++pools;
    const json::object& spec = Part(Part(Part(*pool, "spec"), "template"), "spec");
    const json::value* name = Part(*pool, "metadata").if_contains("name");
    const std::string shown = name != nullptr && name->is_string() ? std::string(name->get_string()) : "?";
    BERTH_ASSIGN_OR_RETURN(const auto requirements,
                           RequirementsIn(spec.if_contains("requirements"), "NodePool " + shown + ": requirements"));
    const std::size_t before = shapes.size();
    AddPool(*pool, requirements, types, shapes);
    if (shapes.size() == before) draft.notes.push_back("NodePool " + shown + " allows none of the instance types");
    if (!Part(Part(*pool, "spec"), "limits").empty())
      draft.notes.push_back("the limits of NodePool " + shown + " are not in the catalogue: --max-nodes bounds a plan");
  }
  if (pools == 0) return InvalidError("there is no NodePool");
  draft.document = {{"shapes", std::move(shapes)}};
  return draft;
}

}  // namespace berth::buy
