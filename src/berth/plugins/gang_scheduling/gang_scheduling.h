// SPDX-License-Identifier: Apache-2.0
// GangScheduling: a gang is scheduled when it has minCount pods, and placed when minCount of them fit. A composite gang
// counts groups as a gang counts pods. Without pod groups in the scheduler it does nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/framework/pod_groups.h"
#include "berth/plugins/names.h"

namespace berth::plugins {

class GangScheduling final : public framework::PreEnqueuePlugin,
                             public framework::PermitPlugin,
                             public framework::PlacementFeasiblePlugin,
                             public framework::ObjectReader,
                             public framework::EnqueueExtensions {
 public:
  // `handle` must outlive the plugin.
  explicit GangScheduling(framework::Handle& handle) : handle_(handle) {}

  std::string_view Name() const override { return names::kGangScheduling; }
  framework::Status PreEnqueue(const framework::PodInfo& pod) const override;
  framework::PermitResult Permit(const framework::Cycle& cycle, const framework::PodInfo& pod,
                                 std::string_view node_name) override;
  framework::Status PlacementFeasible(const framework::PodGroupKey& group,
                                      const framework::PlacementProgress& progress) const override;
  std::vector<framework::ObjectKind> ObjectsRead() const override;
  std::vector<framework::ClusterEventWithHint> EventsToRegister() const override;

 private:
  using Count = std::size_t (*)(const framework::PodGroups::Counts& counts);

  // Whether so many pods, or groups, are there as the group wants.
  static bool IsReady(const framework::PodGroups& groups, const framework::PodGroupKey& group, Count count,
                      int depth = 0);
  // The same of a root, whose pods ask one after the other: the last answer is kept until something changes.
  bool IsTreeReady(const framework::PodGroups& groups, const framework::PodGroupKey& root, Count count) const;
  bool AreOneHierarchy(const framework::PodInfo& pod, const framework::PodGroupKey& group) const;

  struct Known {
    std::uint64_t version = 0;
    framework::PodGroupKey root;
    bool is_ready = false;
  };

  framework::Handle& handle_;
  mutable Known all_;
  mutable Known scheduled_;
};

}  // namespace berth::plugins
