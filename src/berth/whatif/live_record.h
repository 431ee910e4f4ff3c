// SPDX-License-Identifier: Apache-2.0
// What a running scheduler keeps of a pod, where an explanation finds everything else anew. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/time.h"

namespace berth::whatif {

// A decision as it was made. Times are of day.
struct KeptDecision {
  struct Refused {
    std::string plugin;
    std::string reason;
    std::size_t nodes = 0;
  };

  Time time{};
  std::uint64_t cycle = 0;
  std::uint64_t seed = 0;
  std::int32_t attempt = 0;
  std::string node;        // empty: not placed
  std::int64_t total = 0;  // of the node; 0 when it was the only feasible one
  std::size_t node_count = 0;
  std::size_t feasible_count = 0;
  std::vector<Refused> refusals;
  std::string message;  // why it was not placed
};

enum class QueuePlace : std::uint8_t { kActive, kBackoff, kErrorBackoff, kUnschedulable, kGated, kInFlight };

// "Active", "Backoff", ...: as in JSON.
std::string_view ToString(QueuePlace place);

struct QueueStanding {
  QueuePlace place = QueuePlace::kActive;
  std::optional<Time> backoff_until;
  std::vector<std::string> refused_by;  // the plugins that refused it, sorted
  std::vector<std::string> woken_by;    // the events that one of them waits for
};

struct LiveRecord {
  Time asked_at{};
  std::optional<KeptDecision> decision;
  std::size_t decisions_max = 0;  // so many are kept of all pods, the newest
  std::optional<QueueStanding> queue;
  // What has a say in decisions and was not asked now, one line each.
  std::vector<std::string> not_asked;
};

}  // namespace berth::whatif
