// SPDX-License-Identifier: Apache-2.0
#include "berth/page/requests_memo.h"

#include <algorithm>
#include <utility>

#include "berth/framework/make_pod_info.h"

namespace berth::page {
namespace {

// Names count where a status says what the container of that name has.
bool AreAlike(const std::vector<api::Container>& a, const std::vector<api::Container>& b, bool by_name) {
  return std::ranges::equal(a, b, [by_name](const api::Container& one, const api::Container& other) {
    return one.requests == other.requests && one.restart_always == other.restart_always &&
           (!by_name || one.name == other.name);
  });
}

}  // namespace

bool RequestTheSame(const api::Pod& a, const api::Pod& b) {
  const bool by_name = !a.status.container_statuses.empty();
  return AreAlike(a.spec.containers, b.spec.containers, by_name) &&
         AreAlike(a.spec.init_containers, b.spec.init_containers, by_name) && a.spec.overhead == b.spec.overhead &&
         a.spec.requests == b.spec.requests && a.status.container_statuses == b.status.container_statuses &&
         a.status.pod_resources == b.status.pod_resources &&
         framework::IsResizeInfeasible(a) == framework::IsResizeInfeasible(b);
}

const framework::Resource& RequestsMemo::Of(const std::shared_ptr<const api::Pod>& pod) {
  auto at = std::ranges::find_if(known_, [&](const Known& each) { return RequestTheSame(*each.pod, *pod); });
  if (at == known_.end()) {
    if (known_.size() == kKnownMax) known_.pop_back();
    at = known_.insert(known_.end(), {pod, framework::MakePodClass(*pod, {})->requests});
  }
  std::rotate(known_.begin(), at, at + 1);
  return known_.front().requests;
}

}  // namespace berth::page
