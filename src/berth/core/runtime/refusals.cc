// What an evaluation says about the nodes that it refused: statuses, messages, PostFilter and its dry runs.
#include <algorithm>
#include <map>

#include "berth/base/check.h"
#include "berth/core/runtime/evaluator.h"
#include "berth/core/runtime/guarded.h"

namespace berth::runtime {

using framework::Code;
using framework::CycleState;
using framework::FilterPlugin;
using framework::kVerdictOk;
using framework::NodeIndex;
using framework::NodeInfo;
using framework::PodInfo;
using framework::Status;
using framework::VerdictId;

namespace {

Status ExtensionError(std::string_view call, std::string_view plugin, const Status& status) {
  std::string text = "running ";
  text.append(call).append(" on PreFilter plugin \"").append(plugin).append("\": ").append(status.Message());
  return Status::Error(std::move(text));
}

}  // namespace

void Evaluator::CollectRefusals(std::span<const NodeIndex> rows) {
  outcome_.unschedulable_plugins.insert(outcome_.narrowing_plugins.begin(), outcome_.narrowing_plugins.end());
  std::vector<bool> seen(kept_->statuses.size(), false);
  for (const NodeIndex row : rows) {
    const VerdictId verdict = cycle_verdicts_[row];
    if (verdict == kVerdictOk || verdict == kVerdictNoNode || seen[verdict]) continue;
    seen[verdict] = true;
    outcome_.unschedulable_plugins.insert(std::string(kept_->statuses.Get(verdict).plugin()));
  }
}

Status Evaluator::Get(NodeIndex row) const {
  if (kept_ == nullptr || outcome_.is_nominated_node) return absent_status_;
  if (is_chosen_by_blocks_) {
    const NodeInfo& node = nodes_->Info(row);
    CycleState state = state_.Clone();
    return node.has_node() ? RunFilters(state, *pod_, node) : absent_status_;
  }
  if (order_ != nullptr) {
    const TotalsOrder::GroupId group = order_->GroupOf(row);
    if (group != TotalsOrder::kNoGroup) {
      const VerdictId verdict = IsSpecial(row) ? cycle_verdicts_[row] : group_verdicts_[group];
      return verdict == kVerdictOk ? Status() : kept_->statuses.Get(verdict);
    }
  }
  const auto& verdicts = uses_cycle_verdicts_ ? cycle_verdicts_ : kept_->verdicts;
  const VerdictId verdict = row < verdicts.size() ? verdicts[row] : kVerdictNoNode;
  if (verdict == kVerdictNoNode) return absent_status_;
  return verdict == kVerdictOk ? Status() : kept_->statuses.Get(verdict);
}

std::vector<std::pair<Status, std::size_t>> Evaluator::RefusalCounts() const {
  std::vector<std::pair<Status, std::size_t>> counts;
  if (!kept_ || nodes_ == nullptr || outcome_.result == Result::kNoNodes) return counts;
  if (outcome_.is_nominated_node || outcome_.feasible_count == nodes_->node_count()) return counts;
  if (!uses_cycle_verdicts_) {
    std::vector<std::size_t> by_verdict(kept_->verdict_counts.begin(), kept_->verdict_counts.end());
    by_verdict.resize(kept_->statuses.size());
    if (order_ != nullptr) {
      for (const Candidate& candidate : candidates_) by_verdict[candidate.verdict] += candidate.size;
    }
    for (VerdictId id = 1; id < by_verdict.size(); ++id) {
      if (by_verdict[id] > 0) counts.emplace_back(kept_->statuses.Get(id), by_verdict[id]);
    }
    return counts;
  }
  const auto& verdicts = cycle_verdicts_;
  std::vector<std::size_t> by_verdict(kept_->statuses.size(), 0);
  std::size_t absent = 0;
  for (const NodeIndex row : nodes_->rows()) {
    const VerdictId verdict = row < verdicts.size() ? verdicts[row] : kVerdictNoNode;
    if (verdict == kVerdictNoNode) {
      ++absent;
    } else {
      ++by_verdict[verdict];
    }
  }
  for (VerdictId id = 1; id < by_verdict.size(); ++id) {
    if (by_verdict[id] > 0) counts.emplace_back(kept_->statuses.Get(id), by_verdict[id]);
  }
  if (absent > 0 && !absent_status_.IsSuccess()) counts.emplace_back(absent_status_, absent);
  return counts;
}

framework::PostFilterResult Evaluator::RunPostFilter() {
  BERTH_CHECK(outcome_.result == Result::kRefused);
  framework::PostFilterResult kept_result;
  std::vector<std::string> reasons;
  framework::Cycle with_detail = cycle();
  with_detail.with_detail = options_.with_detail;
  for (const framework::PostFilterPlugin* plugin : plugins_.post_filter) {
    framework::PostFilterResult result;
    const Status thrown = Guarded([&] {
      result = plugin->PostFilter(with_detail, *pod_, *this, *this);
      return Status();
    });
    if (!thrown.IsSuccess()) {
      result = {};
      result.status =
          Status::Error("running PostFilter plugin \"" + std::string(plugin->Name()) + "\": " + thrown.Message());
    }
    if (result.has_nomination) {
      kept_result.has_nomination = true;
      kept_result.nominated_node_name = result.nominated_node_name;
    }
    if (result.preemption) kept_result.preemption = result.preemption;
    if (result.status.IsSuccess()) {
      post_filter_message_.clear();
      return result;
    }
    const std::string message = result.status.Message();
    if (result.status.code() == Code::kUnschedulableAndUnresolvable || !result.status.IsRejected()) {
      result.status = result.status.WithPlugin(plugin->Name());
      post_filter_message_ = message;
      return result;
    }
    for (const std::string& reason : result.status.reasons()) reasons.push_back(reason);
  }
  kept_result.status = Status(Code::kUnschedulable, reasons);
  post_filter_message_ = kept_result.status.Message();
  return kept_result;
}

std::string Evaluator::Message() const {
  if (outcome_.result == Result::kNoNodes) return "no nodes available to schedule pods";
  std::string message = "0/" + std::to_string(outcome_.node_count) + " nodes are available:";
  if (!outcome_.pre_filter_status.IsSuccess()) {
    message += " " + outcome_.pre_filter_status.Message() + ".";
  } else {
    std::map<std::string_view, std::size_t> histogram;
    const auto counts = RefusalCounts();
    for (const auto& [status, count] : counts) {
      for (const std::string& reason : status.reasons()) histogram[reason] += count;
    }
    std::vector<std::string> parts;
    for (const auto& [reason, count] : histogram) parts.push_back(std::to_string(count) + " " + std::string(reason));
    std::sort(parts.begin(), parts.end());  // As strings: "10 x" before "2 y".
    for (std::size_t i = 0; i < parts.size(); ++i) message += (i == 0 ? " " : ", ") + parts[i];
    if (!parts.empty()) message += ".";
  }
  if (!post_filter_message_.empty()) message += " " + post_filter_message_;
  return message;
}

Status Evaluator::RunFilters(CycleState& state, const PodInfo& pod, const NodeInfo& node) const {
  const framework::Cycle cycle{*nodes_, state, seed_, now_};
  for (std::size_t f = 0; f < plugins_.filter.size(); ++f) {
    if (!is_filter_active_[f]) continue;
    const FilterPlugin& plugin = *plugins_.filter[f];
    const Status status = Guarded([&] { return plugin.Filter(cycle, pod, node); });
    if (!status.IsSuccess()) return status.WithPlugin(plugin.Name());
  }
  return {};
}

Status Evaluator::RunFiltersTwice(CycleState& state, const PodInfo& pod, const NodeInfo& node,
                                  std::span<const framework::PodInfoPtr> nominated) {
  const auto counts = [&pod](const framework::PodInfoPtr& other) {
    return other->uid != pod.uid && other->priority() >= pod.priority();
  };
  // With the nominated pods, which may come, and without, which may not: the pod has to fit both ways.
  if (std::any_of(nominated.begin(), nominated.end(), counts)) {
    CycleState with_state = state.Clone();
    NodeInfo with_node = node;
    for (const framework::PodInfoPtr& other : nominated) {
      if (!counts(other)) continue;
      with_node.AddPod(other);
      const Status added = RunAddPod(with_state, pod, *other, with_node);
      if (!added.IsSuccess()) return added;
    }
    const Status status = RunFilters(with_state, pod, with_node);
    if (!status.IsSuccess()) return status;
  }
  return RunFilters(state, pod, node);
}

// As kube-scheduler words a filter's error; one without a plugin is worded already.
std::string Evaluator::FilterErrorText(const Status& status) {
  if (status.plugin().empty()) return status.Message();
  return "running \"" + std::string(status.plugin()) + "\" filter plugin: " + status.Message();
}

Status Evaluator::RunFiltersWithNominatedPods(CycleState& state, const PodInfo& pod, const NodeInfo& node) {
  Status status = RunFiltersTwice(state, pod, node, PodsNominatedFor(nodes_->Find(node.name())));
  if (status.IsSuccess() || status.IsRejected()) return status;
  return Status::Error(FilterErrorText(status));
}

std::optional<std::uint64_t> Evaluator::NodeEpoch() const {
  if (options_.form != Form::kReuse || !extensions_.empty() || extenders_ != nullptr) return std::nullopt;
  if (outcome_.narrowed_to || !outcome_.pre_filter_status.IsSuccess()) return std::nullopt;
  for (std::size_t f = 0; f < plugins_.filter.size(); ++f) {
    if (!is_filter_active_[f]) continue;
    if (!is_filter_kept_[f] || filter_depends_on_[f] != framework::Dependency::kNode) return std::nullopt;
  }
  return EpochOfAll(nullptr);
}

Status Evaluator::RunAddPod(CycleState& state, const PodInfo& pod, const PodInfo& other, const NodeInfo& node) {
  const framework::Cycle cycle{*nodes_, state, seed_, now_};
  for (const framework::PreFilterPlugin* plugin : extensions_) {
    const Status status = Guarded([&] { return plugin->AddPod(cycle, pod, other, node); });
    if (!status.IsSuccess()) return ExtensionError("AddPod", plugin->Name(), status);
  }
  return {};
}

Status Evaluator::RunRemovePod(CycleState& state, const PodInfo& pod, const PodInfo& other, const NodeInfo& node) {
  const framework::Cycle cycle{*nodes_, state, seed_, now_};
  for (const framework::PreFilterPlugin* plugin : extensions_) {
    const Status status = Guarded([&] { return plugin->RemovePod(cycle, pod, other, node); });
    if (!status.IsSuccess()) return ExtensionError("RemovePod", plugin->Name(), status);
  }
  return {};
}

}  // namespace berth::runtime
