// The scheduler's own records: a profile at work, and a pod's binding cycle. For this folder's sources only.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/log.h"
#include "berth/core/scheduler/scheduler.h"
#include "berth/framework/guarded.h"

namespace berth::scheduler {

struct Scheduler::Profile {
  Profile(std::unique_ptr<runtime::ProfilePlugins> owned, runtime::EvaluatorOptions options)
      : plugins(std::move(owned)), evaluator(*plugins, options) {}

  std::unique_ptr<runtime::ProfilePlugins> plugins;
  runtime::Evaluator evaluator;
};

struct PermitWait {
  std::string plugin;
  Duration timeout{0};
  Time deadline{};
};

struct Scheduler::Binding {
  Profile* profile = nullptr;
  queue::QueuedPodInfo queued;    // queued.pod: the newest object without a node, to put back on failure
  framework::PodInfoPtr assumed;  // with the chosen node
  Phase phase = Phase::kPermit;
  std::vector<PermitWait> permits;                  // still waited for
  std::vector<framework::PreBindPlugin*> pre_bind;  // those with something to do
  std::size_t step = 0;                             // next plugin of the phase
  std::size_t extender = 0;                         // the next that may be asked to bind the pod
  std::string_view plugin;                          // whose operation is under way
  Step doing;                                       // of that operation
  framework::NodeIndex row = framework::kNoNode;    // of the chosen node when the pod was assumed
  std::uint64_t operation = 0;                      // 0: none under way
  int reads = 0;                                    // how often its outcome had to be read, for the delays
  std::string refusal;  // of a binding whose earlier posts may have taken effect: believed once the pod was read so
  Time retry_at{};      // of a read that waits
  bool waits_to_read = false;
  bool is_asking = false;  // a plugin is being called about it
};

// Asks a plugin, while the scheduler is made, for what stays the same. One that throws has none of it, and that is
// said.
template <typename Call>
void AskOnce(const framework::Plugin& plugin, std::string_view what, Call&& call) {
  const framework::Status failed = framework::GuardedCall(std::forward<Call>(call));
  if (failed.IsSuccess()) return;
  log::Warning("scheduler", "A plugin cannot say what it needs",
               {{"plugin", plugin.Name()}, {"what", what}, {"error", failed.Message()}});
}

// Go's wrapping of a plugin's failure: `running PreBind plugin "X": ...`.
std::string RunningPlugin(std::string_view point, std::string_view plugin, std::string_view message);

}  // namespace berth::scheduler
