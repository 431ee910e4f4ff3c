// SPDX-License-Identifier: Apache-2.0
// How the failure of a plugin is told: in kube-scheduler's words to whoever reads the pod, in the log where nobody
// waits for it. Pure but for the log.
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

// A refusal with the plugin's name, an error with the place where it happened.
framework::Status NamedFailure(std::string_view point, std::string_view plugin, const framework::Status& status);

// In kube-scheduler's words, which leave out "plugin" here. A refusal is none of what the point allows.
framework::Status PreFlightFailure(std::string_view plugin, const framework::Status& status);

// Of a point whose failure changes nothing for the pod.
void LogFailure(std::string_view point, std::string_view plugin, const framework::PodInfo& pod,
                const framework::Status& failed);

void LogSetUpFailure(std::string_view plugin, std::string_view what, const framework::Status& failed);

// Asks a plugin, while the scheduler is made, for what stays the same. One that throws has none of it, and that is
// logged.
template <typename Call>
void AskOnce(const framework::Plugin& plugin, std::string_view what, Call&& call) {
  const framework::Status failed = framework::GuardedCall(std::forward<Call>(call));
  if (!failed.IsSuccess()) LogSetUpFailure(plugin.Name(), what, failed);
}

}  // namespace berth::scheduler
