// SPDX-License-Identifier: Apache-2.0
#include "berth/proof/conformance/runner.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>

#include "berth/base/go_text.h"
#include "berth/core/cache/cache.h"
#include "berth/core/cache/pod_classes.h"
#include "berth/core/config/known_plugins.h"
#include "berth/core/queue/nominator.h"
#include "berth/core/queue/row_nominations.h"
#include "berth/core/runtime/profile_factory.h"
#include "berth/framework/preemption_report.h"
#include "berth/plugins/names.h"
#include "berth/proof/conformance/devices.h"
#include "berth/proof/conformance/group_runner.h"
#include "berth/whatif/in_memory_api.h"

namespace berth::conformance {
namespace {

using framework::PodInfo;
using framework::PodInfoPtr;
using framework::Status;
using runtime::Result;

// The oracle gives its bound pods start times from here on, a second apart.
constexpr Time kBoundEpoch = std::chrono::sys_days{std::chrono::year{2030} / 1 / 1};

// A scheduler around one case: everything that a plugin starts happens at once and succeeds.
class CaseHandle final : public framework::Handle {
 public:
  CaseHandle(queue::Nominator& nominator, const framework::NominatedRows& on_rows)
      : nominator_(nominator), on_rows_(on_rows) {}

  void Decide(framework::PermitDecision) override {}
  const framework::Objects& objects() const override { return objects_; }
  framework::Objects& objects() { return objects_; }
  void Start(framework::Operation operation) override { (void)api_.Run(std::move(operation), kBoundEpoch); }
  whatif::InMemoryApi& api() { return api_; }
  void Emit(framework::PodEvent) override {}
  const framework::NominatedRows* nominated_rows() const override { return &on_rows_; }
  std::vector<PodInfoPtr> NominatedPods(std::string_view node_name) const override {
    const auto pods = nominator_.PodsForNode(node_name);
    return {pods.begin(), pods.end()};
  }
  std::string NominatedNode(std::string_view uid) const override { return std::string(nominator_.NominatedNode(uid)); }
  PodInfoPtr FindAssignedPod(std::string_view) const override { return nullptr; }
  // The case carries out a preemption by itself: among equal nodes the oracle takes another one than the plugin.
  void ClearNomination(const PodInfo&) override {}
  bool CancelBinding(std::string_view, std::string_view, std::string_view) override { return false; }
  void Activate(std::string_view) override {}

 private:
  queue::Nominator& nominator_;
  const framework::NominatedRows& on_rows_;
  framework::Objects objects_;
  whatif::InMemoryApi api_{{objects_,
                            [this](framework::AnyObject object) { objects_.Set(object); },
                            [this](framework::ObjectKind kind, const std::string& key) { objects_.Remove(kind, key); },
                            {}}};
};

StatusRecord ToRecord(const Status& status) {
  StatusRecord record{std::string(ToString(status.code())), std::string(status.plugin()), status.reasons()};
  std::sort(record.reasons.begin(), record.reasons.end());
  return record;
}

std::string Show(const std::optional<StatusRecord>& status) {
  if (!status) return "none";
  std::string text = status->code + " by " + status->plugin + " [";
  for (const std::string& reason : status->reasons) text += (text.back() == '[' ? "" : "; ") + reason;
  return text + "]";
}

std::string Show(const std::vector<std::string>& names) { return GoList(names); }

// Where a selector fails on several devices, upstream names any of them: the name is replaced by "D".
std::string WithAnyDevice(std::string message) {
  constexpr std::string_view kBegin = " on device ";
  constexpr std::string_view kEnd = ": CEL runtime error";
  const std::size_t begin = message.find(kBegin);
  const std::size_t end = message.find(kEnd);
  if (begin != std::string::npos && end != std::string::npos && begin + kBegin.size() < end)
    message.replace(begin + kBegin.size(), end - begin - kBegin.size(), "D");
  return message;
}

std::string Show(const PreemptionRecord::Candidate& candidate) {
  return Show(candidate.victims) + ", " + std::to_string(candidate.pdb_violations) + " violations";
}

// Where kube-scheduler and berth decide differently, one line for each difference.
class Differences {
 public:
  explicit Differences(bool with_scores) : with_scores_(with_scores) {}

  void Add(std::string line) { lines_.push_back(std::move(line)); }

  void Differ(const std::string& pod, std::string_view what, const std::string& want, const std::string& got) {
    if (want == got) return;
    lines_.push_back(pod + ": " + std::string(what) + ": kube-scheduler " + want + ", berth " + got);
  }

  void Compare(const Attempt& want, const Attempt& got) {
    Differ(want.pod, "pod", want.pod, got.pod);
    Differ(want.pod, "attempt", std::to_string(want.attempt), std::to_string(got.attempt));
    Differ(want.pod, "result", want.result, got.result);
    Differ(want.pod, "preEnqueue", Show(want.pre_enqueue), Show(got.pre_enqueue));
    Differ(want.pod, "prefilter", Show(want.pre_filter), Show(got.pre_filter));
    Differ(want.pod, "prefilterNodes", want.pre_filter_nodes ? Show(*want.pre_filter_nodes) : "all",
           got.pre_filter_nodes ? Show(*got.pre_filter_nodes) : "all");
    Differ(want.pod, "nominatedEvaluated", want.nominated_evaluated, got.nominated_evaluated);
    for (const auto& [name, node] : want.nodes) {
      const auto it = got.nodes.find(name);
      if (it == got.nodes.end()) {
        Differ(want.pod, "node " + name, "filtered it", "did not");
        continue;
      }
      Differ(want.pod, "node " + name + " filter", Show(node.refused), Show(it->second.refused));
      Differ(want.pod, "node " + name + " total", node.total ? std::to_string(*node.total) : "none",
             it->second.total ? std::to_string(*it->second.total) : "none");
      if (with_scores_) CompareScores(want.pod, name, node.scores, it->second.scores);
    }
    for (const auto& [name, node] : got.nodes) {
      if (!want.nodes.contains(name)) Differ(want.pod, "node " + name, "did not filter it", "filtered it");
    }
    Differ(want.pod, "best", Show(want.best), Show(got.best));
    Differ(want.pod, "bound", want.bound, got.bound);
    Differ(want.pod, "devices", Show(want.devices), Show(got.devices));
    Differ(want.pod, "reserve", Show(want.reserve), Show(got.reserve));
    Differ(want.pod, "message", WithAnyDevice(want.message), WithAnyDevice(got.message));
    Differ(want.pod, "unschedulablePlugins", Show(want.unschedulable_plugins), Show(got.unschedulable_plugins));
    ComparePreemption(want, got);
  }

  std::vector<std::string> Take() { return std::move(lines_); }

 private:
  void ComparePreemption(const Attempt& want, const Attempt& got) {
    if (want.preemption == got.preemption) return;
    const PreemptionRecord a = want.preemption.value_or(PreemptionRecord());
    const PreemptionRecord b = got.preemption.value_or(PreemptionRecord());
    Differ(want.pod, "preemption", want.preemption ? "some" : "none", got.preemption ? "some" : "none");
    Differ(want.pod, "preemption for node", a.nominated_node, b.nominated_node);
    Differ(want.pod, "preemption victims", Show(a.victims), Show(b.victims));
    Differ(want.pod, "preemption acceptable", Show(a.acceptable), Show(b.acceptable));
    Differ(want.pod, "preemption clearedNominations", Show(a.cleared_nominations), Show(b.cleared_nominations));
    std::set<std::string> nodes;
    for (const auto& [node, candidate] : a.candidates) nodes.insert(node);
    for (const auto& [node, candidate] : b.candidates) nodes.insert(node);
    const auto show = [](const PreemptionRecord& record, const std::string& node) {
      const auto it = record.candidates.find(node);
      return it == record.candidates.end() ? std::string("none") : Show(it->second);
    };
    for (const std::string& node : nodes) {
      Differ(want.pod, "preemption candidate " + node, show(a, node), show(b, node));
    }
  }

  void CompareScores(const std::string& pod, const std::string& node, const std::map<std::string, std::int64_t>& want,
                     const std::map<std::string, std::int64_t>& got) {
    std::set<std::string> plugins;
    for (const auto& [plugin, score] : want) plugins.insert(plugin);
    for (const auto& [plugin, score] : got) plugins.insert(plugin);
    const auto show = [](const auto& scores, const std::string& plugin) {
      const auto it = scores.find(plugin);
      return it == scores.end() ? std::string("none") : std::to_string(it->second);
    };
    for (const std::string& plugin : plugins) {
      Differ(pod, "node " + node + " score of " + plugin, show(want, plugin), show(got, plugin));
    }
  }

  const bool with_scores_;
  std::vector<std::string> lines_;
};

class CaseRun {
 public:
  CaseRun(const Case& test, runtime::Form form, std::span<const config::KnownPlugin> registry)
      : test_(test), form_(form), registry_(registry) {}

  std::vector<std::string> Go() {
    if (!SetUp()) return differences_.Take();
    std::size_t next = 0;
    for (const auto& pod : test_.pending) {
      // A pod is tried again only after its own preemption.
      bool is_retried = true;
      for (int attempt = 1; is_retried && attempt <= 4; ++attempt) {
        if (next == test_.expected.size()) {
          differences_.Differ(pod->metadata.namespace_name + "/" + pod->metadata.name, "attempt",
                              std::to_string(attempt), "none");
          break;
        }
        const Attempt& want = test_.expected[next++];
        const Attempt got = Try(*pod, attempt);
        differences_.Compare(want, got);
        // The victims decide what happens next: after different preemptions nothing can be compared.
        if (want.preemption != got.preemption) return differences_.Take();
        is_retried = got.preemption.has_value();
      }
    }
    for (; next < test_.expected.size(); ++next) {
      differences_.Differ(test_.expected[next].pod, "attempt", std::to_string(test_.expected[next].attempt), "none");
    }
    return differences_.Take();
  }

 private:
  bool SetUp() {
    const auto configuration = ConfigurationOf(test_);
    if (!configuration.ok()) {
      differences_.Add("config: " + configuration.error().message);
      return false;
    }
    auto profiles = runtime::MakeProfiles(*configuration, registry_, handle_);
    if (!profiles.ok()) {
      differences_.Add("config: " + profiles.error().message);
      return false;
    }
    profiles_ = std::move(*profiles);
    classes_.emplace(std::vector<std::string>(), handle_.release());
    for (const auto& profile : profiles_) {
      evaluators_.push_back(std::make_unique<runtime::Evaluator>(
          *profile, runtime::EvaluatorOptions{.form = form_, .with_detail = true}));
    }
    for (const framework::AnyObject& object : test_.objects) handle_.objects().Set(object);
    for (const auto& node : test_.nodes) cache_.SetNode(node);
    std::vector<PodInfoPtr> waiting;
    for (const auto& pod : test_.pods) {
      const PodInfoPtr info = classes_->MakePodInfo(*pod);
      if (info->is_terminal) continue;
      if (info->node_name.empty()) {
        waiting.push_back(info);
      } else {
        cache_.SetPod(info);
      }
    }
    for (const auto& pod : test_.pending) waiting.push_back(classes_->MakePodInfo(*pod));
    for (const PodInfoPtr& pod : waiting) {
      const std::size_t profile = ProfileOf(*pod);
      if (profile == profiles_.size()) continue;
      // A gated pod is not in the queue proper, and its nomination may count for nobody.
      if (pod->nominated_node_name.empty()) continue;
      if (handle_.release().nominates_gated_pods || PreEnqueue(profile, *pod).IsSuccess())
        nominator_.AddNominatedPod(pod);
    }
    return true;
  }

  std::size_t ProfileOf(const PodInfo& pod) const {
    std::size_t p = 0;
    while (p < profiles_.size() && profiles_[p]->scheduler_name != pod.spec().scheduler_name) ++p;
    return p;
  }

  Status PreEnqueue(std::size_t profile, const PodInfo& pod) const {
    for (const framework::PreEnqueuePlugin* plugin : profiles_[profile]->pre_enqueue) {
      const Status status = plugin->PreEnqueue(pod);
      if (!status.IsSuccess()) return status.WithPlugin(plugin->Name());
    }
    return {};
  }

  // The pod as it is pending now, with the nomination that earlier attempts have given it.
  PodInfoPtr MakePending(const api::Pod& object) {
    const PodInfoPtr pod = classes_->MakePodInfo(object);
    const auto it = nominations_.find(pod->uid);
    if (it == nominations_.end()) return pod;
    auto nominated = std::make_shared<PodInfo>(*pod);
    nominated->nominated_node_name = it->second;
    return nominated;
  }

  Attempt Try(const api::Pod& object, int number) {
    const PodInfoPtr pod = MakePending(object);
    Attempt got;
    got.pod = pod->Key();
    got.attempt = number;
    const std::size_t p = ProfileOf(*pod);
    if (p == profiles_.size()) {
      got.result = "ignored";
      return got;
    }
    if (const Status gated = PreEnqueue(p, *pod); !gated.IsSuccess()) {
      got.result = "gated";
      got.pre_enqueue = ToRecord(gated);
      return got;
    }
    if (pod->deletion_time) {
      got.result = "skipped";
      got.message = "skip schedule deleting pod: " + pod->Key();
      return got;
    }
    on_rows_.Update(nominator_, cache_.nodes());
    runtime::Evaluator& evaluator = *evaluators_[p];
    const runtime::Outcome& outcome = evaluator.Evaluate(pod, cache_.nodes(), &on_rows_.rows(), 1, kBoundEpoch);
    Describe(evaluator, outcome, *pod, got);
    if (outcome.result == Result::kFeasible) {
      Bind(p, pod, got);
    } else {
      Refuse(evaluator, outcome, pod, got);
    }
    return got;
  }

  void Describe(const runtime::Evaluator& evaluator, const runtime::Outcome& outcome, const PodInfo& pod,
                Attempt& got) {
    const auto name = [&](framework::NodeIndex row) { return cache_.nodes().Info(row).name(); };
    if (!outcome.pre_filter_status.IsSuccess()) {
      got.pre_filter = ToRecord(outcome.pre_filter_status);
      return;
    }
    if (outcome.result == Result::kNoNodes) return;
    // Where a Filter plugin fails, PreFilter plugins have said where it is tried. Where one of these fails, none is named.
    if (outcome.narrowed_to && !outcome.narrowing_plugins.empty())
      got.pre_filter_nodes.emplace(outcome.narrowed_to->begin(), outcome.narrowed_to->end());
    if (outcome.result == Result::kError) return;
    if (!pod.nominated_node_name.empty() && cache_.nodes().Find(pod.nominated_node_name) != framework::kNoNode) {
      got.nominated_evaluated = pod.nominated_node_name;
      // The nominated node is filtered even where a PreFilter plugin has narrowed the search to other nodes.
      const framework::NodeIndex row = cache_.nodes().Find(pod.nominated_node_name);
      if (std::find(outcome.evaluated.begin(), outcome.evaluated.end(), row) == outcome.evaluated.end()) {
        got.nodes[pod.nominated_node_name].refused = ToRecord(outcome.nominated_status);
      }
    }
    for (const framework::NodeIndex row : outcome.evaluated) {
      const Status status = evaluator.StatusOf(row);
      NodeRecord& node = got.nodes[name(row)];
      node = {};
      if (!status.IsSuccess()) node.refused = ToRecord(status);
    }
    for (std::size_t i = 0; i < outcome.feasible.size(); ++i) {
      NodeRecord& node = got.nodes[name(outcome.feasible[i])];
      for (const auto& [plugin, scores] : outcome.scores) node.scores.emplace(plugin, scores[i]);
      if (!outcome.totals.empty()) node.total = outcome.totals[i];
    }
    for (const framework::NodeIndex row : outcome.best) got.best.push_back(name(row));
    std::sort(got.best.begin(), got.best.end());
  }

  void Bind(std::size_t p, const PodInfoPtr& pod, Attempt& got) {
    auto assumed = std::make_shared<PodInfo>(*pod);
    assumed->node_name = got.best.front();
    nominator_.DeleteNominated(pod->uid);
    cache_.AssumePod(assumed);
    const framework::Cycle cycle = evaluators_[p]->cycle();
    for (framework::ReservePlugin* plugin : profiles_[p]->reserve) {
      const Status status = plugin->Reserve(cycle, *assumed, assumed->node_name);
      if (status.IsSuccess()) continue;
      for (framework::ReservePlugin* undo : profiles_[p]->reserve) undo->Unreserve(*assumed, assumed->node_name);
      cache_.ForgetPod(assumed->uid);
      got.reserve = ToRecord(status.WithPlugin(plugin->Name()));
      got.result = status.IsRejected() ? "unschedulable" : "error";
      got.message = status.IsRejected() ? "0/1 nodes are available: 1 " + status.Message() + "." : status.Message();
      return;
    }
    // Claims are written, as the oracle does it, so that later pods find them allocated.
    for (framework::PreBindPlugin* plugin : profiles_[p]->pre_bind) {
      if (plugin->Name() != plugins::names::kDynamicResources || plugin->PreBindPreFlight(*assumed).IsSkip()) continue;
      const Status status = handle_.api().Run(plugin->PreBind(*assumed), kBoundEpoch);
      if (!status.IsSuccess()) differences_.Add(got.pod + ": PreBind: " + status.Message());
    }
    auto running = std::make_shared<PodInfo>(*assumed);
    running->start_time = kBoundEpoch + std::chrono::seconds(bound_++);
    cache_.SetPod(running);
    got.result = "scheduled";
    got.bound = assumed->node_name;
    got.devices = DevicesOf(*assumed, handle_.objects());
  }

  void Refuse(runtime::Evaluator& evaluator, const runtime::Outcome& outcome, const PodInfoPtr& pod, Attempt& got) {
    got.result = "unschedulable";
    bool has_nomination = true;
    std::string nomination;
    std::shared_ptr<const framework::PreemptionReport> preemption;
    if (outcome.result == Result::kError) {
      got.result = "error";
      got.message = outcome.error;
    } else {
      if (outcome.result == Result::kRefused) {
        got.unschedulable_plugins.assign(outcome.unschedulable_plugins.begin(), outcome.unschedulable_plugins.end());
        if (!profiles_[ProfileOf(*pod)]->post_filter.empty()) {
          const framework::PostFilterResult result = evaluator.RunPostFilter();
          has_nomination = result.has_nomination;
          nomination = result.nominated_node_name;
          preemption = result.preemption;
        }
      }
      got.message = evaluator.Message();
    }
    if (preemption && preemption->chosen != framework::kNoNode) {
      got.preemption = Describe(*preemption);
      nomination = got.preemption->nominated_node;
      NameNominatedNode(*preemption, *got.preemption, got.message);
    }
    if (has_nomination) {
      nominator_.AddNominatedPod(pod, nomination);
      nominations_[pod->uid] = nomination;
    } else {
      nominator_.AddNominatedPod(pod);
    }
    if (got.preemption) Preempt(*pod, *preemption, *got.preemption);
  }

  PreemptionRecord Describe(const framework::PreemptionReport& report) const {
    PreemptionRecord record;
    for (const framework::PreemptionReport::Candidate& candidate : report.candidates) {
      PreemptionRecord::Candidate& to = record.candidates[cache_.nodes().Info(candidate.row).name()];
      for (const PodInfoPtr& victim : candidate.victims) to.victims.push_back(victim->Key());
      to.pdb_violations = candidate.pdb_violations;
    }
    for (const framework::NodeIndex row : report.acceptable) {
      record.acceptable.push_back(cache_.nodes().Info(row).name());
    }
    std::sort(record.acceptable.begin(), record.acceptable.end());
    record.nominated_node = record.acceptable.front();
    record.victims = record.candidates[record.nominated_node].victims;
    return record;
  }

  // The oracle takes the first by name of equally good nodes: the message shall name that one.
  void NameNominatedNode(const framework::PreemptionReport& report, const PreemptionRecord& record,
                         std::string& message) const {
    const auto text = [](const std::string& node, std::size_t victim_count) {
      return "on node " + node + ", preempting " + std::to_string(victim_count) + " victims";
    };
    const std::string& chosen = cache_.nodes().Info(report.chosen).name();
    const std::string written = text(chosen, record.candidates.at(chosen).victims.size());
    if (message.ends_with(written))
      message.replace(message.size() - written.size(), written.size(),
                      text(record.nominated_node, record.victims.size()));
  }

  // Clears the nominations of pods with lower priority for the node and removes the victims at once, as the oracle
  // does.
  void Preempt(const PodInfo& preemptor, const framework::PreemptionReport& report, PreemptionRecord& record) {
    const auto on_node = nominator_.PodsForNode(record.nominated_node);
    for (const PodInfoPtr& other : std::vector<PodInfoPtr>(on_node.begin(), on_node.end())) {
      if (other->priority() >= preemptor.priority()) continue;
      record.cleared_nominations.push_back(other->Key());
      nominator_.DeleteNominated(other->uid);
      nominations_[other->uid].clear();
    }
    for (const framework::PreemptionReport::Candidate& candidate : report.candidates) {
      if (cache_.nodes().Info(candidate.row).name() != record.nominated_node) continue;
      for (const PodInfoPtr& victim : candidate.victims) cache_.RemovePod(victim->uid);
    }
  }

  const Case& test_;
  const runtime::Form form_;
  const std::span<const config::KnownPlugin> registry_;
  queue::Nominator nominator_;
  queue::RowNominations on_rows_;
  CaseHandle handle_{nominator_, on_rows_.rows()};
  std::optional<cache::PodClasses> classes_;  // once the release is known
  cache::Cache cache_;
  std::vector<std::unique_ptr<runtime::ProfilePlugins>> profiles_;
  std::vector<std::unique_ptr<runtime::Evaluator>> evaluators_;
  Differences differences_{test_.has_scores};
  std::map<std::string, std::string> nominations_;  // by uid; only those that attempts have changed
  int bound_ = 0;
};

}  // namespace

std::vector<std::string> RunCase(const Case& test, runtime::Form form, std::span<const config::KnownPlugin> registry) {
  if (test.has_pod_groups) return RunGroupCase(test, form, registry);
  return CaseRun(test, form, registry).Go();
}

}  // namespace berth::conformance
