// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/kubelet/nodes_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "berth/api/meta.h"
#include "berth/api/quantity.h"
#include "berth/base/edit_distance.h"
#include "berth/codec/json.h"
#include "berth/codec/yaml.h"

namespace berth::kubelet {
namespace {

namespace json = codec::json;

constexpr std::size_t kBytesMax = std::size_t{4} << 20;
constexpr const char* kPriceAnnotation = "berth.dev/price";
constexpr std::array<std::string_view, 12> kKeys = {"annotations", "count", "cpu",    "labels",    "memory", "name",
                                                    "pods",        "price", "region", "resources", "taints", "zones"};

// "nodes[2]" and what is below it.
struct Place {
  std::string path;
  Error Wrong(const std::string& what) const { return InvalidError(path + ": " + what); }
  Place Below(std::string_view key) const { return {path + '.' + std::string(key)}; }
};

// A number or a string, as it is written.
Expected<std::string> Scalar(const json::value& value, const Place& place) {
  if (value.is_string()) return std::string(value.get_string());
  if (value.is_double()) {  // the shortest text, without an exponent where it can be
    std::array<char, 32> digits{};
    const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), value.get_double());
    return std::string(digits.data(), written.ptr);
  }
  if (value.is_number()) return json::serialize(value);
  return place.Wrong(json::serialize(value) + " should be a number or a string");
}

Expected<std::string> Amount(const json::value& value, const Place& place, bool is_whole) {
  BERTH_ASSIGN_OR_RETURN(std::string text, Scalar(value, place));
  const auto quantity = api::Quantity::Parse(text);
  if (!quantity.ok()) return place.Wrong(quantity.error().message);
  if (quantity->IsNegative()) return place.Wrong(text + " is less than nothing; it should be 0 or more");
  if (is_whole && *quantity != api::Quantity::FromValue(quantity->Value()))
    return place.Wrong(text + " is counted and should be a whole number");
  return text;
}

// Cpu, memory and pods: a node without any takes no pod.
Expected<void> ReadAmount(const json::object& entry, const char* key, const Place& place, bool is_whole,
                          std::string& out) {
  const json::value* value = entry.if_contains(key);
  if (value == nullptr) return {};
  BERTH_ASSIGN_OR_RETURN(out, Amount(*value, place.Below(key), is_whole));
  if (api::Quantity::Parse(out)->IsZero()) return place.Below(key).Wrong("0 should be above 0");
  return {};
}

using Strings = std::map<std::string, std::string>;

Expected<void> ReadStrings(const json::object& entry, const char* key, const Place& place, bool are_labels,
                           Strings& out) {
  const json::value* value = entry.if_contains(key);
  if (value == nullptr) return {};
  if (!value->is_object()) return place.Below(key).Wrong(json::serialize(*value) + " should be a map of strings");
  for (const auto& [name, text] : value->get_object()) {
    const Place at = place.Below(key).Below(name);
    if (!api::IsQualifiedName(name)) return at.Wrong("this is no label's or annotation's name");
    BERTH_ASSIGN_OR_RETURN(std::string own, Scalar(text, at));
    if (are_labels && !api::IsLabelValue(own)) return at.Wrong(json::serialize(text) + " is no value of a label");
    out[std::string(name)] = std::move(own);
  }
  return {};
}

Expected<void> ReadTaints(const json::object& entry, const Place& place, NodeShape& shape) {
  const json::value* list = entry.if_contains("taints");
  if (list == nullptr) return {};
  if (!list->is_array()) return place.Below("taints").Wrong(json::serialize(*list) + " should be a list");
  for (std::size_t i = 0; i < list->get_array().size(); ++i) {
    const Place at{place.path + ".taints[" + std::to_string(i) + ']'};
    const json::object* taint = list->get_array()[i].if_object();
    const auto text = [&](const char* key) -> std::string {
      const json::value* value = taint == nullptr ? nullptr : taint->if_contains(key);
      return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
    };
    NodeShape::Taint read{text("key"), text("value"), text("effect")};
    if (!api::IsQualifiedName(read.key)) return at.Wrong("key \"" + read.key + "\" is no taint's key");
    if (read.effect != "NoSchedule" && read.effect != "PreferNoSchedule" && read.effect != "NoExecute") {
      return at.Wrong("effect \"" + read.effect + "\" should be NoSchedule, PreferNoSchedule or NoExecute");
    }
    shape.taints.push_back(std::move(read));
  }
  return {};
}

Expected<std::vector<std::string>> ReadZones(const json::object& entry, const Place& place) {
  std::vector<std::string> zones;
  const json::value* list = entry.if_contains("zones");
  if (list == nullptr) return zones;
  if (!list->is_array() || list->get_array().empty())
    return place.Below("zones").Wrong(json::serialize(*list) + " should be a list of zones");
  for (const json::value& each : list->get_array()) {
    if (!each.is_string() || !api::IsLabelValue(std::string_view(each.get_string())))
      return place.Below("zones").Wrong(json::serialize(each) + " is no value of a label");
    zones.emplace_back(each.get_string());
  }
  return zones;
}

Expected<void> CheckKeys(const json::object& entry, const Place& place,
                         std::span<const std::string_view> further_keys) {
  std::vector<std::string_view> known(kKeys.begin(), kKeys.end());
  known.insert(known.end(), further_keys.begin(), further_keys.end());
  for (const auto& [key, value] : entry) {
    if (std::ranges::find(known, std::string_view(key)) != known.end()) continue;
    return place.Wrong("\"" + std::string(key) + "\" is nothing that a node has here; the nearest is " +
                       std::string(NearestName(std::string_view(key), known)));
  }
  return {};
}

Expected<NodeShape> ReadShape(const json::object& entry, const Place& place,
                              std::span<const std::string_view> further_keys) {
  BERTH_RETURN_IF_ERROR(CheckKeys(entry, place, further_keys));
  NodeShape shape;
  BERTH_RETURN_IF_ERROR(ReadAmount(entry, "cpu", place, false, shape.cpu));
  BERTH_RETURN_IF_ERROR(ReadAmount(entry, "memory", place, false, shape.memory));
  BERTH_RETURN_IF_ERROR(ReadAmount(entry, "pods", place, true, shape.pods));
  if (const json::value* resources = entry.if_contains("resources")) {
    const Place at = place.Below("resources");
    if (!resources->is_object()) return at.Wrong(json::serialize(*resources) + " should be a map of amounts");
    for (const auto& [name, value] : resources->get_object()) {
      if (!api::IsQualifiedName(name)) return at.Below(name).Wrong("this is no resource's name");
      const bool is_whole = std::string_view(name).find('/') != std::string_view::npos;
      BERTH_ASSIGN_OR_RETURN(shape.resources[std::string(name)], Amount(value, at.Below(name), is_whole));
    }
  }
  BERTH_RETURN_IF_ERROR(ReadStrings(entry, "labels", place, true, shape.labels));
  BERTH_RETURN_IF_ERROR(ReadStrings(entry, "annotations", place, false, shape.annotations));
  BERTH_RETURN_IF_ERROR(ReadTaints(entry, place, shape));
  if (const json::value* price = entry.if_contains("price")) {
    BERTH_ASSIGN_OR_RETURN(shape.annotations[kPriceAnnotation], Amount(*price, place.Below("price"), false));
  }
  if (const json::value* region = entry.if_contains("region")) {
    BERTH_ASSIGN_OR_RETURN(shape.region, Scalar(*region, place.Below("region")));
    if (!api::IsLabelValue(shape.region))
      return place.Below("region").Wrong(json::serialize(*region) + " is no value of a label");
  }
  return shape;
}

// The number of nodes of an entry; 0: one node that has the entry's name itself.
Expected<int> ReadCount(const json::object& entry, const Place& place) {
  const json::value* count = entry.if_contains("count");
  if (count == nullptr) return 0;
  if (!count->is_int64() || count->get_int64() < 1 || count->get_int64() > kNodesMax) {
    return place.Below("count").Wrong(json::serialize(*count) + " should be 1 to " + std::to_string(kNodesMax));
  }
  return static_cast<int>(count->get_int64());
}

}  // namespace

Expected<NodeEntry> ReadNodeEntry(const json::object& entry, const std::string& path,
                                  std::span<const std::string_view> further_keys) {
  const Place place{path};
  NodeEntry read;
  BERTH_ASSIGN_OR_RETURN(read.shape, ReadShape(entry, place, further_keys));
  BERTH_ASSIGN_OR_RETURN(read.zones, ReadZones(entry, place));
  return read;
}

Expected<std::vector<NodeShape>> ParseNodesFile(std::string_view text) {
  BERTH_ASSIGN_OR_RETURN(const json::value document, codec::ParseYaml(text, {.bytes_max = kBytesMax}));
  const json::value* list = document.is_object() ? document.get_object().if_contains("nodes") : nullptr;
  if (list == nullptr || !list->is_array() || list->get_array().empty() || document.get_object().size() != 1) {
    return InvalidError("it should hold one list, nodes, of at least one entry");
  }
  std::vector<NodeShape> shapes;
  std::set<std::string> names;
  for (std::size_t i = 0; i < list->get_array().size(); ++i) {
    const Place place{"nodes[" + std::to_string(i) + ']'};
    const json::object* entry = list->get_array()[i].if_object();
    if (entry == nullptr) return place.Wrong("it should be a map");
    BERTH_ASSIGN_OR_RETURN(NodeShape shape, ReadShape(*entry, place, {}));
    BERTH_ASSIGN_OR_RETURN(const std::vector<std::string> zones, ReadZones(*entry, place));
    BERTH_ASSIGN_OR_RETURN(const int count, ReadCount(*entry, place));
    if (shapes.size() + static_cast<std::size_t>(std::max(count, 1)) > static_cast<std::size_t>(kNodesMax))
      return place.Wrong("there are more than " + std::to_string(kNodesMax) + " nodes");
    std::string base = "node";
    if (const json::value* name = entry->if_contains("name")) {
      BERTH_ASSIGN_OR_RETURN(base, Scalar(*name, place.Below("name")));
    }
    for (int number = 1; number <= std::max(count, 1); ++number) {
      shape.name = count == 0 ? base : base + '-' + std::to_string(number);
      if (!api::IsDnsSubdomain(shape.name))
        return place.Below("name").Wrong("\"" + shape.name + "\" should be lower-case letters, digits, '-' and '.'");
      if (!names.insert(shape.name).second)
        return place.Below("name").Wrong("there are two nodes \"" + shape.name + '"');
      if (!zones.empty()) shape.zone = zones[static_cast<std::size_t>(number - 1) % zones.size()];
      shapes.push_back(shape);
    }
  }
  return shapes;
}

}  // namespace berth::kubelet
