// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/external_health/external_health.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/log.h"
#include "berth/framework/node_annotation_reader.h"
#include "berth/framework/node_table.h"
#include "berth/framework/outside_data.h"
#include "berth/framework/profile_aware.h"
#include "berth/plugins/external_health/health_report.h"
#include "berth/plugins/helper/events.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/helper/outside_source.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

using Fallback = ExternalHealthArgs::Fallback;

using Source = ExternalHealthArgs::Source;

class ExternalHealth final : public FastFilter,
                             public framework::OutsideDataReader,
                             public framework::NodeAnnotationReader,
                             public framework::ProfileAware,
                             public EnqueueExtensions {
 public:
  ExternalHealth(ExternalHealthArgs args, Handle& handle) : args_(std::move(args)), handle_(handle) {
    // Metrics that count nothing, until a profile sets its own.
    framework::Metrics& none = framework::Metrics::None();
    bad_nodes_ = unknown_nodes_ = is_stale_gauge_ = &none.GetGauge("", "", {});
    unreadable_ = &none.GetCounter("", "", {});
  }

  std::string_view Name() const override { return names::kExternalHealth; }
  bool ReadsPlacementOnly() const override { return true; }
  void SetProfile(std::string_view scheduler_name) override {
    profile_ = scheduler_name;
    framework::Metrics& metrics = handle_.metrics();
    const framework::Metrics::Labels labels = {{"profile", profile_}};
    bad_nodes_ = &metrics.GetGauge("berth_external_health_bad_nodes", "Nodes that the source calls bad.", labels);
    unknown_nodes_ =
        &metrics.GetGauge("berth_external_health_unknown_nodes", "Nodes that the source does not know.", labels);
    is_stale_gauge_ = &metrics.GetGauge("berth_external_health_data_stale",
                                        "1 while what the source said is too old to count, else 0.", labels);
    unreadable_ = &metrics.GetCounter("berth_external_health_unreadable_items_total",
                                      "Items of answers without a name or a state.", labels);
  }

  Dependency FilterDependsOn() const override { return Dependency::kNode; }
  Status Filter(const Cycle&, const PodInfo&, const NodeInfo& node) const override {
    const auto [verdict, words] = Judge(node.node());
    if (!IsRefused(verdict)) return {};
    std::string reason;
    if (verdict == Verdict::kBad) {
      reason = "node(s) called bad by " + args_.source_name + ": " + std::string(words);
    } else if (verdict == Verdict::kUnknown) {
      reason = "node(s) unknown to " + args_.source_name;
    } else {
      reason = "node(s) without fresh word from " + args_.source_name;
    }
    return Status::Unschedulable(std::move(reason));
  }

  bool RefusesNone(const Cycle&, const PodInfo&) const override {
    if (is_stale_) return args_.on_stale == Fallback::kOpen;
    return not_good_count_ == 0 && (names_bad_hosts_only_ || args_.on_unknown == Fallback::kOpen);
  }

  std::vector<std::string> NodeAnnotationsRead() const override { return {args_.name_annotation}; }
  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    using namespace framework::action;
    framework::ActionType changes = kAdd;
    if (!args_.name_label.empty()) changes |= kUpdateNodeLabel;
    if (!args_.name_annotation.empty()) changes |= kUpdateNodeAnnotation;
    return {framework::OutsideDataEvent(Name()), OnNode(changes)};
  }

  std::vector<framework::OutsideSource> OutsideSources() const override {
    using Parsed = Expected<std::shared_ptr<const framework::OutsideData>>;
    framework::OutsideSource asked = args_.endpoint;
    asked.name = args_.source_name;
    if (args_.source == Source::kNagios && asked.url.find('?') == std::string::npos) {
      asked.url += "?query=hostlist&details=true&formatoptions=enumerate";
    } else if (args_.source == Source::kAlertmanager) {
      asked.url = JoinUrl(asked.url, "/api/v2/alerts?active=true&silenced=false&inhibited=false");
    }
    asked.parse = [source = args_.source, alertmanager = args_.alertmanager,
                   json = args_.json](std::string_view body) -> Parsed {
      auto report = source == Source::kNagios         ? ParseNagios(body)
                    : source == Source::kAlertmanager ? ParseAlertmanager(body, alertmanager)
                                                      : ParseJsonHealth(body, json);
      if (!report.ok()) return report.error();
      return std::shared_ptr<const framework::OutsideData>(std::make_shared<HealthReport>(std::move(*report)));
    };
    framework::OutsideSource clock;
    clock.name = "clock";
    clock.is_clock = true;
    clock.interval = args_.endpoint.interval;
    return {asked, clock};
  }

  framework::OutsideChange OnOutsideData(std::size_t source,
                                         const Expected<std::shared_ptr<const framework::OutsideData>>& data,
                                         Time wall_now) override {
    const auto before = AllVerdicts();
    has_answered_ |= source == 0;
    // The clock brings no data. What the source said stays after a failure, until it is too old.
    if (data.ok() && *data != nullptr) Take(static_cast<const HealthReport&>(**data), wall_now);
    is_stale_ = !as_of_ || wall_now - *as_of_ > args_.stale_after;
    const auto after = AllVerdicts();
    Report(after);

    const NodeTable* nodes = handle_.node_table();
    framework::OutsideChange change;
    change.all_nodes = nodes == nullptr;
    if (nodes == nullptr) return change;
    for (const NodeIndex row : nodes->rows()) {
      const auto& [verdict, words] = after[row];
      const bool is_same =
          IsRefused(before[row].first) == IsRefused(verdict) && (!IsRefused(verdict) || before[row] == after[row]);
      if (!is_same) change.node_names.push_back(nodes->Info(row).name());
    }
    return change;
  }

 private:
  enum class Verdict : std::uint8_t { kGood, kBad, kUnknown, kStale };
  // The source's words come with kBad. The pair is good until the next data.
  std::pair<Verdict, std::string_view> Judge(const api::Node& node) const {
    if (is_stale_) return {Verdict::kStale, {}};
    const auto it = hosts_.find(NameAtSource(node));
    if (it == hosts_.end()) return {names_bad_hosts_only_ ? Verdict::kGood : Verdict::kUnknown, {}};
    switch (it->second.health) {
      case HostHealth::kGood: break;
      case HostHealth::kBad: return {Verdict::kBad, it->second.words};
      case HostHealth::kUnknown: return {Verdict::kUnknown, {}};
    }
    return {Verdict::kGood, {}};
  }

  bool IsRefused(Verdict verdict) const {
    switch (verdict) {
      case Verdict::kGood: break;
      case Verdict::kBad: return true;
      case Verdict::kUnknown: return args_.on_unknown == Fallback::kClosed;
      case Verdict::kStale: return args_.on_stale == Fallback::kClosed;
    }
    return false;
  }

  std::vector<std::pair<Verdict, std::string>> AllVerdicts() const {
    std::vector<std::pair<Verdict, std::string>> verdicts;
    const NodeTable* nodes = handle_.node_table();
    if (nodes == nullptr) return verdicts;
    verdicts.resize(nodes->row_count());
    for (const NodeIndex row : nodes->rows()) {
      const auto [verdict, words] = Judge(nodes->Info(row).node());
      verdicts[row] = {verdict, std::string(words)};
    }
    return verdicts;
  }

  std::string_view NameAtSource(const api::Node& node) const {
    const std::string* name = nullptr;
    if (!args_.name_label.empty()) name = node.metadata.labels.Find(args_.name_label);
    if (name == nullptr && !args_.name_annotation.empty()) name = node.metadata.annotations.Find(args_.name_annotation);
    return name != nullptr && !name->empty() ? *name : node.metadata.name;
  }

  void Take(const HealthReport& report, Time wall_now) {
    hosts_ = report.hosts;
    names_bad_hosts_only_ = report.names_bad_hosts_only;
    not_good_count_ = 0;
    for (const auto& [name, word] : hosts_) not_good_count_ += word.health != HostHealth::kGood ? 1U : 0U;
    // A source whose clock is ahead is not fresher than its answer.
    as_of_ = report.as_of ? std::min(*report.as_of, wall_now) : wall_now;
    if (report.unreadable > 0) {
      unreadable_->Add(static_cast<double>(report.unreadable));
      if (!has_said_unreadable_) {
        log::Warning("plugins", "Items without a name or a state are left out",
                     {{"profile", profile_}, {"source", args_.source_name}, {"items", report.unreadable}});
      }
    }
    has_said_unreadable_ = report.unreadable > 0;
  }

  void Report(const std::vector<std::pair<Verdict, std::string>>& verdicts) {
    const NodeTable* nodes = handle_.node_table();
    std::size_t bad = 0;
    std::size_t unknown = 0;
    for (const NodeIndex row : nodes == nullptr ? std::span<const NodeIndex>() : nodes->rows()) {
      bad += verdicts[row].first == Verdict::kBad ? 1U : 0U;
      unknown += verdicts[row].first == Verdict::kUnknown ? 1U : 0U;
    }
    bad_nodes_->Set(static_cast<double>(bad));
    unknown_nodes_->Set(static_cast<double>(unknown));
    is_stale_gauge_->Set(is_stale_ ? 1 : 0);
    if (!has_answered_) return;
    const auto say_once = [&](bool& has_said, bool is_so, std::string_view message, std::size_t count) {
      if (is_so && !has_said)
        log::Warning("plugins", message, {{"profile", profile_}, {"source", args_.source_name}, {"nodes", count}});
      has_said = is_so;
    };
    const std::size_t count = nodes == nullptr ? 0 : nodes->node_count();
    say_once(has_said_stale_, is_stale_,
             args_.on_stale == Fallback::kOpen ? "No fresh word about nodes: all may be used"
                                               : "No fresh word about nodes: none may be used",
             count);
    say_once(has_said_unknown_, unknown > 0,
             args_.on_unknown == Fallback::kOpen ? "Nodes that the source does not know may be used"
                                                 : "Nodes that the source does not know may not be used",
             unknown);
  }

  const ExternalHealthArgs args_;
  Handle& handle_;
  std::string profile_;
  framework::Gauge* bad_nodes_ = nullptr;
  framework::Gauge* unknown_nodes_ = nullptr;
  framework::Gauge* is_stale_gauge_ = nullptr;
  framework::Counter* unreadable_ = nullptr;

  StringHashMap<HostWord> hosts_;
  bool names_bad_hosts_only_ = false;
  std::size_t not_good_count_ = 0;  // hosts in hosts_ that are not good
  std::optional<Time> as_of_;       // when hosts_ was true; absent: no answer yet
  bool is_stale_ = true;
  bool has_answered_ = false;  // an error is an answer, too
  bool has_said_stale_ = false;
  bool has_said_unknown_ = false;
  bool has_said_unreadable_ = false;
};

}  // namespace

std::unique_ptr<framework::Plugin> CreateExternalHealth(const ExternalHealthArgs& args, Handle& handle) {
  return std::make_unique<ExternalHealth>(args, handle);
}

}  // namespace berth::plugins
