// SPDX-License-Identifier: Apache-2.0
// One version of a script: what it may read, what its functions may answer, and what is said of those that fail.
#include "berth/plugins/script/program.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/core/cache/column_node_table.h"
#include "berth/testing/builders.h"

namespace berth::plugins {
namespace {

using framework::NodeInfo;
using testing::MakeNode;
using testing::MakePod;
using Verdict = ScriptProgram::Verdict;

std::unique_ptr<ScriptProgram> MustLoad(const std::string& text, const std::string& args = "{}") {
  ScriptArgs script_args;
  script_args.args_json = args;
  auto made = ScriptProgram::Load(script_args, "test.lua", text);
  EXPECT_TRUE(made.ok()) << made.error().message << "\n" << text;
  return made.ok() ? std::move(*made) : nullptr;
}

std::string LoadError(const std::string& text) {
  const auto made = ScriptProgram::Load(ScriptArgs(), "test.lua", text);
  return made.ok() ? "" : made.error().message;
}

framework::PodInfoPtr SomePod() {
  return MakePod("web-1")
      .Label("app", "web")
      .Annotation("team/name", "blue")
      .Annotation("cost", "3")
      .Annotation("secret", "x")
      .Priority(7)
      .Request("cpu", "250m")
      .Request("memory", "1Gi")
      .Request("nvidia.com/gpu", "2")
      .NodeSelector("disk", "ssd")
      .Toleration("gpu", "Exists")
      .Image("registry/web:1")
      .Controller("apps/v1", "ReplicaSet", "web-abc")
      .Info();
}

NodeInfo SomeNode() {
  NodeInfo node(MakeNode("n1")
                    .Label("zone", "a")
                    .Label("topology.kubernetes.io/zone", "eu-1a")
                    .Annotation("cost", "0.5")
                    .Allocatable("nvidia.com/gpu", "4")
                    .Taint("gpu", "yes", api::TaintEffect::kNoSchedule)
                    .Build());
  node.AddPod(MakePod("old").Label("app", "db").Request("cpu", "500m").Node("n1").Info());
  node.AddPod(MakePod("older").Label("app", "web").Request("nvidia.com/gpu", "1").Node("n1").Info());
  return node;
}

// What filter(pod, node) says: "pass", or its reason, or its error.
std::string Filter(ScriptProgram& program, const framework::PodInfo& pod, const NodeInfo& node) {
  const ScriptProgram::FilterAnswer answer = program.Filter(pod, node, 1);
  switch (answer.verdict) {
    case Verdict::kPass: return "pass";
    case Verdict::kRefused: return "refused: " + std::string(answer.reason);
    case Verdict::kRefusedForGood: return "refused for good: " + std::string(answer.reason);
    case Verdict::kFailed: break;
  }
  return program.error();
}

TEST(ScriptProgram, ReadsPodsAndNodes) {
  // Each is a string that the function refuses with.
  const struct {
    const char* expression;
    const char* want;
  } kCases[] = {
      {"pod.metadata.name", "web-1"},
      {"pod.metadata.namespace", "default"},
      {"pod.metadata.uid", "uid-default-web-1"},
      {"pod.metadata.labels.app", "web"},
      {"pod.metadata.labels['app']", "web"},
      {"pod.metadata.labels.missing", "nil"},
      {"pod.metadata.annotations['team/name']", "blue"},
      {"pod.metadata.annotations.cost", "3"},
      {"pod.metadata.annotations['team/other']", "nil"},
      {"pod.spec.priority", "7"},
      {"pod.spec.schedulerName", "default-scheduler"},
      {"pod.spec.hostNetwork", "false"},
      {"pod.spec.preemptionPolicy", "PreemptLowerPriority"},
      {"pod.spec.nodeSelector.disk", "ssd"},
      {"#pod.spec.containers .. pod.spec.containers[1].image", "1registry/web:1"},
      {"#pod.spec.initContainers", "0"},
      {"pod.spec.tolerations[1].key .. pod.spec.tolerations[1].operator", "gpuExists"},
      {"pod.requests.cpu_milli", "250"},
      {"pod.requests.memory_bytes", "1073741824"},
      {"pod.requests.ephemeral_storage_bytes", "0"},
      {"pod.requests['nvidia.com/gpu']", "2"},
      {"pod.requests['example.com/none']", "0"},
      {"pod.owner.kind .. pod.owner.name", "ReplicaSetweb-abc"},
      {"node.metadata.name", "n1"},
      {"node.metadata.labels.zone", "a"},
      {"node.metadata.labels['topology.kubernetes.io/zone']", "eu-1a"},
      {"node.metadata.labels.missing", "nil"},
      {"node.metadata.labels[1]", "nil"},
      {"node.metadata.annotations.cost", "0.5"},
      {"node.spec.unschedulable", "false"},
      {"#node.spec.taints .. node.spec.taints[1].key .. node.spec.taints[1].effect", "1gpuNoSchedule"},
      {"node.allocatable.cpu_milli", "4000"},
      {"node.status.allocatable.cpu_milli", "4000"},
      {"node.allocatable.pods", "110"},
      {"node.allocatable['nvidia.com/gpu']", "4"},
      {"node.requested.cpu_milli", "500"},
      {"node.requested.pods", "2"},
      {"node.free.cpu_milli", "3500"},
      {"node.free.pods", "108"},
      {"node.free['nvidia.com/gpu']", "3"},
      {"node.free.memory_bytes // (1 << 30)", "32"},
      {"node.status.conditions.Ready", "nil"},
      {"#node.pods", "2"},
      {"node.pods[1].metadata.name", "old"},
      {"node.pods[2].metadata.labels.app", "web"},
      {"node.pods[2].metadata.namespace", "default"},
      {"node.pods[2].requests['nvidia.com/gpu']", "1"},
      {"node.pods[1].spec.priority", "0"},
      {"node.pods[1].owner", "nil"},
      {"node.pods[3]", "nil"},
      {"node.pods[0]", "nil"},
      {"type(node) .. tostring(pod)", "userdatauserdata"},
  };
  const auto pod = SomePod();
  const NodeInfo node = SomeNode();
  for (const auto& test : kCases) {
    const auto program =
        MustLoad("annotations = {'team/', 'cost'}\nfunction filter(pod, node) return false, tostring(" +
                 std::string(test.expression) + ") end");
    ASSERT_NE(program, nullptr);
    EXPECT_EQ(Filter(*program, *pod, node), "refused: " + std::string(test.want)) << test.expression;
  }
}

TEST(ScriptProgram, ColumnsSayWhatTheNodesSay) {
  cache::ColumnNodeTable table;
  const framework::NodeIndex a = table.SetNode(MakeNode("a").Label("zone", "a").Label("empty", "").Build());
  const framework::NodeIndex b = table.SetNode(
      MakeNode("b").Allocatable("cpu", "500m").Allocatable("nvidia.com/gpu", "4").Annotation("cost", "3").Build());
  const auto running = MakePod("r").Request("cpu", "1").Request("memory", "2Gi").Node("b").Info();
  table.AddPod(running);
  std::string text = "function filter(pod, node) return false, table.concat({";
  for (const char* expression : {"node.metadata.name",
                                 "node.metadata.labels.zone",
                                 "node.metadata.labels.empty",
                                 "node.metadata.labels.missing",
                                 "node.metadata.labels[1]",
                                 "node.metadata.annotations.cost",
                                 "node.allocatable.cpu_milli",
                                 "node.allocatable.memory_bytes",
                                 "node.allocatable.pods",
                                 "node.allocatable.ephemeral_storage_bytes",
                                 "node.allocatable['nvidia.com/gpu']",
                                 "node.requested.cpu_milli",
                                 "node.requested.memory_bytes",
                                 "node.requested.pods",
                                 "node.requested['nvidia.com/gpu']",
                                 "node.free.cpu_milli",
                                 "node.free.memory_bytes",
                                 "node.free.pods",
                                 "node.free['nvidia.com/gpu']",
                                 "#node.pods",
                                 "node.pods[1] and node.pods[1].metadata.name"})
    text += "tostring(" + std::string(expression) + "),";
  // More labels than there are columns for.
  std::string labels = "function filter(pod, node) return false, table.concat({node.metadata.name,";
  for (int i = 0; i < 12; ++i) labels += "tostring(node.metadata.labels.l" + std::to_string(i) + "),";
  const auto pod = SomePod();
  for (const std::string& one : {text, labels}) {
    table.SetNode(MakeNode("a").Label("zone", "a").Label("empty", "").Build());
    const auto program = MustLoad(one + "}, ' ') end");
    ASSERT_NE(program, nullptr);
    for (int round = 0; round < 2; ++round) {
      for (const framework::NodeIndex row : {a, b}) {
        const framework::NodeInfo& node = table.Info(row);
        const std::string plain(program->Filter(*pod, node, 1).reason);
        program->BeginRows(table);
        const std::string from_columns(program->Filter(*pod, node, 1, row).reason);
        program->EndRows();
        EXPECT_EQ(from_columns, plain);
        EXPECT_TRUE(plain.starts_with(node.name() + " ")) << plain;
        EXPECT_FALSE(plain.ends_with("...")) << plain;
      }
      table.SetNode(MakeNode("a").Label("zone", "c").Label("l3", "x").Label("l11", "y").Build());
    }
  }
}

TEST(ScriptProgram, WalksListsAndMaps) {
  const struct {
    const char* body;
    const char* want;
  } kCases[] = {
      {"for k, v in pairs(node.metadata.labels) do t[#t + 1] = k .. '=' .. v end",
       "kubernetes.io/hostname=n1 topology.kubernetes.io/zone=eu-1a zone=a"},
      {"for k, v in pairs(pod.metadata.annotations) do t[#t + 1] = k .. '=' .. v end", "cost=3 team/name=blue"},
      {"for _, other in ipairs(node.pods) do t[#t + 1] = other.metadata.name end", "old older"},
      {"for _, other in ipairs(node.pods) do for k, v in pairs(other.metadata.labels) do t[#t + 1] = k .. v end end",
       "appdb appweb"},
      {"for _, taint in ipairs(node.spec.taints) do t[#t + 1] = taint.key end", "gpu"},
      {"for k in pairs(node.status.conditions) do t[#t + 1] = k end", ""},
      {"for k, v in pairs(pod.spec.nodeSelector) do t[#t + 1] = k .. v end", "diskssd"},
  };
  const auto pod = SomePod();
  const NodeInfo node = SomeNode();
  for (const auto& test : kCases) {
    const auto program = MustLoad("annotations = {'team/', 'cost'}\nfunction filter(pod, node) local t = {} " +
                                  std::string(test.body) + " return false, 'x' .. table.concat(t, ' ') end");
    ASSERT_NE(program, nullptr);
    EXPECT_EQ(Filter(*program, *pod, node), "refused: x" + std::string(test.want)) << test.body;
  }
}

TEST(ScriptProgram, SaysWhatIsWrongWithACall) {
  const std::string where = " (pod default/web-1, node n1)";
  const struct {
    const char* body;
    const char* want;
  } kCases[] = {
      {"return nil + 1", "line 2: attempt to perform arithmetic on a nil value"},
      {"return node.metadata.labels.missing.x", "line 2: attempt to index a nil value (field 'missing')"},
      {"return node.metadata.labels.zone < 3", "line 2: attempt to compare string with number"},
      {"if node.metadata.labels.zone == 'a' then error('no a') end return true", "line 2: no a"},
      {"if node.metadata.name ~= 'made-up' then return 1 end return true",
       "filter returned a number: want true, or false and a reason"},
      {"if node.metadata.name ~= 'made-up' then return end return true",
       "filter returned nothing: want true, or false and a reason"},
      {"if node.metadata.name ~= 'made-up' then return false, 3 end return true",
       "the reason that filter returned is a number: want a string"},
      {"if node.metadata.name ~= 'made-up' then return false, 'x', 'forever' end return true",
       "the third value that filter returned: want \"unresolvable\" or nothing"},
      {"if node.metadata.name ~= 'made-up' then return node.name end return true",
       "line 2: node has no field \"name\", but metadata, spec, status, allocatable, requested, free, pods"},
      {"if node.metadata.name ~= 'made-up' then return node.metadata.label end return true",
       "line 2: node.metadata has no field \"label\", but name, uid, labels, annotations"},
      {"if node.metadata.name ~= 'made-up' then return node[1] end return true",
       "line 2: node has no field \"1\", but metadata, spec, status, allocatable, requested, free, pods"},
      {"if node.metadata.name ~= 'made-up' then return node.pods.x end return true",
       "line 2: node.pods has no field \"x\", but numbers from 1 to #node.pods (for _, other in ipairs(node.pods))"},
      {"if node.metadata.name ~= 'made-up' then return pod.metadata.annotations.secret end return true",
       "line 2: berth keeps no annotation \"secret\" of pods for this script: declare it at the top level, "
       "annotations = {\"secret\"}"},
      {"if node.metadata.name ~= 'made-up' then node.metadata.labels.zone = 'b' end return true",
       "line 2: pods and nodes are read-only"},
      {"if node.metadata.name ~= 'made-up' then kept = node end return true",
       "line 2: the global \"kept\" is set in a call: what a call leaves behind could change the next answer"},
      {"if node.metadata.name ~= 'made-up' then while true do end end return true",
       "line 2: over 100000 instructions (instructionsMax): does it loop for ever?"},
      {"if node.metadata.name ~= 'made-up' then local t = {} while true do t[#t + 1] = ('x'):rep(60000) end end return "
       "true",
       "over 8388608 bytes of memory (memoryBytesMax)"},
      {"if node.metadata.name ~= 'made-up' then local s = 'x' while true do s = s .. s end end return true",
       "a string of over 65536 bytes"},
  };
  for (const auto& test : kCases) {
    const auto program = MustLoad("function filter(pod, node)\n" + std::string(test.body) + "\nend");
    ASSERT_NE(program, nullptr);
    const std::string said = Filter(*program, *SomePod(), SomeNode());
    const bool has_line = std::string(test.want).starts_with("line");
    EXPECT_EQ(said, "script \"test.lua\"" + std::string(has_line ? ", " : ": ") + test.want + where);
  }
}

TEST(ScriptProgram, IsGoodForOneCallOnly) {
  const auto program = MustLoad(R"(
local kept = {}
function filter(pod, node)
  return pcall(function() kept.node = node end), "x"
end)");
  ASSERT_NE(program, nullptr);
  EXPECT_EQ(Filter(*program, *SomePod(), SomeNode()), "refused: x");
  // Nothing can be kept, but views are checked all the same: here a pod of a list outlives a call in a closure that is
  // stopped by the watch on locals.
  const auto holder = MustLoad(R"(
local held
function filter(pod, node)
  if held then return false, held.metadata.name end
  if #node.pods > 0 then held = node.pods[1] end
  return true
end)");
  ASSERT_NE(holder, nullptr);
  const std::string want =
      "script \"test.lua\": the local variable \"held\" of the script's top level is changed in a call: what a call "
      "leaves behind could change the next answer (pod default/web-1, node n1)";
  EXPECT_EQ(Filter(*holder, *SomePod(), SomeNode()), want);
  EXPECT_EQ(Filter(*holder, *SomePod(), SomeNode()), want);
}

TEST(ScriptProgram, Refuses) {
  const struct {
    const char* result;
    const char* want;
  } kCases[] = {
      {"true", "pass"},
      {"true, 'ignored'", "pass"},
      {"false", "refused: "},
      {"false, 'full'", "refused: full"},
      {"nil, 'full'", "refused: full"},
      {"false, 'full', 'unresolvable'", "refused for good: full"},
      {"false, 'two\\nlines \\27[31m'", "refused: two lines ?[31m"},
      {"false, ('x'):rep(300)", nullptr},
      {"node.metadata.labels.zone == 'a'", "pass"},
      {"node.metadata.labels.zone == 'b'", "refused: "},
      {"args.zones[node.metadata.labels.zone] == true", "pass"},
  };
  for (const auto& test : kCases) {
    const auto program =
        MustLoad("function filter(pod, node) return " + std::string(test.result) + " end", R"({"zones":{"a":true}})");
    ASSERT_NE(program, nullptr);
    const std::string want =
        test.want == nullptr ? "refused: " + std::string(253, 'x') + "..." : std::string(test.want);
    EXPECT_EQ(Filter(*program, *SomePod(), SomeNode()), want) << test.result;
  }
}

TEST(ScriptProgram, Scores) {
  const struct {
    const char* result;
    std::int64_t want;  // -1: an error
    const char* error = "";
    const char* head = "";
  } kCases[] = {
      {"0", 0},
      {"100", 100},
      {"41.9", 41},
      {"tonumber(node.metadata.annotations.cost or 0) * 100", 50},
      {"node.free.cpu_milli * 100 // node.allocatable.cpu_milli", 87},
      {"node.free.cpu_milli / node.allocatable.cpu_milli * 100", 87},
      {"args.x or 3", 3},
      {"node.free.cpu_milli", 35000000, "", "normalization = 'max'\n"},
      {"node.free.cpu_milli", 35000000, "", "normalization = 'max_reverse'\n"},
      {"node.free.cpu_milli", 35000000, "", "normalization = 'lowest_first'\n"},
      {"0.05", 500, "", "normalization = 'lowest_first'\n"},
      {"1.60", 16000, "", "normalization = 'lowest_first'\n"},
      {"0.00004", 0, "", "normalization = 'lowest_first'\n"},
      {"0.00005", 1, "", "normalization = 'lowest_first'\n"},
      {"9e12", 90000000000000000, "", "normalization = 'max'\n"},
      {"9e12 + 8", 90000000000000001, "", "normalization = 'max'\n"},
      {"2^53", 91124774906842624, "", "normalization = 'max'\n"},
      {"node.free.cpu_milli", 35000000, "",
       "function normalize(scores) for n in pairs(scores) do scores[n] = 1 end "
       "return scores end\n"},
      {"node.metadata.name == 'n1' and 101 or 1", -1,
       "score returned 101: want a number from 0 to 100, or a declared normalization"},
      {"node.metadata.name == 'n1' and -1 or 1", -1,
       "score returned -1: want a number from 0 to 100, or a declared normalization"},
      {"node.metadata.name == 'n1' and -0.5 or 1", -1,
       "score returned -0.5: want a number from 0 to 100, or a declared normalization"},
      {"node.metadata.name == 'n1' and 0/0 or 1", -1,
       "score returned nan: want a number from 0 to 100, or a declared normalization"},
      {"node.metadata.name == 'n1' and 1/0 or 1", -1, "score returned inf: want a number from 0 to 9007199254740992",
       "normalization = 'max'\n"},
      {"node.metadata.name == 'n1' and 'x' or 1", -1, "score returned a string: want a number"},
      {"nil", -1, "score returned nothing: want a number"},
  };
  for (const auto& test : kCases) {
    const auto program = MustLoad(std::string(test.head) + "function score(pod, node) return " + test.result + " end");
    ASSERT_NE(program, nullptr);
    const auto score = program->Score(*SomePod(), SomeNode(), 1);
    EXPECT_EQ(score.value_or(-1), test.want) << test.result;
    if (score) continue;
    EXPECT_EQ(program->error(), "script \"test.lua\": " + std::string(test.error) + " (pod default/web-1, node n1)");
  }
}

TEST(ScriptProgram, Normalizes) {
  const auto run = [](const std::string& body) {
    const auto program = MustLoad("function score() return 1 end function normalize(scores, pod) " + body + " end");
    ScriptProgram::Scores scores{{"a", 100'000}, {"b", 300'000}, {"c", 200'000}};  // 10, 30 and 20
    if (program == nullptr) return std::string();
    if (!program->Normalize(*SomePod(), 1, scores)) return program->error();
    std::string text;
    for (const auto& [node, score] : scores) text += std::string(node) + std::to_string(score) + " ";
    return text;
  };
  EXPECT_EQ(run("local max = 1 for _, s in pairs(scores) do max = math.max(max, s) end "
                "for n, s in pairs(scores) do scores[n] = s * 100 / max end return scores"),
            "a33 b100 c66 ");
  EXPECT_EQ(run("for n, s in pairs(scores) do scores[n] = math.type(s) == 'integer' and s // 4 or 0 end return scores"),
            "a2 b7 c5 ")
      << "whole numbers stay integers";
  EXPECT_EQ(run("local out = {} for n in pairs(scores) do out[n] = pod.spec.priority end return out"), "a7 b7 c7 ");
  EXPECT_EQ(run("if scores.b then return {a = 1, b = 2} end return scores"),
            "script \"test.lua\": normalize returned nothing: want a number (node c) (pod default/web-1)");
  EXPECT_EQ(run("if scores.b then return 3 end return scores"),
            "script \"test.lua\": normalize returned a number: want a table with a score for each node (pod "
            "default/web-1)");
  EXPECT_EQ(run("if scores.b then scores.b = 101 end return scores"),
            "script \"test.lua\": normalize returned 101: want a number from 0 to 100 (node b) (pod default/web-1)");
}

TEST(ScriptProgram, PreFilters) {
  using Kind = ScriptProgram::PreFilterAnswer::Kind;
  const struct {
    const char* body;
    Kind kind;
    const char* reason = "";
    std::set<std::string> nodes{};
  } kCases[] = {
      {"return true", Kind::kAll},
      {"", Kind::kAll},
      {"return 'skip'", Kind::kSkip},
      {"return false", Kind::kRefused},
      {"return false, 'not today'", Kind::kRefused, "not today"},
      {"return nil, 'not today'", Kind::kRefused, "not today"},
      {"return false, 'never', 'unresolvable'", Kind::kRefusedForGood, "never"},
      {"return {'a', 'b', 'a'}", Kind::kNarrowed, "", {"a", "b"}},
      {"return {}", Kind::kNarrowed},
      {"return args.nodes", Kind::kNarrowed, "", {"x", "y"}},
      {"if pod.metadata.name == 'web-1' then return {1} end", Kind::kFailed},
      {"if pod.metadata.name == 'web-1' then return {a = 'b'} end", Kind::kFailed},
      {"if pod.metadata.name == 'web-1' then return 7 end", Kind::kFailed},
      {"if pod.metadata.name == 'web-1' then return 'skipp' end", Kind::kFailed},
      {"if pod.metadata.name == 'web-1' then return false, 7 end", Kind::kFailed},
  };
  for (const auto& test : kCases) {
    const auto program =
        MustLoad("function prefilter(pod) " + std::string(test.body) + " end", R"({"nodes":["x","y"]})");
    ASSERT_NE(program, nullptr);
    const auto answer = program->PreFilter(*SomePod(), 1);
    EXPECT_EQ(answer.kind, test.kind) << test.body;
    EXPECT_EQ(answer.reason, test.reason) << test.body;
    EXPECT_EQ(answer.node_names, test.nodes) << test.body;
  }
}

TEST(ScriptProgram, Declares) {
  const auto plain = MustLoad("function filter() return true end");
  EXPECT_TRUE(plain->declarations().has_filter);
  EXPECT_FALSE(plain->declarations().has_score || plain->declarations().has_prefilter ||
               plain->declarations().has_normalize || plain->declarations().is_node_local);
  EXPECT_FALSE(plain->declarations().events.has_value());
  const auto full = MustLoad(R"(
depends_on = "node"
normalization = "lowest_first"
annotations = {"team/", "cost"}
events = {"Node/Add", "Node/UpdateNodeLabel", "AssignedPod/Delete", "Pod/*"}
function score() return 1 end
function prefilter() end)");
  using framework::EventResource;
  namespace action = framework::action;
  const ScriptDeclarations& declared = full->declarations();
  EXPECT_TRUE(declared.is_node_local && declared.has_score && declared.has_prefilter);
  EXPECT_EQ(declared.normalization, framework::Normalization::kLowestFirst);
  EXPECT_EQ(declared.annotations, (std::vector<std::string>{"team/", "cost"}));
  EXPECT_EQ(declared.events, (std::vector<framework::ClusterEvent>{{EventResource::kNode, action::kAdd},
                                                                   {EventResource::kNode, action::kUpdateNodeLabel},
                                                                   {EventResource::kAssignedPod, action::kDelete},
                                                                   {EventResource::kPod, action::kAll}}));
  EXPECT_TRUE(MustLoad("events = {}\nfunction filter() return true end")->declarations().events->empty());
}

TEST(ScriptProgram, WhatIsRefusedAtLoad) {
  const std::string filter = "\nfunction filter(pod, node) return true end";
  const char* const none =
      "has none of the functions filter(pod, node), score(pod, node) and prefilter(pod): want one, as a global, "
      "without "
      "\"local\"";
  const struct {
    std::string text;
    const char* want;
  } kCases[] = {
      {"", none},
      {"function flter() end", none},
      {"local function filter(pod, node) return true end", none},
      {"function Filter(pod, node) return true end", "has a global \"Filter\": want filter"},
      {"function preFilter() end" + filter, "has a global \"preFilter\": want prefilter"},
      {"function pre_filter() end dependsOn = 'node'" + filter, "has a global \"dependsOn\": want depends_on"},
      {"normalisation = 'max' function score() return 1 end", "has a global \"normalisation\": want normalization"},
      {"function normalizeScore(s) return s end function score() return 1 end",
       "has a global \"normalizeScore\": want normalize"},
      {"filter = 1", "filter is a number: want a function"},
      {"function normalize() end" + filter, "has a function normalize but no function score"},
      {"normalization = 'max' function normalize(s) return s end function score() return 1 end",
       "has both normalization and a function normalize"},
      {"depends_on = 'nodes'" + filter, "depends_on is \"nodes\": want \"node\" or \"cycle\""},
      {"depends_on = true" + filter, "depends_on is a boolean: want a string"},
      {"normalization = 'sum'" + filter,
       "normalization is \"sum\": want \"none\", \"max\", \"max_reverse\" or \"lowest_first\""},
      {"annotations = 'team/'" + filter, "annotations: want a list of strings, {\"one\", \"two\"}"},
      {"annotations = {1}" + filter, "annotations: want a list of strings, {\"one\", \"two\"}"},
      {"annotations = {a = 'b'}" + filter, "annotations: want a list of strings, {\"one\", \"two\"}"},
      {"events = {'Nodes/Add'}" + filter,
       "events: \"Nodes/Add\": want Node, Pod, AssignedPod or UnschedulablePod, a slash and an action, as in "
       "\"Node/Add\""},
      {"events = {'Node/UpdatePodLabel'}" + filter,
       "events: \"Node/UpdatePodLabel\": of Node there are *, Add, Delete, Update, UpdateNodeAllocatable, "
       "UpdateNodeLabel, UpdateNodeTaint, UpdateNodeCondition, UpdateNodeAnnotation"},
  };
  for (const auto& test : kCases) EXPECT_EQ(LoadError(test.text), std::string("script \"test.lua\": ") + test.want);
  EXPECT_EQ(LoadError("function filter(pod, node)\n  return node.metadata.labels.zone = 'a'\nend"),
            "script \"test.lua\", line 2: 'end' expected (to close 'function' at line 1) near '='");
  EXPECT_EQ(LoadError("local x = nil\nx.y = 1"),
            "script \"test.lua\", line 2: attempt to index a nil value (local 'x')");
}

TEST(ScriptProgram, ReadsFilesAsLuaDoes) {
  const std::string filter = "function filter(pod, node) return true end";
  for (const char* before : {"\xef\xbb\xbf", "#!/usr/bin/lua\n", "\xef\xbb\xbf# a comment\r\n"})
    EXPECT_NE(MustLoad(before + filter), nullptr);
  EXPECT_EQ(LoadError("#!/usr/bin/lua\n\nx = ="), "script \"test.lua\", line 3: unexpected symbol near '='");
  for (const char* no_script : {"#", "# no end of the line", "\xef\xbb\xbf"})
    EXPECT_NE(LoadError(no_script).find("has none of the functions"), std::string::npos) << no_script;
}

TEST(ScriptProgram, TheDryRunFindsWhatIsWrongWhateverThePod) {
  const std::string made_up = " (pod default/made-up, node made-up)";
  const struct {
    const char* body;
    const char* want;  // empty: it may be the made-up node's fault
  } kCases[] = {
      {"return nod.metadata.name == 'a'", ", line 1: attempt to index a nil value (global 'nod')"},
      {"return node.metadata.nam == 'a'",
       ", line 1: node.metadata has no field \"nam\", but name, uid, labels, annotations"},
      {"return node.metadata.name:start('a')", ", line 1: attempt to call a nil value (method 'start')"},
      {"return os.time() > 0", ", line 1: attempt to index a nil value (global 'os'): scripts have no \"os\""},
      {"print(node) return true", ", line 1: attempt to call a nil value (global 'print'): scripts have no \"print\""},
      {"return check(node)", ", line 1: attempt to call a nil value (global 'check')"},
      {"while true do end", ", line 1: over 100000 instructions (instructionsMax): does it loop for ever?"},
      {"x = 1 return true",
       ", line 1: the global \"x\" is set in a call: what a call leaves behind could change the next answer"},
      {"return 'yes'", ": filter returned a string: want true, or false and a reason"},
      {"return pod.metadata.annotations.team == 'x'",
       ", line 1: berth keeps no annotation \"team\" of pods for this script: declare it at the top level, annotations "
       "= "
       "{\"team\"}"},
      {"return node.metadata.labels.zone:sub(1, 1) == 'a'", ""},
      {"return node.metadata.labels.size > '3'", ""},
      {"return tonumber(node.metadata.labels.size) + 1 > 3", ""},
      {"return pod.owner.name == 'x'", ""},
      {"assert(node.metadata.labels.zone, 'no zone') return true", ""},
      {"if node.metadata.labels.zone then return true end", ""},
  };
  for (const auto& test : kCases) {
    const std::string want = *test.want == '\0' ? "" : "script \"test.lua\"" + std::string(test.want) + made_up;
    EXPECT_EQ(LoadError("function filter(pod, node) " + std::string(test.body) + " end"), want) << test.body;
  }
}

TEST(ScriptProgram, WhatIsKeptMayNotRestOnThePodOrOnChance) {
  const std::string node_local = "depends_on = 'node'\n";
  const auto error = [&](const std::string& expression) {
    return LoadError(node_local + "function filter(pod, node) return " + expression + " ~= nil end");
  };
  for (const char* field : {"name", "uid"}) {
    EXPECT_EQ(error(std::string("pod.metadata.") + field),
              "script \"test.lua\", line 2: pod.metadata." + std::string(field) +
                  " differs between pods whose answers are kept in common: leave out depends_on = \"node\" to read it "
                  "(pod default/made-up, node made-up)");
  }
  EXPECT_EQ(error("math.random()"),
            "script \"test.lua\", line 2: math.random has no place in answers that are kept: leave out depends_on = "
            "\"node\" to draw (pod default/made-up, node made-up)");
  for (const char* fine : {"pod.metadata.namespace", "pod.metadata.labels", "pod.spec.priority", "node.metadata.name"})
    EXPECT_EQ(error(fine), "") << fine;
}

TEST(ScriptProgram, ChanceRestsOnTheCycleAndTheNode) {
  const auto program = MustLoad("function score() return math.random(0, 100) end");
  const NodeInfo a(MakeNode("a").Build());
  const NodeInfo b(MakeNode("b").Build());
  const auto pod = SomePod();
  const auto draw = [&](const NodeInfo& node, std::uint64_t seed) { return *program->Score(*pod, node, seed); };
  std::set<std::int64_t> of_seeds, of_nodes;
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    const std::int64_t first = draw(a, seed);
    of_nodes.insert(first - draw(b, seed));
    EXPECT_EQ(draw(a, seed), first) << "the calls before it matter";
    of_seeds.insert(first);
  }
  EXPECT_GT(of_seeds.size(), 5U);
  EXPECT_GT(of_nodes.size(), 5U);
}

// A thousand nodes times a millisecond would be a second for each pod.
TEST(ScriptProgram, TheCallsOfOneCycleHaveABoundTogether) {
  ScriptArgs args;
  args.cycle_instructions_max = 100'000;
  auto made = ScriptProgram::Load(args, "test.lua",
                                  "function filter(pod, node)\n"
                                  "  for i = 1, 10000 do end\n"
                                  "  return true\n"
                                  "end\n"
                                  "function score() return 1 end\n"
                                  "function normalize(scores) return scores end");
  ASSERT_TRUE(made.ok()) << made.error().message;
  ScriptProgram& program = **made;
  const auto pod = SomePod();
  const NodeInfo node = SomeNode();
  const auto passes = [&](std::uint64_t seed) {
    int count = 0;
    while (count < 1000 && program.Filter(*pod, node, seed).verdict == Verdict::kPass) ++count;
    return count;
  };
  const int first = passes(1);
  EXPECT_GE(first, 5);
  EXPECT_LE(first, 11) << "some ten thousand instructions each";
  const std::string over = "script \"test.lua\": over 100000 instructions in one cycle (cycleInstructionsMax) ";
  EXPECT_EQ(program.error(), over + "(pod default/web-1, node n1)");
  EXPECT_TRUE(program.is_over_limit());
  EXPECT_FALSE(program.Score(*pod, node, 1).has_value());
  ScriptProgram::Scores scores = {{"n1", 1}};
  EXPECT_FALSE(program.Normalize(*pod, 1, scores));
  EXPECT_EQ(program.error(), over + "(pod default/web-1)");
  EXPECT_EQ(passes(2), first) << "another cycle";
  // A call that is too short to be counted by instructions counts as well.
  int calls = 0;
  while (calls < 100'000 && program.Score(*pod, node, 3)) ++calls;
  EXPECT_EQ(calls, 100'000 / script::Sandbox::kCallCost);
}

}  // namespace
}  // namespace berth::plugins
