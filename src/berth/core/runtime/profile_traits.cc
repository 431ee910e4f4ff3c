// SPDX-License-Identifier: Apache-2.0
#include "berth/core/runtime/profile_traits.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "berth/core/runtime/guarded.h"

namespace berth::runtime {

using framework::Dependency;
using framework::Normalization;

namespace {

// A plugin's declaration; `otherwise` if the call throws.
template <typename T, typename Call>
T Said(T otherwise, Call&& call) {
  T said = otherwise;
  return GuardedCall([&] { said = call(); }).IsSuccess() ? said : otherwise;
}

template <typename Entry>
std::size_t IndexOf(const std::vector<Entry>& entries, std::string_view name) {
  const auto at =
      std::find_if(entries.begin(), entries.end(), [name](const Entry& e) { return e.plugin->Name() == name; });
  return at == entries.end() ? ProfileTraits::kNone : static_cast<std::size_t>(at - entries.begin());
}

template <typename Entry>
std::vector<std::size_t> UnkeptOf(const std::vector<Entry>& entries) {
  std::vector<std::size_t> unkept;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!entries[i].is_kept) unkept.push_back(i);
  }
  return unkept;
}

template <typename Entry>
bool ReadPlacementOnly(const std::vector<Entry>& entries) {
  return std::all_of(entries.begin(), entries.end(), [](const Entry& e) {
    const auto* const fast = dynamic_cast<const framework::FastPlugin*>(e.plugin);
    return !e.is_kept || (fast != nullptr && Said(false, [&] { return fast->ReadsPlacementOnly(); }));
  });
}

}  // namespace

ProfileTraits::ProfileTraits(const ProfilePlugins& of_plugins, Form form) : plugins(of_plugins) {
  const bool keeps = form != Form::kPlain;
  const auto rests_on_nodes = [](Dependency dependency) {
    return dependency == Dependency::kNode || dependency == Dependency::kCluster;
  };
  // A plugin's prepared data is kept only if it depends on the class only. If it is prepared in each cycle, the
  // plugin's later answers belong to that cycle as well.
  std::set<std::string_view> prepared_in_cycle;
  for (const framework::PreFilterPlugin* plugin : plugins.pre_filter) {
    PreFilter& entry = pre_filters.emplace_back(plugin);
    entry.is_kept =
        keeps && Said(Dependency::kCycle, [&] { return plugin->PreFilterDependsOn(); }) == Dependency::kNode;
    entry.has_extensions = Said(false, [&] { return plugin->HasPreFilterExtensions(); });
    entry.is_own = IsOwn(*plugin);
    if (!entry.is_kept) prepared_in_cycle.insert(plugin->Name());
  }
  for (const framework::FilterPlugin* plugin : plugins.filter) {
    Filter& entry = filters.emplace_back(plugin, RowFilter(*plugin));
    entry.pre_filter = IndexOf(pre_filters, plugin->Name());
    entry.is_own = IsOwn(*plugin);
    entry.depends_on = Said(Dependency::kCycle, [&] { return plugin->FilterDependsOn(); });
    entry.is_kept = keeps && rests_on_nodes(entry.depends_on) && !prepared_in_cycle.contains(plugin->Name());
  }
  for (const framework::PreScorePlugin* plugin : plugins.pre_score) {
    PreScore& entry = pre_scores.emplace_back(plugin, dynamic_cast<const framework::FastPreScore*>(plugin));
    entry.is_kept = keeps && Said(Dependency::kCycle, [&] { return plugin->PreScoreDependsOn(); }) == Dependency::kNode;
    entry.is_own = IsOwn(*plugin);
    if (!entry.is_kept) prepared_in_cycle.insert(plugin->Name());
  }
  for (const WeightedScore& score : plugins.score) {
    Score& entry = scores.emplace_back(score.plugin, RowScore(*score.plugin), score.weight);
    entry.pre_score = IndexOf(pre_scores, score.plugin->Name());
    entry.is_own = IsOwn(*score.plugin);
    entry.depends_on = Said(Dependency::kCycle, [&] { return score.plugin->ScoreDependsOn(); });
    entry.normalization = Said(Normalization::kNone, [&] { return score.plugin->ScoreNormalization(); });
    entry.is_kept = keeps && rests_on_nodes(entry.depends_on) && !prepared_in_cycle.contains(score.plugin->Name()) &&
                    entry.normalization != Normalization::kCustom;
  }
  unkept_pre_filters = UnkeptOf(pre_filters);
  unkept_scores = UnkeptOf(scores);
  is_kept_by_placement = ReadPlacementOnly(pre_filters) && ReadPlacementOnly(filters) &&
                         ReadPlacementOnly(pre_scores) && ReadPlacementOnly(scores);
}

bool ProfileTraits::IsOwn(const framework::Plugin& plugin) const {
  return std::find(plugins.own.begin(), plugins.own.end(), &plugin) != plugins.own.end();
}

}  // namespace berth::runtime
