// SPDX-License-Identifier: Apache-2.0
// What the tests of Script share: a core with profiles from a configuration's text, files in memory and metrics that
// can be read. Tests only.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "berth/core/config/load.h"
#include "berth/core/scheduler/scheduler_testing.h"
#include "berth/plugins/helper/outside_testing.h"
#include "berth/testing/fake_metrics.h"

namespace berth::plugins {

using Files = std::map<std::string, std::string>;

class ScriptedCore {
 public:
  explicit ScriptedCore(const std::string& configuration, Files files = {}) : files_(std::move(files)) {
    const auto loaded = config::LoadConfiguration(configuration);
    BERTH_CHECK(loaded.ok(), loaded.error().message);
    scheduler::Profiles profiles;
    profiles.handle = std::make_unique<scheduler::CoreHandle>(
        [](framework::PermitDecision) {}, metrics,
        [this](const std::string& path) -> Expected<framework::FileText> {
          const auto it = files_.find(path);
          if (it == files_.end()) return Error{ErrorCode::kNotFound, path + ": no such file or directory"};
          return framework::FileText{"/resolved/" + path, it->second};
        });
    auto made = runtime::MakeProfiles(*loaded, InTreePlugins(), *profiles.handle);
    if (!made.ok()) {
      error = made.error().message;
      return;
    }
    static_cast<std::vector<std::unique_ptr<runtime::ProfilePlugins>>&>(profiles) = std::move(*made);
    harness = std::make_unique<scheduler::Harness>(std::move(profiles));
  }

  // The file has this text now; false: it is not taken up, and error says why.
  bool Reload(const std::string& text) {
    const auto& source = harness->core.outside_sources().at(0).source;
    auto data = source.parse(text);
    if (!data.ok()) error = data.error().message;
    const bool is_good = data.ok();
    harness->core.Handle(scheduler::OutsideDone{0, std::move(data)}, harness->now);
    return is_good;
  }

  // Lines that Take() gives, one a line.
  std::string Take() {
    std::string text;
    for (const std::string& line : harness->Take()) text += line + "\n";
    return text;
  }
  double Errors(const std::string& function, const std::string& plugin = "Script") const {
    return metrics.Value("berth_script_errors_total,profile=default-scheduler,plugin=" + plugin +
                         ",function=" + function);
  }

  testing::FakeMetrics metrics;
  std::string error;
  std::unique_ptr<scheduler::Harness> harness;  // null: the profiles could not be made

 private:
  Files files_;
};

inline std::string Indented(const std::string& text, int spaces) {
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    out += std::string(static_cast<std::size_t>(spaces), ' ') + text.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return out;
}

// The default profile with a script, given by further arguments as lines of YAML.
inline std::string WithScript(const std::string& arguments, const std::string& name = "Script", int weight = 2000) {
  return "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
         "  - schedulerName: default-scheduler\n    plugins: {multiPoint: {enabled: [{name: " +
         name + ", weight: " + std::to_string(weight) + "}]}}\n    pluginConfig:\n      - name: " + name +
         "\n        args:\n" + Indented(arguments, 10);
}

// With the script itself in the arguments.
inline std::string WithSource(const std::string& source, const std::string& arguments = "") {
  return WithScript("source: |\n" + Indented(source, 2) + arguments);
}

}  // namespace berth::plugins
