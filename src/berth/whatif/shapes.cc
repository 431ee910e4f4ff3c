// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/shapes.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "berth/api/names.h"
#include "berth/api/quantity.h"
#include "berth/base/edit_distance.h"
#include "berth/base/text.h"
#include "berth/whatif/own_claims.h"
#include "berth/whatif/placement.h"
#include "berth/whatif/replacement.h"

namespace berth::whatif {
namespace {

std::pair<std::string, std::string> NameAndValue(const std::string& pair) {
  const std::size_t equals = std::min(pair.find('='), pair.size());
  return {pair.substr(0, equals), equals < pair.size() ? pair.substr(equals + 1) : std::string()};
}

// What an API server would refuse in a pod: a name that no pod may ask for would be a request that every node has.
Expected<void> CheckRequest(const std::string& resource, const std::string& text, const api::Quantity& amount) {
  const bool is_standard = api::IsContainerResource(resource);
  if (const std::vector<std::string> why = api::NotQualifiedName(resource); !why.empty())
    return InvalidError("the request of \"" + resource + "\": " + why.front());
  if (!is_standard && resource.find('/') == std::string::npos)
    return InvalidError("the request of \"" + resource +
                        "\": should be cpu, memory, ephemeral-storage, hugepages-SIZE or a name with a domain, for "
                        "example nvidia.com/gpu");
  if (!is_standard && amount.MilliValue() % 1000 != 0)
    return InvalidError("the request of \"" + resource + "\": \"" + text + "\" should be a whole number");
  return {};
}

Expected<Shape> Like(const api::Pod& pod, const ClusterState& state, const framework::Objects& objects,
                     const std::string& key) {
  Shape shape{key, "--like " + key, pod};
  if (KindOf(pod) == PodKind::kDaemon) {
    // What its template required beside the node's name cannot be known from a pod; its nodeSelector can.
    if (shape.pod.spec.node_affinity) shape.pod.spec.node_affinity->required.reset();
    shape.pod.spec.node_name.clear();
    shape.daemon.emplace();
    for (const auto& other : state.pods) {
      if (!other->metadata.deletion_time && other->metadata.controller == pod.metadata.controller)
        shape.daemon->has_one.insert(other->spec.node_name);
    }
  }
  OwnClaims claims(pod, objects, true);
  if (!claims.missing().empty()) return InvalidError(shape.origin + ": " + claims.missing());
  // A claim of such a volume that is not known is left out: it would be waited for.
  const bool has_ephemeral = std::ranges::any_of(
      pod.spec.volumes, [](const api::Volume& volume) { return volume.source.kind == api::VolumeKind::kEphemeral; });
  if (claims.empty() && !has_ephemeral) return shape;
  shape.make = [claims = std::move(claims), model = shape.pod](std::size_t number,
                                                               std::vector<framework::AnyObject>& made) {
    api::Pod next = model;
    next.metadata.uid = model.metadata.name + ".capacity-" + std::to_string(number);
    claims.Give(next, next.metadata.uid, made);
    next.status.resource_claim_statuses.clear();
    return Expected<api::Pod>(std::move(next));
  };
  return shape;
}

std::string WrongPair(const std::string& text) {
  const std::size_t equals = text.find('=');
  const bool is_pair = equals != std::string::npos && api::IsQualifiedName(std::string_view(text).substr(0, equals));
  return is_pair ? "" : Quoted(text) + " should be NAME=VALUE";
}

}  // namespace

std::string WrongAmount(const std::string& text) {
  const auto amount = api::Quantity::Parse(text);
  return amount.ok() && !amount->IsNegative() ? "" : Quoted(text) + " should be an amount such as 2, 500m or 1Gi";
}

std::string WrongRequest(const std::string& text) {
  if (std::string wrong = WrongPair(text); !wrong.empty()) return wrong;
  return WrongAmount(text.substr(text.find('=') + 1));
}

std::string WrongLabel(const std::string& text) {
  if (std::string wrong = WrongPair(text); !wrong.empty()) return wrong;
  return api::IsLabelValue(std::string_view(text).substr(text.find('=') + 1))
             ? ""
             : Quoted(text) + " has no valid label value";
}

std::string WrongAmounts(const ShapeAmounts& amounts) {
  for (const std::string* const amount : {&amounts.cpu, &amounts.memory}) {
    if (amount->empty()) continue;
    if (std::string wrong = WrongAmount(*amount); !wrong.empty()) return wrong;
  }
  for (const std::string& request : amounts.requests) {
    if (std::string wrong = WrongRequest(request); !wrong.empty()) return wrong;
  }
  for (const std::string& label : amounts.node_selector) {
    if (std::string wrong = WrongLabel(label); !wrong.empty()) return wrong;
  }
  return "";
}

Expected<Shape> ShapeOfAmounts(const ShapeAmounts& amounts, const std::string& namespace_name) {
  std::vector<std::pair<std::string, std::string>> requests;
  if (!amounts.cpu.empty()) requests.emplace_back("cpu", amounts.cpu);
  if (!amounts.memory.empty()) requests.emplace_back("memory", amounts.memory);
  for (const std::string& pair : amounts.requests) requests.push_back(NameAndValue(pair));
  Shape shape;
  shape.origin = "flags";
  api::Container container;
  container.name = "main";
  for (const auto& [resource, text] : requests) {
    BERTH_ASSIGN_OR_RETURN(const api::Quantity amount, api::Quantity::Parse(text));
    BERTH_RETURN_IF_ERROR(CheckRequest(resource, text, amount));
    if (api::FindResource(container.requests, resource) != nullptr)
      return InvalidError("the request of " + resource + " is given twice");
    container.requests.emplace_back(resource, amount);
    std::ranges::sort(container.requests, {}, [](const auto& entry) { return entry.first; });
    shape.name.append(shape.name.empty() ? "" : " ").append(resource).append("=").append(text);
  }
  for (const std::string& pair : amounts.node_selector) {
    const auto [key, value] = NameAndValue(pair);
    shape.pod.spec.node_selector.Set(key, value);
    shape.name.append(shape.name.empty() ? "" : " ").append(pair);
  }
  shape.pod.metadata.namespace_name = namespace_name;
  shape.pod.spec.scheduler_name = api::kDefaultSchedulerName;
  shape.pod.spec.containers.push_back(std::move(container));
  return shape;
}

Expected<Shape> ShapeLike(const ClusterState& state, const framework::Objects& objects, const std::string& key) {
  std::vector<std::string> keys;
  keys.reserve(state.pods.size());
  for (const auto& pod : state.pods) {
    keys.push_back(KeyOf(*pod));
    if (keys.back() != key) continue;
    return Like(*pod, state, objects, key);
  }
  std::ranges::sort(keys);
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  const std::string_view nearest = NearestName(key, views);
  std::string message = "--like " + key + ": no such pod";
  if (!nearest.empty()) message.append("; the nearest name is ").append(nearest);
  return Error{ErrorCode::kNotFound, std::move(message)};
}

}  // namespace berth::whatif
