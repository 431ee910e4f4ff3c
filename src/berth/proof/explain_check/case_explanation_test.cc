// SPDX-License-Identifier: Apache-2.0
// `berth explain` says of the first pod of every golden case what the real kube-scheduler said.
#include "berth/proof/explain_check/case_explanation.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/testing/source_path.h"

namespace berth::conformance {
namespace {

namespace fs = std::filesystem;

// The statement of issue 17 is about that many pods.
constexpr std::size_t kComparedMin = 1000;

std::vector<std::string> GoldenFiles() {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(testing::SourcePath("tests/golden"))) {
    if (entry.path().extension() == ".json") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST(CaseExplanation, AgreesWithTheOracleOnAllGoldenCases) {
  std::map<std::string, std::size_t> counts;
  for (const std::string& file : GoldenFiles()) {
    const auto test = LoadCase(file);
    ASSERT_TRUE(test.ok()) << test.error().message;
    if (test->expected.empty()) continue;
    const Attempt& want = test->expected.front();
    const auto got = ExplainFirst(*test);
    ASSERT_TRUE(got.ok()) << file << ": " << got.error().message;
    for (const std::string& difference : Differences(*test, want, *got)) ADD_FAILURE() << file << ": " << difference;
    switch (ComparedOf(want)) {
      case Compared::kAll: ++counts["compared"]; break;
      case Compared::kFiltersOnly: ++counts["compared without Reserve"]; break;
      case Compared::kNothing: ++counts["without a profile"]; break;
    }
    ++counts[want.result];
  }
  for (const auto& [what, count] : counts) RecordProperty(what, static_cast<int>(count));
  EXPECT_GE(counts["compared"], kComparedMin) << ::testing::PrintToString(counts);
}

// The comparison is an alarm: each of these must ring it.
TEST(CaseExplanation, APlantedDifferenceIsFound) {
  const struct {
    const char* name;
    std::function<bool(Attempt&)> change;  // false: this attempt has nothing to change
    const char* reported;
  } cases[] = {
      {"state", [](Attempt& a) { return a.result == "scheduled" && !(a.result = "unschedulable").empty(); }, "state"},
      {"message", [](Attempt& a) { return !a.message.empty() && !(a.message += ".").empty(); }, "message"},
      {"gate", [](Attempt& a) { return a.pre_enqueue && !(a.pre_enqueue->plugin += "x").empty(); }, "gate"},
      {"a refusal withdrawn",
       [](Attempt& a) {
         for (auto& [name, node] : a.nodes) {
           if (node.refused) return node.refused.reset(), true;
         }
         return false;
       },
       "node "},
      {"a refusal's plugin",
       [](Attempt& a) {
         for (auto& [name, node] : a.nodes) {
           if (node.refused) return node.refused->plugin += "x", true;
         }
         return false;
       },
       "node "},
      {"a refusal's code",
       [](Attempt& a) {
         for (auto& [name, node] : a.nodes) {
           if (node.refused && node.refused->code == "Unschedulable") return node.refused->code = "Pending", true;
         }
         return false;
       },
       "node "},
      {"total",
       [](Attempt& a) {
         for (auto& [name, node] : a.nodes) {
           if (node.total) return ++*node.total, true;
         }
         return false;
       },
       "total"},
      {"score",
       [](Attempt& a) {
         for (auto& [name, node] : a.nodes) {
           if (!node.scores.empty()) return ++node.scores.begin()->second, true;
         }
         return false;
       },
       "scores"},
      {"a node that was out of the search",
       [](Attempt& a) { return std::erase_if(a.nodes, [](const auto& node) { return !node.second.refused; }) > 0; },
       "out of the search"},
      {"best", [](Attempt& a) { return a.best.size() > 1 && (a.best.pop_back(), true); }, "best"},
      {"preemption", [](Attempt& a) { return a.preemption && (a.preemption.reset(), true); }, "preemption"},
      {"victims",
       [](Attempt& a) {
         if (!a.preemption) return false;
         for (auto& [node, candidate] : a.preemption->candidates) candidate.victims.emplace_back("default/zz");
         return true;
       },
       "victims"},
  };
  const std::vector<std::string> files = GoldenFiles();
  for (const auto& planted : cases) {
    SCOPED_TRACE(planted.name);
    bool is_found = false;
    for (std::size_t i = 0; i < files.size() && !is_found; ++i) {
      auto test = LoadCase(files[i]);
      if (!test.ok() || test->expected.empty() || !planted.change(test->expected.front())) continue;
      const auto got = ExplainFirst(*test);
      ASSERT_TRUE(got.ok());
      const std::vector<std::string> differences = Differences(*test, test->expected.front(), *got);
      is_found = std::any_of(differences.begin(), differences.end(),
                             [&](const std::string& line) { return line.find(planted.reported) != std::string::npos; });
      ASSERT_TRUE(is_found) << files[i];
    }
    EXPECT_TRUE(is_found) << "no golden case has what this one changes";
  }
}

}  // namespace
}  // namespace berth::conformance
