// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/inter_pod_affinity/affinity_index.h"

#include <algorithm>
#include <utility>

namespace berth::plugins {

using framework::NodeIndex;
using framework::PodClass;
using framework::PodInfoPtr;

void AffinityIndex::Reset() {
  ++reset_count_;
  topology_ = Topology();
  classes_by_row_.clear();
  is_row_used_.clear();
  kinds_ = PodKinds(namespaces_, kinds_.resolves_selectors());
  slots_.clear();
  live_class_count_ = class_bytes_ = live_class_bytes_ = 0;
  carried_term_count_ = live_term_count_ = 0;
  carrier_count_ = 0;
  log_base_ += log_.size();
  log_.clear();
  reset_at_ = log_base_;
  counts_ = {};
  latest_ = {};
  table_.Forget();  // all rows are looked at
}

void AffinityIndex::DropIdle() {
  counts_.DropIdle();
  latest_ = {};
  if (carried_term_count_ > 2 * live_term_count_ + kIdleDeadTermsMax || HasDeadBytes(kIdleDeadBytesMax)) Reset();
}

void AffinityIndex::Sync(const framework::NodeTable& nodes) {
  const bool is_up_to_date = table_.IsUpToDate(nodes);
  const bool is_void = (!is_up_to_date && !table_.IsSame(nodes)) || kinds_.HaveNamespacesChanged();
  if (!is_void && is_up_to_date) return;
  // An index that is overgrown with what no pod or node has any more is rebuilt, but not before it has cost as much as
  // rebuilding does.
  const std::uint64_t counted = log_base_ + log_.size() - reset_at_;
  const bool is_overgrown = topology_.IsOvergrown() || HasDeadClasses();
  if (is_void || (is_overgrown && counted > kDeadClassesMax) || HasDeadBytes(kDeadBytesMax)) Reset();
  std::vector<NodeIndex> all_rows;
  std::vector<std::uint32_t> none_kept;
  auto changes = table_.Take(nodes);
  const bool are_all = !changes;
  if (are_all) {
    for (NodeIndex row = 0; row < nodes.row_count(); ++row) all_rows.push_back(row);
    none_kept.resize(all_rows.size());
    changes = {all_rows, none_kept};
  }
  classes_by_row_.resize(nodes.row_count());
  is_row_used_.resize(nodes.row_count());
  // Values first: what is counted below is counted under the values that hold now. Where earlier pods were counted
  // under others, sums are beyond repair.
  if (are_all || nodes_version_ != nodes.nodes_version()) {
    if (topology_.Update(nodes, changes->rows, [this](NodeIndex row) { return is_row_used_[row]; })) ++moves_;
    if (topology_.HasMetMissingKey()) {
      Reset();
      return Sync(nodes);
    }
  }
  nodes_version_ = nodes.nodes_version();
  const std::uint32_t* pods_kept = changes->pods_kept.data();
  for (const NodeIndex row : changes->rows) SyncRow(nodes.Info(row), row, *pods_kept++);
  if (log_.size() > kLogMax) {
    const std::size_t dropped = log_.size() - kLogMax / 2;
    log_.erase(log_.begin(), log_.begin() + static_cast<std::ptrdiff_t>(dropped));
    log_base_ += dropped;
  }
}

void AffinityIndex::SyncRow(const framework::NodeInfo& info, NodeIndex row, std::size_t pods_kept) {
  SyncPods(
      info, pods_kept, classes_by_row_[row],
      [this](ClassId id, const PodInfoPtr& pod) { return &kinds_.ClassAt(id) == pod->pod_class.get(); },
      [this](const PodInfoPtr& pod) { return ClassFor(pod->pod_class); },
      [this, row](ClassId id, std::int32_t pods) { Count(id, row, pods); });
}

void AffinityIndex::Count(ClassId id, NodeIndex row, std::int32_t pods) {
  Slot& slot = slots_[id];
  const auto it = slot.count_by_row.try_emplace(row, 0).first;
  it->second += pods;
  if (it->second == 0) slot.count_by_row.erase(it);
  const bool was_live = slot.pod_count > 0;
  slot.pod_count += pods;
  const bool is_live = slot.pod_count > 0;
  if (is_live != was_live) {
    const std::size_t terms = kinds_.TermsOf(kinds_.KindOf(id))->size();
    live_class_count_ = is_live ? live_class_count_ + 1 : live_class_count_ - 1;
    const std::size_t bytes = kinds_.ClassAt(id).bytes;
    live_class_bytes_ = is_live ? live_class_bytes_ + bytes : live_class_bytes_ - bytes;
    live_term_count_ = is_live ? live_term_count_ + terms : live_term_count_ - terms;
  }
  if (kinds_.HasTerms(kinds_.KindOf(id))) carrier_count_ += pods;
  is_row_used_[row] = true;
  log_.push_back({id, row, pods});
}

AffinityIndex::ClassId AffinityIndex::ClassFor(const std::shared_ptr<const PodClass>& pod_class) {
  const ClassId id = kinds_.Add(pod_class);
  if (id == slots_.size()) {
    slots_.emplace_back();
    class_bytes_ += pod_class->bytes;
    carried_term_count_ += kinds_.TermsOf(kinds_.KindOf(id))->size();
  }
  return id;
}

const std::shared_ptr<const AffinityCounts>& AffinityIndex::CountsFor(
    const std::shared_ptr<const PodClass>& pod_class) {
  const bool is_latest = latest_.pod_class == pod_class && latest_.moves == moves_ &&
                         latest_.log_end == log_base_ + log_.size() && latest_.class_count == kinds_.class_count();
  if (!is_latest) {
    std::shared_ptr<const AffinityCounts> counts = BringUp(pod_class);
    latest_ = {pod_class, std::move(counts), moves_, log_base_ + log_.size(), kinds_.class_count()};
  }
  return latest_.counts;
}

std::shared_ptr<const AffinityCounts> AffinityIndex::BringUp(const std::shared_ptr<const PodClass>& pod_class) {
  // Classes that are only asked about must not pile up. At a class's first sight nobody holds what a rebuild would
  // make void.
  if (HasDeadClasses() && !kinds_.Knows(*pod_class)) {
    const framework::NodeTable& nodes = *table();
    table_.Forget();
    Sync(nodes);
  }
  const KindId kind = kinds_.KindOf(ClassFor(pod_class));
  KeptCounts* kept = counts_.Find(kind);
  const bool is_new = kept == nullptr;
  if (is_new) {
    const std::shared_ptr<const CarriedTerms>& terms = kinds_.TermsOf(kind);
    const bool matches_itself = kinds_.MatchesAllRunning(terms->required_affinity, kind);
    kept = &counts_.Add(kind, KeptCounts{std::make_shared<AffinityCounts>(kind, terms, matches_itself)});
  }
  const std::shared_ptr<AffinityCounts> counts = kept->counts;
  if (is_new || kinds_.kind_count() - counts->kinds_seen_ > kDirectTestsMax) {
    Match(*counts);
    CountAll(*counts);
    counts_.Bound(kCountsBytesMax);
    return counts;
  }
  for (; counts->kinds_seen_ < kinds_.kind_count(); ++counts->kinds_seen_) {
    AddEffects(*counts, static_cast<KindId>(counts->kinds_seen_));
  }
  const std::uint64_t now = log_base_ + log_.size();
  if (counts->moves_ == moves_ && counts->log_position_ == now) return counts;
  const std::uint64_t behind = now - counts->log_position_;
  const bool is_far_behind = counts->log_position_ < log_base_ || behind > kDirectTestsMax + 2 * counts->recount_cost_;
  if (counts->moves_ != moves_ || is_far_behind) {
    CountAll(*counts);
  } else {
    Replay(*counts);
  }
  counts_.Bound(kCountsBytesMax);
  return counts;
}

// Finds anew which running kinds bear on the counts' kind.
void AffinityIndex::Match(AffinityCounts& counts) {
  const std::vector<TopologyCounter> before = std::exchange(counts.counters_, {});
  counts.effects_.clear();
  counts.effects_of_kind_.clear();
  counts.kinds_seen_ = kinds_.kind_count();
  // Filters look at the pod's own keys also where nothing is counted.
  const auto follow = [&](CountKind kind, const std::vector<AffinityTerm>& terms) {
    for (const AffinityTerm& term : terms) {
      counts.CounterFor(kind, topology_.Follow(term.topology_key(), *table()), topology_);
    }
  };
  follow(CountKind::kAffinity, counts.terms().required_affinity);
  follow(CountKind::kAntiAffinity, counts.terms().required_anti_affinity);
  std::vector<KindId> candidates;
  kinds_.CollectBearing(counts.kind_, candidates);
  std::sort(candidates.begin(), candidates.end());
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  for (const KindId id : candidates) AddEffects(counts, id);
  const bool is_same = std::equal(
      before.begin(), before.end(), counts.counters_.begin(), counts.counters_.end(),
      [](const TopologyCounter& a, const TopologyCounter& b) { return a.kind() == b.kind() && a.key() == b.key(); });
  if (!is_same || counts.counters_base_ == 0) counts.counters_base_ = (++matches_) << 32;
}

// Fills found_effects_: one entry a kind of count and key.
void AffinityIndex::CollectEffects(KindId incoming, KindId running) {
  found_effects_.clear();
  const auto add = [this](CountKind kind, CarriedTerms::TermId term, std::int64_t weight) {
    const Topology::KeyIndex key = topology_.Follow(kinds_.TopologyKeyOf(term), *table());
    for (AffinityEffect& effect : found_effects_) {
      if (effect.kind != kind || effect.key != key) continue;
      effect.weight += weight;
      return;
    }
    found_effects_.push_back({kind, key, weight});
  };
  const CarriedTerms& theirs = *kinds_.TermsOf(running);
  for (const CarriedTerms::TermId term : theirs.required_anti_affinity) {
    if (kinds_.MatchesIncoming(term, incoming)) add(CountKind::kExistingAntiAffinity, term, 1);
  }
  for (const CarriedTerms::TermId term : theirs.required_affinity) {
    if (hard_weight_ > 0 && kinds_.MatchesIncoming(term, incoming)) add(CountKind::kScore, term, hard_weight_);
  }
  for (const auto& [term, weight] : theirs.preferred) {
    if (kinds_.MatchesIncoming(term, incoming)) add(CountKind::kScore, term, weight);
  }
  const CarriedTerms& own = *kinds_.TermsOf(incoming);
  if (kinds_.MatchesAllRunning(own.required_affinity, running)) {
    for (const CarriedTerms::TermId term : own.required_affinity) add(CountKind::kAffinity, term, 1);
  }
  for (const CarriedTerms::TermId term : own.required_anti_affinity) {
    if (kinds_.MatchesRunning(term, running)) add(CountKind::kAntiAffinity, term, 1);
  }
  for (const auto& [term, weight] : own.preferred) {
    if (kinds_.MatchesRunning(term, running)) add(CountKind::kScore, term, weight);
  }
}

void AffinityIndex::AddEffects(AffinityCounts& counts, KindId running) {
  CollectEffects(counts.kind_, running);
  if (found_effects_.empty()) return;
  const auto begin = static_cast<std::uint32_t>(counts.effects_.size());
  for (const AffinityEffect& effect : found_effects_) {
    counts.effects_.push_back({counts.CounterFor(effect.kind, effect.key, topology_), effect.weight});
  }
  counts.effects_of_kind_[running] = {begin, static_cast<std::uint32_t>(counts.effects_.size())};
}

std::vector<AffinityEffect> AffinityIndex::EffectsOf(const AffinityCounts& counts,
                                                     const std::shared_ptr<const PodClass>& incoming,
                                                     const std::shared_ptr<const PodClass>& running) {
  // A class that is new may have terms that move the incoming class away from the counts' kind.
  const KindId running_kind = kinds_.KindOf(ClassFor(running));
  const KindId kind = kinds_.KindOf(ClassFor(incoming));
  std::vector<AffinityEffect> effects;
  if (kind == counts.kind_ && running_kind < counts.kinds_seen_) {
    const auto known = counts.effects_of_kind_.find(running_kind);
    if (known == counts.effects_of_kind_.end()) return effects;
    for (std::uint32_t i = known->second.begin; i < known->second.end; ++i) {
      const TopologyCounter& counter = counts.counters_[counts.effects_[i].counter];
      if (counter.kind() == CountKind::kScore) continue;
      effects.push_back({counter.kind(), counter.key(), counts.effects_[i].weight});
    }
    return effects;
  }
  CollectEffects(kind, running_kind);
  for (const AffinityEffect& effect : found_effects_) {
    if (effect.kind != CountKind::kScore) effects.push_back(effect);
  }
  return effects;
}

void AffinityIndex::Apply(AffinityCounts& counts, AffinityCounts::Range effects, NodeIndex row,
                          std::int32_t pods) const {
  for (std::uint32_t i = effects.begin; i < effects.end; ++i) {
    TopologyCounter& counter = counts.counters_[counts.effects_[i].counter];
    const Topology::Ordinal ordinal = topology_.OrdinalsOf(counter.key())[row];
    if (ordinal != 0) counter.Add(ordinal, counts.effects_[i].weight, pods);
  }
}

void AffinityIndex::CountAll(AffinityCounts& counts) {
  for (TopologyCounter& counter : counts.counters_) counter.Clear();
  counts.recount_cost_ = 0;
  for (const auto& [kind, effects] : counts.effects_of_kind_) {
    for (const ClassId id : kinds_.ClassesOf(kind)) {
      for (const auto& [row, pods] : slots_[id].count_by_row) Apply(counts, effects, row, pods);
      counts.recount_cost_ += 1 + slots_[id].count_by_row.size();
    }
  }
  // The hash maps have an order of their own in each process. Which of several equally good nodes a pod gets must not
  // depend on it.
  for (TopologyCounter& counter : counts.counters_) counter.ForgetOrder();
  counts.log_position_ = log_base_ + log_.size();
  counts.moves_ = moves_;
}

void AffinityIndex::Replay(AffinityCounts& counts) {
  for (std::size_t i = counts.log_position_ - log_base_; i < log_.size(); ++i) {
    const auto effects = counts.effects_of_kind_.find(kinds_.KindOf(log_[i].pod_class));
    if (effects != counts.effects_of_kind_.end()) Apply(counts, effects->second, log_[i].row, log_[i].pods);
  }
  counts.log_position_ = log_base_ + log_.size();
}

}  // namespace berth::plugins
