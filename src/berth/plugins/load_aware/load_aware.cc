// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/load_aware/load_aware.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/log.h"
#include "berth/base/utf8.h"
#include "berth/framework/node_table.h"
#include "berth/framework/outside_data.h"
#include "berth/framework/profile_aware.h"
#include "berth/plugins/helper/events.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/helper/outside_source.h"
#include "berth/plugins/load_aware/usage_report.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

// A use beyond this is no worse; it keeps raw scores far from overflow.
constexpr double kUseMax = 1000;
constexpr double kRawPerUse = 1e6;
// Sums of shares are not exact: 0.2 and 0.7 are a little less than 0.9.
constexpr double kInexact = 1e-9;
// Messages name no percentage above this one, so that there are not too many different messages.
constexpr int kPercentShownMax = 200;
constexpr std::size_t kShownTextMax = 64;

double Share(double amount, std::int64_t allocatable) {
  if (amount <= 0) return 0;
  return allocatable <= 0 ? kUseMax : std::min(kUseMax, amount / static_cast<double>(allocatable));
}

bool HasStartedBy(const PodInfo& pod, std::optional<Time> time) {
  return pod.start_time && (!time || *pod.start_time <= *time);
}

std::string Percent(double share) {
  const double percent = std::floor((share + kInexact) * 100);
  return percent >= kPercentShownMax ? std::to_string(kPercentShownMax) + "% or more"
                                     : std::to_string(static_cast<int>(percent)) + "%";
}

// The percentage as the arguments name it, without trailing zeros.
std::string PercentOfArgs(double share) {
  std::string text = std::to_string(share * 100);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text + "%";
}

// A node's fresh measurements.
struct Use {
  std::optional<double> cpu, memory;
  bool are_amounts = false;           // milli-CPUs and bytes; else shares
  std::optional<Time> counted_until;  // the measurements hold only pods that had started by then
  bool operator==(const Use&) const = default;
};
// Measurements from annotations that name no time.
struct Timeless {
  NodeMeasurements said;
  Time first_seen;
};

// The measurements as a use; nullopt when one of them is too old, or there are none.
std::optional<Use> UseOf(const NodeMeasurements& measured, Duration freshness, Time now) {
  if (!measured.cpu && !measured.memory) return std::nullopt;
  Use use;
  for (const auto* one : {&measured.cpu, &measured.memory}) {
    if (!*one) continue;
    const Measurement& m = **one;
    if (m.at && now - *m.at > freshness) return std::nullopt;
    (one == &measured.cpu ? use.cpu : use.memory) = m.value;
    if (!m.at) continue;
    const Time until = *m.at - m.window;
    use.counted_until = use.counted_until ? std::min(*use.counted_until, until) : until;
  }
  return use;
}

AnnotatedUsage Annotated(const LoadAwareArgs& args, const api::Node& node, Time now) {
  AnnotatedUsage usage = ReadUsageAnnotations(node, args.measurement_window);
  // The time that the plugin knows is up to an interval old.
  const Time latest = now + args.endpoint.interval + args.future_tolerance;
  for (const auto* one : {&usage.measured.cpu, &usage.measured.memory}) {
    if (!*one || !(*one)->at || *(*one)->at <= latest) continue;
    usage.refusal = Refusal::kFuture;
    usage.refused = kUsageTimeAnnotation;
  }
  if (usage.refusal) usage.measured = {};
  return usage;
}

QueueingHint AfterAnnotationChange(const PodInfo&, const EventObjects& event) {
  if (event.old_node == nullptr || event.new_node == nullptr) return QueueingHint::kQueue;
  for (const std::string_view key : {kCpuUsageAnnotation, kMemoryUsageAnnotation, kUsageTimeAnnotation}) {
    const std::string* before = event.old_node->metadata.annotations.Find(key);
    const std::string* after = event.new_node->metadata.annotations.Find(key);
    if ((before == nullptr) != (after == nullptr) || (before != nullptr && *before != *after))
      return QueueingHint::kQueue;
  }
  return QueueingHint::kSkip;
}

std::vector<framework::OutsideSource> SourcesOf(const LoadAwareArgs& args) {
  using Parsed = Expected<std::shared_ptr<const framework::OutsideData>>;
  const auto keep = [](Expected<UsageReport> report) -> Parsed {
    if (!report.ok()) return report.error();
    return std::shared_ptr<const framework::OutsideData>(std::make_shared<UsageReport>(std::move(*report)));
  };
  std::vector<framework::OutsideSource> sources;
  framework::OutsideSource asked = args.endpoint;
  if (args.source == LoadAwareArgs::Source::kMetricsApi) {
    asked.name = "metrics.k8s.io";
    asked.url = "/apis/metrics.k8s.io/v1beta1/nodes";
    asked.parse = [keep](std::string_view body) { return keep(ParseNodeMetrics(body)); };
    sources.push_back(asked);
  } else if (args.source == LoadAwareArgs::Source::kPrometheus) {
    for (const auto resource : {MeasuredResource::kCpu, MeasuredResource::kMemory}) {
      const bool is_cpu = resource == MeasuredResource::kCpu;
      const std::string& query = is_cpu ? args.cpu_query : args.memory_query;
      if (query.empty()) continue;
      const PrometheusFormat format{resource, args.node_label, args.is_percent, args.measurement_window};
      asked.name = is_cpu ? "prometheus-cpu" : "prometheus-memory";
      asked.url = JoinUrl(args.endpoint.url, "/api/v1/query?query=" + PercentEncode(query));
      asked.parse = [keep, format](std::string_view body) { return keep(ParsePrometheus(body, format)); };
      sources.push_back(asked);
    }
  }
  framework::OutsideSource clock;
  clock.name = "clock";
  clock.is_clock = true;
  clock.interval = args.endpoint.interval;
  sources.push_back(clock);
  return sources;
}

class LoadAware final : public FastFilter,
                        public ScorePlugin,
                        public framework::OutsideDataReader,
                        public framework::ProfileAware,
                        public EnqueueExtensions,
                        public UsePredictor {
 public:
  LoadAware(LoadAwareArgs args, Handle& handle) : args_(std::move(args)), handle_(handle) {
    const std::size_t sources = OutsideSources().size();
    has_answered_.assign(sources, false);
    was_refusing_.assign(sources, false);
    // Metrics that count nothing, until a profile sets its own.
    without_fresh_data_ = &framework::Metrics::None().GetGauge("", "", {});
    refused_.fill(&framework::Metrics::None().GetCounter("", "", {}));
  }

  std::string_view Name() const override { return names::kLoadAware; }
  bool ReadsPlacementOnly() const override { return true; }
  void SetProfile(std::string_view scheduler_name) override {
    profile_ = scheduler_name;
    framework::Metrics& metrics = handle_.metrics();
    without_fresh_data_ =
        &metrics.GetGauge("berth_load_aware_nodes_without_fresh_data",
                          "Nodes whose use is taken from their pods' requests.", {{"profile", profile_}});
    for (std::size_t i = 0; i < kRefusalCount; ++i) {
      refused_[i] = &metrics.GetCounter("berth_load_aware_refused_measurements_total",
                                        "Measurements that do not count because of what they say.",
                                        {{"profile", profile_}, {"reason", std::string(ToString(Refusal(i)))}});
    }
  }

  Dependency FilterDependsOn() const override { return Dependency::kNode; }
  Status Filter(const Cycle&, const PodInfo&, const NodeInfo& node) const override {
    if (!args_.hot_threshold) return {};
    const PredictedUse use = Predict(node);
    // Requests alone make no node hot: whether they fit is for NodeResourcesFit to say.
    if (!use.is_measured) return {};
    const bool is_cpu_hot = use.cpu > *args_.hot_threshold + kInexact;
    const bool is_memory_hot = use.memory && *use.memory > *args_.hot_threshold + kInexact;
    if (!is_cpu_hot && !is_memory_hot) return {};
    return Status::Unschedulable("node(s) hotter than " + PercentOfArgs(*args_.hot_threshold) + ": " +
                                 (is_cpu_hot ? "cpu at " + Percent(use.cpu) : "") +
                                 (is_cpu_hot && is_memory_hot ? ", " : "") +
                                 (is_memory_hot ? "memory at " + Percent(*use.memory) : ""));
  }
  bool RefusesNone(const Cycle&, const PodInfo&) const override { return !args_.hot_threshold.has_value(); }

  Dependency ScoreDependsOn() const override { return Dependency::kNode; }
  Normalization ScoreNormalization() const override { return Normalization::kLowestFirst; }
  // Millionths of the predicted use. With a target they are those of the distance to it, and nodes above the target
  // come after all nodes below it.
  std::int64_t Score(const Cycle&, const PodInfo& pod, NodeIndex, const NodeInfo& node, Status&) const override {
    const PredictedUse use = Predict(node);
    const framework::PodClass& wants = *pod.pod_class;
    double highest = use.cpu + Share(static_cast<double>(wants.nonzero_cpu_milli), node.allocatable().cpu_milli);
    if (use.memory) {
      const double asked = Share(static_cast<double>(wants.nonzero_memory_bytes), node.allocatable().memory_bytes);
      highest = std::max(highest, *use.memory + asked);
    }
    const auto raw = [](double share) { return static_cast<std::int64_t>(std::min(share, 2 * kUseMax) * kRawPerUse); };
    if (!args_.target_utilization) return raw(highest);
    const double target = *args_.target_utilization;
    return highest <= target ? raw(target - highest) : raw(target) + 1 + raw(highest - target);
  }

  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    using namespace framework::action;
    return {framework::OutsideDataEvent(Name()), OnNode(kAdd | kUpdateNodeAllocatable),
            // A pod that goes away takes with it what is counted on top of measurements; what is in them stays.
            OfClass(OnPod(kDelete,
                          [this](const PodInfo&, const EventObjects& event) {
                            const PodInfo* gone = event.old_pod;
                            return QueueIf(gone != nullptr && WasAssignedOrNominated(*gone) &&
                                           !HasStartedBy(*gone, now_ - args_.freshness - args_.measurement_window));
                          })),
            OfClass(OnNode(kUpdateNodeAnnotation, AfterAnnotationChange))};
  }

  std::vector<framework::OutsideSource> OutsideSources() const override { return SourcesOf(args_); }

  framework::OutsideChange OnOutsideData(std::size_t source,
                                         const Expected<std::shared_ptr<const framework::OutsideData>>& data,
                                         Time wall_now) override {
    const auto before = AllUses();
    now_ = wall_now;
    if (source < has_answered_.size()) has_answered_[source] = true;
    // The clock brings no data. What a source said stays after a failure, until it is too old.
    if (data.ok() && *data != nullptr) Take(source, static_cast<const UsageReport&>(**data));
    LookAtAnnotations();
    ReportFreshness();
    return ChangesSince(before);
  }

  PredictedUse Predict(const NodeInfo& node) const override {
    const framework::Resource& has = node.allocatable();
    const std::optional<Use> use = FreshUse(node.node());
    if (!use) {
      return {Share(static_cast<double>(node.nonzero_cpu_milli()), has.cpu_milli),
              Share(static_cast<double>(node.nonzero_memory_bytes()), has.memory_bytes), false};
    }
    double cpu_milli = 0;
    double memory_bytes = 0;
    for (const PodInfoPtr& pod : node.pods()) {
      if (HasStartedBy(*pod, use->counted_until)) continue;
      cpu_milli += static_cast<double>(pod->pod_class->nonzero_cpu_milli);
      memory_bytes += static_cast<double>(pod->pod_class->nonzero_memory_bytes);
    }
    const auto measured = [&](double value, std::int64_t allocatable) {
      return use->are_amounts ? Share(value, allocatable) : value;
    };
    PredictedUse predicted{Share(cpu_milli, has.cpu_milli), std::nullopt, true};
    if (use->cpu) predicted.cpu += measured(*use->cpu, has.cpu_milli);
    if (use->memory)
      predicted.memory = measured(*use->memory, has.memory_bytes) + Share(memory_bytes, has.memory_bytes);
    return predicted;
  }

 private:
  // The node's use as the source says, else as its annotations do; nullopt when neither is fresh.
  std::optional<Use> FreshUse(const api::Node& node) const {
    if (const auto said = measured_.find(node.metadata.name); said != measured_.end()) {
      const bool wants_memory = args_.source == LoadAwareArgs::Source::kMetricsApi || !args_.memory_query.empty();
      const bool is_whole = said->second.cpu && (said->second.memory || !wants_memory);
      if (std::optional<Use> use = is_whole ? UseOf(said->second, args_.freshness, now_) : std::nullopt) {
        use->are_amounts = args_.source == LoadAwareArgs::Source::kMetricsApi;
        return use;
      }
    }
    const NodeMeasurements annotated = Annotated(args_, node, now_).measured;
    std::optional<Use> use = UseOf(annotated, args_.freshness, now_);
    if (!use || use->counted_until) return use;
    // An annotation without a time is taken to hold the pods that had started when it was first seen.
    const auto seen = timeless_.find(node.metadata.name);
    use->counted_until = seen != timeless_.end() && seen->second.said == annotated ? seen->second.first_seen : now_;
    return use;
  }

  // Puts what the source says in the place of what it said before.
  void Take(std::size_t source, const UsageReport& report) {
    const bool has_both = args_.source == LoadAwareArgs::Source::kMetricsApi;
    const bool has_cpu = has_both || source == 0;
    const bool has_memory = has_both || source == 1;
    for (auto& [name, node] : measured_) {
      if (has_cpu) node.cpu.reset();
      if (has_memory) node.memory.reset();
    }
    std::array<std::size_t, kRefusalCount> refused = report.refused;
    const Time latest = now_ + args_.future_tolerance;
    for (const auto& [name, said] : report.nodes) {
      const auto is_future = [&](const std::optional<Measurement>& one) { return one && one->at && *one->at > latest; };
      if (is_future(said.cpu) || is_future(said.memory)) {
        ++refused[static_cast<std::size_t>(Refusal::kFuture)];
        continue;
      }
      NodeMeasurements& node = measured_[name];
      if (has_cpu) node.cpu = said.cpu;
      if (has_memory) node.memory = said.memory;
    }
    absl::erase_if(measured_, [](const auto& entry) { return !entry.second.cpu && !entry.second.memory; });

    std::string reasons;
    for (std::size_t i = 0; i < kRefusalCount; ++i) {
      if (refused[i] == 0) continue;
      refused_[i]->Add(static_cast<double>(refused[i]));
      reasons += (reasons.empty() ? "" : " ") + std::string(ToString(Refusal(i))) + "=" + std::to_string(refused[i]);
    }
    if (!reasons.empty() && !was_refusing_[source])
      log::Warning("plugins", "Measurements do not count", {{"profile", profile_}, {"reasons", reasons}});
    was_refusing_[source] = !reasons.empty();
  }

  std::vector<std::optional<Use>> AllUses() const {
    std::vector<std::optional<Use>> uses;
    const NodeTable* nodes = handle_.node_table();
    if (nodes == nullptr) return uses;
    uses.resize(nodes->row_count());
    for (const NodeIndex row : nodes->rows()) uses[row] = FreshUse(nodes->Info(row).node());
    return uses;
  }

  framework::OutsideChange ChangesSince(const std::vector<std::optional<Use>>& before) const {
    framework::OutsideChange change;
    const NodeTable* nodes = handle_.node_table();
    if (nodes == nullptr) return {true, {}};
    for (const NodeIndex row : nodes->rows()) {
      const NodeInfo& node = nodes->Info(row);
      const std::optional<Use> after = FreshUse(node.node());
      if (after == before[row]) continue;
      // A later measurement of the same value matters where it counts more of the pods.
      const bool is_same_value =
          after && before[row] && after->cpu == before[row]->cpu && after->memory == before[row]->memory;
      if (is_same_value && std::none_of(node.pods().begin(), node.pods().end(), [&](const PodInfoPtr& pod) {
            return HasStartedBy(*pod, after->counted_until) != HasStartedBy(*pod, before[row]->counted_until);
          })) {
        continue;
      }
      change.node_names.push_back(node.name());
    }
    return change;
  }

  // Counts a bad annotation when it is first seen, and again when it is bad in another way. Of annotations without a
  // time it keeps since when they are there.
  void LookAtAnnotations() {
    const NodeTable* nodes = handle_.node_table();
    if (nodes == nullptr) return;
    StringHashMap<Refusal> refused;
    StringHashMap<Timeless> timeless;
    std::size_t newly_refused = 0;
    struct {
      std::string_view node, annotation, text, reason;
    } first;
    for (const NodeIndex row : nodes->rows()) {
      const api::Node& node = nodes->Info(row).node();
      const std::string& name = node.metadata.name;
      const auto [measured, refusal, annotation] = Annotated(args_, node, now_);
      const auto& any = measured.cpu ? measured.cpu : measured.memory;
      if (any && !any->at) {
        const auto known = timeless_.find(name);
        const bool is_known = known != timeless_.end() && known->second.said == measured;
        timeless.insert_or_assign(name, is_known ? known->second : Timeless{measured, now_});
      }
      if (!refusal) continue;
      refused.insert_or_assign(name, *refusal);
      const auto known = refused_annotations_.find(name);
      if (known != refused_annotations_.end() && known->second == *refusal) continue;
      refused_[static_cast<std::size_t>(*refusal)]->Add();
      if (newly_refused++ > 0) continue;
      const std::string* const text = node.metadata.annotations.Find(annotation);
      first = {name, annotation, text == nullptr ? "" : CutUtf8(*text, kShownTextMax), ToString(*refusal)};
    }
    if (newly_refused > 0) {
      log::Warning("plugins", "Usage annotations of nodes do not count",
                   {{"profile", profile_},
                    {"nodes", newly_refused},
                    {"node", first.node},
                    {"annotation", first.annotation},
                    {"value", first.text},
                    {"reason", first.reason}});
    }
    refused_annotations_ = std::move(refused);
    timeless_ = std::move(timeless);
  }

  void ReportFreshness() {
    const NodeTable* nodes = handle_.node_table();
    if (nodes == nullptr) return;
    std::size_t without = 0;
    for (const NodeIndex row : nodes->rows()) without += FreshUse(nodes->Info(row).node()) ? 0U : 1U;
    without_fresh_data_->Set(static_cast<double>(without));
    // Before each source has answered once, missing measurements are no news.
    if (std::find(has_answered_.begin(), has_answered_.end(), false) != has_answered_.end()) return;
    if (without > 0 && !has_warned_) {
      log::Warning("plugins", "No fresh measurements of some nodes: what their pods request counts instead",
                   {{"profile", profile_}, {"nodes", without}, {"of", nodes->node_count()}});
    } else if (without == 0 && has_warned_) {
      log::Info("plugins", "Fresh measurements of all nodes again", {{"profile", profile_}});
    }
    has_warned_ = without > 0;
  }

  const LoadAwareArgs args_;
  Handle& handle_;
  std::string profile_;
  framework::Gauge* without_fresh_data_ = nullptr;
  std::array<framework::Counter*, kRefusalCount> refused_{};

  // The time of the last OnOutsideData. What is fresh changes only there, where the plugin reports which verdicts
  // change.
  Time now_{};
  StringHashMap<NodeMeasurements> measured_;    // as the source says
  std::vector<bool> has_answered_;              // by source; an error is an answer, too
  std::vector<bool> was_refusing_;              // by source; the log says it once
  StringHashMap<Refusal> refused_annotations_;  // by node
  StringHashMap<Timeless> timeless_;            // by node
  bool has_warned_ = false;
};

}  // namespace

std::unique_ptr<framework::Plugin> CreateLoadAware(const LoadAwareArgs& args, Handle& handle) {
  return std::make_unique<LoadAware>(args, handle);
}

}  // namespace berth::plugins
