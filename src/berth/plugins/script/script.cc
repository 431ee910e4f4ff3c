// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/script/script.h"

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/log.h"
#include "berth/framework/node_annotation_reader.h"
#include "berth/framework/outside_data.h"
#include "berth/framework/profile_aware.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/names.h"
#include "berth/plugins/script/program.h"
#include "berth/plugins/script/script_args.h"

namespace berth::plugins {
namespace {

using Verdict = ScriptProgram::Verdict;

// A version that has passed the checks, on its way from the thread that made it to the core's; null: what is in the
// file is what is in use.
struct NextVersion final : framework::OutsideData {
  mutable std::unique_ptr<ScriptProgram> program;
};

std::string FileName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Refusals of one call of the column form, so that equal ones are interned once.
class Refusals {
 public:
  explicit Refusals(StatusTable& statuses) : statuses_(statuses) {}

  template <typename Make>
  VerdictId Get(Verdict verdict, std::string_view reason, Make make) {
    for (std::size_t i = known_.size(); i-- > 0;) {
      if (known_[i].verdict == verdict && known_[i].reason == reason) return known_[i].id;
    }
    const VerdictId id = statuses_.Intern(make());
    // Reasons that name the node are all different: looking for them costs more than it saves.
    if (known_.size() < kKnownMax) known_.push_back({verdict, std::string(reason), id});
    return id;
  }

 private:
  static constexpr std::size_t kKnownMax = 8;
  struct Known {
    Verdict verdict;
    std::string reason;
    VerdictId id;
  };
  StatusTable& statuses_;
  std::vector<Known> known_;
};

// While it lives the program reads columns.
class Rows {
 public:
  Rows(ScriptProgram& program, const NodeTable& nodes) : program_(program) { program_.BeginRows(nodes); }
  ~Rows() { program_.EndRows(); }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

 private:
  ScriptProgram& program_;
};

Status ToStatus(const ScriptProgram::FilterAnswer& answer, const std::string& title) {
  std::string reason = answer.reason.empty() ? "node(s) refused by the script " + title : std::string(answer.reason);
  return {answer.verdict == Verdict::kRefusedForGood ? Code::kUnschedulableAndUnresolvable : Code::kUnschedulable,
          {std::move(reason)}};
}

std::string_view ToString(int point) {
  constexpr std::array<std::string_view, 4> kNames = {"prefilter", "filter", "score", "normalize"};
  return kNames[static_cast<std::size_t>(point)];
}

// The plugin is at every extension point that a script can have a function for, and neutral where this script has none.
class Script final : public PreFilterPlugin,
                     public FastFilter,
                     public FastScore,
                     public AnnotationReader,
                     public framework::NodeAnnotationReader,
                     public framework::OutsideDataReader,
                     public framework::ProfileAware,
                     public EnqueueExtensions {
 public:
  // Calls of one cycle that may go over their limits; those that follow are not made, and fail as they did.
  static constexpr int kOverrunsMax = 8;

  static Expected<std::unique_ptr<framework::Plugin>> Create(std::string_view name, const config::PluginArgs& args,
                                                             Handle& handle) {
    BERTH_ASSIGN_OR_RETURN(ScriptArgs read, ReadScriptArgs(name, args));
    std::unique_ptr<Script> script(new Script(name, std::move(read), handle));
    if (script->args_.file.empty()) {
      script->title_ = script->name_;
      script->text_ = script->args_.source;
    } else {
      BERTH_ASSIGN_OR_RETURN(framework::FileText file, handle.ReadFile(script->args_.file));
      script->title_ = FileName(script->args_.file);
      script->path_ = std::move(file.path);
      script->text_ = std::move(file.text);
    }
    BERTH_ASSIGN_OR_RETURN(script->program_, ScriptProgram::Load(script->args_, script->title_, script->text_));
    return std::unique_ptr<framework::Plugin>(std::move(script));
  }

  std::string_view Name() const override { return name_; }
  // Grows with each version of the script.
  std::uint64_t Epoch() const override { return version_; }
  void SetProfile(std::string_view scheduler_name) override {
    profile_ = scheduler_name;
    framework::Metrics& metrics = handle_.metrics();
    for (int point = 0; point < 4; ++point) {
      errors_[point] =
          &metrics.GetCounter("berth_script_errors_total", "Calls of a script's functions that failed.",
                              {{"profile", profile_}, {"plugin", name_}, {"function", std::string(ToString(point))}});
    }
    if (args_.file.empty()) return;
    const auto reloads = [&](std::string result) {
      return &metrics.GetCounter("berth_script_reloads_total",
                                 "New versions of a script's file, by what became of them.",
                                 {{"profile", profile_}, {"plugin", name_}, {"result", std::move(result)}});
    };
    reloads_ = reloads("success");
    failed_reloads_ = reloads("error");
  }

  // ---- prefilter ----

  // Without a prefilter function the answer rests on nothing.
  Dependency PreFilterDependsOn() const override {
    const ScriptDeclarations& declared = program_->declarations();
    return declared.is_node_local || !declared.has_prefilter ? Dependency::kNode : Dependency::kCycle;
  }

  PreFilterResult PreFilter(const Cycle& cycle, const PodInfo& pod) const override {
    using Kind = ScriptProgram::PreFilterAnswer::Kind;
    const ScriptDeclarations& declared = program_->declarations();
    const Status nothing_to_do = declared.has_filter ? Status() : Status::Skip();
    if (!declared.has_prefilter) return {nothing_to_do, std::nullopt};
    ScriptProgram::PreFilterAnswer answer = program_->PreFilter(pod, cycle.seed);
    const auto refusal = [&](Code code) {
      std::string reason = answer.reason.empty() ? "pod refused by the script " + title_ : std::move(answer.reason);
      return PreFilterResult{Status(code, {std::move(reason)}), std::nullopt};
    };
    switch (answer.kind) {
      case Kind::kAll: break;
      case Kind::kSkip: return {Status::Skip(), std::nullopt};
      case Kind::kNarrowed: return {Status(), std::move(answer.node_names)};
      case Kind::kRefused: return refusal(Code::kUnschedulable);
      case Kind::kRefusedForGood: return refusal(Code::kUnschedulableAndUnresolvable);
      case Kind::kFailed: {
        const Status failed = Failed(Point::kPreFilter, cycle);
        return {failed.IsSuccess() ? nothing_to_do : failed, std::nullopt};
      }
    }
    return {nothing_to_do, std::nullopt};
  }

  // ---- filter ----

  Dependency FilterDependsOn() const override {
    const ScriptDeclarations& declared = program_->declarations();
    return declared.is_node_local || !declared.has_filter ? Dependency::kNode : Dependency::kCycle;
  }

  Status Filter(const Cycle& cycle, const PodInfo& pod, const NodeInfo& node) const override {
    if (!program_->declarations().has_filter) return {};
    if (HasOverrun(cycle)) return Failed(Point::kFilter, cycle);
    const ScriptProgram::FilterAnswer answer = program_->Filter(pod, node, cycle.seed);
    switch (answer.verdict) {
      case Verdict::kPass: break;
      case Verdict::kRefused:
      case Verdict::kRefusedForGood: return ToStatus(answer, title_);
      case Verdict::kFailed: return Failed(Point::kFilter, cycle);
    }
    return {};
  }

  // After the first error nobody needs the other verdicts: the cycle ends with it.
  void FilterRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                  std::span<VerdictId> verdicts, StatusTable& statuses) const override {
    if (!program_->declarations().has_filter) return;
    Refusals refusals(statuses);
    const Rows reading(*program_, cycle.table);
    for (const NodeIndex row : rows) {
      if (verdicts[row] != kVerdictOk) continue;
      ScriptProgram::FilterAnswer answer{Verdict::kFailed, {}};
      if (!HasOverrun(cycle)) answer = program_->Filter(pod, cycle.nodes.Info(row), cycle.seed, row);
      if (answer.verdict == Verdict::kPass) continue;
      if (answer.verdict == Verdict::kFailed) {
        const Status failed = Failed(Point::kFilter, cycle);
        if (failed.IsSuccess()) continue;
        verdicts[row] = statuses.Intern(failed);
        return;
      }
      verdicts[row] = refusals.Get(answer.verdict, answer.reason, [&] { return ToStatus(answer, title_); });
    }
  }
  bool RefusesNone(const Cycle&, const PodInfo&) const override { return !program_->declarations().has_filter; }

  // ---- score ----

  Dependency ScoreDependsOn() const override {
    const ScriptDeclarations& declared = program_->declarations();
    return declared.is_node_local || !declared.has_score ? Dependency::kNode : Dependency::kCycle;
  }
  Normalization ScoreNormalization() const override { return program_->declarations().normalization; }
  bool ScoresNothing(const Cycle&, const PodInfo&) const override { return !program_->declarations().has_score; }
  std::optional<std::int64_t> ScoreOfAll(const Cycle&, const PodInfo&) const override {
    if (program_->declarations().has_score) return std::nullopt;
    return 0;
  }

  std::int64_t Score(const Cycle& cycle, const PodInfo& pod, NodeIndex, const NodeInfo& node,
                     Status& status) const override {
    if (!program_->declarations().has_score) return 0;
    if (!HasOverrun(cycle)) {
      if (const auto score = program_->Score(pod, node, cycle.seed)) return *score;
    }
    status = Failed(Point::kScore, cycle);
    return 0;
  }

  // The plain form's twin: the rows up to the first error.
  void ScoreRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                 std::span<std::int64_t> scores, Status& status) const override {
    const bool has_score = program_->declarations().has_score;
    const Rows reading(*program_, cycle.table);
    for (const NodeIndex row : rows) {
      std::optional<std::int64_t> score;
      if (!has_score) {
        score = 0;
      } else if (!HasOverrun(cycle)) {
        score = program_->Score(pod, cycle.nodes.Info(row), cycle.seed, row);
      }
      if (!score) status = Failed(Point::kScore, cycle);
      scores[row] = score.value_or(0);
      if (!status.IsSuccess()) return;
    }
  }

  Status NormalizeScore(const Cycle& cycle, const PodInfo& pod, std::span<NodeScore> scores) const override {
    ScriptProgram::Scores by_node;
    for (const NodeScore& score : scores) by_node.emplace(cycle.nodes.Info(score.row).name(), score.score);
    if (!program_->Normalize(pod, cycle.seed, by_node)) {
      for (NodeScore& score : scores) score.score = 0;
      return Failed(Point::kNormalize, cycle);
    }
    for (NodeScore& score : scores) score.score = by_node.at(cycle.nodes.Info(score.row).name());
    return {};
  }

  // ---- what else it reads and hears ----

  std::vector<std::string> PodAnnotationsRead() const override { return program_->declarations().annotations; }
  // A script, or its next version, may read any.
  std::vector<std::string> NodeAnnotationsRead() const override { return {"*"}; }
  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    const auto& declared = program_->declarations().events;
    // A script that declares no events has its pods tried again at every event, new versions of the script among them.
    if (!declared) return {{{EventResource::kWildcard, framework::action::kAll}, {}}};
    std::vector<ClusterEventWithHint> events;
    for (const framework::ClusterEvent& event : *declared) events.push_back({event, {}});
    if (!args_.file.empty()) events.push_back(framework::OutsideDataEvent(Name()));
    return events;
  }

  // The file, where the script is in one.
  std::vector<framework::OutsideSource> OutsideSources() const override {
    using Parsed = Expected<std::shared_ptr<const framework::OutsideData>>;
    if (args_.file.empty()) return {};
    framework::OutsideSource source;
    source.name = "file";
    source.file = path_;
    source.interval = kScriptReloadInterval;
    source.body_bytes_max = script::Sandbox::kSourceBytesMax;
    // On another thread: a state of its own, which nobody else knows until it is handed over. The text in use changes
    // with each version that is.
    source.parse = [args = args_, title = title_, in_use = std::make_shared<std::string>(text_),
                    declared = program_->declarations()](std::string_view text) -> Parsed {
      auto next = std::make_shared<NextVersion>();
      if (text == *in_use) return std::shared_ptr<const framework::OutsideData>(std::move(next));
      BERTH_ASSIGN_OR_RETURN(next->program, ScriptProgram::Load(args, title, text));
      if (next->program->declarations() != declared) {
        return InvalidError("script \"" + title +
                            "\": has other functions, or declares something else, than the version that the scheduler "
                            "started with: restart it for that");
      }
      *in_use = text;
      return std::shared_ptr<const framework::OutsideData>(std::move(next));
    };
    return {source};
  }

  framework::OutsideChange OnOutsideData(std::size_t,
                                         const Expected<std::shared_ptr<const framework::OutsideData>>& data,
                                         Time) override {
    if (!data.ok()) {
      failed_reloads_->Add();
      return {};
    }
    const auto& next = static_cast<const NextVersion&>(**data);
    if (next.program == nullptr) return {};
    program_ = std::move(next.program);
    ++version_;
    for (bool& has_said : has_said_) has_said = false;
    overruns_ = 0;
    reloads_->Add();
    log::Info("plugins", "A new version of a script is in use",
              {{"profile", profile_}, {"plugin", name_}, {"file", path_}, {"version", version_ + 1}});
    framework::OutsideChange change;
    change.all_nodes = true;
    return change;
  }

 private:
  enum class Point : std::uint8_t { kPreFilter, kFilter, kScore, kNormalize };

  Script(std::string_view name, ScriptArgs args, Handle& handle)
      : name_(name), args_(std::move(args)), handle_(handle) {
    // Metrics that count nothing, until a profile sets its own.
    reloads_ = failed_reloads_ = &framework::Metrics::None().GetCounter("", "", {});
    for (framework::Counter*& counter : errors_) counter = reloads_;
  }

  // ---- failing ----

  // A script that loops for ever must not do so for every node there is.
  bool HasOverrun(const Cycle& cycle) const { return overruns_ >= kOverrunsMax && overrun_seed_ == cycle.seed; }
  // The status that the last call's failure gives the pod.
  Status Failed(Point point, const Cycle& cycle) const {
    const auto at = static_cast<std::size_t>(point);
    errors_[at]->Add();
    if (program_->is_over_limit()) {
      if (std::exchange(overrun_seed_, cycle.seed) != cycle.seed) overruns_ = 0;
      if (overruns_ < kOverrunsMax) ++overruns_;
    }
    if (args_.on_error == ScriptArgs::OnError::kError) return Status::Error(program_->error());
    if (!std::exchange(has_said_[at], true)) {
      log::Warning("plugins", "A script fails and is left out (said once a version)",
                   {{"profile", profile_}, {"plugin", name_}, {"error", program_->error()}});
    }
    return {};
  }

  const std::string name_;
  const ScriptArgs args_;
  Handle& handle_;
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

}  // namespace

Expected<std::unique_ptr<framework::Plugin>> CreateScript(std::string_view name, const config::PluginArgs& args,
                                                          Handle& handle) {
  return Script::Create(name, args, handle);
}

}  // namespace berth::plugins
