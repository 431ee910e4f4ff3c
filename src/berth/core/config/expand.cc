// SPDX-License-Identifier: Apache-2.0
#include "berth/core/config/expand.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "berth/base/edit_distance.h"
#include "berth/base/go_text.h"

namespace berth::config {
namespace {

constexpr std::int64_t kNodeScoreMax = 100;

// The order in which upstream builds its lists. It determines which of several errors is reported.
constexpr std::array<ExtensionPoint, kExtensionPointCount> kConstructionOrder = {
    ExtensionPoint::kPreFilter,         ExtensionPoint::kFilter,
    ExtensionPoint::kPostFilter,        ExtensionPoint::kReserve,
    ExtensionPoint::kPreScore,          ExtensionPoint::kScore,
    ExtensionPoint::kPreBind,           ExtensionPoint::kBind,
    ExtensionPoint::kPostBind,          ExtensionPoint::kPermit,
    ExtensionPoint::kPreEnqueue,        ExtensionPoint::kQueueSort,
    ExtensionPoint::kPlacementGenerate, ExtensionPoint::kPlacementScore,
    ExtensionPoint::kPlacementFeasible, ExtensionPoint::kPodGroupPostFilter,
};
// An array that omits a point would contain the first enumerator twice.
static_assert(std::count(kConstructionOrder.begin(), kConstructionOrder.end(), ExtensionPoint{}) == 1,
              "each extension point has its place in the order");

std::string TypeName(ExtensionPoint point) { return std::string(ToString(point)) + "Plugin"; }

// Upstream's message, with the nearest name appended.
Error DoesNotExist(ExtensionPoint point, std::string_view name, std::span<const std::string_view> known) {
  std::string text = TypeName(point) + ' ' + GoQuoted(name) + " does not exist";
  if (const std::string_view nearest = NearestName(name, known); !nearest.empty())
    text += "; the nearest name is " + GoQuoted(nearest);
  return InvalidError(std::move(text));
}

Error AlreadyRegistered(ExtensionPoint point, std::string_view name) {
  return InvalidError("plugin " + GoQuoted(name) + " already registered as " + GoQuoted(TypeName(point)));
}

bool Contains(const auto& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

class Expansion {
 public:
  Expansion(const Plugins& plugins, const PluginLookup& lookup, std::span<const std::string_view> known)
      : plugins_(plugins), known_(known) {
    const auto look_up = [&](const PluginSet& set) {
      for (const PluginRef& plugin : set.enabled) {
        names_.insert(plugin.name);
        if (auto points = lookup(plugin.name)) implemented_.emplace(plugin.name, *points);
      }
    };
    for (const PluginSet& set : plugins.points.values) look_up(set);
    look_up(plugins.multi_point);
  }

  const std::set<std::string>& names() const { return names_; }

  // Checks that every plugin listed at a point exists, implements it, and is listed once.
  Expected<void> CheckListed(ExtensionPoint point) const {
    std::set<std::string_view> seen;
    for (const PluginRef& plugin : plugins_.points[point].enabled) {
      const auto found = implemented_.find(plugin.name);
      if (found == implemented_.end()) return DoesNotExist(point, plugin.name, known_);
      if (!found->second.test(static_cast<std::size_t>(point))) {
        return InvalidError("plugin " + GoQuoted(plugin.name) + " does not extend " + TypeName(point) + " plugin");
      }
      if (!seen.insert(plugin.name).second) return AlreadyRegistered(point, plugin.name);
    }
    return {};
  }

  // The names at a point, in order: those in both the point's set and multiPoint, those in multiPoint only, then the
  // rest of the point's set.
  Expected<std::vector<std::string>> Expand(ExtensionPoint point) const {
    const PluginSet& set = plugins_.points[point];
    std::vector<std::string> listed;
    for (const PluginRef& plugin : set.enabled) listed.push_back(plugin.name);
    if (Contains(set.disabled, "*")) return listed;

    std::vector<std::string> added;
    std::vector<std::string> overriding;
    for (const PluginRef& plugin : plugins_.multi_point.enabled) {
      const auto found = implemented_.find(plugin.name);
      if (found == implemented_.end()) return DoesNotExist(point, plugin.name, known_);
      if (!found->second.test(static_cast<std::size_t>(point)) || Contains(set.disabled, plugin.name)) continue;
      if (Contains(listed, plugin.name)) {
        overriding.push_back(plugin.name);
        continue;
      }
      if (Contains(added, plugin.name)) return AlreadyRegistered(point, plugin.name);
      added.push_back(plugin.name);
    }

    std::vector<std::string> order;
    for (const std::string& name : listed) {
      if (Contains(overriding, name)) order.push_back(name);
    }
    order.insert(order.end(), added.begin(), added.end());
    for (const std::string& name : listed) {
      if (!Contains(overriding, name)) order.push_back(name);
    }
    return order;
  }

  // The plugins' weights at Score or PlacementScore. A weight at the point takes precedence over one in multiPoint, and
  // 0 counts as 1. `what`: the word for these plugins in errors.
  Expected<std::map<std::string, std::int64_t>> Weights(ExtensionPoint point, std::string_view what) const {
    std::map<std::string, std::int64_t> weights;
    std::int64_t total = 0;
    for (const PluginSet* set : {&plugins_.points[point], &plugins_.multi_point}) {
      for (const PluginRef& plugin : set->enabled) {
        const auto found = implemented_.find(plugin.name);
        if (found == implemented_.end() || !found->second.test(static_cast<std::size_t>(point))) continue;
        const std::int64_t weight = plugin.weight == 0 ? 1 : plugin.weight;
        if (!weights.emplace(plugin.name, weight).second) continue;
        // The difference wraps as in Go: after a negative sum every plugin is refused.
        std::int64_t score_max = 0;
        std::int64_t room = 0;
        static_cast<void>(__builtin_sub_overflow(std::numeric_limits<std::int64_t>::max(), total, &room));
        if (__builtin_mul_overflow(weight, kNodeScoreMax, &score_max) || score_max > room)
          return InvalidError(std::string(what) + ": total score of Score plugins could overflow");
        static_cast<void>(__builtin_add_overflow(total, score_max, &total));
      }
    }
    return weights;
  }

 private:
  const Plugins& plugins_;
  const std::span<const std::string_view> known_;
  std::set<std::string> names_;
  std::map<std::string, ExtensionPointSet, std::less<>> implemented_;
};

}  // namespace

Expected<ExpandedProfile> ExpandProfile(const Profile& profile, const PluginLookup& lookup,
                                        std::span<const std::string_view> known) {
  const Expansion expansion(profile.plugins, lookup, known);
  ExpandedProfile expanded;
  expanded.scheduler_name = profile.scheduler_name;
  expanded.percentage_of_nodes_to_score = profile.percentage_of_nodes_to_score;
  expanded.percentage_of_placements_to_score = profile.percentage_of_placements_to_score;
  expanded.plugin_names.assign(expansion.names().begin(), expansion.names().end());

  for (const ExtensionPoint point : kConstructionOrder) BERTH_RETURN_IF_ERROR(expansion.CheckListed(point));
  for (const ExtensionPoint point : kConstructionOrder) {
    BERTH_ASSIGN_OR_RETURN(const std::vector<std::string> names, expansion.Expand(point));
    for (const std::string& name : names) expanded.plugins[point].push_back({name, 0});
  }

  const std::string where = " for profile with scheduler name " + GoQuoted(profile.scheduler_name);
  if (const std::size_t count = expanded.plugins[ExtensionPoint::kQueueSort].size(); count != 1) {
    return InvalidError("only one queue sort plugin required" + where + ", but got " + std::to_string(count));
  }
  if (expanded.plugins[ExtensionPoint::kBind].empty())
    return InvalidError("at least one bind plugin is needed" + where);

  if (expanded.plugins[ExtensionPoint::kPlacementGenerate].size() > 1)
    return InvalidError("at most one placement generate plugin is allowed" + where);

  for (const auto& [point, what] : {std::pair{ExtensionPoint::kScore, "score plugins"},
                                    std::pair{ExtensionPoint::kPlacementScore, "placement score plugins"}}) {
    BERTH_ASSIGN_OR_RETURN(const auto weights, expansion.Weights(point, what));
    for (PluginRef& plugin : expanded.plugins[point]) plugin.weight = weights.at(plugin.name);
  }
  return expanded;
}

Expected<std::vector<ExpandedProfile>> ExpandProfiles(const std::vector<Profile>& profiles, const PluginLookup& lookup,
                                                      std::span<const std::string_view> known) {
  std::vector<ExpandedProfile> expanded;
  for (const Profile& profile : profiles) {
    auto result = ExpandProfile(profile, lookup, known);
    if (!result.ok()) return result.error().Wrap("creating profile for scheduler name " + profile.scheduler_name);
    expanded.push_back(std::move(result).value());

    const std::string& queue_sort = expanded.back().plugins[ExtensionPoint::kQueueSort].front().name;
    const std::string& first = expanded.front().plugins[ExtensionPoint::kQueueSort].front().name;
    if (queue_sort != first) {
      return InvalidError("different queue sort plugins for profile " + GoQuoted(profile.scheduler_name) + ": " +
                          GoQuoted(queue_sort) + ", first: " + GoQuoted(first));
    }
    const PluginArgs* args = profile.FindArgs(queue_sort);
    const PluginArgs* first_args = profiles.front().FindArgs(queue_sort);
    const bool is_same = (args == nullptr) == (first_args == nullptr) && (args == nullptr || *args == *first_args);
    if (!is_same) {
      return InvalidError("different queue sort plugin args for profile " + GoQuoted(profile.scheduler_name));
    }
  }
  return expanded;
}

}  // namespace berth::config
