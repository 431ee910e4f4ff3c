// SPDX-License-Identifier: Apache-2.0
// New versions of a script's file: what is taken up, what is not, and what becomes of earlier answers.
#include <gtest/gtest.h>

#include "berth/plugins/script/script.h"
#include "berth/plugins/script/script_testing.h"

namespace berth::plugins {
namespace {

using testing::MakeNode;
using testing::MakePod;

const std::string kOnlyA =
    "depends_on = 'node'\nfunction filter(pod, node) return node.metadata.name == 'a', 'not a' end";
const std::string kOnlyB =
    "depends_on = 'node'\nfunction filter(pod, node) return node.metadata.name == 'b', 'not b' end";

class ScriptReload : public ::testing::Test {
 protected:
  explicit ScriptReload(std::string text = kOnlyA)
      : core(WithScript("file: zones.lua\nargs: {zone: a}", "Script"), {{"zones.lua", std::move(text)}}) {}

  void SetUp() override {
    ASSERT_NE(core.harness, nullptr) << core.error;
    for (const char* name : {"a", "b", "c"}) core.harness->Set(MakeNode(name));
  }
  // Where a pod of the one class there is goes.
  std::string Place() {
    core.harness->Set(MakePod("p" + std::to_string(next_++)));
    core.harness->Run();
    const std::string said = core.Take();
    const std::size_t at = said.find(" to ");
    return at == std::string::npos ? said : said.substr(at + 4, 1);
  }
  double Reloads(const std::string& result) const {
    return core.metrics.Value("berth_script_reloads_total,profile=default-scheduler,plugin=Script,result=" + result);
  }

  ScriptedCore core;
  int next_ = 0;
};

TEST_F(ScriptReload, TheFileIsWatchedWhereItIs) {
  const auto& sources = core.harness->core.outside_sources();
  ASSERT_EQ(sources.size(), 1U);
  EXPECT_EQ(sources[0].plugin, "Script");
  EXPECT_EQ(sources[0].source.file, "/resolved/zones.lua");
  EXPECT_EQ(sources[0].source.interval, kScriptReloadInterval);
}

TEST_F(ScriptReload, ANewVersionCountsForTheNextPod) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Place(), "a");
  EXPECT_TRUE(core.Reload(kOnlyB)) << core.error;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Place(), "b") << "what was kept of the old version still counts";
  EXPECT_EQ(Reloads("success"), 1);
}

TEST_F(ScriptReload, ABadVersionLeavesTheOldOneInPlace) {
  const struct {
    std::string text;
    const char* want;
  } kCases[] = {
      {"function filter(", "script \"zones.lua\", line 1: <name> or '...' expected near <eof>"},
      {"",
       "script \"zones.lua\": has none of the functions filter(pod, node), score(pod, node) and prefilter(pod): want "
       "one, as a global, "
       "without \"local\""},
      {"depends_on = 'node'\nfunction filter(pod, node) return nod.x end",
       "script \"zones.lua\", line 2: attempt to index a nil value (global 'nod') (pod default/made-up, node made-up)"},
      {"while true do end",
       "script \"zones.lua\", line 1: over 100000 instructions (instructionsMax): does it loop for ever?"},
      {"function filter(pod, node) return true end",
       "script \"zones.lua\": has other functions, or declares something else, than the version that the scheduler "
       "started "
       "with: restart it for that"},
      {kOnlyB + "\nfunction score() return 1 end",
       "script \"zones.lua\": has other functions, or declares something else, than the version that the scheduler "
       "started "
       "with: restart it for that"},
  };
  double failed = 0;
  for (const auto& test : kCases) {
    EXPECT_FALSE(core.Reload(test.text));
    EXPECT_EQ(core.error, test.want);
    EXPECT_EQ(Place(), "a");
    EXPECT_EQ(Reloads("error"), ++failed);
  }
  // The error goes, the old text is there again: nothing to do. Then a good one.
  EXPECT_TRUE(core.Reload(kOnlyA));
  EXPECT_EQ(Reloads("success"), 0);
  EXPECT_TRUE(core.Reload(kOnlyB));
  EXPECT_EQ(Place(), "b");
  EXPECT_EQ(Reloads("success"), 1);
}

TEST_F(ScriptReload, TheTextInUseIsNoNewVersion) {
  EXPECT_TRUE(core.Reload(kOnlyA));
  EXPECT_TRUE(core.Reload(kOnlyB));
  EXPECT_TRUE(core.Reload(kOnlyB));
  EXPECT_EQ(Reloads("success"), 1);
  EXPECT_TRUE(core.Reload(kOnlyA)) << "back to the first";
  EXPECT_EQ(Reloads("success"), 2);
  EXPECT_EQ(Place(), "a");
}

TEST_F(ScriptReload, AFileThatCannotBeReadChangesNothing) {
  core.harness->core.Handle(scheduler::OutsideDone{0, Error{ErrorCode::kNotFound, "zones.lua: no such file"}},
                            core.harness->now);
  EXPECT_EQ(Place(), "a");
  EXPECT_EQ(Reloads("error"), 1);
}

class ScriptReloadOfRefusal : public ScriptReload {
 protected:
  ScriptReloadOfRefusal()
      : ScriptReload("events = {'Node/Add'}\nfunction filter(pod, node) return false, 'closed' end") {}
};

TEST_F(ScriptReloadOfRefusal, PodsThatItRefusedAreTriedAgain) {
  core.harness->Set(MakePod("p"));
  core.harness->Run();
  EXPECT_EQ(core.harness->core.queue().unschedulable_count(), 1U);
  EXPECT_FALSE(core.Reload("= 1"));
  EXPECT_EQ(core.harness->core.queue().unschedulable_count(), 1U);
  EXPECT_TRUE(core.Reload("events = {'Node/Add'}\nfunction filter(pod, node) return true end")) << core.error;
  EXPECT_EQ(core.harness->core.queue().unschedulable_count(), 0U);
  core.harness->Run(std::chrono::seconds(2));
  EXPECT_EQ(core.harness->core.binding_count(), 1U);
}

}  // namespace
}  // namespace berth::plugins
