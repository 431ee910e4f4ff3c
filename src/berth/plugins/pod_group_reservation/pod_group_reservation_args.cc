// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/pod_group_reservation/pod_group_reservation_args.h"

#include "berth/plugins/helper/policy_args.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

void ReadArgs(config::ObjectReader& reader, PodGroupReservationArgs& args) {
  reader.Read("after", args.after);
  if (args.after < Duration{0})
    reader.errors().Invalid(reader.PathOf("after"), FormatGoDuration(args.after), "must be 0 or more");
}

}  // namespace

Expected<PodGroupReservationArgs> ReadPodGroupReservationArgs(const config::PluginArgs& args) {
  return ReadPolicyArgs<PodGroupReservationArgs>(names::kPodGroupReservation, args, ReadArgs);
}

}  // namespace berth::plugins
