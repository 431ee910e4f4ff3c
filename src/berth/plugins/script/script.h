// SPDX-License-Identifier: Apache-2.0
// Script: a plugin in Lua 5.4. The functions `prefilter`, `filter`, `score` and `normalize` of a file, or of the
// arguments themselves, answer at the extension points of those names. A file that changes is taken up while the
// scheduler runs, when the new version passes the checks of the first.
//
// A profile may have several, each with arguments of its own: "Script", "Script/zones", "Script/anything".
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "berth/framework/fast_path.h"
#include "berth/framework/handle.h"
#include "berth/framework/node_annotation_reader.h"
#include "berth/framework/outside_data.h"
#include "berth/framework/profile_aware.h"
#include "berth/plugins/script/script_args.h"

namespace berth::plugins {

class ScriptProgram;

// It is at every extension point that a script can have a function for; where this one has none it says nothing.
class Script final : public framework::PreFilterPlugin,
                     public framework::FastFilter,
                     public framework::FastScore,
                     public framework::AnnotationReader,
                     public framework::NodeAnnotationReader,
                     public framework::OutsideDataReader,
                     public framework::ProfileAware,
                     public framework::EnqueueExtensions {
 public:
  // How often a changed file is looked for.
  static constexpr Duration kReloadInterval = std::chrono::seconds(2);
  // Calls of one cycle that may go over their limits; those that follow are not made, and fail as they did.
  static constexpr int kOverrunsMax = 8;

  // `name` is "Script" or "Script/...". A file is read through the handle.
  static Expected<std::unique_ptr<framework::Plugin>> Create(std::string_view name, const config::PluginArgs& args,
                                                             framework::Handle& handle);
  ~Script() override;

  std::string_view Name() const override { return name_; }
  // Grows with each version of the script.
  std::uint64_t Epoch() const override { return version_; }
  void SetProfile(std::string_view scheduler_name) override;

  framework::Dependency PreFilterDependsOn() const override;
  framework::PreFilterResult PreFilter(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;

  framework::Dependency FilterDependsOn() const override;
  framework::Status Filter(const framework::Cycle& cycle, const framework::PodInfo& pod,
                           const framework::NodeInfo& node) const override;
  void FilterRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                  std::span<const framework::NodeIndex> rows, std::span<framework::VerdictId> verdicts,
                  framework::StatusTable& statuses) const override;
  bool RefusesNone(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;

  framework::Dependency ScoreDependsOn() const override;
  framework::Normalization ScoreNormalization() const override;
  bool ScoresNothing(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;
  std::optional<std::int64_t> ScoreOfAll(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;
  std::int64_t Score(const framework::Cycle& cycle, const framework::PodInfo& pod, framework::NodeIndex row,
                     const framework::NodeInfo& node, framework::Status& status) const override;
  void ScoreRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                 std::span<const framework::NodeIndex> rows, std::span<std::int64_t> scores,
                 framework::Status& status) const override;
  framework::Status NormalizeScore(const framework::Cycle& cycle, const framework::PodInfo& pod,
                                   std::span<framework::NodeScore> scores) const override;

  std::vector<std::string> PodAnnotationsRead() const override;
  // A script, or its next version, may read any.
  std::vector<std::string> NodeAnnotationsRead() const override { return {"*"}; }
  std::vector<framework::ClusterEventWithHint> EventsToRegister() const override;

  // The file, where the script is in one.
  std::vector<framework::OutsideSource> OutsideSources() const override;
  framework::OutsideChange OnOutsideData(std::size_t source,
                                         const Expected<std::shared_ptr<const framework::OutsideData>>& data,
                                         Time now) override;

 private:
  enum class Point : std::uint8_t { kPreFilter, kFilter, kScore, kNormalize };

  Script(std::string_view name, ScriptArgs args, framework::Handle& handle);

  bool HasOverrun(const framework::Cycle& cycle) const;
  framework::Status Failed(Point point, const framework::Cycle& cycle) const;

  const std::string name_;
  const ScriptArgs args_;
  framework::Handle& handle_;
  std::string path_;   // of the file, as the shell reads it
  std::string title_;  // what messages call the script
  std::string text_;   // of the first version
  std::unique_ptr<ScriptProgram> program_;
  std::uint64_t version_ = 0;
  std::string profile_;
  framework::Counter* errors_[4] = {};  // by point
  framework::Counter* reloads_ = nullptr;
  framework::Counter* failed_reloads_ = nullptr;
  mutable bool has_said_[4] = {};  // by point: that it fails, of this version
  // Calls over their limits in the latest cycle that had one.
  mutable std::uint64_t overrun_seed_ = 0;
  mutable int overruns_ = 0;
};

}  // namespace berth::plugins
