// SPDX-License-Identifier: Apache-2.0
// PodGroupReservation: a plugin of berth's own. The gang that has waited longest, of those with the highest priority,
// has room kept for it, all that it needs or none: its members are nominated for nodes whose pods are expected to end.
// Pods of its priority or a lower one stay away from there, so that smaller ones that come later cannot keep it waiting
// for ever. Known from batch systems as a reservation for the first job of the queue, with backfilling around it.
#pragma once

#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/plugins/pod_group_reservation/pod_group_reservation_args.h"

namespace berth::plugins {

std::unique_ptr<framework::Plugin> CreatePodGroupReservation(const PodGroupReservationArgs& args,
                                                             framework::Handle& handle);

}  // namespace berth::plugins
