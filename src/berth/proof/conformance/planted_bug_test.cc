// SPDX-License-Identifier: Apache-2.0
// The golden cases are an alarm: a bug of the kind that a port of kube-scheduler gets wrong must ring it, in every
// form. Each bug is planted in front of the real plugin.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/plugins/names.h"
#include "berth/plugins/registry.h"
#include "berth/proof/conformance/runner.h"
#include "berth/testing/source_path.h"

namespace berth::conformance {
namespace {

namespace fs = std::filesystem;
using framework::Cycle;
using framework::NodeIndex;
using framework::NodeInfo;
using framework::PodInfo;
using framework::Status;

struct Bug {
  std::function<std::int64_t(std::int64_t)> score;  // what becomes of a raw score
  std::function<Status(Status)> filter;             // ... of a verdict
  std::function<void(api::PodSpec&)> forgets;       // what the plugin does not see of the pod it places
};

// Asks the plugin behind it, with the bug in between. Only the plain forms: the runtime's column forms call these.
class Planted final : public framework::PreFilterPlugin,
                      public framework::FilterPlugin,
                      public framework::PreScorePlugin,
                      public framework::ScorePlugin {
 public:
  Planted(std::unique_ptr<framework::Plugin> real, const Bug& bug)
      : real_(std::move(real)),
        bug_(bug),
        pre_filter_(dynamic_cast<PreFilterPlugin*>(real_.get())),
        filter_(dynamic_cast<FilterPlugin*>(real_.get())),
        pre_score_(dynamic_cast<PreScorePlugin*>(real_.get())),
        score_(dynamic_cast<ScorePlugin*>(real_.get())) {}

  std::string_view Name() const override { return real_->Name(); }
  framework::PreFilterResult PreFilter(const Cycle& cycle, const PodInfo& pod) const override {
    if (pre_filter_ == nullptr) return {};
    return pre_filter_->PreFilter(cycle, *Seen(pod));
  }
  bool HasPreFilterExtensions() const override {
    return pre_filter_ != nullptr && pre_filter_->HasPreFilterExtensions();
  }
  Status AddPod(const Cycle& cycle, const PodInfo& pod, const PodInfo& other, const NodeInfo& node) const override {
    return pre_filter_->AddPod(cycle, *Seen(pod), other, node);
  }
  Status RemovePod(const Cycle& cycle, const PodInfo& pod, const PodInfo& other, const NodeInfo& node) const override {
    return pre_filter_->RemovePod(cycle, *Seen(pod), other, node);
  }
  Status Filter(const Cycle& cycle, const PodInfo& pod, const NodeInfo& node) const override {
    if (filter_ == nullptr) return {};
    Status status = filter_->Filter(cycle, *Seen(pod), node);
    return bug_.filter ? bug_.filter(std::move(status)) : status;
  }
  Status PreScore(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> feasible) const override {
    return pre_score_ == nullptr ? Status() : pre_score_->PreScore(cycle, *Seen(pod), feasible);
  }
  framework::Normalization ScoreNormalization() const override {
    return score_ == nullptr ? framework::Normalization::kNone : score_->ScoreNormalization();
  }
  std::int64_t Score(const Cycle& cycle, const PodInfo& pod, NodeIndex row, const NodeInfo& node,
                     Status& status) const override {
    if (score_ == nullptr) return 0;
    const std::int64_t score = score_->Score(cycle, *Seen(pod), row, node, status);
    return bug_.score ? bug_.score(score) : score;
  }
  Status NormalizeScore(const Cycle& cycle, const PodInfo& pod, std::span<framework::NodeScore> scores) const override {
    return score_->NormalizeScore(cycle, *Seen(pod), scores);
  }

 private:
  std::shared_ptr<const PodInfo> Seen(const PodInfo& pod) const {
    auto seen = std::make_shared<PodInfo>(pod);
    if (!bug_.forgets) return seen;
    auto pod_class = std::make_shared<framework::PodClass>(*pod.pod_class);
    bug_.forgets(pod_class->spec);
    pod_class->id |= std::uint64_t{1} << 63;  // a class of its own, the same each time
    seen->pod_class = std::move(pod_class);
    return seen;
  }

  const std::unique_ptr<framework::Plugin> real_;
  const Bug& bug_;
  PreFilterPlugin* const pre_filter_;
  FilterPlugin* const filter_;
  PreScorePlugin* const pre_score_;
  ScorePlugin* const score_;
};

std::vector<config::KnownPlugin> With(std::string_view plugin, const Bug& bug) {
  std::vector<config::KnownPlugin> registry = plugins::InTreePlugins();
  for (config::KnownPlugin& entry : registry) {
    if (entry.name != plugin) continue;
    entry.create = [create = entry.create, &bug](
                       const config::PluginArgs& args,
                       framework::Handle& handle) -> Expected<std::unique_ptr<framework::Plugin>> {
      BERTH_ASSIGN_OR_RETURN(auto real, create(args, handle));
      return std::unique_ptr<framework::Plugin>(std::make_unique<Planted>(std::move(real), bug));
    };
  }
  return registry;
}

TEST(PlantedBugs, AreFound) {
  const struct {
    const char* name;
    const char* family;
    std::string_view plugin;
    Bug bug;
  } cases[] = {
      {"nothing", "resources", plugins::names::kNodeResourcesBalancedAllocation, {}},
      {"a score is rounded up instead of down",
       "resources",
       plugins::names::kNodeResourcesBalancedAllocation,
       {.score = [](std::int64_t score) { return score + score % 2; }}},
      {"nothing", "podaffinity", plugins::names::kInterPodAffinity, {}},
      {"existing pods' anti-affinity is not symmetric",
       "podaffinity",
       plugins::names::kInterPodAffinity,
       {.filter =
            [](Status status) {
              return status.Message() == "node(s) didn't satisfy existing pods anti-affinity rules" ? Status() : status;
            }}},
      {"nothing", "spread", plugins::names::kPodTopologySpread, {}},
      {"minDomains is ignored",
       "spread",
       plugins::names::kPodTopologySpread,
       {.forgets =
            [](api::PodSpec& spec) {
              for (auto& constraint : spec.topology_spread_constraints) constraint.min_domains.reset();
            }}},
  };
  for (const auto& test : cases) {
    const auto registry = With(test.plugin, test.bug);
    for (const runtime::Form form : {runtime::Form::kPlain, runtime::Form::kColumn, runtime::Form::kReuse}) {
      SCOPED_TRACE(std::string(test.plugin) + ": " + test.name + ", form " + std::to_string(static_cast<int>(form)));
      std::size_t failed = 0;
      for (const auto& entry : fs::directory_iterator(fs::path(testing::SourcePath("tests/golden")) / test.family)) {
        const auto loaded = LoadCase(entry.path().string());
        ASSERT_TRUE(loaded.ok()) << loaded.error().message;
        failed += RunCase(*loaded, form, registry).empty() ? 0 : 1;
      }
      const bool has_bug = test.bug.score || test.bug.filter || test.bug.forgets;
      EXPECT_EQ(failed > 0, has_bug) << failed << " cases failed";
    }
  }
}

}  // namespace
}  // namespace berth::conformance
