// SPDX-License-Identifier: Apache-2.0
#include "berth/buy/purchase_search.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "berth/buy/node_packer.h"
#include "berth/buy/pod_seating.h"

namespace berth::buy {
namespace {

using framework::kNoNode;

// How often pods that are pending get more nodes.
constexpr int kRepairsMax = 12;
// In how many ways ties are broken before a plan is taken: as many as the part of the placements pays for, within these
// limits.
constexpr std::uint64_t kTiesTriedMin = 7;
constexpr std::uint64_t kTiesTriedMax = 16;
constexpr std::uint64_t kTiesPart = 8;
// Pods times nodes of plans that are tried with ties broken in one direction.
constexpr std::size_t kOneSidedMax = 2'000'000;
// Shapes that are tried alone: the scheduler spreads pods, which alike nodes bear best.
constexpr std::size_t kSingleShapesMax = 4;
// Cheaper offers that are tried in the place of one.
constexpr std::size_t kDowngradesMax = 8;
// Zones that are tried for pods that have to be in one.
constexpr std::size_t kHomesTriedMax = 8;
// Of the steps of a packing, those for the pods that are left over, and for the question what the second-best plan
// costs.
constexpr std::uint64_t kRepairPart = 4;
constexpr std::uint64_t kSecondPart = 4;
// Of the placements, those that may go into leaving nodes out and making them smaller.
constexpr std::uint64_t kImprovingPart = 3;
// A plan is good enough, when a better one would save less than a thousandth.
constexpr std::int64_t kGoodEnoughPart = 1'000;

// Takes nodes of the offer out, the last ones first. Pods that were to go there go anywhere.
Purchase Without(const Purchase& purchase, std::size_t offer, std::size_t count) {
  Purchase less;
  std::vector<std::uint32_t> moved(purchase.nodes.size(), kAnywhere);
  std::size_t of_offer = static_cast<std::size_t>(std::ranges::count(purchase.nodes, offer));
  for (std::size_t i = 0; i < purchase.nodes.size(); ++i) {
    if (purchase.nodes[i] == offer && of_offer-- <= count) continue;
    moved[i] = static_cast<std::uint32_t>(less.nodes.size());
    less.nodes.push_back(purchase.nodes[i]);
  }
  for (const std::uint32_t target : purchase.targets)
    less.targets.push_back(target == kAnywhere ? kAnywhere : moved[target]);
  return less;
}

}  // namespace

PurchaseSearch::PurchaseSearch(PurchaseTrial& trial, const PurchaseDemand& demand, const NodeCatalogue& catalogue,
                               const std::vector<Offer>& offers, const PurchaseOptions& options,
                               std::int64_t bound_micro)
    : trial_(trial),
      demand_(demand),
      catalogue_(catalogue),
      offers_(offers),
      options_(options),
      bound_micro_(bound_micro) {}

Candidate PurchaseSearch::Find() {
  UseFreeRoom();
  const OfferFilter all = [](std::size_t) { return true; };
  Purchase none;
  Purchase packed;
  const bool has_packed = AddNodesFor(wanting_, at_home_, all, packed);
  if (!has_packed) {
    Consider(TryAs(none));
    return *best_;
  }
  if (options_.placement == Placement::kScheduler) {
    Purchase free = packed;
    free.targets.clear();
    Consider(Complete(std::move(free), all));
    if (!IsGoodEnough()) TrySingleShapes();
  } else {
    Consider(Complete(packed, all));
  }
  TryWithoutAZone();
  TryOtherHomes();
  // Where the core has taken a packing as it is, to leave nodes out would only be a worse search.
  const bool is_packing = options_.placement == Placement::kNominated && best_->purchase == packed;
  if (!IsGoodEnough() && !is_packing) Improve();
  TryWithoutMainShape();
  if (options_.placement == Placement::kScheduler) Confirm();
  if (options_.placement == Placement::kScheduler && !IsGoodEnough() && !IsOver()) {
    Candidate closer = TryAs(packed);
    if (closer.not_placed <= best_->not_placed && closer.price_micro < best_->price_micro) nominated_ = closer;
  }
  static_cast<void>(TryAs(best_->purchase));
  return *best_;
}

bool PurchaseSearch::IsOver() {
  is_interrupted_ = is_interrupted_ || (options_.is_interrupted && options_.is_interrupted());
  is_cut_short_ = is_cut_short_ || trial_.placement_count() + trial_.run_cost() > options_.placements_max;
  return is_interrupted_ || is_cut_short_;
}

bool PurchaseSearch::IsGoodEnough() const {
  return best_ && bound_micro_ > 0 && best_->not_placed == 0 &&
         best_->price_micro - bound_micro_ <= best_->price_micro / kGoodEnoughPart;
}

std::int64_t PurchaseSearch::PriceOf(const std::vector<std::size_t>& nodes) const {
  std::int64_t price = 0;
  for (const std::size_t offer : nodes) price += catalogue_.shapes[offers_[offer].shape].price_micro;
  return price;
}

// What fits into the cluster as it is needs no node; the rest is bought for.
void PurchaseSearch::UseFreeRoom() {
  at_home_.assign(demand_.groups().size(), {});
  if (trial_.overlay().nodes().node_count() == 0) {
    for (std::size_t i = 0; i < demand_.pods().size(); ++i) wanting_.push_back(i);
    return;
  }
  const TrialResult result = trial_.Run({});
  wanting_ = result.pending;
  at_home_ = ZonesOf(result);
  if (options_.placement != Placement::kNominated) return;
  std::vector<std::string> homes(demand_.pods().size());
  for (std::size_t i = 0; i < homes.size(); ++i) {
    if (result.rows[i] != kNoNode) homes[i] = trial_.overlay().nodes().Info(result.rows[i]).name();
  }
  trial_.SetHomes(std::move(homes));
}

std::vector<ZoneCounts> PurchaseSearch::ZonesOf(const TrialResult& result) const {
  std::vector<ZoneCounts> zones(demand_.groups().size());
  const bool has_spreads =
      std::ranges::any_of(demand_.company().spreads(), [](const SpreadRule& rule) { return rule.is_by_zone; });
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const std::size_t group = demand_.pods()[i].group;
    if (result.rows[i] == kNoNode || (!has_spreads && demand_.groups()[group].zone_rule == ZoneRule::kNone)) continue;
    const api::Node& node = trial_.overlay().nodes().Info(result.rows[i]).node();
    const std::string* zone = node.metadata.labels.Find(kZoneLabel);
    ++zones[group][zone == nullptr ? std::string() : *zone];
  }
  return zones;
}

// Zones of the same price are bought in turn, where the pods do not mind.
void PurchaseSearch::SpreadOverZones(const PackingProblem& problem, Packing& packing,
                                     const std::vector<std::size_t>& bought) const {
  std::map<std::string, std::size_t> counts;
  for (const std::size_t offer : bought) ++counts[offers_[offer].zone];
  std::map<std::size_t, std::vector<std::size_t>> offers_of;  // by shape
  for (std::size_t i = 0; i < offers_.size(); ++i) offers_of[offers_[i].shape].push_back(i);
  for (PackedNode& node : packing.nodes) {
    std::size_t best = node.offer;
    for (const std::size_t twin : offers_of[offers_[node.offer].shape]) {
      if (counts[offers_[twin].zone] < counts[offers_[best].zone] && problem.offers[twin].count_max > 0 &&
          Fits(problem, problem.offers[twin], node.fill))
        best = twin;
    }
    node.offer = best;
    ++counts[offers_[best].zone];
  }
}

bool PurchaseSearch::AddNodesFor(const std::vector<std::size_t>& pods, const std::vector<ZoneCounts>& placed,
                                 const OfferFilter& is_allowed, Purchase& purchase, std::uint64_t steps_part) {
  Demand wanted = demand_.For(pods, placed, purchase.nodes);
  if (wanted.problem.kinds.empty()) return false;
  for (std::size_t i = 0; i < offers_.size(); ++i) {
    if (!is_allowed(i)) wanted.problem.offers[i].count_max = 0;
  }
  PackOptions options;
  options.steps_max = options_.packing_steps_max / steps_part;
  options.is_interrupted = options_.is_interrupted;
  PackResult packed = PackNodes(wanted.problem, options);
  if (packed.packing.nodes.empty()) return false;
  SpreadOverZones(wanted.problem, packed.packing, purchase.nodes);
  // The same shapes stand together, so that nodes have the same names in the plan of the same nodes.
  std::ranges::stable_sort(packed.packing.nodes, {}, &PackedNode::offer);
  purchase.targets.resize(demand_.pods().size(), kAnywhere);
  PodSeating(demand_, offers_, placed)
      .Seat(wanted, packed.packing, static_cast<std::uint32_t>(purchase.nodes.size()), purchase.targets);
  for (const PackedNode& node : packed.packing.nodes) purchase.nodes.push_back(node.offer);
  return true;
}

std::vector<std::size_t> PurchaseSearch::Missing(const TrialResult& result) const {
  std::vector<std::size_t> missing;
  for (const auto* pods : {&result.pending, &result.crowded}) {
    for (const std::size_t pod : *pods) {
      if (demand_.groups()[demand_.pods()[pod].group].fits_some) missing.push_back(pod);
    }
  }
  std::ranges::sort(missing);
  return missing;
}

Candidate PurchaseSearch::TryAs(const Purchase& purchase) {
  return {purchase, PriceOf(purchase.nodes), trial_.Run(purchase).NotPlaced()};
}

Candidate PurchaseSearch::Complete(Purchase purchase, const OfferFilter& is_allowed) {
  const bool is_free = purchase.targets.empty();
  std::optional<Candidate> best;
  std::size_t least = kAnywhere;
  int vain = 0;
  for (int repair = 0;; ++repair) {
    const TrialResult result = trial_.Run(purchase);
    const Candidate candidate{purchase, PriceOf(purchase.nodes), result.NotPlaced()};
    if (!best || candidate.not_placed < best->not_placed) best = candidate;
    const std::vector<std::size_t> missing = Missing(result);
    // Twice without fewer pods that are pending, and more nodes are no help.
    vain = missing.size() < least ? 0 : vain + 1;
    least = std::min(least, missing.size());
    if (missing.empty() || vain == 2 || repair == kRepairsMax || IsOver()) break;
    if (!AddNodesFor(missing, ZonesOf(result), is_allowed, purchase, kRepairPart)) break;
    if (is_free) purchase.targets.clear();
  }
  return *best;
}

std::vector<std::size_t> PurchaseSearch::ShapesOf(const Candidate& candidate) const {
  std::set<std::size_t> shapes;
  for (const std::size_t offer : candidate.purchase.nodes) shapes.insert(offers_[offer].shape);
  return {shapes.begin(), shapes.end()};
}

void PurchaseSearch::Consider(const Candidate& candidate) {
  const auto is_better = [](const Candidate& a, const Candidate& b) {
    return a.not_placed != b.not_placed ? a.not_placed < b.not_placed : a.price_micro < b.price_micro;
  };
  if (!best_) {
    best_ = candidate;
    return;
  }
  Candidate other = candidate;
  if (is_better(candidate, *best_)) {
    other = *best_;
    best_ = candidate;
  }
  if (second_ && (ShapesOf(*second_) == ShapesOf(*best_) || second_->not_placed > best_->not_placed)) second_.reset();
  if (other.not_placed <= best_->not_placed && ShapesOf(other) != ShapesOf(*best_) &&
      (!second_ || is_better(other, *second_)))
    second_ = std::move(other);
}

void PurchaseSearch::TrySingleShapes() {
  const Demand all = demand_.For(wanting_, at_home_, {});
  std::map<std::size_t, double> costs;  // by shape, as if nodes could be bought in parts
  for (std::size_t i = 0; i < offers_.size(); ++i) {
    const NodeOffer& offer = all.problem.offers[i];
    double nodes = 0;
    for (std::size_t amount = 0; amount < offer.room.size(); ++amount) {
      double sum = 0;
      for (const PodKind& kind : all.problem.kinds)
        sum += static_cast<double>(kind.count) * static_cast<double>(kind.size[amount]);
      if (sum > 0) nodes = std::max(nodes, sum / std::max(static_cast<double>(offer.room[amount]), 1.0));
    }
    if (!std::ranges::all_of(offer.fits, [](std::int32_t fits) { return fits > 0; })) continue;
    const double cost = nodes * static_cast<double>(offer.price_micro);
    const auto [at, is_new] = costs.try_emplace(offers_[i].shape, cost);
    if (!is_new) at->second = std::min(at->second, cost);
  }
  std::vector<std::pair<double, std::size_t>> order;
  for (const auto& [shape, cost] : costs) order.emplace_back(cost, shape);
  std::ranges::sort(order);
  for (std::size_t i = 0; i < order.size() && i < kSingleShapesMax && !IsOver(); ++i) {
    const OfferFilter is_of_shape = [&](std::size_t offer) { return offers_[offer].shape == order[i].second; };
    Purchase purchase;
    if (!AddNodesFor(wanting_, at_home_, is_of_shape, purchase)) continue;
    purchase.targets.clear();
    Consider(Complete(std::move(purchase), is_of_shape));
  }
}

// Another packing, with fewer steps: of the offers that are allowed, as if pods of the groups were in these zones.
void PurchaseSearch::TryWith(const OfferFilter& is_allowed, const std::vector<ZoneCounts>& placed) {
  Purchase purchase;
  if (!AddNodesFor(wanting_, placed, is_allowed, purchase, kSecondPart)) return;
  if (options_.placement == Placement::kScheduler) purchase.targets.clear();
  Consider(Complete(std::move(purchase), is_allowed));
}

// A zone that is opened for few pods counts for all that are spread over zones, also where it has no room for them.
void PurchaseSearch::TryWithoutAZone() {
  const auto& spreads = demand_.company().spreads();
  if (best_->not_placed == 0 || std::ranges::none_of(spreads, &SpreadRule::is_by_zone)) return;
  std::set<std::string> zones;
  for (const std::size_t offer : best_->purchase.nodes) zones.insert(offers_[offer].zone);
  for (const std::string& zone : zones) {
    if (zones.size() == 1 || IsOver()) return;
    TryWith([&](std::size_t offer) { return offers_[offer].zone != zone; }, at_home_);
  }
}

// A packing puts pods that have to be in one zone where the first of them is cheapest. All of them may be cheaper in
// another.
void PurchaseSearch::TryOtherHomes() {
  std::vector<std::size_t> homeless;
  for (std::size_t i = 0; i < demand_.groups().size(); ++i) {
    const AskedGroup& group = demand_.groups()[i];
    if (group.zone_rule == ZoneRule::kTogether && group.zone_counts.empty() && at_home_[i].empty())
      homeless.push_back(i);
  }
  if (homeless.empty()) return;
  std::set<std::string> zones;
  for (const Offer& offer : offers_) zones.insert(offer.zone);
  std::size_t tried = 0;
  for (const std::string& zone : zones) {
    if (zones.size() == 1 || IsGoodEnough() || IsOver() || tried++ == kHomesTriedMax) return;
    std::vector<ZoneCounts> placed = at_home_;
    for (const std::size_t group : homeless) placed[group][zone] = 1;
    TryWith([](std::size_t) { return true; }, placed);
  }
}

// Mostly for the question what the second-best plan costs.
void PurchaseSearch::TryWithoutMainShape() {
  if (best_->purchase.nodes.empty() || second_ || IsOver()) return;
  std::map<std::size_t, std::int64_t> paid;
  for (const std::size_t offer : best_->purchase.nodes)
    paid[offers_[offer].shape] += catalogue_.shapes[offers_[offer].shape].price_micro;
  const auto main = std::ranges::max_element(paid, {}, [](const auto& each) { return each.second; });
  TryWith([&](std::size_t offer) { return offers_[offer].shape != main->first; }, at_home_);
}

void PurchaseSearch::Improve() {
  const std::uint64_t end = trial_.placement_count() + options_.placements_max / kImprovingPart;
  const auto is_over = [&] { return trial_.placement_count() >= end || IsOver(); };
  for (bool has_improved = true; has_improved && !IsGoodEnough() && !is_over();) {
    has_improved = false;
    std::set<std::size_t> distinct(best_->purchase.nodes.begin(), best_->purchase.nodes.end());
    std::vector<std::size_t> by_price(distinct.begin(), distinct.end());
    std::ranges::stable_sort(by_price, std::greater<>(),
                             [&](std::size_t offer) { return catalogue_.shapes[offers_[offer].shape].price_micro; });
    for (const std::size_t offer : by_price) {
      has_improved |= DropSome(offer);
      has_improved |= Downsize(offer);
      if (IsGoodEnough() || is_over()) return;
    }
  }
}

// Pods of one kind that need not look at each other find the same room on the same nodes, whichever they take first.
bool PurchaseSearch::DoTiesMatter() const {
  const std::size_t groups = demand_.groups().size();
  const bool has_choice = best_->purchase.nodes.size() + trial_.cluster_node_count() > 1;
  const bool is_plain = groups == 1 && demand_.company().IsAlone(0) && options_.disruption_share >= 1;
  return has_choice && groups > 0 && !is_plain;
}

std::vector<std::uint64_t> PurchaseSearch::WaysToBreakTies() const {
  std::vector<std::uint64_t> ways = {0};
  if (!DoTiesMatter()) return ways;
  const std::uint64_t affordable = options_.placements_max / kTiesPart / std::max<std::uint64_t>(trial_.run_cost(), 1);
  const std::uint64_t count = std::clamp(affordable, kTiesTriedMin, kTiesTriedMax);
  if (trial_.pod_count() * (best_->purchase.nodes.size() + trial_.cluster_node_count()) <= kOneSidedMax)
    ways.insert(ways.end(), {kFirstOfEqualNodes, kLastOfEqualNodes});
  for (std::uint64_t ties = 1; ways.size() < count; ++ties) ways.push_back(ties);
  return ways;
}

// A plan must not hold by good luck alone: it is tried with ties that are broken in other ways, and gets more nodes
// where it fails.
void PurchaseSearch::Confirm() {
  const OfferFilter all = [](std::size_t) { return true; };
  Candidate confirmed = *best_;
  const std::vector<std::uint64_t> ways = WaysToBreakTies();
  int repairs = 0;
  // With the new nodes the plan must hold in all ways again; the one in which it failed is tried first.
  std::size_t held = 0;
  for (std::size_t i = 0; held < ways.size() && !is_interrupted_;) {
    const TrialResult result = trial_.Run(confirmed.purchase, ways[i]);
    is_interrupted_ = is_interrupted_ || (options_.is_interrupted && options_.is_interrupted());
    if (result.NotPlaced() <= best_->not_placed) {
      ++held;
      i = (i + 1) % ways.size();
      continue;
    }
    if (++repairs > kRepairsMax || !AddNodesFor(Missing(result), ZonesOf(result), all, confirmed.purchase)) break;
    confirmed.purchase.targets.clear();
    confirmed.price_micro = PriceOf(confirmed.purchase.nodes);
    held = 0;
  }
  needs_luck_ = held < ways.size() && !is_interrupted_;
  confirmed.not_placed = trial_.Run(confirmed.purchase).NotPlaced();
  if (confirmed.not_placed <= best_->not_placed) best_ = std::move(confirmed);
}

bool PurchaseSearch::DropSome(std::size_t offer) {
  bool has_dropped = false;
  auto count = static_cast<std::size_t>(std::ranges::count(best_->purchase.nodes, offer));
  for (std::size_t chunk = std::max<std::size_t>(count / 4, 1); chunk > 0 && count > 0 && !IsOver();) {
    const Candidate less = TryAs(Without(best_->purchase, offer, std::min(chunk, count)));
    if (less.not_placed > best_->not_placed || !demand_.KeepsLimits(less.purchase.nodes)) {
      chunk /= 2;
      continue;
    }
    Consider(less);
    has_dropped = true;
    count = static_cast<std::size_t>(std::ranges::count(best_->purchase.nodes, offer));
  }
  return has_dropped;
}

bool PurchaseSearch::Downsize(std::size_t offer) {
  const std::int64_t price = catalogue_.shapes[offers_[offer].shape].price_micro;
  std::map<std::int64_t, std::size_t> cheaper;  // by price, one of each
  for (std::size_t i = 0; i < offers_.size(); ++i) {
    const std::int64_t of_other = catalogue_.shapes[offers_[i].shape].price_micro;
    const bool is_of_use = std::ranges::any_of(demand_.groups(), [&](const auto& group) { return group.fits[i] > 0; });
    if (of_other < price && is_of_use && offers_[i].zone == offers_[offer].zone) cheaper.try_emplace(of_other, i);
  }
  const std::size_t step = std::max<std::size_t>((cheaper.size() + kDowngradesMax - 1) / kDowngradesMax, 1);
  std::size_t number = 0;
  for (const auto& [of_other, other] : cheaper) {
    if (number++ % step != 0) continue;
    if (IsOver() || std::ranges::find(best_->purchase.nodes, offer) == best_->purchase.nodes.end()) return false;
    Purchase purchase = best_->purchase;
    *std::ranges::find(purchase.nodes, offer) = other;
    if (!demand_.KeepsLimits(purchase.nodes)) continue;
    const Candidate smaller = TryAs(purchase);
    if (smaller.not_placed > best_->not_placed || smaller.price_micro >= best_->price_micro) continue;
    Consider(smaller);
    return true;
  }
  return false;
}

}  // namespace berth::buy
