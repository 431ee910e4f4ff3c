// SPDX-License-Identifier: Apache-2.0
// PodGroupReservation: a plugin of berth's own. The gang that has waited longest, of those with the highest priority,
// has room kept for it, all that it needs or none: its members are nominated for nodes whose pods are expected to end.
// Pods of its priority or a lower one stay away from there, so that smaller ones that come later cannot keep it waiting
// for ever. Known from batch systems as a reservation for the first job of the queue, with backfilling around it.
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "berth/base/expected.h"
#include "berth/framework/handle.h"
#include "berth/framework/pod_group_post_filter.h"
#include "berth/plugins/names.h"
#include "berth/plugins/pod_group_reservation/pod_group_reservation_args.h"
#include "berth/plugins/pod_group_reservation/reservation_turns.h"

namespace berth::plugins {

class PodGroupReservation final : public framework::PodGroupPostFilterPlugin {
 public:
  // `handle` must outlive the plugin.
  PodGroupReservation(const PodGroupReservationArgs& args, framework::Handle& handle);
  static Expected<std::unique_ptr<framework::Plugin>> Create(const config::PluginArgs& args, framework::Handle& handle);

  std::string_view Name() const override { return names::kPodGroupReservation; }
  bool IsLastResort() const override { return true; }
  framework::PodGroupPostFilterResult PodGroupPostFilter(const framework::PodGroupKey& group,
                                                         std::span<const framework::PodGroupMember> members,
                                                         framework::PodGroupDryRun& dry_run) const override;

 private:
  bool IsWaiting(const framework::PodGroupKey& group) const;

  const PodGroupReservationArgs args_;
  framework::Handle& handle_;
  const std::shared_ptr<ReservationTurns> turns_;  // of all profiles
};

}  // namespace berth::plugins
