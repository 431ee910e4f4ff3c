// SPDX-License-Identifier: Apache-2.0
#include "berth/core/config/expand.h"

#include <limits>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "berth/core/config/default.h"

namespace berth::config {
namespace {

using enum ExtensionPoint;

ExtensionPointSet Points(std::initializer_list<ExtensionPoint> points) {
  ExtensionPointSet set;
  for (const ExtensionPoint point : points) set.set(static_cast<std::size_t>(point));
  return set;
}

// The extension points of upstream's plugins.
const std::map<std::string, ExtensionPointSet, std::less<>>& Registry() {
  static const std::map<std::string, ExtensionPointSet, std::less<>> registry = {
      {"SchedulingGates", Points({kPreEnqueue})},
      {"PrioritySort", Points({kQueueSort})},
      {"NodeUnschedulable", Points({kFilter})},
      {"NodeName", Points({kFilter})},
      {"TaintToleration", Points({kFilter, kPreScore, kScore})},
      {"NodeAffinity", Points({kPreFilter, kFilter, kPreScore, kScore})},
      {"NodePorts", Points({kPreFilter, kFilter})},
      {"NodeResourcesFit", Points({kPreFilter, kFilter, kPreScore, kScore})},
      {"VolumeRestrictions", Points({kPreFilter, kFilter})},
      {"NodeVolumeLimits", Points({kPreFilter, kFilter})},
      {"VolumeBinding", Points({kPreFilter, kFilter, kPreScore, kScore, kReserve, kPreBind})},
      {"VolumeZone", Points({kPreFilter, kFilter})},
      {"PodTopologySpread", Points({kPreFilter, kFilter, kPreScore, kScore})},
      {"InterPodAffinity", Points({kPreFilter, kFilter, kPreScore, kScore})},
      {"DynamicResources", Points({kPreEnqueue, kPreFilter, kFilter, kPostFilter, kScore, kReserve, kPreBind})},
      {"DefaultPreemption", Points({kPreEnqueue, kPostFilter})},
      {"NodeResourcesBalancedAllocation", Points({kPreScore, kScore})},
      {"ImageLocality", Points({kScore})},
      {"DefaultBinder", Points({kBind})},
      {"NodeDeclaredFeatures", Points({kPreFilter, kFilter})},
      {"Scorer", Points({kScore})},
      {"FilterScorer", Points({kFilter, kScore})},
      {"OtherSort", Points({kQueueSort})},
      {"Permitter", Points({kPermit, kPostBind})},
      {"Placer", Points({kPlacementGenerate})},
      {"OtherPlacer", Points({kPlacementGenerate})},
      {"GroupScorer", Points({kScore, kPlacementScore})},
  };
  return registry;
}

std::optional<ExtensionPointSet> LookUp(std::string_view name) {
  const auto found = Registry().find(name);
  if (found == Registry().end()) return std::nullopt;
  return found->second;
}

std::string Text(const std::vector<PluginRef>& plugins) {
  std::string text;
  for (const PluginRef& plugin : plugins) {
    if (!text.empty()) text += ' ';
    text += plugin.name;
    if (plugin.weight != 0) text += ':' + std::to_string(plugin.weight);
  }
  return text;
}

Profile MakeProfile(Plugins plugins = {}, std::string name = "s") {
  Profile profile;
  profile.scheduler_name = std::move(name);
  profile.plugins = std::move(plugins);
  ApplyDefaults(profile);
  return profile;
}

// A profile with these sets only, and the plugins that every profile needs.
Profile Bare(std::vector<PluginRef> multi_point, PluginSet score = {}) {
  Profile profile;
  profile.scheduler_name = "s";
  profile.plugins.multi_point.enabled = std::move(multi_point);
  profile.plugins.points[kQueueSort].enabled = {{"PrioritySort"}};
  profile.plugins.points[kBind].enabled = {{"DefaultBinder"}};
  profile.plugins.points[kScore] = std::move(score);
  return profile;
}

TEST(ExpandTest, TheDefaultProfile) {
  const auto expanded = ExpandProfile(MakeProfile(), LookUp);
  ASSERT_TRUE(expanded.ok()) << expanded.error().message;
  const std::pair<ExtensionPoint, const char*> want[] = {
      {kPreEnqueue, "SchedulingGates DynamicResources DefaultPreemption"},
      {kQueueSort, "PrioritySort"},
      {kPreFilter,
       "NodeAffinity NodePorts NodeResourcesFit VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone "
       "PodTopologySpread "
       "InterPodAffinity DynamicResources NodeDeclaredFeatures"},
      {kFilter,
       "NodeUnschedulable NodeName TaintToleration NodeAffinity NodePorts NodeResourcesFit VolumeRestrictions "
       "NodeVolumeLimits "
       "VolumeBinding VolumeZone PodTopologySpread InterPodAffinity DynamicResources NodeDeclaredFeatures"},
      {kPostFilter, "DynamicResources DefaultPreemption"},
      {kPreScore,
       "TaintToleration NodeAffinity NodeResourcesFit VolumeBinding PodTopologySpread InterPodAffinity "
       "NodeResourcesBalancedAllocation"},
      {kScore,
       "TaintToleration:3 NodeAffinity:2 NodeResourcesFit:1 VolumeBinding:1 PodTopologySpread:2 InterPodAffinity:2 "
       "DynamicResources:2 NodeResourcesBalancedAllocation:1 ImageLocality:1"},
      {kReserve, "VolumeBinding DynamicResources"},
      {kPermit, ""},
      {kPreBind, "VolumeBinding DynamicResources"},
      {kBind, "DefaultBinder"},
      {kPostBind, ""},
  };
  for (const auto& [point, plugins] : want) EXPECT_EQ(Text(expanded->plugins[point]), plugins) << ToString(point);
  EXPECT_EQ(expanded->plugin_names.size(), 20U);
  EXPECT_EQ(expanded->scheduler_name, "s");
}

TEST(ExpandTest, OrderAndWeights) {
  struct Case {
    const char* name;
    std::vector<PluginRef> multi_point;
    PluginSet score;
    const char* want;
  };
  const Case cases[] = {
      {"multiPoint alone", {{"ImageLocality"}, {"Scorer", 5}}, {}, "ImageLocality:1 Scorer:5"},
      {"a point's own plugins come last", {{"ImageLocality"}}, {{{"Scorer"}}, {}}, "ImageLocality:1 Scorer:1"},
      {"overriding ones come first, in the point's order, with its weight",
       {{"NodeAffinity", 2}, {"ImageLocality", 3}, {"TaintToleration", 4}},
       {{{"Scorer", 9}, {"TaintToleration", 7}, {"NodeAffinity"}}, {}},
       "TaintToleration:7 NodeAffinity:1 ImageLocality:3 Scorer:9"},
      {"disabled at the point", {{"NodeAffinity", 2}, {"ImageLocality"}}, {{}, {"NodeAffinity"}}, "ImageLocality:1"},
      {"disabled at the point and enabled there: no override, so it comes last",
       {{"NodeAffinity", 2}, {"ImageLocality"}},
       {{{"NodeAffinity", 6}}, {"NodeAffinity"}},
       "ImageLocality:1 NodeAffinity:6"},
      {"everything disabled at the point", {{"ImageLocality"}}, {{{"Scorer"}}, {"*"}}, "Scorer:1"},
      {"what does not score is skipped", {{"NodeName"}, {"Scorer"}}, {}, "Scorer:1"},
      {"a negative weight stays", {{"Scorer", -2}}, {}, "Scorer:-2"},
  };
  for (const Case& c : cases) {
    const auto expanded = ExpandProfile(Bare(c.multi_point, c.score), LookUp);
    ASSERT_TRUE(expanded.ok()) << c.name << ": " << expanded.error().message;
    EXPECT_EQ(Text(expanded->plugins[kScore]), c.want) << c.name;
  }
}

// As in upstream, whose check for overflow wraps.
TEST(ExpandTest, BehindASumBelowZeroNoScorePluginIsTaken) {
  const auto error = [](const std::vector<PluginRef>& multi_point, const PluginSet& score) {
    const auto expanded = ExpandProfile(Bare(multi_point, score), LookUp);
    return expanded.ok() ? std::string() : expanded.error().message;
  };
  EXPECT_EQ(error({{"ImageLocality"}}, {{{"Scorer", -2}}, {}}),
            "score plugins: total score of Score plugins could overflow");
  EXPECT_EQ(error({{"ImageLocality", 3}, {"Scorer", -2}, {"TaintToleration"}}, {}), "");
}

TEST(ExpandTest, PlacementScoresHaveWeightsOfTheirOwn) {
  Profile profile = Bare({{"GroupScorer", 2}, {"Scorer", 3}, {"Placer"}}, {{{"GroupScorer", 7}}, {}});
  const auto weights = [&] {
    const auto expanded = ExpandProfile(profile, LookUp);
    return expanded.ok() ? Text(expanded->plugins[kScore]) + " | " + Text(expanded->plugins[kPlacementScore]) + " | " +
                               Text(expanded->plugins[kPlacementGenerate])
                         : expanded.error().message;
  };
  EXPECT_EQ(weights(), "GroupScorer:7 Scorer:3 | GroupScorer:2 | Placer");
  profile.plugins.points[kPlacementScore].enabled = {{"GroupScorer", 5}};
  EXPECT_EQ(weights(), "GroupScorer:7 Scorer:3 | GroupScorer:5 | Placer");
  profile.plugins.points[kPlacementScore].enabled = {{"Scorer"}};
  EXPECT_EQ(weights(), "plugin \"Scorer\" does not extend PlacementScorePlugin plugin");
  profile.plugins.points[kPlacementScore].enabled = {{"GroupScorer", std::numeric_limits<std::int64_t>::max() / 100}};
  profile.plugins.points[kPlacementScore].enabled.front().weight += 1;
  EXPECT_EQ(weights(), "placement score plugins: total score of Score plugins could overflow");
  profile.plugins.points[kPlacementScore].enabled.clear();
  profile.plugins.points[kPlacementGenerate].enabled = {{"OtherPlacer"}};
  EXPECT_EQ(weights(), "at most one placement generate plugin is allowed for profile with scheduler name \"s\"");
  profile.plugins.points[kPlacementGenerate].disabled = {"*"};
  EXPECT_EQ(weights(), "GroupScorer:7 Scorer:3 | GroupScorer:2 | OtherPlacer");
}

TEST(ExpandTest, DisablingAtOnePointLeavesTheOthers) {
  Plugins plugins;
  plugins.points[kScore].disabled = {"NodeAffinity"};
  const auto expanded = ExpandProfile(MakeProfile(plugins), LookUp);
  ASSERT_TRUE(expanded.ok());
  EXPECT_EQ(Text(expanded->plugins[kScore]).find("NodeAffinity"), std::string::npos);
  EXPECT_NE(Text(expanded->plugins[kPreScore]).find("NodeAffinity"), std::string::npos);
}

TEST(ExpandTest, ReplacingTheQueueSort) {
  Plugins plugins;
  plugins.points[kQueueSort] = {{{"OtherSort"}}, {"*"}};
  const auto expanded = ExpandProfile(MakeProfile(plugins), LookUp);
  ASSERT_TRUE(expanded.ok());
  EXPECT_EQ(Text(expanded->plugins[kQueueSort]), "OtherSort");
}

TEST(ExpandTest, Errors) {
  Plugins sort_listed_beside;
  sort_listed_beside.points[kQueueSort].enabled = {{"OtherSort"}};
  Plugins no_sort;
  no_sort.points[kQueueSort].disabled = {"*"};
  Plugins no_bind;
  no_bind.points[kBind].disabled = {"DefaultBinder"};
  Plugins wrong_point;
  wrong_point.points[kFilter].enabled = {{"ImageLocality"}};
  Plugins unknown_at_point;
  unknown_at_point.points[kReserve].enabled = {{"Nobody"}};
  Plugins unknown_everywhere;
  unknown_everywhere.multi_point.enabled = {{"Nobody"}};
  Plugins twice_at_point;
  twice_at_point.points[kScore].enabled = {{"Scorer"}, {"Scorer"}};
  Plugins twice_in_multi_point;
  twice_in_multi_point.multi_point.enabled = {{"Permitter"}, {"Permitter"}};
  Plugins overflow;
  overflow.points[kScore].enabled = {{"Scorer", std::numeric_limits<std::int64_t>::max() / 100}};
  struct Case {
    const char* name;
    Plugins plugins;
    const char* want;
  };
  const Case cases[] = {
      {"two queue sorts", sort_listed_beside,
       "only one queue sort plugin required for profile with scheduler name \"s\", but got 2"},
      {"no queue sort", no_sort,
       "only one queue sort plugin required for profile with scheduler name \"s\", but got 0"},
      {"no bind", no_bind, "at least one bind plugin is needed for profile with scheduler name \"s\""},
      {"wrong point", wrong_point, "plugin \"ImageLocality\" does not extend FilterPlugin plugin"},
      {"unknown at a point", unknown_at_point, "ReservePlugin \"Nobody\" does not exist"},
      {"unknown in multiPoint", unknown_everywhere, "PreFilterPlugin \"Nobody\" does not exist"},
      {"twice at a point", twice_at_point, "plugin \"Scorer\" already registered as \"ScorePlugin\""},
      {"twice in multiPoint", twice_in_multi_point, "plugin \"Permitter\" already registered as \"PostBindPlugin\""},
      {"overflow", overflow, "score plugins: total score of Score plugins could overflow"},
  };
  for (const Case& c : cases) {
    const auto expanded = ExpandProfile(MakeProfile(c.plugins), LookUp);
    ASSERT_FALSE(expanded.ok()) << c.name;
    EXPECT_EQ(expanded.error().message, c.want) << c.name;
  }
}

TEST(ExpandTest, ProfilesShareTheQueueSort) {
  Plugins other_sort;
  other_sort.points[kQueueSort] = {{{"OtherSort"}}, {"*"}};
  const auto same = ExpandProfiles({MakeProfile({}, "a"), MakeProfile({}, "b")}, LookUp);
  ASSERT_TRUE(same.ok()) << same.error().message;
  EXPECT_EQ(same->at(1).scheduler_name, "b");

  const auto different = ExpandProfiles({MakeProfile({}, "a"), MakeProfile(other_sort, "b")}, LookUp);
  ASSERT_FALSE(different.ok());
  EXPECT_EQ(different.error().message,
            "different queue sort plugins for profile \"b\": \"OtherSort\", first: \"PrioritySort\"");

  Profile with_args = MakeProfile({}, "b");
  with_args.plugin_config.push_back({"PrioritySort", RawArgs{"{}"}});
  const auto different_args = ExpandProfiles({MakeProfile({}, "a"), with_args}, LookUp);
  ASSERT_FALSE(different_args.ok());
  EXPECT_EQ(different_args.error().message, "different queue sort plugin args for profile \"b\"");

  Plugins broken;
  broken.points[kPermit].enabled = {{"Nobody"}};
  const auto failed = ExpandProfiles({MakeProfile(broken, "a")}, LookUp);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "creating profile for scheduler name a: PermitPlugin \"Nobody\" does not exist");
}

}  // namespace
}  // namespace berth::config
