// SPDX-License-Identifier: Apache-2.0
// ExternalHealth: a policy of berth's own. An outside system is asked, in the background, which nodes may be used; what
// it calls bad is refused, in its own words.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/framework/fast_path.h"
#include "berth/framework/handle.h"
#include "berth/framework/node_annotation_reader.h"
#include "berth/framework/outside_data.h"
#include "berth/framework/profile_aware.h"
#include "berth/plugins/external_health/external_health_args.h"
#include "berth/plugins/external_health/health_report.h"
#include "berth/plugins/names.h"

namespace berth::plugins {

class ExternalHealth final : public framework::FastFilter,
                             public framework::OutsideDataReader,
                             public framework::NodeAnnotationReader,
                             public framework::ProfileAware,
                             public framework::EnqueueExtensions {
 public:
  static Expected<std::unique_ptr<framework::Plugin>> Create(const config::PluginArgs& args, framework::Handle& handle);
  ExternalHealth(ExternalHealthArgs args, framework::Handle& handle);

  std::string_view Name() const override { return names::kExternalHealth; }
  bool ReadsPlacementOnly() const override { return true; }
  void SetProfile(std::string_view scheduler_name) override;

  framework::Dependency FilterDependsOn() const override { return framework::Dependency::kNode; }
  framework::Status Filter(const framework::Cycle& cycle, const framework::PodInfo& pod,
                           const framework::NodeInfo& node) const override;
  bool RefusesNone(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;

  std::vector<std::string> NodeAnnotationsRead() const override { return {args_.name_annotation}; }
  std::vector<framework::ClusterEventWithHint> EventsToRegister() const override;

  std::vector<framework::OutsideSource> OutsideSources() const override;
  framework::OutsideChange OnOutsideData(std::size_t source,
                                         const Expected<std::shared_ptr<const framework::OutsideData>>& data,
                                         Time wall_now) override;

 private:
  enum class Verdict : std::uint8_t { kGood, kBad, kUnknown, kStale };
  // With the source's words for kBad. The pair holds until the next data.
  std::pair<Verdict, std::string_view> Judge(const api::Node& node) const;
  bool IsRefused(Verdict verdict) const;
  std::vector<std::pair<Verdict, std::string>> AllVerdicts() const;
  std::string_view NameAtSource(const api::Node& node) const;
  void Take(const HealthReport& report, Time wall_now);
  void Report(const std::vector<std::pair<Verdict, std::string>>& verdicts);

  const ExternalHealthArgs args_;
  framework::Handle& handle_;
  std::string profile_;
  framework::Gauge* bad_nodes_ = nullptr;
  framework::Gauge* unknown_nodes_ = nullptr;
  framework::Gauge* is_stale_gauge_ = nullptr;
  framework::Counter* unreadable_ = nullptr;

  StringHashMap<HostWord> hosts_;
  bool names_bad_hosts_only_ = false;
  std::size_t not_good_count_ = 0;  // of hosts_
  std::optional<Time> as_of_;       // of hosts_; absent: no answer yet
  bool is_stale_ = true;
  bool has_answered_ = false;  // an error counts
  bool has_said_stale_ = false;
  bool has_said_unknown_ = false;
  bool has_said_unreadable_ = false;
};

}  // namespace berth::plugins
