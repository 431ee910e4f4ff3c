// SPDX-License-Identifier: Apache-2.0
// CoreLook: what the page asks a scheduler that runs in this process, between two of its turns, which wait meanwhile.
// As with /explain questions get at most a tenth of the core's time: one at a time, and after each a rest. Any thread
// that may block, but those that take turns.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "berth/base/expected.h"
#include "berth/base/hash_map.h"
#include "berth/base/time.h"
#include "berth/page/numbers.h"
#include "berth/page/pending_view.h"

namespace berth::scheduler {
class Scheduler;
}
namespace berth::whatif {
struct Explanation;
}

namespace berth::page {

struct CoreSources {
  using Question = std::function<void(scheduler::Scheduler& core, Time now, Duration wall_ahead)>;
  // Calls the question between two turns. Empty: no scheduler runs in this process.
  std::function<void(const Question&)> ask;
  // Why it decides nothing now, and so cannot be asked; nullopt: it does. Empty: it always does.
  std::function<std::optional<std::string>()> why_not;
  // What takes part in decisions and is not asked, see whatif::LiveRecord.
  std::vector<std::string> not_asked;
  // Of the profiles.
  std::vector<std::string> scheduler_names;
  // What has been counted so far, any thread; empty: nobody counts.
  std::function<ProcessCounts()> counts;
};

class CoreLook {
 public:
  // Time in the core after which an explanation tries nothing more.
  static constexpr Duration kTurnTimeMax = std::chrono::milliseconds(40);
  static constexpr int kRestFactor = 9;
  static constexpr Duration kRestMin = std::chrono::milliseconds(20);
  // Pods whose place in the queue one look finds.
  static constexpr std::size_t kStandingsMax = 1'000;

  // `clock` and what `sources` rest on must outlive it.
  CoreLook(CoreSources sources, const Clock& clock) : sources_(std::move(sources)), clock_(clock) {}

  bool IsThere() const { return sources_.ask != nullptr; }
  const CoreSources& sources() const { return sources_; }
  // Whether it decides, and why not.
  std::optional<std::string> WhyNot() const { return sources_.why_not ? sources_.why_not() : std::nullopt; }

  // As whatif::ExplainLive. kTooManyRequests: while it rests. kUnavailable: nothing is decided here now.
  Expected<whatif::Explanation> Explain(const std::string& namespace_name, const std::string& name);

  // Where a pod is in the queue or behind it, and what would bring it back.
  struct Standing {
    QueueCounts place;  // one of them is 1
    std::optional<Time> backoff_until;
    std::string held;  // why a PreEnqueue plugin holds it back, or Permit plugins do; empty: none does
    std::vector<std::string> waits_for;
  };
  // By uid, of the first kStandingsMax pods of the queue by name. nullopt: it rests, or decides nothing.
  std::optional<StringHashMap<Standing>> Standings();

 private:
  Expected<void> Ask(const CoreSources::Question& look);

  const CoreSources sources_;
  const Clock& clock_;
  std::mutex mutex_;  // guards what follows; one question at a time
  Time rest_until_{};
};

}  // namespace berth::page
