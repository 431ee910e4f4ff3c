// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/plugin_errors.h"

#include "berth/base/log.h"

namespace berth::scheduler {

using framework::Status;

std::string RunningPlugin(std::string_view point, std::string_view plugin, std::string_view message) {
  std::string text = "running ";
  return text.append(point).append(" plugin \"").append(plugin).append("\": ").append(message);
}

Status NamedFailure(std::string_view point, std::string_view plugin, const Status& status) {
  return status.IsRejected() ? status.WithPlugin(plugin)
                             : Status::Error(RunningPlugin(point, plugin, status.Message()));
}

Status PreFlightFailure(std::string_view plugin, const Status& status) {
  std::string text(plugin);
  if (status.code() == framework::Code::kError) {
    text = "running PreBindPreFlight \"" + text + "\": " + status.Message();
  } else {
    text = "PreBindPreFlight " + text + " returned \"" + std::string(ToString(status.code())) +
           "\", which is unsupported. It is supposed to return Success, Skip, or Error status";
  }
  return Status::Error(std::move(text));
}

void LogFailure(std::string_view point, std::string_view plugin, const framework::PodInfo& pod, const Status& failed) {
  log::Warning("scheduler", "A plugin fails",
               {{"point", point}, {"plugin", plugin}, {"pod", pod.Key()}, {"error", failed.Message()}});
}

void LogSetUpFailure(std::string_view plugin, std::string_view what, const Status& failed) {
  log::Warning("scheduler", "A plugin cannot say what it needs",
               {{"plugin", plugin}, {"what", what}, {"error", failed.Message()}});
}

}  // namespace berth::scheduler
