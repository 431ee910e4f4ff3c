// SPDX-License-Identifier: Apache-2.0
// Words for the failure of a plugin: kube-scheduler's where the pod shows it, a log line where nobody waits for it.
// Pure except for the log.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "berth/framework/guarded.h"
#include "berth/framework/plugin.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/status.h"

namespace berth::scheduler {

// Go's wrapping of a plugin's failure: `running PreBind plugin "X": ...`.
std::string RunningPlugin(std::string_view point, std::string_view plugin, std::string_view message);

// Adds the plugin's name to a refusal, and plugin and extension point to an error.
framework::Status NamedFailure(std::string_view point, std::string_view plugin, const framework::Status& status);

// For PreBindPreFlight, in kube-scheduler's words, which leave out "plugin" here. The point does not allow refusals, so
// that one becomes an error.
framework::Status PreFlightFailure(std::string_view plugin, const framework::Status& status);

// Logs a failure at a point whose failures change nothing for the pod.
void LogFailure(std::string_view point, std::string_view plugin, const framework::PodInfo& pod,
                const framework::Status& failed);

void LogSetUpFailure(std::string_view plugin, std::string_view what, const framework::Status& failed);

// Calls a plugin once while the scheduler is made. If it throws, the exception is logged and the plugin counts as
// having no answer.
template <typename Call>
void AskOnce(const framework::Plugin& plugin, std::string_view what, Call&& call) {
  const framework::Status failed = framework::GuardedCall(std::forward<Call>(call));
  if (!failed.IsSuccess()) LogSetUpFailure(plugin.Name(), what, failed);
}

}  // namespace berth::scheduler
