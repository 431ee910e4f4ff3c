// SPDX-License-Identifier: Apache-2.0
// The table of kube-scheduler's flags: what each sets in KubeSchedulerOptions, and what it does in berth.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "berth/app/run/kube_scheduler_options.h"
#include "berth/shell/cli/flag_set.h"

namespace berth::app {

enum class FlagEffect : std::uint8_t {
  kSame,   // as in kube-scheduler
  kOther,  // with a difference
  kNone,   // parsed and checked, but without effect
};

struct FlagNote {
  std::string_view flag;  // without dashes
  FlagEffect effect = FlagEffect::kSame;
  std::string_view note;  // the difference, or why there is no effect; not a full sentence
};

// A note for each flag of AddKubeSchedulerFlags, in the same order.
std::span<const FlagNote> FlagNotes();

// Adds every flag of kube-scheduler 1.36, in upstream's groups. `options` has the defaults, and must outlive the
// parsing.
void AddKubeSchedulerFlags(cli::FlagSet& flags, KubeSchedulerOptions& options);

}  // namespace berth::app
