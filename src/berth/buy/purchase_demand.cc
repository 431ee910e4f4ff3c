// SPDX-License-Identifier: Apache-2.0
#include "berth/buy/purchase_demand.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "berth/core/runtime/evaluator.h"
#include "berth/core/runtime/profile_plugins.h"
#include "berth/framework/fast_path.h"
#include "berth/plugins/names.h"
#include "berth/whatif/placement.h"

namespace berth::buy {
namespace {

using framework::NodeIndex;
using Detail = scheduler::Overlay::Detail;

constexpr std::string_view kHostname = "kubernetes.io/hostname";
// Of a node for an exclusion: one pod that excludes others takes all of it.
constexpr std::int64_t kExclusionRoom = std::int64_t{1} << 20;
// Pods that a rule counts go to zones in step, although they are free to go anywhere, where one in so many of them or
// more has the rule.
constexpr std::size_t kInStepPart = 4;
// A zone where a pod would break its rule comes after all others.
constexpr std::int64_t kBroken = 1'000'000'000;
constexpr std::int32_t kManyPods = std::numeric_limits<std::int32_t>::max();
// Of pods whose claims decide how many a node takes: beyond it there is no node.
constexpr std::int32_t kCountedMax = 256;
// Free room of the cluster's nodes, in a relaxation: nodes that are nearly alike are taken for the best of them.
constexpr std::size_t kFreeChunksMax = 32;
// Limits of shapes in several zones, each a row of the linear program. Of further shapes each zone has its own.
constexpr std::size_t kShapeLimitsMax = 100;
// Steps of rounded amounts, as ratios. The first rounds nothing.
constexpr std::array<double, 8> kGrids = {1, 1.02, 1.05, 1.1, 1.25, 1.5, 2, 4};

bool Selects(const std::optional<api::LabelSelector>& selector, const framework::PodClass& of) {
  return selector && selector->Matches(of.labels);
}

// Whether the term is about other pods of the group.
bool IsOfItself(const api::PodAffinityTerm& term, const framework::PodClass& of) {
  const bool is_here =
      term.namespaces.empty() || std::ranges::find(term.namespaces, of.namespace_name) != term.namespaces.end();
  return is_here && Selects(term.selector, of);
}

// The pod without what it demands of other pods, for the question whether a node could take it at all. It keeps its
// uid: a claim that was made for the pod is another pod's otherwise, and no node fits then.
api::Pod WithoutCompany(const AskedPod& pod) {
  api::Pod alone = whatif::AsNew(*pod.model, pod.info->uid);
  alone.metadata.name = pod.info->name;
  alone.status.resource_claim_statuses = pod.model->status.resource_claim_statuses;
  alone.spec.pod_affinity.required.clear();
  alone.spec.topology_spread_constraints.clear();
  alone.spec.pod_group_name.clear();
  alone.spec.scheduling_gates.clear();
  return alone;
}

// Plugins of upstream whose filters ask more of a pod than PodClass::placement_id has, but only of company, claims and
// volumes.
bool IsAboutCompany(std::string_view plugin) {
  static constexpr std::array<std::string_view, 6> kAboutCompany = {
      plugins::names::kInterPodAffinity,   plugins::names::kPodTopologySpread, plugins::names::kDynamicResources,
      plugins::names::kVolumeRestrictions, plugins::names::kVolumeZone,        plugins::names::kGangScheduling};
  return std::ranges::find(kAboutCompany, plugin) != kAboutCompany.end();
}

// Whether pods without company that have one PodClass::placement_id fit on the same nodes.
bool FiltersByPlacement(const runtime::ProfilePlugins& profile) {
  const auto is_so = [](const framework::Plugin* plugin) {
    const auto* const fast = dynamic_cast<const framework::FastPlugin*>(plugin);
    return IsAboutCompany(plugin->Name()) || (fast != nullptr && fast->ReadsPlacementOnly());
  };
  return profile.own.empty() && std::ranges::all_of(profile.pre_filter, is_so) &&
         std::ranges::all_of(profile.filter, is_so);
}

// Whether pods on these nodes bear no others, which they may tell by their labels.
bool HasAntiAffinity(const framework::NodeTable& nodes) {
  return std::ranges::any_of(nodes.rows(), [&](NodeIndex row) {
    return std::ranges::any_of(nodes.Info(row).pods(), [](const framework::PodInfoPtr& pod) {
      return !pod->spec().pod_anti_affinity.required.empty();
    });
  });
}

std::string ReasonOf(const framework::Status& status) {
  std::string text;
  for (const std::string& reason : status.reasons()) text.append(text.empty() ? "" : ", ").append(reason);
  return text.empty() ? "it is refused" : text;
}

std::int64_t OnGrid(std::int64_t amount, double ratio, bool is_up) {
  if (amount <= 0 || ratio == 1) return amount;
  const double exponent = std::log(static_cast<double>(amount)) / std::log(ratio);
  const double step = is_up ? std::ceil(exponent - 1e-9) : std::floor(exponent + 1e-9);
  const double rounded = std::pow(ratio, step);
  // A rounding error must not turn the direction.
  return is_up ? std::max(amount, static_cast<std::int64_t>(std::ceil(rounded)))
               : std::min(amount, static_cast<std::int64_t>(std::floor(rounded)));
}

std::int32_t CountIn(const Amounts& room, const Amounts& size, std::int32_t most) {
  std::int64_t count = most;
  for (std::size_t i = 0; i < size.size(); ++i) {
    if (size[i] > 0) count = std::min(count, std::max<std::int64_t>(room[i], 0) / size[i]);
  }
  return static_cast<std::int32_t>(count);
}

std::string ZoneOf(const api::Node& node) {
  const std::string* zone = node.metadata.labels.Find(kZoneLabel);
  return zone == nullptr ? std::string() : *zone;
}

// The pods of the cluster that a rule of this namespace counts.
ZoneCounts CountByZone(const framework::NodeTable& nodes, std::string_view namespace_name,
                       const api::LabelSelector& selector) {
  ZoneCounts counts;
  for (const NodeIndex row : nodes.rows()) {
    const framework::NodeInfo& info = nodes.Info(row);
    if (!info.has_node()) continue;
    const std::string zone = ZoneOf(info.node());
    for (const framework::PodInfoPtr& pod : info.pods()) {
      if (pod->namespace_name() == namespace_name && selector.Matches(pod->labels())) ++counts[zone];
    }
  }
  return counts;
}

// The kinds of a problem, told apart by amounts and offers.
class KindFinder {
 public:
  explicit KindFinder(Demand& demand) : demand_(demand) {}

  std::size_t Find(const Amounts& size, std::vector<std::int32_t> fits) {
    const auto [at, is_new] = known_.try_emplace({size, std::move(fits)}, known_.size());
    if (is_new) {
      demand_.problem.kinds.push_back({0, size});
      demand_.pods.emplace_back();
    }
    return at->second;
  }
  void Finish() {
    for (auto& offer : demand_.problem.offers) offer.fits.assign(known_.size(), 0);
    for (const auto& [key, kind] : known_) {
      for (std::size_t i = 0; i < key.second.size(); ++i) demand_.problem.offers[i].fits[kind] = key.second[i];
    }
  }

 private:
  Demand& demand_;
  std::map<std::pair<Amounts, std::vector<std::int32_t>>, std::size_t> known_;
};

}  // namespace

PurchaseDemand::PurchaseDemand(scheduler::Overlay& overlay, const NodeCatalogue& catalogue,
                               const std::vector<Offer>& offers, const std::vector<framework::AnyObject>& of_cluster,
                               const std::vector<whatif::NewPod>& added, const std::vector<whatif::NewPod>& pending,
                               const PurchaseOptions& options)
    : catalogue_(catalogue), offers_(offers), options_(options) {
  Collect(added, false, overlay);
  Collect(pending, true, overlay);
  std::ranges::stable_sort(pods_, std::greater<>(), [](const AskedPod& pod) { return pod.info->priority(); });
  std::map<const framework::PodClass*, std::size_t> group_of;
  for (std::size_t i = 0; i < pods_.size(); ++i) {
    const auto [at, is_new] = group_of.try_emplace(pods_[i].info->pod_class.get(), groups_.size());
    if (is_new)
      groups_.push_back({whatif::WorkloadOf(*pods_[i].model), pods_[i].info, {}, {}, 0, {}, {}, kNoRule, false, {}});
    pods_[i].group = at->second;
    groups_[at->second].pods.push_back(i);
  }
  std::set<std::string> names;
  for (const AskedGroup& group : groups_) {
    const framework::Resource& requests = group.model->pod_class->requests;
    if (requests.ephemeral_storage_bytes > 0) names.emplace(framework::resources::kEphemeralStorage);
    for (const auto& [name, amount] : requests.scalars) names.insert(name);
  }
  resources_ = {std::string(framework::resources::kCpu), std::string(framework::resources::kMemory)};
  resources_.insert(resources_.end(), names.begin(), names.end());
  std::vector<framework::PodInfoPtr> models;
  std::vector<std::size_t> counts;
  for (const AskedGroup& group : groups_) {
    models.push_back(group.model);
    counts.push_back(group.pods.size());
  }
  company_ = PodCompany(models, counts);
  for (AskedGroup& group : groups_) FindRules(group, overlay.nodes());
  for (std::size_t i = 0; i < company_.spreads().size(); ++i) {
    const SpreadRule& rule = company_.spreads()[i];
    of_cluster_.push_back(rule.is_by_zone ? CountByZone(overlay.nodes(), rule.namespace_name, rule.selector)
                                          : ZoneCounts());
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      if (rule.is_by_zone && rule.is_bound[group] != 0 && rule.counts[group] != 0 &&
          groups_[group].zone_rule == ZoneRule::kSpread)
        groups_[group].zone_spread = i;
    }
    std::size_t bound = 0;
    std::size_t counted = 0;
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      bound += rule.is_bound[group] != 0 ? groups_[group].pods.size() : 0;
      counted += rule.counts[group] != 0 ? groups_[group].pods.size() : 0;
    }
    keeps_in_step_.push_back(rule.is_by_zone && bound * kInStepPart >= counted ? 1 : 0);
  }
  const scheduler::Overlay::Mark mark = overlay.mark();
  for (const Offer& offer : offers_) {
    const std::string& name = offer.model->metadata.name;
    overlay.SetNode(offer.model);
    for (framework::AnyObject& object : ObjectsLike(of_cluster, catalogue_.shapes[offer.shape].like, name))
      overlay.SetObject(std::move(object));
    for (const auto& daemon : offer.daemons) overlay.AddPod(overlay.MakePod(DaemonOn(*daemon, name)));
  }
  std::vector<NodeIndex> rows;
  for (const Offer& offer : offers_) rows.push_back(overlay.nodes().Find(offer.model->metadata.name));
  AskCore(overlay, rows);
  MeasureRooms(overlay.nodes(), rows);
  for (AskedGroup& group : groups_) CountByPlacing(group, overlay, rows);
  overlay.UndoTo(mark);
  std::map<std::tuple<Amounts, bool, std::int32_t, std::vector<std::int32_t>>, std::size_t> alike;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const AskedGroup& group = groups_[i];
    looks_like_.push_back(
        alike.try_emplace({sizes_[i], company_.IsInCrowd(i), group.per_node_max, group.fits}, i).first->second);
  }
}

void PurchaseDemand::Collect(const std::vector<whatif::NewPod>& pods, bool are_pending, scheduler::Overlay& overlay) {
  for (const whatif::NewPod& pod : pods) {
    framework::PodInfoPtr info;
    if (!pods_.empty() && pods_.back().model == pod.model) {
      // The class is the same, and need not be looked for.
      auto other = std::make_shared<framework::PodInfo>(*pods_.back().info);
      other->name = pod.name;
      other->uid = pod.Uid();
      info = std::move(other);
    } else {
      info = overlay.MakePod(*pod.Make());
    }
    pods_.push_back({pod.model, std::move(info), 0, are_pending});
  }
}

void PurchaseDemand::FindRules(AskedGroup& group, const framework::NodeTable& nodes) const {
  const framework::PodClass& of = *group.model->pod_class;
  group.per_node_max = of.host_ports.empty() ? kManyPods : 1;
  if (options_.disruption_share < 1) {
    const double share = options_.disruption_share * static_cast<double>(group.pods.size());
    group.per_node_max = std::min(group.per_node_max, std::max<std::int32_t>(static_cast<std::int32_t>(share), 1));
  }
  const std::optional<api::LabelSelector>* counted = nullptr;
  for (const api::PodAffinityTerm& term : of.spec.pod_anti_affinity.required) {
    if (!IsOfItself(term, of)) continue;
    if (term.topology_key == kHostname) group.per_node_max = 1;
    if (term.topology_key != kZoneLabel) continue;
    group.zone_rule = ZoneRule::kExclude;
    counted = &term.selector;
  }
  for (const api::TopologySpreadConstraint& constraint : of.spec.topology_spread_constraints) {
    if (group.zone_rule != ZoneRule::kNone || constraint.topology_key != kZoneLabel ||
        constraint.when_unsatisfiable != api::UnsatisfiableConstraintAction::kDoNotSchedule ||
        !Selects(constraint.selector, of))
      continue;
    group.zone_rule = ZoneRule::kSpread;
    counted = &constraint.selector;
  }
  for (const api::PodAffinityTerm& term : of.spec.pod_affinity.required) {
    if (group.zone_rule != ZoneRule::kNone || term.topology_key != kZoneLabel || !IsOfItself(term, of)) continue;
    group.zone_rule = ZoneRule::kTogether;
    counted = &term.selector;
  }
  if (counted != nullptr) group.zone_counts = CountByZone(nodes, of.namespace_name, **counted);
}

void PurchaseDemand::AskCore(scheduler::Overlay& overlay, const std::vector<NodeIndex>& rows) {
  std::map<NodeIndex, std::size_t> offer_of;
  for (std::size_t i = 0; i < rows.size(); ++i) offer_of[rows[i]] = i;
  const bool tells_by_labels = HasAntiAffinity(overlay.nodes());
  std::map<std::pair<const runtime::ProfilePlugins*, std::uint64_t>, const AskedGroup*> asked;
  for (AskedGroup& group : groups_) {
    group.fits.assign(offers_.size(), 0);
    const runtime::ProfilePlugins* const profile = overlay.ProfileOf(*group.model);
    const framework::PodClass& of = *group.model->pod_class;
    const bool is_alike = of.placement_id != 0 && of.spec.resource_claims.empty() && !tells_by_labels &&
                          profile != nullptr && FiltersByPlacement(*profile);
    const auto [known, is_new] = asked.try_emplace({profile, is_alike ? of.placement_id : 0}, &group);
    if (is_alike && !is_new) {
      for (std::size_t i = 0; i < rows.size(); ++i) group.fits[i] = known->second->fits[i] > 0 ? group.per_node_max : 0;
      group.fits_some = known->second->fits_some;
      group.why_none = known->second->why_none;
      continue;
    }
    const framework::PodInfoPtr alone = overlay.MakePod(WithoutCompany(pods_[group.pods.front()]));
    const auto answer = overlay.Evaluate(alone, Detail::kAll);
    if (answer.outcome.result == runtime::Result::kError) {
      group.why_none = answer.outcome.error;
      continue;
    }
    for (const NodeIndex row : answer.outcome.feasible) {
      if (const auto at = offer_of.find(row); at != offer_of.end()) group.fits[at->second] = group.per_node_max;
    }
    group.fits_some = std::ranges::any_of(group.fits, [](std::int32_t count) { return count > 0; });
    if (group.fits_some) continue;
    if (!answer.outcome.pre_filter_status.IsSuccess()) {
      group.why_none = ReasonOf(answer.outcome.pre_filter_status);
      continue;
    }
    std::map<std::string, std::set<std::size_t>> shapes_by_reason;
    for (std::size_t i = 0; i < rows.size(); ++i)
      shapes_by_reason[ReasonOf(answer.evaluator.StatusOf(rows[i]))].insert(offers_[i].shape);
    std::vector<std::pair<std::size_t, std::string>> reasons;
    for (const auto& [reason, shapes] : shapes_by_reason) reasons.emplace_back(shapes.size(), reason);
    std::ranges::sort(reasons, [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    constexpr std::size_t kReasonsMax = 3;
    for (std::size_t i = 0; i < reasons.size() && i < kReasonsMax; ++i) {
      group.why_none.append(i == 0 ? "" : "; ").append(std::to_string(reasons[i].first));
      group.why_none.append(reasons[i].first == 1 ? " shape: " : " shapes: ").append(reasons[i].second);
    }
  }
}

Amounts PurchaseDemand::AmountsOf(const framework::Resource& amounts, std::int64_t pods) const {
  Amounts out;
  for (const std::string& name : resources_) out.push_back(amounts.Get(name));
  out.push_back(pods);
  return out;
}

Amounts PurchaseDemand::RoomOf(const framework::Resource& room, const framework::NodeInfo& info) const {
  Amounts amounts = AmountsOf(room, info.allocatable().pods - static_cast<std::int64_t>(info.pods().size()));
  amounts.resize(amounts.size() + company_.exclusions().size(), kExclusionRoom);
  return amounts;
}

void PurchaseDemand::MeasureRooms(const framework::NodeTable& nodes, const std::vector<NodeIndex>& rows) {
  const auto measure = [&] {
    rooms_.clear();
    sizes_.clear();
    for (const NodeIndex row : rows) {
      const framework::NodeInfo& info = nodes.Info(row);
      framework::Resource room = info.allocatable();
      room.Subtract(info.requested());
      rooms_.push_back(RoomOf(room, info));
    }
    for (const AskedGroup& group : groups_) sizes_.push_back(AmountsOf(group.model->pod_class->requests, 1));
    for (const NodeExclusion& rule : company_.exclusions()) {
      for (std::size_t group = 0; group < groups_.size(); ++group)
        sizes_[group].push_back(rule.excludes[group] != 0 ? kExclusionRoom : rule.counts[group]);
    }
  };
  measure();
  // What the core takes although the node has not got it is no amount of nodes: devices under the name of a resource,
  // or one that the profile ignores.
  std::set<std::size_t> no_amounts;
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    for (std::size_t i = 0; i < rooms_.size(); ++i) {
      if (groups_[group].fits[i] == 0) continue;
      for (std::size_t k = 0; k < resources_.size(); ++k) {
        if (sizes_[group][k] > rooms_[i][k]) no_amounts.insert(k);
      }
    }
  }
  for (auto at = no_amounts.rbegin(); at != no_amounts.rend(); ++at)
    resources_.erase(resources_.begin() + static_cast<std::ptrdiff_t>(*at));
  if (!no_amounts.empty()) measure();
  std::map<std::pair<Amounts, std::int32_t>, std::vector<std::int32_t>> counts_of;
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const std::int32_t most = groups_[group].per_node_max;
    const auto [counts, is_new] = counts_of.try_emplace({sizes_[group], most});
    if (is_new) {
      for (const Amounts& room : rooms_) counts->second.push_back(std::max(CountIn(room, sizes_[group], most), 1));
    }
    for (std::size_t i = 0; i < rooms_.size(); ++i) {
      std::int32_t& fits = groups_[group].fits[i];
      if (fits > 0) fits = counts->second[i];
    }
  }
}

// Devices are counted by taking them.
void PurchaseDemand::CountByPlacing(AskedGroup& group, scheduler::Overlay& overlay,
                                    const std::vector<NodeIndex>& rows) {
  const framework::PodClass& of = *group.model->pod_class;
  const bool has_other_amounts = std::ranges::any_of(of.requests.scalars, [&](const auto& scalar) {
    return scalar.second > 0 && std::ranges::find(resources_, scalar.first) == resources_.end();
  });
  if ((of.spec.resource_claims.empty() && !has_other_amounts) || group.pods.size() < 2) return;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int32_t most = std::min({group.fits[i], kCountedMax, static_cast<std::int32_t>(group.pods.size())});
    if (most < 2) continue;
    const scheduler::Overlay::Mark mark = overlay.mark();
    std::int32_t count = 0;
    for (; count < most; ++count) {
      api::Pod pod = WithoutCompany(pods_[group.pods[static_cast<std::size_t>(count)]]);
      pod.status.nominated_node_name = overlay.nodes().Info(rows[i]).name();
      const framework::PodInfoPtr info = overlay.MakePod(pod);
      const auto answer = overlay.Evaluate(info, Detail::kChoice);
      if (answer.outcome.result != runtime::Result::kFeasible || answer.outcome.node != rows[i]) break;
      if (!overlay.Place(info, rows[i]).IsSuccess()) break;
    }
    group.fits[i] = std::max(count, 1);
    overlay.UndoTo(mark);
  }
}

ZoneCounts PurchaseDemand::ZonesOf(const AskedGroup& group, std::int64_t count, const ZoneCounts& placed) const {
  ZoneCounts levels;
  std::map<std::string, double, std::less<>> prices;  // of one pod
  for (std::size_t i = 0; i < offers_.size(); ++i) {
    if (group.fits[i] == 0) continue;
    const std::string& zone = offers_[i].zone;
    const double price = static_cast<double>(catalogue_.shapes[offers_[i].shape].price_micro) / group.fits[i];
    const auto [at, is_new] = prices.try_emplace(zone, price);
    if (!is_new) at->second = std::min(at->second, price);
    levels[zone] = 0;
  }
  ZoneCounts before = group.zone_counts;
  for (const auto& [zone, pods] : placed) before[zone] += pods;
  ZoneCounts out;
  if (levels.empty()) return out;
  if (group.zone_rule == ZoneRule::kTogether) {
    const auto home = std::ranges::find_if(before, [&](const auto& each) { return each.second > 0; });
    const auto cheapest = std::ranges::min_element(prices, {}, [](const auto& each) { return each.second; });
    out[home != before.end() && levels.contains(home->first) ? home->first : cheapest->first] = count;
    return out;
  }
  for (auto& [zone, level] : levels) {
    if (const auto at = before.find(zone); at != before.end()) level = at->second;
  }
  for (; count > 0; --count) {
    const auto lowest = std::ranges::min_element(levels, {}, [](const auto& each) { return each.second; });
    if (group.zone_rule == ZoneRule::kExclude && lowest->second > 0) break;
    ++lowest->second;
    ++out[lowest->first];
  }
  return out;
}

std::vector<SideLimit> PurchaseDemand::Limits(const std::vector<std::size_t>& bought, bool is_relaxed) const {
  std::vector<SideLimit> limits;
  if (options_.nodes_max) {
    limits.push_back({std::vector<double>(offers_.size(), 1), static_cast<double>(*options_.nodes_max)});
  }
  if (options_.spot_share < 1) {
    SideLimit spot{{}, 0};
    for (const Offer& offer : offers_) {
      const api::Quantity* cpu = api::FindResource(offer.model->allocatable, framework::resources::kCpu);
      const double cores = cpu == nullptr ? 0 : static_cast<double>(cpu->MilliValue()) / 1000;
      spot.per_offer.push_back(cores * ((catalogue_.shapes[offer.shape].is_spot ? 1 : 0) - options_.spot_share));
    }
    limits.push_back(std::move(spot));
  }
  if (!is_relaxed) {
    std::map<std::size_t, std::vector<std::size_t>> offers_of;
    for (std::size_t i = 0; i < offers_.size(); ++i) {
      if (catalogue_.shapes[offers_[i].shape].count_max) offers_of[offers_[i].shape].push_back(i);
    }
    std::size_t rows = 0;
    for (const auto& [shape, offers] : offers_of) {
      if (offers.size() < 2 || ++rows > kShapeLimitsMax) continue;
      SideLimit limit{std::vector<double>(offers_.size(), 0), static_cast<double>(*catalogue_.shapes[shape].count_max)};
      for (const std::size_t offer : offers) limit.per_offer[offer] = 1;
      limits.push_back(std::move(limit));
    }
  }
  for (SideLimit& limit : limits) {
    for (const std::size_t offer : bought) limit.max -= limit.per_offer[offer];
  }
  return limits;
}

bool PurchaseDemand::KeepsLimits(const std::vector<std::size_t>& offers) const {
  constexpr double kTolerance = 1e-9;
  if (std::ranges::any_of(Limits(offers, true), [&](const SideLimit& limit) { return limit.max < -kTolerance; }))
    return false;
  std::map<std::size_t, std::int64_t> counts;
  for (const std::size_t offer : offers) ++counts[offers_[offer].shape];
  return std::ranges::all_of(counts, [&](const auto& each) {
    const auto& most = catalogue_.shapes[each.first].count_max;
    return !most || each.second <= *most;
  });
}

// Each goes to the zone that has the fewest of the pods that the same rules count, pods of other groups included. So
// the zones are in step whenever the scheduler looks.
std::map<std::size_t, std::string> PurchaseDemand::SpreadOverZones(const std::vector<std::size_t>& pods,
                                                                   const std::vector<ZoneCounts>& placed) const {
  const std::vector<SpreadRule>& rules = company_.spreads();
  std::vector<ZoneCounts> counts = of_cluster_;
  std::map<std::size_t, ZoneCounts> own_counts;  // by group, of those whose rule is none of these
  for (std::size_t rule = 0; rule < rules.size(); ++rule) {
    for (std::size_t group = 0; group < placed.size(); ++group) {
      if (rules[rule].counts[group] == 0) continue;
      for (const auto& [zone, count] : placed[group]) counts[rule][zone] += count;
    }
  }
  struct OfGroup {
    std::vector<ZoneCounts*> counts;
    std::vector<std::size_t> bound;  // rules
    std::set<std::string> zones;
  };
  // Whether one more pod of the group in the zone would break the rule.
  const auto breaks = [&](std::size_t rule, std::size_t group, const std::set<std::string>& zones,
                          const std::string& zone) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const std::string& other : zones) least = std::min(least, counts[rule][other]);
    return counts[rule][zone] + rules[rule].counts[group] - least > rules[rule].max_skew;
  };
  std::map<std::size_t, OfGroup> known;
  std::map<std::size_t, std::string> zone_of;
  for (const std::size_t pod : pods) {
    const std::size_t index = pods_[pod].group;
    const AskedGroup& group = groups_[index];
    if (!group.fits_some || group.zone_rule == ZoneRule::kExclude || group.zone_rule == ZoneRule::kTogether) continue;
    const auto [at, is_new] = known.try_emplace(index);
    OfGroup& of_group = at->second;
    if (is_new) {
      for (std::size_t rule = 0; rule < rules.size(); ++rule) {
        if (rules[rule].counts[index] != 0 && (keeps_in_step_[rule] != 0 || group.zone_spread == rule))
          of_group.counts.push_back(&counts[rule]);
        if (rules[rule].is_by_zone && rules[rule].is_bound[index] != 0) of_group.bound.push_back(rule);
      }
      if (group.zone_rule == ZoneRule::kSpread && group.zone_spread == kNoRule) {
        ZoneCounts& own = own_counts[index];
        own = group.zone_counts;
        if (index < placed.size()) {
          for (const auto& [zone, count] : placed[index]) own[zone] += count;
        }
        of_group.counts.push_back(&own);
      }
      for (std::size_t i = 0; i < offers_.size(); ++i) {
        if (group.fits[i] > 0) of_group.zones.insert(offers_[i].zone);
      }
    }
    const bool is_restricted = std::ranges::any_of(of_group.bound, [&](std::size_t rule) {
      return std::ranges::any_of(of_group.zones,
                                 [&](const std::string& zone) { return breaks(rule, index, of_group.zones, zone); });
    });
    if (of_group.counts.empty() && !is_restricted) continue;
    const std::string& least = *std::ranges::min_element(of_group.zones, {}, [&](const std::string& zone) {
      std::int64_t sum = 0;
      for (ZoneCounts* each : of_group.counts) sum += (*each)[zone];
      for (const std::size_t rule : of_group.bound) sum += breaks(rule, index, of_group.zones, zone) ? kBroken : 0;
      return sum;
    });
    for (ZoneCounts* each : of_group.counts) ++(*each)[least];
    zone_of[pod] = least;
  }
  return zone_of;
}

Demand PurchaseDemand::For(const std::vector<std::size_t>& pods, const std::vector<ZoneCounts>& placed,
                           const std::vector<std::size_t>& bought) const {
  std::map<std::size_t, std::vector<std::size_t>> by_group;
  for (const std::size_t pod : pods) {
    if (groups_[pods_[pod].group].fits_some) by_group[pods_[pod].group].push_back(pod);
  }
  const std::map<std::size_t, std::string> zone_of = SpreadOverZones(pods, placed);
  std::map<std::size_t, std::int64_t> taken;  // nodes by shape
  for (const std::size_t offer : bought) ++taken[offers_[offer].shape];
  const std::string anywhere;
  Demand demand;
  for (const double ratio : kGrids) {
    demand = {};
    for (std::size_t i = 0; i < offers_.size(); ++i) {
      const CatalogueShape& shape = catalogue_.shapes[offers_[i].shape];
      const auto known = taken.find(offers_[i].shape);
      const std::int64_t gone = known == taken.end() ? 0 : known->second;
      demand.problem.offers.push_back(
          {rooms_[i],
           shape.price_micro,
           shape.count_max ? std::max<std::int64_t>(*shape.count_max - gone, 0) : kUnlimited,
           {}});
      if (company_.crowd_max() > 0) demand.problem.offers.back().room.push_back(company_.crowd_max());
    }
    KindFinder kinds(demand);
    // By the first group that looks like it, and the zone; null: pods go to any zone.
    std::map<std::tuple<std::size_t, bool, std::string>, std::size_t> kind_of;
    const auto find = [&](std::size_t index, const std::string* zone) {
      const auto [known, is_new] =
          kind_of.try_emplace({looks_like_[index], zone != nullptr, zone == nullptr ? anywhere : *zone}, 0);
      if (!is_new) return known->second;
      const AskedGroup& group = groups_[index];
      Amounts size = sizes_[index];
      for (std::size_t i = 0; i < resources_.size(); ++i) size[i] = OnGrid(size[i], ratio, true);
      const auto fits_in = [&](const Amounts& amounts, const std::string* in) {
        std::vector<std::int32_t> fits(offers_.size(), 0);
        for (std::size_t i = 0; i < fits.size(); ++i) {
          if (in == nullptr || offers_[i].zone == *in) fits[i] = CountIn(rooms_[i], amounts, group.fits[i]);
        }
        return fits;
      };
      // What is rounded must still fit wherever the pods do.
      const std::vector<std::int32_t> rounded = fits_in(size, nullptr);
      for (std::size_t i = 0; i < rounded.size(); ++i) {
        if (rounded[i] == 0 && group.fits[i] > 0) size = sizes_[index];
      }
      std::vector<std::int32_t> fits = fits_in(size, zone);
      if (company_.crowd_max() > 0) {
        const bool is_in_crowd = company_.IsInCrowd(index);
        size.push_back(is_in_crowd ? 1 : 0);
        for (std::int32_t& count : fits) count = is_in_crowd ? std::min(count, company_.crowd_max()) : count;
      }
      known->second = kinds.Find(size, std::move(fits));
      return known->second;
    };
    const auto add = [&](std::size_t kind, std::size_t pod) {
      ++demand.problem.kinds[kind].count;
      demand.pods[kind].push_back(pod);
    };
    for (const auto& [index, all] : by_group) {
      const AskedGroup& group = groups_[index];
      if (group.zone_rule == ZoneRule::kNone || group.zone_rule == ZoneRule::kSpread) {
        for (const std::size_t pod : all) {
          const auto zone = zone_of.find(pod);
          add(find(index, zone == zone_of.end() ? nullptr : &zone->second), pod);
        }
        continue;
      }
      std::size_t next = 0;
      const ZoneCounts none;
      const ZoneCounts zones =
          ZonesOf(group, static_cast<std::int64_t>(all.size()), placed.empty() ? none : placed[index]);
      for (const auto& [zone, count] : zones) {
        const std::size_t kind = find(index, &zone);
        for (std::int64_t i = 0; i < count; ++i) add(kind, all[next++]);
      }
    }
    kinds.Finish();
    for (std::vector<std::size_t>& of_kind : demand.pods) std::ranges::sort(of_kind);
    if (demand.problem.kinds.size() <= kKindsMax) break;
  }
  demand.problem.limits = Limits(bought, false);
  return demand;
}

PackingProblem PurchaseDemand::Relaxed(const framework::NodeTable& nodes) const {
  std::vector<Amounts> free;
  for (const NodeIndex row : nodes.rows()) {
    const framework::NodeInfo& info = nodes.Info(row);
    if (!info.has_node() || info.node().unschedulable) continue;
    framework::Resource room = info.allocatable();
    room.Subtract(info.requested());
    Amounts amounts = RoomOf(room, info);
    if (std::ranges::any_of(sizes_, [&](const Amounts& size) { return CountIn(amounts, size, 1) > 0; }))
      free.push_back(std::move(amounts));
  }
  std::ranges::sort(free);
  const std::size_t chunk = (free.size() + kFreeChunksMax - 1) / kFreeChunksMax;
  Demand demand;
  for (const double ratio : kGrids) {
    demand = {};
    std::vector<NodeOffer>& offers = demand.problem.offers;
    for (std::size_t i = 0; i < offers_.size(); ++i) {
      const CatalogueShape& shape = catalogue_.shapes[offers_[i].shape];
      offers.push_back({rooms_[i], shape.price_micro, shape.count_max.value_or(kUnlimited), {}});
    }
    for (std::size_t i = 0; i < free.size(); ++i) {
      if (i % chunk == 0) offers.push_back({free[i], 0, 0, {}});
      NodeOffer& merged = offers.back();
      ++merged.count_max;
      for (std::size_t k = 0; k < merged.room.size(); ++k) merged.room[k] = std::max(merged.room[k], free[i][k]);
    }
    KindFinder kinds(demand);
    std::map<std::size_t, std::size_t> kind_of;  // by the first group that looks like it
    for (std::size_t index = 0; index < groups_.size(); ++index) {
      const AskedGroup& group = groups_[index];
      if (!group.fits_some) continue;
      if (const auto known = kind_of.find(looks_like_[index]); known != kind_of.end()) {
        demand.problem.kinds[known->second].count += static_cast<std::int64_t>(group.pods.size());
        continue;
      }
      Amounts size = sizes_[index];
      for (std::size_t i = 0; i < resources_.size(); ++i) size[i] = OnGrid(size[i], ratio, false);
      std::vector<std::int32_t> fits(offers.size(), 0);
      for (std::size_t i = 0; i < fits.size(); ++i) {
        // By claims a node may take fewer, which is no amount and stays as it is.
        const bool is_counted = i < offers_.size() && ratio == 1;
        const bool is_refused = i < offers_.size() && group.fits[i] == 0;
        const std::int32_t most = i < offers_.size() ? group.per_node_max : kManyPods;
        if (!is_refused) fits[i] = is_counted ? group.fits[i] : CountIn(offers[i].room, size, most);
      }
      const std::size_t kind = kinds.Find(size, std::move(fits));
      kind_of[looks_like_[index]] = kind;
      demand.problem.kinds[kind].count += static_cast<std::int64_t>(group.pods.size());
    }
    kinds.Finish();
    if (demand.problem.kinds.size() <= kKindsMax) break;
  }
  demand.problem.limits = Limits({}, true);
  for (SideLimit& limit : demand.problem.limits) limit.per_offer.resize(demand.problem.offers.size(), 0);
  return std::move(demand.problem);
}

}  // namespace berth::buy
