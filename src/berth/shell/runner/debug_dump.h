// SPDX-License-Identifier: Apache-2.0
// DebugDump: what kube-scheduler writes into its log at SIGUSR2 (pkg/scheduler/backend/cache/debugger): the cache node
// by node, the queue, and where cache and queue differ from what the informers know. A plain value.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth::scheduler {
class Scheduler;
}

namespace berth::runner {

// The names of nodes, and "namespace/name" of pods; in no particular order.
struct KnownNames {
  std::vector<std::string> nodes;
  std::vector<std::string> pods;
};

// The differences between cache or queue and informers, sorted. The names are upstream's.
struct CacheMismatch {
  std::vector<std::string> missed;     // the informers have them, cache and queue do not
  std::vector<std::string> redundant;  // cache and queue have them, the informers do not
  bool empty() const { return missed.empty() && redundant.empty(); }
};
CacheMismatch Compare(std::vector<std::string> informers, std::vector<std::string> cache);

struct DebugDump {
  std::string nodes;
  std::string queue_summary;
  std::string queue_pods;
  KnownNames known;  // to cache and queue
};

// To be called between turns.
DebugDump DumpOf(const scheduler::Scheduler& scheduler);

// Writes upstream's lines. A pending pod that another scheduler is to place is missed, as it is there; so is what has
// come within the last moments.
void LogDump(const DebugDump& dump, const KnownNames& informers);

}  // namespace berth::runner
