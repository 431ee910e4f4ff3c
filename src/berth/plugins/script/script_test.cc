// SPDX-License-Identifier: Apache-2.0
// Script in a profile: its arguments, what its answers do to pods, failing, events, and what is kept of it.
#include "berth/plugins/script/script.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/plugins/script/script_testing.h"

namespace berth::plugins {
namespace {

using testing::MakeNode;
using testing::MakePod;

TEST(Script, Arguments) {
  const std::string source = R"("source":"function filter() return true end")";
  const struct {
    std::string args;
    const char* want;  // empty: they are good
  } kCases[] = {
      {source, ""},
      {source + R"(,"args":{"a":1},"onError":"skip","instructionsMax":5000,"memoryBytesMax":1000000)", ""},
      {"", "plugin \"Script/x\": args.file: Required value: or the script itself in \"source\""},
      {source + R"(,"file":"a.lua")", "plugin \"Script/x\": args.source: Forbidden: may not be given with \"file\""},
      {source + R"(,"args":[1])", "plugin \"Script/x\": args.args: Invalid value: must be an object, not a list"},
      {source + R"(,"onError":"ignore")",
       "plugin \"Script/x\": args.onError: Unsupported value: \"ignore\": supported values: \"error\", \"skip\""},
      {source + R"(,"instructionsMax":1)",
       "plugin \"Script/x\": args.instructionsMax: Invalid value: 1: not in valid range [100, 100000000]"},
      {source + R"(,"cycleInstructionsMax":999)",
       "plugin \"Script/x\": args.cycleInstructionsMax: Invalid value: 999: not in valid range [1000, "
       "100000000000]"},
      {source + R"(,"memoryBytesMax":1)",
       "plugin \"Script/x\": args.memoryBytesMax: Invalid value: 1: not in valid range [262144, 1073741824]"},
      {R"("file":"missing.lua")", "missing.lua: no such file or directory"},
      {R"("file":"bad.lua")", "script \"bad.lua\", line 1: unexpected symbol near '='"},
      {R"("file":"folder/good.lua")", ""},
  };
  testing::FakeHandle handle;
  handle.files = {{"bad.lua", "= 1"}, {"folder/good.lua", "function score() return 1 end"}};
  for (const auto& test : kCases) {
    const auto made = CreateScript("Script/x", config::RawArgs{"{" + test.args + "}"}, handle);
    EXPECT_EQ(made.ok() ? "" : made.error().message, test.want) << test.args;
    if (!made.ok()) continue;
    EXPECT_EQ((*made)->Name(), "Script/x");
  }
  const auto unknown = CreateScript("Script", config::RawArgs{"{" + source + R"(,"sauce":1})"}, handle);
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message.find("sauce"), std::string::npos) << unknown.error().message;
  EXPECT_FALSE(CreateScript("Script", config::PluginArgs(), handle).ok());
}

TEST(Script, DecidesWherePodsGo) {
  ScriptedCore core(WithSource(R"(
function filter(pod, node)
  if node.metadata.labels.zone == args.closed then return false, "zone is closed", "unresolvable" end
  return true
end
function score(pod, node) return node.metadata.labels.zone == pod.metadata.labels.zone and 100 or 0 end
)",
                               "args: {closed: c}"));
  ASSERT_NE(core.harness, nullptr) << core.error;
  for (const char* zone : {"a", "b", "c"}) core.harness->Set(MakeNode(std::string("node-") + zone).Label("zone", zone));
  for (const char* zone : {"b", "a", "c"})
    core.harness->Set(MakePod(std::string("p-") + zone).Label("zone", zone).Created(core.harness->now));
  core.harness->Run();
  const std::string said = core.Take();
  EXPECT_NE(said.find("bind p-b to node-b"), std::string::npos) << said;
  EXPECT_NE(said.find("bind p-a to node-a"), std::string::npos) << said;
  EXPECT_EQ(said.find("to node-c"), std::string::npos) << said;
  core.harness->Set(MakePod("pinned").NodeSelector("zone", "c"));
  core.harness->Run();
  const std::string refused = core.Take();
  EXPECT_NE(refused.find("0/3 nodes are available: 1 zone is closed, 2 node(s) didn't match Pod's node "
                         "affinity/selector."),
            std::string::npos)
      << refused;
}

TEST(Script, PreemptionHelpsWhereItSays) {
  const auto said = [](const std::string& result) {
    ScriptedCore core(
        WithSource("depends_on = 'node'\nfunction filter(pod, node) return #node.pods < 1, " + result + " end"));
    EXPECT_NE(core.harness, nullptr) << core.error;
    core.harness->Set(MakeNode("a"));
    core.harness->Set(MakePod("low").Node("a").Priority(1));
    core.harness->Set(MakePod("high").Priority(10));
    core.harness->Run();
    return core.Take();
  };
  const std::string helped = said("'full'");
  EXPECT_NE(helped.find("nominates a"), std::string::npos) << helped;
  const std::string not_helped = said("'full', 'unresolvable'");
  EXPECT_EQ(not_helped.find("nominates a"), std::string::npos) << not_helped;
  EXPECT_NE(not_helped.find("Preemption is not helpful for scheduling"), std::string::npos) << not_helped;
}

TEST(Script, ThereMayBeSeveral) {
  ScriptedCore core(R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: default-scheduler
    plugins: {multiPoint: {enabled: [{name: Script}, {name: Script/zones, weight: 300}, {name: Script/names, weight: 2000}]}}
    pluginConfig:
      - name: Script
        args: {source: 'function prefilter(pod) if pod.metadata.name == "no" then return false, "no" end end'}
      - name: Script/zones
        args: {source: 'function filter(pod, node) return node.metadata.labels.zone == "a" end'}
      - name: Script/names
        args: {source: 'function score(pod, node) return node.metadata.name == "n2" and 100 or 0 end'}
)");
  ASSERT_NE(core.harness, nullptr) << core.error;
  for (const char* name : {"n1", "n2", "n3"})
    core.harness->Set(MakeNode(name).Label("zone", *(name + 1) == '3' ? "b" : "a"));
  core.harness->Set(MakePod("p"));
  core.harness->Run();
  const std::string said = core.Take();
  EXPECT_NE(said.find("bind p to n2"), std::string::npos) << said;
  core.harness->Set(MakePod("no"));
  core.harness->Set(MakePod("pinned").NodeSelector("zone", "b"));
  core.harness->Run();
  const std::string refused = core.Take();
  EXPECT_NE(refused.find("status no Unschedulable: 0/3 nodes are available: no."), std::string::npos) << refused;
  EXPECT_NE(refused.find("1 node(s) refused by the script Script/zones"), std::string::npos) << refused;
}

TEST(Script, ProfilesThatCannotBeMade) {
  const struct {
    std::string configuration;
    const char* want;
  } kCases[] = {
      {WithScript("file: zones.lua", "Script/zones"),
       "initializing plugin \"Script/zones\": zones.lua: no such file or directory"},
      {WithSource("function filter("),
       "initializing plugin \"Script\": script \"Script\", line 2: <name> or '...' expected near <eof>"},
      {WithScript("source: x", "Script/"), "\"Script/\" does not exist"},
      {WithScript("source: x", "Scripts"), "\"Scripts\" does not exist"},
  };
  for (const auto& test : kCases) {
    const ScriptedCore core(test.configuration);
    EXPECT_EQ(core.harness, nullptr);
    EXPECT_NE(core.error.find(test.want), std::string::npos) << core.error;
  }
}

constexpr const char* kFailsOnB = R"(
function filter(pod, node)
  if node.metadata.name == "b" then error("no b") end
  return true
end
)";

TEST(Script, AnErrorIsThePodsErrorOrIsLeftOut) {
  ScriptedCore strict(WithSource(kFailsOnB));
  ScriptedCore lax(WithSource(kFailsOnB, "onError: skip"));
  ASSERT_NE(strict.harness, nullptr) << strict.error;
  ASSERT_NE(lax.harness, nullptr) << lax.error;
  for (ScriptedCore* core : {&strict, &lax}) {
    for (const char* name : {"a", "b"}) core->harness->Set(MakeNode(name));
    core->harness->Set(MakePod("p").NodeSelector("kubernetes.io/hostname", "b"));
    core->harness->Run();
  }
  const std::string failed = strict.Take();
  EXPECT_NE(
      failed.find("SchedulerError: running \"Script\" filter plugin: script \"Script\", line 3: no b (pod default/p, "
                  "node b)"),
      std::string::npos)
      << failed;
  EXPECT_EQ(strict.Errors("filter"), 1);
  const std::string placed = lax.Take();
  EXPECT_NE(placed.find("bind p to b"), std::string::npos) << placed;
  EXPECT_GE(lax.Errors("filter"), 1);
}

TEST(Script, ScoresThatFailAreErrorsOrNothing) {
  const std::string source =
      "function score(pod, node) return node.metadata.name == 'b' and pod.metadata.name == 'p' and 500 or 1 end";
  ScriptedCore strict(WithSource(source));
  ScriptedCore lax(WithSource(source, "onError: skip"));
  for (ScriptedCore* core : {&strict, &lax}) {
    ASSERT_NE(core->harness, nullptr) << core->error;
    for (const char* name : {"a", "b"}) core->harness->Set(MakeNode(name));
    core->harness->Set(MakePod("p"));
    core->harness->Run();
  }
  const std::string failed = strict.Take();
  EXPECT_NE(failed.find(
                "plugin \"Script\" failed with: script \"Script\": score returned 500: want a number from 0 to 100, or "
                "a declared normalization (pod default/p, node b)"),
            std::string::npos)
      << failed;
  const std::string placed = lax.Take();
  EXPECT_NE(placed.find("bind p to a"), std::string::npos) << placed;
  EXPECT_EQ(lax.Errors("score"), 1);
}

TEST(Script, OneThatLoopsForEverStopsAfterAFewNodes) {
  ScriptedCore core(
      WithSource("function filter(pod, node) while node.metadata.name ~= 'made-up' do end return true end",
                 "onError: skip\ninstructionsMax: 1000"));
  ASSERT_NE(core.harness, nullptr) << core.error;
  for (int i = 0; i < 50; ++i) core.harness->Set(MakeNode("n" + std::to_string(i)));
  core.harness->Set(MakePod("p"));
  core.harness->Run();
  EXPECT_NE(core.Take().find("bind p to n"), std::string::npos);
  EXPECT_EQ(core.Errors("filter"), 50) << "those that were not made count as well";
}

TEST(Script, FractionsOfScoresCount) {
  for (const char* head :
       {"normalization = 'lowest_first'\n", "normalization = 'lowest_first'\ndepends_on = 'node'\n",
        "function normalize(scores) local least = math.huge for _, s in pairs(scores) do least = "
        "math.min(least, s) end for n, s in pairs(scores) do scores[n] = s == least and 100 or 0 end "
        "return scores end\n"}) {
    ScriptedCore core(WithSource(std::string(head) +
                                 "function score(pod, node) return tonumber(node.metadata.labels.price or '9') end"));
    ASSERT_NE(core.harness, nullptr) << core.error;
    for (const char* price : {"0.40", "0.20", "0.05", "0.10", "1.60"})
      core.harness->Set(MakeNode("n" + std::string(price)).Label("price", price));
    // One by one: with several at once the defaults' spreading has its say, too.
    for (int i = 0; i < 4; ++i) {
      core.harness->Set(MakePod("p" + std::to_string(i)));
      core.harness->Run();
      EXPECT_NE(core.Take().find("bind p" + std::to_string(i) + " to n0.05"), std::string::npos) << head;
    }
  }
}

TEST(Script, NormalizesOverAllNodes) {
  ScriptedCore core(WithSource(R"(
function score(pod, node) return tonumber(node.metadata.labels.rank or 0) end
function normalize(scores)
  local highest = 1
  for _, score in pairs(scores) do highest = math.max(highest, score) end
  for name, score in pairs(scores) do scores[name] = 100 - score * 100 // highest end
  return scores
end
)"));
  ASSERT_NE(core.harness, nullptr) << core.error;
  for (const char* rank : {"700", "300", "500"})
    core.harness->Set(MakeNode("n" + std::string(rank)).Label("rank", rank));
  core.harness->Set(MakePod("p"));
  core.harness->Run();
  const std::string said = core.Take();
  EXPECT_NE(said.find("bind p to n300"), std::string::npos) << said;
}

// A call that fails is counted, and so these count calls.
std::string Counting(const std::string& head) {
  return WithSource(head +
                        "\nfunction filter(pod, node) if node.metadata.name ~= 'made-up' then error('counted') end "
                        "return true end",
                    "onError: skip");
}

TEST(Script, AnswersOfTheNodeAloneAreKept) {
  const auto calls_of_pods = [](const std::string& head) {
    ScriptedCore core(Counting(head));
    EXPECT_NE(core.harness, nullptr) << core.error;
    for (int i = 0; i < 20; ++i) core.harness->Set(MakeNode("n" + std::to_string(i)));
    std::vector<double> calls;
    for (int i = 0; i < 4; ++i) {
      const double before = core.Errors("filter");
      core.harness->Set(MakePod("p" + std::to_string(i)).Request("cpu", "100m"));
      core.harness->Run();
      calls.push_back(core.Errors("filter") - before);
    }
    return calls;
  };
  // Only the node that the pod before was put on is looked at again.
  EXPECT_EQ(calls_of_pods("depends_on = 'node'"), (std::vector<double>{20, 1, 1, 1}));
  EXPECT_EQ(calls_of_pods(""), (std::vector<double>{20, 20, 20, 20}));
}

TEST(Script, APodThatItRefusedIsTriedAgain) {
  const std::string filter = "function filter(pod, node) return node.metadata.labels.open == 'yes', 'closed' end";
  const struct {
    std::string name;
    std::string head;
    bool is_tried;
  } kCases[] = {
      {"every event by default", "", true},
      {"the declared one", "events = {'Node/UpdateNodeLabel'}\n", true},
      {"not another", "events = {'Node/Delete', 'AssignedPod/*'}\n", false},
      {"none", "events = {}\n", false},
  };
  for (const auto& test : kCases) {
    ScriptedCore core(WithSource(test.head + filter));
    ASSERT_NE(core.harness, nullptr) << core.error;
    core.harness->Set(MakeNode("a"));
    core.harness->Set(MakePod("p"));
    core.harness->Run();
    EXPECT_EQ(core.harness->core.queue().unschedulable_count(), 1U) << test.name;
    core.harness->Set(MakeNode("a").Label("open", "yes"));
    EXPECT_EQ(core.harness->core.queue().unschedulable_count(), test.is_tried ? 0U : 1U) << test.name;
  }
}

TEST(Script, DeclaredAnnotationsReachIt) {
  ScriptedCore core(
      WithSource("annotations = {'team/'}\nfunction filter(pod, node) return "
                 "pod.metadata.annotations['team/node'] == node.metadata.name, 'not its node' end"));
  ASSERT_NE(core.harness, nullptr) << core.error;
  for (const char* name : {"a", "b", "c"}) core.harness->Set(MakeNode(name));
  for (const char* name : {"c", "b"})
    core.harness->Set(MakePod(std::string("p-") + name).Annotation("team/node", name).Annotation("other", "x"));
  core.harness->Run();
  const std::string said = core.Take();
  EXPECT_NE(said.find("bind p-b to b"), std::string::npos) << said;
  EXPECT_NE(said.find("bind p-c to c"), std::string::npos) << said;
}

TEST(Script, PreFilterNarrowsAndRefuses) {
  ScriptedCore core(WithSource(R"(
function prefilter(pod)
  if pod.metadata.labels.to then return {pod.metadata.labels.to, "nowhere"} end
  if pod.metadata.name == "never" then return false, "never", "unresolvable" end
end
)"));
  ASSERT_NE(core.harness, nullptr) << core.error;
  for (const char* name : {"a", "b", "c"}) core.harness->Set(MakeNode(name));
  core.harness->Set(MakePod("p").Label("to", "b"));
  core.harness->Set(MakePod("lost").Label("to", "z"));
  core.harness->Set(MakePod("never"));
  core.harness->Set(MakePod("free"));
  core.harness->Run();
  const std::string said = core.Take();
  EXPECT_NE(said.find("bind p to b"), std::string::npos) << said;
  EXPECT_NE(said.find("bind free to "), std::string::npos) << said;
  EXPECT_NE(said.find("status never Unschedulable: 0/3 nodes are available: never."), std::string::npos) << said;
  EXPECT_NE(said.find("status lost Unschedulable: 0/3 nodes are available: "), std::string::npos) << said;
}

}  // namespace
}  // namespace berth::plugins
