// SPDX-License-Identifier: Apache-2.0
#include "berth/buy/node_catalogue.h"

#include <algorithm>
#include <array>
#include <utility>

#include "berth/api/decode.h"
#include "berth/base/text.h"
#include "berth/codec/yaml.h"
#include "berth/devcluster/kubelet/nodes_file.h"
#include "berth/plugins/best_price/best_price_args.h"
#include "berth/plugins/best_price/price.h"

namespace berth::buy {
namespace {

namespace json = codec::json;

constexpr std::array<std::string_view, 5> kOwnKeys = {"capacityType", "like", "machineDeployment", "max",
                                                      "nodeClassRef"};
constexpr std::int64_t kCountMax = 1'000'000;

Error Wrong(const std::string& path, const std::string& what) { return InvalidError(path + ": " + what); }

Expected<std::string> Text(const json::object& entry, const char* key, const std::string& path) {
  const json::value* value = entry.if_contains(key);
  if (value == nullptr) return std::string();
  if (!value->is_string() || value->get_string().empty())
    return Wrong(path + '.' + key, json::serialize(*value) + " should be a name");
  return std::string(value->get_string());
}

// As the kubelet and a cloud's controller label every node.
void SetUsualLabels(const CatalogueShape& shape, const kubelet::NodeShape& read, json::object& labels) {
  const auto set = [&](std::string_view key, std::string_view value) {
    if (!labels.contains(key) && !value.empty()) labels[key] = value;
  };
  set("kubernetes.io/os", "linux");
  set("kubernetes.io/arch", "amd64");
  set(kInstanceTypeLabel, shape.name);
  if (!shape.zones.empty() || read.region != kubelet::NodeShape().region) set(kRegionLabel, read.region);
}

json::object ManifestOf(const CatalogueShape& shape, const kubelet::NodeShape& read, std::string_view capacity_type) {
  json::object labels;
  for (const auto& [key, value] : read.labels) labels[key] = value;
  SetUsualLabels(shape, read, labels);
  if (!capacity_type.empty()) labels[kCapacityTypeLabel] = capacity_type;
  json::object annotations;
  for (const auto& [key, value] : read.annotations) annotations[key] = value;
  json::array taints;
  for (const auto& taint : read.taints)
    taints.push_back(json::object{{"key", taint.key}, {"value", taint.value}, {"effect", taint.effect}});
  json::object allocatable{{"cpu", read.cpu}, {"memory", read.memory}, {"pods", read.pods}};
  for (const auto& [name, amount] : read.resources) allocatable[name] = amount;
  return {{"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata",
           json::object{{"name", "new"}, {"labels", std::move(labels)}, {"annotations", std::move(annotations)}}},
          {"spec", json::object{{"taints", std::move(taints)}}},
          {"status", json::object{{"allocatable", std::move(allocatable)},
                                  {"conditions", json::array{json::object{{"type", "Ready"}, {"status", "True"}}}}}}};
}

Expected<void> ReadCountMax(const json::object& entry, const std::string& path, CatalogueShape& shape) {
  const json::value* value = entry.if_contains("max");
  if (value == nullptr) return {};
  if (!value->is_int64() || value->get_int64() < 0 || value->get_int64() > kCountMax)
    return Wrong(path + ".max", json::serialize(*value) + " should be 0 to " + std::to_string(kCountMax));
  shape.count_max = value->get_int64();
  return {};
}

// A map of names; null: it is not there.
Expected<const json::object*> Map(const json::object& entry, const char* key, const std::string& path,
                                  std::string_view want) {
  const json::value* value = entry.if_contains(key);
  if (value == nullptr) return static_cast<const json::object*>(nullptr);
  if (!value->is_object()) return Wrong(path + '.' + key, "it should be a map with " + std::string(want));
  return &value->get_object();
}

Expected<void> ReadNodeClass(const json::object& entry, const std::string& path, CatalogueShape& shape) {
  BERTH_ASSIGN_OR_RETURN(const json::object* map, Map(entry, "nodeClassRef", path, "group, kind and name"));
  if (map == nullptr) return {};
  const std::string at = path + ".nodeClassRef";
  BERTH_ASSIGN_OR_RETURN(shape.node_class_group, Text(*map, "group", at));
  BERTH_ASSIGN_OR_RETURN(shape.node_class_kind, Text(*map, "kind", at));
  BERTH_ASSIGN_OR_RETURN(shape.node_class, Text(*map, "name", at));
  return {};
}

Expected<void> ReadMachineDeployment(const json::object& entry, const std::string& path, CatalogueShape& shape) {
  BERTH_ASSIGN_OR_RETURN(const json::object* map,
                         Map(entry, "machineDeployment", path, "name, namespace and replicas"));
  if (map == nullptr) return {};
  const std::string at = path + ".machineDeployment";
  BERTH_ASSIGN_OR_RETURN(shape.machine_deployment, Text(*map, "name", at));
  BERTH_ASSIGN_OR_RETURN(shape.machine_deployment_namespace, Text(*map, "namespace", at));
  const json::value* replicas = map->if_contains("replicas");
  if (replicas == nullptr) return {};
  if (!replicas->is_int64() || replicas->get_int64() < 0 || replicas->get_int64() > kCountMax)
    return Wrong(at + ".replicas", json::serialize(*replicas) + " should be 0 to " + std::to_string(kCountMax));
  shape.machine_deployment_replicas = replicas->get_int64();
  return {};
}

Expected<std::int64_t> PriceOf(const json::object& entry, const std::string& path) {
  const json::value* value = entry.if_contains("price");
  if (value == nullptr) return Wrong(path + ".price", "it is missing; want what such a node costs an hour");
  const std::string text = value->is_string() ? std::string(value->get_string()) : json::serialize(*value);
  // A number is judged as the file has it, but JSON writes small ones with an exponent.
  if (value->is_double()) {
    const double price = value->get_double();
    constexpr double kMost = static_cast<double>(plugins::kPriceMicroMax) / plugins::kPriceMicroPerUnit;
    if (!(price >= 0) || price > kMost) return Wrong(path + ".price", plugins::NotAPrice(text));
    return static_cast<std::int64_t>(price * static_cast<double>(plugins::kPriceMicroPerUnit) + 0.5);
  }
  const auto price = plugins::ParsePrice(text);
  if (!price) return Wrong(path + ".price", plugins::NotAPrice(text));
  return *price;
}

Expected<CatalogueShape> ReadShape(const json::object& entry, const std::string& path) {
  CatalogueShape shape;
  shape.where = path;
  BERTH_ASSIGN_OR_RETURN(shape.name, Text(entry, "name", path));
  if (shape.name.empty()) return Wrong(path + ".name", "it is missing");
  if (!api::IsDnsSubdomain(shape.name) || !api::IsLabelValue(shape.name))
    return Wrong(path + ".name",
                 Quoted(shape.name) + " should be lower-case letters, digits, '-' and '.', as of a node");
  for (const char* key : {"cpu", "memory"}) {
    if (!entry.contains(key)) return Wrong(path + '.' + key, "it is missing; want what pods can have of such a node");
  }
  if (entry.contains("count"))
    return Wrong(path + ".count", "it is not known here; max says how many there are at most");
  BERTH_ASSIGN_OR_RETURN(shape.price_micro, PriceOf(entry, path));
  json::object without_price = entry;
  without_price["price"] = plugins::FormatPrice(shape.price_micro);
  BERTH_ASSIGN_OR_RETURN(const kubelet::NodeEntry read, kubelet::ReadNodeEntry(without_price, path, kOwnKeys));
  shape.zones = read.zones;
  std::ranges::sort(shape.zones);
  if (const auto twice = std::ranges::adjacent_find(shape.zones); twice != shape.zones.end())
    return Wrong(path + ".zones", Quoted(*twice) + " is there twice");
  BERTH_ASSIGN_OR_RETURN(std::string capacity_type, Text(entry, "capacityType", path));
  if (const auto label = read.shape.labels.find(std::string(kCapacityTypeLabel));
      capacity_type.empty() && label != read.shape.labels.end())
    capacity_type = label->second;
  if (!capacity_type.empty() && capacity_type != kSpot && capacity_type != kOnDemand && capacity_type != "reserved")
    return Wrong(path + ".capacityType", Quoted(capacity_type) + " should be spot, on-demand or reserved");
  shape.is_spot = capacity_type == kSpot;
  BERTH_RETURN_IF_ERROR(ReadCountMax(entry, path, shape));
  BERTH_ASSIGN_OR_RETURN(shape.like, Text(entry, "like", path));
  BERTH_RETURN_IF_ERROR(ReadMachineDeployment(entry, path, shape));
  BERTH_RETURN_IF_ERROR(ReadNodeClass(entry, path, shape));
  shape.manifest = ManifestOf(shape, read.shape, capacity_type);
  const auto node = api::DecodeNode(codec::WriteJson(shape.manifest));
  if (!node.ok()) return Wrong(path, node.error().message);
  shape.node = *node;
  return shape;
}

}  // namespace

Expected<NodeCatalogue> ReadCatalogue(std::string_view text) {
  BERTH_ASSIGN_OR_RETURN(const json::value document, codec::ParseYaml(text, {.bytes_max = kCatalogueBytesMax}));
  const json::value* list = document.is_object() ? document.get_object().if_contains("shapes") : nullptr;
  if (list == nullptr || !list->is_array() || list->get_array().empty() || document.get_object().size() != 1)
    return InvalidError("it should hold one list, shapes, of at least one entry");
  const json::array& entries = list->get_array();
  if (entries.size() > kShapesMax) {
    return InvalidError("shapes: " + std::to_string(entries.size()) + " are more than " + std::to_string(kShapesMax));
  }
  NodeCatalogue catalogue;
  std::size_t offers = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string path = "shapes[" + std::to_string(i) + ']';
    if (!entries[i].is_object()) return Wrong(path, "it should be a map");
    BERTH_ASSIGN_OR_RETURN(CatalogueShape shape, ReadShape(entries[i].get_object(), path));
    offers += std::max<std::size_t>(shape.zones.size(), 1);
    if (offers > kOffersMax)
      return Wrong(path, "with this one there are more than " + std::to_string(kOffersMax) + " shapes and zones");
    catalogue.shapes.push_back(std::move(shape));
  }
  return catalogue;
}

}  // namespace berth::buy
