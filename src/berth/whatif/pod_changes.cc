// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/pod_changes.h"

#include <algorithm>
#include <array>
#include <utility>

#include "berth/api/names.h"
#include "berth/framework/resource.h"

namespace berth::whatif {
namespace {

using api::Container;
using api::Quantity;

constexpr std::string_view kCordonTaint = "node.kubernetes.io/unschedulable";

bool IsCpu(std::string_view resource) { return resource == framework::resources::kCpu; }

std::int64_t AmountOf(std::string_view resource, const Quantity& quantity) {
  return IsCpu(resource) ? quantity.MilliValue() : quantity.Value();
}

Quantity QuantityOf(std::string_view resource, std::int64_t amount) {
  return IsCpu(resource) ? Quantity::FromMilli(amount) : Quantity::FromValue(amount);
}

Quantity* Find(api::ResourceList& list, std::string_view resource) {
  const auto at = std::find_if(list.begin(), list.end(), [&](const auto& entry) { return entry.first == resource; });
  return at == list.end() ? nullptr : &at->second;
}

std::int64_t Requested(const Container& container, std::string_view resource) {
  const Quantity* const found = api::FindResource(container.requests, resource);
  return found == nullptr ? 0 : AmountOf(resource, *found);
}

class Capping {
 public:
  Capping(std::string_view resource, std::vector<std::string>* changes) : resource_(resource), changes_(changes) {}

  void Cap(api::ResourceList& list, const std::string& path, std::int64_t amount_max) {
    Quantity* const quantity = Find(list, resource_);
    if (quantity == nullptr) return;
    const std::int64_t before = AmountOf(resource_, *quantity);
    if (before <= amount_max) return;
    *quantity = QuantityOf(resource_, std::max<std::int64_t>(amount_max, 0));
    if (changes_ == nullptr) return;
    changes_->push_back(path + ".resources.requests." + std::string(resource_) + ": " +
                        AmountText(resource_, std::max<std::int64_t>(amount_max, 0)) + " instead of " +
                        AmountText(resource_, before));
  }

 private:
  const std::string_view resource_;
  std::vector<std::string>* const changes_;
};

}  // namespace

std::string AmountText(std::string_view resource, std::int64_t amount) {
  if (IsCpu(resource)) return amount % 1000 == 0 ? std::to_string(amount / 1000) : std::to_string(amount) + "m";
  const bool is_bytes = api::IsContainerResource(resource);
  if (!is_bytes || amount == 0) return std::to_string(amount);
  constexpr std::array<std::pair<int, const char*>, 4> kUnits = {{{40, "Ti"}, {30, "Gi"}, {20, "Mi"}, {10, "Ki"}}};
  for (const auto& [shift, unit] : kUnits) {
    if (amount % (std::int64_t{1} << shift) == 0) return std::to_string(amount >> shift) + unit;
  }
  return std::to_string(amount);
}

api::Pod WithRequestAtMost(const api::Pod& pod, std::string_view resource, std::int64_t amount_max,
                           std::vector<std::string>* changes) {
  api::Pod changed = pod;
  api::PodSpec& spec = changed.spec;
  Capping capping(resource, changes);
  const Quantity* const overhead = api::FindResource(spec.overhead, resource);
  const std::int64_t allowed =
      std::max<std::int64_t>(0, amount_max - (overhead == nullptr ? 0 : AmountOf(resource, *overhead)));
  capping.Cap(spec.requests, "spec", allowed);

  // Sidecars run beside the containers, and beside the init containers that come after them.
  std::vector<std::pair<Container*, std::string>> together;
  std::int64_t sum = 0;
  for (Container& container : spec.init_containers) {
    if (container.restart_always) together.emplace_back(&container, "spec.initContainers[" + container.name + "]");
  }
  for (Container& container : spec.containers)
    together.emplace_back(&container, "spec.containers[" + container.name + "]");
  for (const auto& [container, path] : together) sum += Requested(*container, resource);
  std::stable_sort(together.begin(), together.end(), [&](const auto& a, const auto& b) {
    return Requested(*a.first, resource) > Requested(*b.first, resource);
  });
  for (const auto& [container, path] : together) {
    if (sum <= allowed) break;
    const std::int64_t before = Requested(*container, resource);
    const std::int64_t after = std::max<std::int64_t>(0, before - (sum - allowed));
    capping.Cap(container->requests, path, after);
    sum -= before - after;
  }
  std::int64_t sidecars = 0;
  for (Container& container : spec.init_containers) {
    if (container.restart_always) {
      sidecars += Requested(container, resource);
    } else {
      capping.Cap(container.requests, "spec.initContainers[" + container.name + "]",
                  std::max<std::int64_t>(0, allowed - sidecars));
    }
  }
  return changed;
}

api::Toleration TolerationOf(const api::Taint& taint) {
  return {taint.key, taint.value.empty() ? "Exists" : "Equal", taint.value, taint.effect};
}

std::string TaintText(const api::Taint& taint) {
  const char* const effect = taint.effect == api::TaintEffect::kNoSchedule         ? "NoSchedule"
                             : taint.effect == api::TaintEffect::kNoExecute        ? "NoExecute"
                             : taint.effect == api::TaintEffect::kPreferNoSchedule ? "PreferNoSchedule"
                                                                                   : "";
  return taint.key + (taint.value.empty() ? "" : "=" + taint.value) + ":" + effect;
}

std::vector<api::Taint> UntoleratedTaints(const api::Pod& pod, const api::Node& node) {
  std::vector<api::Taint> taints;
  for (const api::Taint& taint : node.taints) {
    if (taint.effect != api::TaintEffect::kNoSchedule && taint.effect != api::TaintEffect::kNoExecute) continue;
    const bool is_tolerated = std::any_of(pod.spec.tolerations.begin(), pod.spec.tolerations.end(),
                                          [&](const api::Toleration& t) { return t.Tolerates(taint); });
    if (!is_tolerated) taints.push_back(taint);
  }
  return taints;
}

api::Node Uncordoned(const api::Node& node) {
  api::Node changed = node;
  changed.unschedulable = false;
  std::erase_if(changed.taints, [](const api::Taint& taint) { return taint.key == kCordonTaint; });
  return changed;
}

api::StringMap MissingLabels(const api::Pod& pod, const api::Node& node) {
  api::StringMap missing;
  for (const auto& [key, value] : pod.spec.node_selector) {
    const std::string* const has = node.metadata.labels.Find(key);
    if (has == nullptr || *has != value) missing.Set(key, value);
  }
  return missing;
}

}  // namespace berth::whatif
