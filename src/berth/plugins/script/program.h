// SPDX-License-Identifier: Apache-2.0
// ScriptProgram: one version of a script, loaded, checked and frozen, and its functions as C++ calls. Made on any
// thread; used on one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/expected.h"
#include "berth/framework/node_table.h"
#include "berth/framework/plugin.h"
#include "berth/languages/script/sandbox.h"
#include "berth/plugins/script/script_args.h"
#include "berth/plugins/script/views.h"

namespace berth::plugins {

// What a script says of itself at its top level.
struct ScriptDeclarations {
  static constexpr std::size_t kAnnotationsMax = 64;
  static constexpr std::size_t kEventsMax = 64;

  bool has_filter = false, has_score = false, has_prefilter = false, has_normalize = false;
  bool is_node_local = false;  // depends_on = "node"
  framework::Normalization normalization = framework::Normalization::kNone;
  std::vector<std::string> annotations;
  std::optional<std::vector<framework::ClusterEvent>> events;  // nullopt: every event
  bool operator==(const ScriptDeclarations&) const = default;
};

class ScriptProgram {
 public:
  using Scores = std::map<std::string_view, std::int64_t>;  // by node

  enum class Verdict : std::uint8_t { kPass, kRefused, kRefusedForGood, kFailed };
  struct FilterAnswer {
    Verdict verdict = Verdict::kPass;
    std::string_view reason;  // of a refusal; empty: none was given. Until the next call
  };
  struct PreFilterAnswer {
    enum class Kind : std::uint8_t { kAll, kSkip, kNarrowed, kRefused, kRefusedForGood, kFailed };
    Kind kind = Kind::kAll;
    std::string reason;
    std::set<std::string> node_names;
  };

  // Runs the script's top level and, with a made-up pod and node, its functions. `name` is what messages call it.
  static Expected<std::unique_ptr<ScriptProgram>> Load(const ScriptArgs& args, std::string_view name,
                                                       std::string_view text);

  const ScriptDeclarations& declarations() const { return declarations_; }

  // The calls until EndRows() are about rows of that table, which stays as it is: their columns are read instead of the
  // nodes.
  void BeginRows(const framework::NodeTable& nodes) { context_.nodes = &nodes; }
  void EndRows();

  // Each call with the seed of its cycle, and within BeginRows() the node's row. Where one fails, error() says why.
  PreFilterAnswer PreFilter(const framework::PodInfo& pod, std::uint64_t seed);
  FilterAnswer Filter(const framework::PodInfo& pod, const framework::NodeInfo& node, std::uint64_t seed,
                      framework::NodeIndex row = framework::kNoNode);
  // Within 0..100, or from 0 to 2^53 with a normalization. nullopt: it failed.
  std::optional<std::int64_t> Score(const framework::PodInfo& pod, const framework::NodeInfo& node, std::uint64_t seed,
                                    framework::NodeIndex row = framework::kNoNode);
  // Replaces the scores. False: it failed.
  bool Normalize(const framework::PodInfo& pod, std::uint64_t seed, Scores& scores);

  // `script "zones.lua", line 7: attempt to index a nil value (pod default/web-1, node n3)`, of the call that failed.
  const std::string& error() const { return error_; }
  bool is_over_limit() const { return failure_kind_ == script::Failure::Kind::kLimit; }

  ScriptProgram(const ScriptProgram&) = delete;
  ScriptProgram& operator=(const ScriptProgram&) = delete;

 private:
  ScriptProgram(const ScriptArgs& args, std::string_view name);

  Expected<void> Declare();
  Expected<void> CheckNames();
  Expected<int> TakeFunction(const char* name);
  Expected<std::string> TakeText(const char* name);
  Expected<std::vector<std::string>> TakeTexts(const char* name, std::size_t count_max);
  Error NotAsDeclared(const std::string& what) const;
  Expected<void> DryRun();
  bool IsFaultOfMadeUpNode() const;

  bool IsCycleSpent(const framework::PodInfo& pod, const framework::NodeInfo* node, std::uint64_t seed);
  bool Call(int function, const framework::PodInfo& pod, const framework::NodeInfo* node, std::uint64_t seed,
            int results);
  bool MakeCall(int arguments, int results, const framework::PodInfo& pod, const framework::NodeInfo* node);
  void Begin(const framework::PodInfo& pod, const framework::NodeInfo* node, std::uint64_t seed);
  void End();
  void Fail(const script::Failure& failure, const framework::PodInfo* pod, const framework::NodeInfo* node);
  void FailWith(std::string message, const framework::PodInfo& pod, const framework::NodeInfo* node);
  std::optional<double> TakeScore(const char* function, double max, std::string& problem);
  bool TakeNodeNames(std::set<std::string>& names);
  std::string ProblemOfRefusal(const char* function) const;
  bool IsForGood() const;
  std::string_view TakeReason();
  std::string_view TextAt(int index) const;

  const std::string name_;
  const std::int64_t cycle_instructions_max_;
  std::int64_t cycle_instructions_ = 0;  // of the calls with the context's seed
  ScriptContext context_;
  script::Sandbox sandbox_;
  ScriptViews views_;
  ScriptDeclarations declarations_;
  int prefilter_ = 0, filter_ = 0, score_ = 0, normalize_ = 0;  // stack indexes; 0: there is none
  std::string error_;
  std::string reason_;
  script::Failure::Kind failure_kind_ = script::Failure::Kind::kRuntime;
  bool is_nothing_ = false;  // the call that failed gave nil
};

}  // namespace berth::plugins
