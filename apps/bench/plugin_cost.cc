// SPDX-License-Identifier: Apache-2.0
#include "plugin_cost.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/check.h"
#include "berth/codec/json.h"
#include "berth/core/config/default.h"
#include "berth/core/runtime/profile_factory.h"
#include "berth/core/scheduler/core_handle.h"
#include "berth/core/scheduler/scheduler.h"
#include "berth/core/scheduler/scheduler_options.h"
#include "berth/plugins/own_plugins.h"
#include "driver.h"
#include "workloads.h"

namespace berth::bench {
namespace {

using framework::Dependency;

constexpr const char* kName = "Trivial";

// Each plugin reads a field of the node, so that it has some work, and accepts the node.
class TrivialFilter final : public framework::FilterPlugin {
 public:
  explicit TrivialFilter(Dependency dependency) : dependency_(dependency) {}
  std::string_view Name() const override { return kName; }
  Dependency FilterDependsOn() const override { return dependency_; }
  framework::Status Filter(const framework::Cycle&, const framework::PodInfo&,
                           const framework::NodeInfo& node) const override {
    if (node.has_node()) return {};
    return framework::Status::Unschedulable("no node");
  }

 private:
  const Dependency dependency_;
};

class TrivialScore final : public framework::ScorePlugin {
 public:
  explicit TrivialScore(Dependency dependency) : dependency_(dependency) {}
  std::string_view Name() const override { return kName; }
  Dependency ScoreDependsOn() const override { return dependency_; }
  std::int64_t Score(const framework::Cycle&, const framework::PodInfo&, framework::NodeIndex,
                     const framework::NodeInfo& node, framework::Status&) const override {
    return node.has_node() ? 1 : 0;
  }

 private:
  const Dependency dependency_;
};

class TrivialBoth final : public framework::FilterPlugin, public framework::ScorePlugin {
 public:
  explicit TrivialBoth(Dependency dependency) : dependency_(dependency) {}
  std::string_view Name() const override { return kName; }
  Dependency FilterDependsOn() const override { return dependency_; }
  Dependency ScoreDependsOn() const override { return dependency_; }
  framework::Status Filter(const framework::Cycle&, const framework::PodInfo&,
                           const framework::NodeInfo& node) const override {
    if (node.has_node()) return {};
    return framework::Status::Unschedulable("no node");
  }
  std::int64_t Score(const framework::Cycle&, const framework::PodInfo&, framework::NodeIndex,
                     const framework::NodeInfo& node, framework::Status&) const override {
    return node.has_node() ? 1 : 0;
  }

 private:
  const Dependency dependency_;
};

struct Form {
  const char* name;
  const char* about;
  std::function<std::unique_ptr<framework::Plugin>()> make;  // empty: no plugin in C++
  std::string script = {};                                   // source of a script; empty: none
};

template <typename Plugin>
std::function<std::unique_ptr<framework::Plugin>()> Maker(Dependency dependency) {
  return [dependency] { return std::make_unique<Plugin>(dependency); };
}

std::vector<Form> Forms() {
  const std::string compares_labels =
      "function filter(pod, node) return node.metadata.labels['topology.kubernetes.io/zone'] ~= 'nowhere' end";
  const std::string compares_numbers =
      "function filter(pod, node) return node.free.cpu_milli >= pod.requests.cpu_milli end";
  return {
      {"none", "no plugin of one's own", {}},
      {"filter", "a filter that says nothing of what it rests on (kCycle)", Maker<TrivialFilter>(Dependency::kCycle)},
      {"filter-node", "a filter that rests on the node alone (kNode)", Maker<TrivialFilter>(Dependency::kNode)},
      {"score", "a score that says nothing of what it rests on (kCycle)", Maker<TrivialScore>(Dependency::kCycle)},
      {"score-node", "a score that rests on the node alone (kNode)", Maker<TrivialScore>(Dependency::kNode)},
      {"both", "a filter and a score in one, kCycle", Maker<TrivialBoth>(Dependency::kCycle)},
      {"both-node", "a filter and a score in one, kNode", Maker<TrivialBoth>(Dependency::kNode)},
      {"lua-label", "a filter in Lua that compares a label", {}, compares_labels},
      {"lua-number", "a filter in Lua that compares two numbers", {}, compares_numbers},
      {"lua-node",
       "the same, and declares that it rests on the node alone",
       {},
       "depends_on = 'node' " + compares_numbers},
  };
}

// CPU seconds of one run; negative when it left a pod unbound.
double RunOnce(const Form& form, const PluginCostOptions& options) {
  config::KubeSchedulerConfiguration configuration = config::DefaultConfiguration();
  std::vector<plugins::OwnPlugin> own;
  if (form.make) {
    own.push_back(
        {framework::WithPlugin(kName, [&](framework::PluginArgs&, framework::Handle&) { return form.make(); }), {}});
    configuration.profiles.front().plugins.multi_point.enabled.push_back({kName, 1});
  }
  if (!form.script.empty()) {
    config::Profile& profile = configuration.profiles.front();
    profile.plugins.multi_point.enabled.push_back({"Script", 1});
    profile.plugin_config.push_back(
        {"Script", config::RawArgs{codec::WriteJson(codec::json::object{{"source", form.script}})}});
  }
  const auto registry = plugins::AllPlugins(own);
  BERTH_CHECK(registry.ok(), registry.error().message);
  scheduler::CoreHandle handle([](framework::PermitDecision) {});
  auto profiles = runtime::MakeProfiles(configuration, *registry, handle);
  BERTH_CHECK(profiles.ok(), profiles.error().message);

  Shape shape;
  shape.nodes = options.nodes;
  shape.pods = options.pods;
  const Workload workload = MakeWorkload(*FindWorkload("basic"), shape);
  scheduler::Scheduler core({.seed = 1}, handle, std::move(*profiles));
  const Meter meter;
  Driver driver(core, workload, nullptr);
  driver.Prepare();
  const RunResult run = driver.Run(meter);
  return run.bound == static_cast<std::uint64_t>(options.pods) ? run.after.cpu_s - run.before.cpu_s : -1;
}

}  // namespace

int RunPluginCost(const PluginCostOptions& options) {
  const std::vector<Form> forms = Forms();
  std::vector<std::vector<double>> seconds(forms.size());
  for (int round = 0; round < options.rounds; ++round) {
    for (std::size_t i = 0; i < forms.size(); ++i) {
      seconds[i].push_back(RunOnce(forms[i], options));
      if (seconds[i].back() >= 0) continue;
      std::fprintf(stderr, "berth-bench: plugin: form %s left pods unbound\n", forms[i].name);
      return 1;
    }
  }
  if (options.json) {
    std::printf("{\"nodes\":%d,\"pods\":%d,\"rounds\":%d,\"forms\":[", options.nodes, options.pods, options.rounds);
  } else {
    std::printf("%d nodes, %d pods, median of %d runs\n%-12s %9s %12s\n", options.nodes, options.pods, options.rounds,
                "form", "us/pod", "ns/node/pod");
  }
  double without = 0;
  for (std::size_t i = 0; i < forms.size(); ++i) {
    std::nth_element(seconds[i].begin(), seconds[i].begin() + options.rounds / 2, seconds[i].end());
    const double us_per_pod = seconds[i][static_cast<std::size_t>(options.rounds / 2)] * 1e6 / options.pods;
    if (i == 0) without = us_per_pod;
    const double ns_per_node = (us_per_pod - without) * 1e3 / options.nodes;
    if (options.json) {
      std::printf("%s{\"form\":\"%s\",\"us_per_pod\":%.2f,\"ns_per_node_and_pod\":%.3f}", i == 0 ? "" : ",",
                  forms[i].name, us_per_pod, ns_per_node);
    } else {
      std::printf("%-12s %9.2f %12.2f  %s\n", forms[i].name, us_per_pod, ns_per_node, forms[i].about);
    }
  }
  if (options.json) std::puts("]}");
  return 0;
}

}  // namespace berth::bench
