// SPDX-License-Identifier: Apache-2.0
// The runner is an alarm: a difference that is planted in a golden case must ring it, and an untouched case must not.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/proof/conformance/runner.h"
#include "berth/testing/source_path.h"

namespace berth::conformance {
namespace {

namespace fs = std::filesystem;

const std::vector<Case>& GoldenCases() {
  static const std::vector<Case> kCases = [] {
    std::vector<fs::path> paths;
    for (const auto& entry : fs::recursive_directory_iterator(testing::SourcePath("tests/golden"))) {
      if (entry.path().extension() == ".json") paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    std::vector<Case> cases;
    for (std::size_t i = 0; i < paths.size(); i += 5) {
      auto loaded = LoadCase(paths[i].string());
      EXPECT_TRUE(loaded.ok()) << loaded.error().message;
      if (loaded.ok()) cases.push_back(std::move(*loaded));
    }
    return cases;
  }();
  return kCases;
}

// Applies the change to the first expected attempt that it applies to.
std::optional<Case> Plant(const std::function<bool(Attempt&)>& change) {
  for (const Case& golden : GoldenCases()) {
    Case planted = golden;
    for (Attempt& attempt : planted.expected) {
      if (change(attempt)) return planted;
    }
  }
  return std::nullopt;
}

TEST(Runner, APlantedDifferenceIsFound) {
  const auto first_refused = [](Attempt& a) {
    return std::find_if(a.nodes.begin(), a.nodes.end(),
                        [](const auto& node) { return node.second.refused.has_value(); });
  };
  const struct {
    const char* name;
    std::function<bool(Attempt&)> change;  // false: this attempt has nothing to change
    const char* reported;                  // what the first difference is about
  } cases[] = {
      {"result", [](Attempt& a) { return a.result == "scheduled" && !(a.result = "unschedulable").empty(); }, "result"},
      {"score",
       [](Attempt& a) {
         for (auto& [name, node] : a.nodes) {
           if (!node.scores.empty()) return ++node.scores.begin()->second, true;
         }
         return false;
       },
       "score of"},
      {"a score that nobody gave",
       [](Attempt& a) {
         for (auto& [name, node] : a.nodes) {
           if (!node.scores.empty()) return node.scores.emplace("Ghost", 5).second;
         }
         return false;
       },
       "score of Ghost"},
      {"total",
       [](Attempt& a) {
         for (auto& [name, node] : a.nodes) {
           if (node.total) return ++*node.total, true;
         }
         return false;
       },
       "total"},
      {"verdict withdrawn",
       [&](Attempt& a) {
         const auto it = first_refused(a);
         return it != a.nodes.end() && (it->second.refused.reset(), true);
       },
       "filter"},
      {"verdict's code",
       [&](Attempt& a) {
         const auto it = first_refused(a);
         return it != a.nodes.end() && !(it->second.refused->code = "Pending").empty();
       },
       "filter"},
      {"verdict's plugin",
       [&](Attempt& a) {
         const auto it = first_refused(a);
         return it != a.nodes.end() && !(it->second.refused->plugin = "Ghost").empty();
       },
       "filter"},
      {"verdict's reason",
       [&](Attempt& a) {
         const auto it = first_refused(a);
         return it != a.nodes.end() && (it->second.refused->reasons.push_back("moon phase"), true);
       },
       "filter"},
      {"a node that was not filtered",
       [](Attempt& a) { return !a.nodes.empty() && (a.nodes.erase(a.nodes.begin()), true); }, "node"},
      {"a node that does not exist",
       [](Attempt& a) { return !a.nodes.empty() && a.nodes.emplace("ghost", NodeRecord()).second; }, "node ghost"},
      {"message", [](Attempt& a) { return !a.message.empty() && !(a.message += ".").empty(); }, "message"},
      {"best set, one less", [](Attempt& a) { return a.best.size() > 1 && (a.best.pop_back(), true); }, "best"},
      {"best set, one more", [](Attempt& a) { return !a.best.empty() && (a.best.push_back("zz"), true); }, "best"},
      {"binding", [](Attempt& a) { return !a.bound.empty() && !(a.bound += "x").empty(); }, "bound"},
      {"rejectors",
       [](Attempt& a) { return !a.unschedulable_plugins.empty() && (a.unschedulable_plugins.pop_back(), true); },
       "unschedulablePlugins"},
      {"gate", [](Attempt& a) { return a.pre_enqueue && (a.pre_enqueue.reset(), true); }, "preEnqueue"},
      {"prefilter", [](Attempt& a) { return !a.pre_filter && (a.pre_filter.emplace(), true); }, "prefilter"},
      {"narrowed search", [](Attempt& a) { return a.pre_filter_nodes && (a.pre_filter_nodes->push_back("zz"), true); },
       "prefilterNodes"},
      {"reserve", [](Attempt& a) { return !a.reserve && (a.reserve.emplace(), true); }, "reserve"},
      {"preemption", [](Attempt& a) { return a.preemption && (a.preemption.reset(), true); }, "preemption"},
      {"preemption that nobody made", [](Attempt& a) { return !a.preemption && (a.preemption.emplace(), true); },
       "preemption"},
      {"node of a preemption",
       [](Attempt& a) { return a.preemption && !(a.preemption->nominated_node += "x").empty(); },
       "preemption for node"},
      {"victims", [](Attempt& a) { return a.preemption && (a.preemption->victims.pop_back(), true); },
       "preemption victims"},
      {"victims' order",
       [](Attempt& a) {
         if (!a.preemption || a.preemption->victims.size() < 2) return false;
         std::reverse(a.preemption->victims.begin(), a.preemption->victims.end());
         return true;
       },
       "preemption victims"},
      {"nodes that are as good",
       [](Attempt& a) { return a.preemption && (a.preemption->acceptable.push_back("zz"), true); },
       "preemption acceptable"},
      {"candidates",
       [](Attempt& a) {
         return a.preemption && (a.preemption->candidates.erase(a.preemption->candidates.begin()), true);
       },
       "preemption candidate"},
      {"a candidate's violations",
       [](Attempt& a) { return a.preemption && ++a.preemption->candidates.begin()->second.pdb_violations > 0; },
       "preemption candidate"},
      {"cleared nominations",
       [](Attempt& a) { return a.preemption && (a.preemption->cleared_nominations.push_back("default/zz"), true); },
       "preemption clearedNominations"},
      {"a device",
       [](Attempt& a) { return !a.devices.empty() && !(a.devices.begin()->second[0].device += "x").empty(); },
       "devices"},
      {"a device's pool",
       [](Attempt& a) { return !a.devices.empty() && !(a.devices.begin()->second[0].pool += "x").empty(); }, "devices"},
      {"a device's request",
       [](Attempt& a) { return !a.devices.empty() && !(a.devices.begin()->second[0].request += "x").empty(); },
       "devices"},
      {"two devices in the other order",
       [](Attempt& a) {
         for (auto& [claim, devices] : a.devices) {
           if (devices.size() > 1) return std::swap(devices[0], devices[1]), true;
         }
         return false;
       },
       "devices"},
      {"a device that is nobody else's",
       [](Attempt& a) {
         for (auto& [claim, devices] : a.devices) {
           if (devices[0].share) return devices[0].share.reset(), true;
         }
         return false;
       },
       "devices"},
      {"what a share consumes",
       [](Attempt& a) {
         for (auto& [claim, devices] : a.devices) {
           if (!devices[0].share || devices[0].share->empty()) continue;
           api::Quantity& amount = devices[0].share->begin()->second;
           amount = api::Quantity::FromNanos(amount.nanos() + 1);
           return true;
         }
         return false;
       },
       "devices"},
      {"a claim without its devices", [](Attempt& a) { return !a.devices.empty() && (a.devices.clear(), true); },
       "devices"},
      {"pod", [](Attempt& a) { return !(a.pod += "x").empty(); }, "pod"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    const auto planted = Plant(test.change);
    ASSERT_TRUE(planted.has_value()) << "no golden case has what this one changes";
    for (const runtime::Form form : {runtime::Form::kPlain, runtime::Form::kColumn, runtime::Form::kReuse}) {
      const std::vector<std::string> differences = RunCase(*planted, form);
      ASSERT_FALSE(differences.empty());
      EXPECT_TRUE(std::any_of(differences.begin(), differences.end(), [&](const std::string& line) {
        return line.find(test.reported) != std::string::npos;
      })) << differences.front();
    }
  }
}

TEST(Runner, APlantedDifferenceInACycleIsFound) {
  const struct {
    const char* name;
    std::function<bool(CycleRecord&)> change;  // false: this cycle has nothing to change
    const char* reported;
  } cases[] = {
      {"entity", [](CycleRecord& c) { return !(c.entity += "x").empty(); }, "entity"},
      {"node", [](CycleRecord& c) { return !c.bound.empty() && !(c.bound.begin()->second += "x").empty(); }, "bound"},
      {"a binding less", [](CycleRecord& c) { return c.bound.size() > 1 && (c.bound.erase(c.bound.begin()), true); },
       "bound"},
      {"message", [](CycleRecord& c) { return !c.failed.empty() && !(c.failed.begin()->second += "x").empty(); },
       "failed"},
      {"nomination", [](CycleRecord& c) { return c.nominated.emplace("default/ghost", "n00").second; }, "nominated"},
      {"condition", [](CycleRecord& c) { return c.condition && !(*c.condition += "x").empty(); }, "condition"},
      {"condition that nobody wrote", [](CycleRecord& c) { return !c.condition && (c.condition = "x", true); },
       "condition"},
      {"condition of a group within another",
       [](CycleRecord& c) { return !c.conditions.empty() && !(c.conditions.begin()->second += "x").empty(); },
       "condition default/"},
      {"victims", [](CycleRecord& c) { return !c.victims.empty() && (c.victims.pop_back(), true); }, "victims"},
      {"a claim's consumer",
       [](CycleRecord& c) {
         return !c.claims.empty() && (c.claims.begin()->second.reserved_for.push_back("pods/ghost"), true);
       },
       "claim default/"},
      {"a claim that did not change",
       [](CycleRecord& c) { return c.claims.emplace("default/ghost", ClaimRecord()).second; }, "claim default/ghost"},
      {"queue", [](CycleRecord& c) { return ++c.queue["waiting"] > 0; }, "queue waiting"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    bool is_reported = false;
    // Where kube-scheduler's choice is one of several, another seed's differences may be reported.
    for (const Case& golden : GoldenCases()) {
      Case changed = golden;
      if (!std::any_of(changed.cycles.begin(), changed.cycles.end(), test.change)) continue;
      const std::vector<std::string> differences = RunCase(changed, runtime::Form::kReuse);
      ASSERT_FALSE(differences.empty());
      is_reported = differences.front().find(test.reported) != std::string::npos;
      if (is_reported) break;
    }
    EXPECT_TRUE(is_reported) << "by no golden case that has what this one changes";
  }
  // A cycle less and a cycle more.
  for (const Case& golden : GoldenCases()) {
    if (golden.cycles.empty()) continue;
    Case changed = golden;
    changed.cycles.pop_back();
    EXPECT_FALSE(RunCase(changed, runtime::Form::kReuse).empty());
    changed = golden;
    changed.cycles.push_back(changed.cycles.back());
    EXPECT_FALSE(RunCase(changed, runtime::Form::kReuse).empty());
    break;
  }
}

// Without this test a switch between releases that no code reads would pass.
TEST(Runner, ACaseOfOneReleaseFailsUnderTheOther) {
  const struct {
    int release;
    int neighbour;
    std::size_t families_min;  // in which a case differs
  } pairs[] = {{34, 35, 10}, {35, 36, 20}, {37, 36, 26}, {38, 37, 5}};
  std::map<int, std::map<std::string, int>> differing;  // by release and family
  for (const auto& entry : fs::recursive_directory_iterator(testing::SourcePath("tests/golden"))) {
    if (entry.path().extension() != ".json") continue;
    auto test = LoadCase(entry.path().string());
    ASSERT_TRUE(test.ok()) << test.error().message;
    const auto pair = std::ranges::find(pairs, test->release_minor, [](const auto& each) { return each.release; });
    if (pair == std::end(pairs)) continue;
    test->release_minor = pair->neighbour;
    differing[pair->release][entry.path().parent_path().filename()] +=
        RunCase(*test, runtime::Form::kReuse).empty() ? 0 : 1;
  }
  for (const auto& pair : pairs) {
    const auto& families = differing[pair.release];
    const auto differ = std::ranges::count_if(families, [](const auto& family) { return family.second > 0; });
    EXPECT_GE(static_cast<std::size_t>(differ), pair.families_min) << "1." << pair.release;
  }
  // What 1.37 brought is met in every family.
  for (const auto& [family, count] : differing[37]) EXPECT_GT(count, 0) << family;
}

// A case's seed, which is its file's name, says which release answered (docs/new-kubernetes-version.md).
TEST(Runner, SeedsOfGoldenCasesNameTheirReleases) {
  int seeds = 0;
  for (const auto& entry : fs::recursive_directory_iterator(testing::SourcePath("tests/golden"))) {
    const std::string seed = entry.path().stem();
    if (entry.path().extension() != ".json" || seed.find_first_not_of("0123456789") != std::string::npos) continue;
    auto test = LoadCase(entry.path().string());
    ASSERT_TRUE(test.ok()) << test.error().message;
    const int number = std::stoi(seed);
    ++seeds;
    if (number >= 34001) {
      EXPECT_EQ(test->release_minor, number / 1000) << entry.path();
    } else {
      EXPECT_TRUE(test->release_minor == 37 || (test->release_minor == 36 && number < 1001)) << entry.path();
    }
  }
  EXPECT_GT(seeds, 1000);
}

TEST(Runner, MissingAndSurplusAttempts) {
  const auto golden = std::ranges::find_if(GoldenCases(), [](const Case& c) { return !c.expected.empty(); });
  Case planted = *golden;
  planted.expected.pop_back();
  EXPECT_FALSE(RunCase(planted, runtime::Form::kReuse).empty());
  planted = *golden;
  planted.expected.push_back(planted.expected.back());
  EXPECT_FALSE(RunCase(planted, runtime::Form::kReuse).empty());
}

TEST(Runner, ABadConfigurationIsADifference) {
  Case planted = GoldenCases().front();
  planted.config = "apiVersion: v0";
  const std::vector<std::string> differences = RunCase(planted, runtime::Form::kReuse);
  ASSERT_EQ(differences.size(), 1u);
  EXPECT_TRUE(differences[0].starts_with("config: ")) << differences[0];
}

class CaseFile : public ::testing::Test {
 protected:
  std::string Write(std::string_view text) {
    std::ofstream(path_) << text;
    return path_;
  }
  ~CaseFile() override { fs::remove(path_); }
  const std::string path_ = ::testing::TempDir() + "berth_conformance_case_" +
                            std::to_string(::testing::UnitTest::GetInstance()->random_seed()) +
                            ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".json";
};

TEST_F(CaseFile, BadFilesAreRefused) {
  EXPECT_FALSE(LoadCase(path_ + ".none").ok());
  EXPECT_FALSE(LoadCase(Write("")).ok());
  EXPECT_FALSE(LoadCase(Write("{")).ok());
  EXPECT_FALSE(LoadCase(Write("[]")).ok());
  const auto unanswered = LoadCase(Write(R"({"name": "x", "objects": {}, "pending": []})"));
  ASSERT_FALSE(unanswered.ok());
  EXPECT_NE(unanswered.error().message.find("no expected.attempts"), std::string::npos);
  for (const char* version : {"v1.99.0", "v1.33.1", "1.37.2", "newest"}) {
    const auto other =
        LoadCase(Write(R"({"expected": {"kubernetes": ")" + std::string(version) + R"(", "attempts": []}})"));
    ASSERT_FALSE(other.ok()) << version;
    EXPECT_NE(other.error().message.find("should be a version from v1.34 to v1.38"), std::string::npos);
  }
  EXPECT_FALSE(LoadCase(Write(R"({"objects": {"nodes": [{"metadata": 7}]}, "expected": {"attempts": []}})")).ok());
  EXPECT_FALSE(LoadCase(Write(R"({"pending": [{"metadata": 7}], "expected": {"attempts": []}})")).ok());
}

TEST_F(CaseFile, FillsWhatTheApiServerSets) {
  const auto loaded = LoadCase(Write(R"({"pending": [{"metadata": {"name": "p"}}], "expected": {"attempts": []}})"));
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded->pending[0]->metadata.namespace_name, "default");
  EXPECT_EQ(loaded->pending[0]->metadata.uid, "uid-default-p");
  EXPECT_EQ(loaded->pending[0]->spec.scheduler_name, "default-scheduler");
}

}  // namespace
}  // namespace berth::conformance
