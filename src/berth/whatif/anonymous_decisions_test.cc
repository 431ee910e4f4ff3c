// SPDX-License-Identifier: Apache-2.0
// What a snapshot keeps is what decides: for the golden cases, a cluster read back from a file, as it is or anonymous,
// gives each node the same verdict and the same scores for each pending pod as the cluster itself.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/core/cache/cache.h"
#include "berth/core/cache/pod_classes.h"
#include "berth/core/config/default.h"
#include "berth/core/config/load.h"
#include "berth/core/queue/nominator.h"
#include "berth/core/queue/row_nominations.h"
#include "berth/core/runtime/evaluator.h"
#include "berth/core/runtime/profile_factory.h"
#include "berth/plugins/registry.h"
#include "berth/proof/conformance/case.h"
#include "berth/testing/fake_handle.h"
#include "berth/testing/source_path.h"
#include "berth/whatif/anonymizer.h"
#include "berth/whatif/snapshot_file.h"
#include "berth/whatif/whatif_testing.h"

namespace berth::whatif {
namespace {

using simdjson::dom::element;

struct Cluster {
  ClusterState state;
  std::size_t pending = 0;  // so many of the pods, the last ones, are to be decided
  std::string uid = "uid";
};

// What the API server always sets. `uid`: the first word of uids, which owners of claims are known by.
std::shared_ptr<const api::Pod> Filled(const std::shared_ptr<const api::Pod>& pod, const std::string& uid) {
  auto filled = std::make_shared<api::Pod>(*pod);
  if (filled->metadata.namespace_name.empty()) filled->metadata.namespace_name = "default";
  if (filled->metadata.uid.empty())
    filled->metadata.uid = uid + "-" + filled->metadata.namespace_name + "-" + filled->metadata.name;
  if (filled->spec.scheduler_name.empty()) filled->spec.scheduler_name = api::kDefaultSchedulerName;
  return filled;
}

// One line for each pending pod: its result, and of each node, by its place in the list, what the filters and the
// scores say.
std::vector<std::string> Verdicts(const Cluster& cluster, const std::string& config) {
  config::KubeSchedulerConfiguration configuration = config::DefaultConfiguration();
  if (!config.empty()) {
    auto loaded = config::LoadConfiguration(config);
    if (!loaded.ok()) return {loaded.error().message};
    configuration = std::move(*loaded);
  }
  berth::testing::FakeHandle handle;
  cache::PodClasses classes;
  cache::Cache nodes;
  queue::Nominator nominator;
  queue::RowNominations on_rows;
  handle.nominations = &on_rows.rows();
  auto profiles = runtime::MakeProfiles(configuration, plugins::InTreePlugins(), handle);
  if (!profiles.ok()) return {profiles.error().message};
  for (const framework::AnyObject& object : cluster.state.objects) handle.store.Set(object);
  std::map<std::string, std::size_t> place_of;
  for (const auto& node : cluster.state.nodes) {
    place_of.emplace(node->metadata.name, place_of.size());
    nodes.SetNode(node);
  }
  const std::size_t others = cluster.state.pods.size() - cluster.pending;
  for (std::size_t i = 0; i < others; ++i) {
    const auto info = classes.MakePodInfo(*Filled(cluster.state.pods[i], cluster.uid));
    if (!info->is_terminal && !info->node_name.empty()) nodes.SetPod(info);
    if (!info->nominated_node_name.empty()) nominator.AddNominatedPod(info);
  }
  on_rows.Update(nominator, nodes.nodes());
  std::map<std::string, std::unique_ptr<runtime::Evaluator>> evaluators;  // by scheduler
  std::vector<std::string> lines;
  for (std::size_t i = others; i < cluster.state.pods.size(); ++i) {
    const auto pod = classes.MakePodInfo(*Filled(cluster.state.pods[i], cluster.uid));
    const auto profile = std::ranges::find_if(
        *profiles, [&](const auto& each) { return each->scheduler_name == pod->spec().scheduler_name; });
    // By its place among those that are to be decided: finished pods, which decide nothing, are not read.
    std::string line = std::to_string(i - others) + ":";
    if (profile != profiles->end()) {
      auto& owned = evaluators[(*profile)->scheduler_name];
      if (owned == nullptr)
        owned = std::make_unique<runtime::Evaluator>(**profile, runtime::EvaluatorOptions{.with_detail = true});
      runtime::Evaluator& evaluator = *owned;
      const runtime::Outcome& outcome = evaluator.Evaluate(pod, nodes.nodes(), &on_rows.rows(), 1, kNow);
      line += " result " + std::to_string(static_cast<int>(outcome.result)) + ", PreFilter " +
              std::string(ToString(outcome.pre_filter_status.code())) + std::string(outcome.pre_filter_status.plugin());
      std::map<std::size_t, std::string> of_node;
      for (const framework::NodeIndex row : outcome.evaluated) {
        const framework::Status status = evaluator.StatusOf(row);
        of_node[place_of.at(nodes.nodes().Info(row).name())] =
            std::string(ToString(status.code())) + ' ' + std::string(status.plugin());
      }
      for (std::size_t f = 0; f < outcome.feasible.size(); ++f) {
        std::string& text = of_node[place_of.at(nodes.nodes().Info(outcome.feasible[f]).name())];
        for (const auto& [plugin, scores] : outcome.scores)
          text += ' ' + std::string(plugin) + '=' + std::to_string(scores[f]);
      }
      for (const auto& [place, text] : of_node) line += "\n  " + std::to_string(place) + ": " + text;
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

// The case through a file.
Cluster Read(element document, const Anonymizer* anonymizer, const std::string& path) {
  SnapshotWriteOptions options;
  options.path = path;
  options.overwrites = true;
  options.anonymizer = anonymizer;
  auto writer = SnapshotWriter::Create(options);
  EXPECT_TRUE(writer.ok()) << writer.error().message;
  Cluster cluster;
  if (anonymizer != nullptr) cluster.uid = anonymizer->Text(cluster.uid);
  const auto write = [&](std::size_t kind, element list) {
    simdjson::dom::array array;
    if (list.get(array) != simdjson::SUCCESS) return std::size_t{0};
    for (const element object : array) EXPECT_TRUE((*writer)->Take(kind, object).ok());
    return array.size();
  };
  simdjson::dom::object objects;
  if (document["objects"].get(objects) == simdjson::SUCCESS) {
    for (const auto member : objects) {
      // "csiNodes": the resource's name, but for the case of its letters.
      std::string resource(member.key);
      std::ranges::transform(resource, resource.begin(), [](unsigned char c) { return std::tolower(c); });
      std::size_t kind = 0;
      while (kind < kKindCount && KindInfo(kind).resource != resource) ++kind;
      EXPECT_LT(kind, kKindCount) << resource;
      write(kind, member.value);
    }
  }
  element pending;
  if (document["pending"].get(pending) == simdjson::SUCCESS) cluster.pending = write(kPods, pending);
  EXPECT_TRUE((*writer)->Finish({}).ok());
  auto state = ReadSnapshot(path);
  EXPECT_TRUE(state.ok()) << state.error().message;
  if (state.ok()) cluster.state = std::move(*state);
  return cluster;
}

Cluster Itself(const conformance::Case& test) {
  Cluster cluster;
  cluster.state.nodes = test.nodes;
  cluster.state.pods = test.pods;
  cluster.state.pods.insert(cluster.state.pods.end(), test.pending.begin(), test.pending.end());
  cluster.state.objects = test.objects;
  cluster.pending = test.pending.size();
  return cluster;
}

// A configuration has words of its own, which nobody makes anonymous with the cluster.
bool NamesLabels(const std::string& config) {
  return config.find("addedAffinity") != std::string::npos || config.find("topologyKey") != std::string::npos ||
         config.find("deviceclass.") != std::string::npos;
}

// Two device classes of the same second stand behind one resource: the one whose name comes first counts.
constexpr std::string_view kDecidedByOrderOfNames = "draextended/027.json";

constexpr std::size_t kShares = 4;

// The golden cases, a share of them each, so that the sanitizers can run one.
class AnonymousDecisionsTest : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Shares, AnonymousDecisionsTest, ::testing::Range<std::size_t>(0, kShares));

std::vector<std::filesystem::path> GoldenCases() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(berth::testing::SourcePath("tests/golden"))) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  return paths;
}

TEST_P(AnonymousDecisionsTest, GoldenCasesAreDecidedAsBefore) {
  const Anonymizer anonymizer({20261124, 17});
  const std::string path =
      (std::filesystem::temp_directory_path() / ("berth-decisions-" + std::to_string(::getpid()) + ".zst")).string();
  std::size_t cases = 0, pods = 0, with_own_words = 0;
  const std::vector<std::filesystem::path> all = GoldenCases();
  for (std::size_t i = GetParam(); i < all.size(); i += kShares) {
    const std::string name = all[i].string();
    SCOPED_TRACE(name);
    const auto test = conformance::LoadCase(name);
    ASSERT_TRUE(test.ok()) << test.error().message;
    simdjson::dom::parser parser;
    element document;
    ASSERT_EQ(parser.load(name).get(document), simdjson::SUCCESS);
    const std::vector<std::string> want = Verdicts(Itself(*test), test->config);
    // What is anonymous has been reduced too.
    const bool has_own_words = NamesLabels(test->config) || name.ends_with(kDecidedByOrderOfNames);
    const Anonymizer* const by = has_own_words ? nullptr : &anonymizer;
    EXPECT_EQ(Verdicts(Read(document, by, path), test->config), want) << (by == nullptr ? "" : "anonymous");
    if (has_own_words) ++with_own_words;
    ++cases;
    pods += want.size();
  }
  std::filesystem::remove(path);
  EXPECT_GT(cases, 1'000u / kShares);
  EXPECT_GT(pods, 5'000u / kShares);
  EXPECT_LT(with_own_words, cases / 10);
}

}  // namespace
}  // namespace berth::whatif
