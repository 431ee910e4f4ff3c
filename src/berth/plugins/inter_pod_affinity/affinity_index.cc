#include "berth/plugins/inter_pod_affinity/affinity_index.h"

#include <algorithm>
#include <utility>

namespace berth::plugins {
namespace {

using framework::NodeIndex;
using framework::PodClass;
using framework::PodInfoPtr;

// Writes the key of a bucket; the namespace is empty for any, the label for whatever labels.
void SetBucket(std::string& bucket, std::string_view namespace_name, std::string_view label, std::string_view value) {
  bucket.assign(namespace_name);
  bucket += '\0';
  bucket += label;
  bucket += '\0';
  bucket += value;
}

// The requirement by which pods that match the selector are found: one of the fewest values; null: there is none.
const api::Requirement* Narrowest(const api::LabelSelector& selector) {
  const api::Requirement* best = nullptr;
  for (const api::Requirement& requirement : selector.requirements) {
    if (requirement.op != api::SelectorOperator::kIn) continue;
    if (best == nullptr || requirement.values.size() < best->values.size()) best = &requirement;
  }
  return best;
}

// Go negates an int32 that cannot be negated to itself.
std::int64_t Negated(std::int32_t weight) { return weight == INT32_MIN ? weight : -weight; }

}  // namespace

void AffinityIndex::Reset() {
  ++reset_count_;
  topology_ = Topology();
  pods_by_row_.clear();
  is_row_used_.clear();
  slots_.clear();
  slot_of_class_.clear();
  live_slot_count_ = 0;
  carrier_count_ = 0;
  carriers_.clear();
  has_pod_buckets_ = false;
  pods_.clear();
  log_base_ += log_.size();
  log_.clear();
  reset_at_ = log_base_;
  counts_.clear();
  counts_bytes_ = 0;
}

void AffinityIndex::Sync(const framework::NodeTable& nodes) {
  // A table never gets shorter or older: one that seems to is another one at the same address.
  const bool is_same_table =
      nodes_ == &nodes && version_ <= nodes.version() && pods_by_row_.size() <= nodes.row_count();
  if (is_same_table && version_ == nodes.version()) return;
  // What is overgrown with what nobody has any more begins anew, but not before that has cost as much as beginning.
  const bool is_overgrown = topology_.IsOvergrown() || slots_.size() > 2 * live_slot_count_ + kDeadSlotsMax;
  const std::uint64_t changes = log_base_ + log_.size() - reset_at_;
  if (!is_same_table || (is_overgrown && changes > kDeadSlotsMax)) {
    Reset();
    nodes_ = nullptr;
  }
  std::vector<NodeIndex> all;
  auto rows = nodes_ == nullptr ? std::nullopt : nodes.ChangedSince(version_);
  if (!rows) {
    for (NodeIndex row = 0; row < nodes.row_count(); ++row) all.push_back(row);
    rows = all;
  }
  pods_by_row_.resize(nodes.row_count());
  is_row_used_.resize(nodes.row_count());
  // Values first: what is counted below is counted under the values that hold now. Where earlier pods were counted
  // under others, sums are beyond repair.
  if (nodes_ == nullptr || nodes_version_ != nodes.nodes_version() || !all.empty()) {
    if (topology_.Update(nodes, *rows, [this](NodeIndex row) { return is_row_used_[row]; })) ++moves_;
  }
  nodes_ = &nodes;
  version_ = nodes.version();
  nodes_version_ = nodes.nodes_version();
  for (const NodeIndex row : *rows) SyncRow(row);
  if (log_.size() > kLogMax) {
    const std::size_t dropped = log_.size() - kLogMax / 2;
    log_.erase(log_.begin(), log_.begin() + static_cast<std::ptrdiff_t>(dropped));
    log_base_ += dropped;
  }
}

// Compares the row with what it was, position by position: pods are appended, and the last one takes the place of one
// that goes.
void AffinityIndex::SyncRow(NodeIndex row) {
  const framework::NodeInfo& info = nodes_->Info(row);
  static const std::vector<PodInfoPtr> kNone;
  // Upstream's snapshot does not know nodes without an object, whatever pods name them.
  const std::vector<PodInfoPtr>& now = info.has_node() ? info.pods() : kNone;
  std::vector<PodInfoPtr>& before = pods_by_row_[row];
  const std::size_t common = std::min(before.size(), now.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (before[i] == now[i]) continue;
    if (before[i]->pod_class != now[i]->pod_class) {
      Count(before[i]->pod_class, row, -1);
      Count(now[i]->pod_class, row, +1);
    }
    before[i] = now[i];
  }
  for (std::size_t i = common; i < before.size(); ++i) Count(before[i]->pod_class, row, -1);
  before.resize(common);
  for (std::size_t i = common; i < now.size(); ++i) {
    Count(now[i]->pod_class, row, +1);
    before.push_back(now[i]);
  }
}

void AffinityIndex::Count(const std::shared_ptr<const PodClass>& pod_class, NodeIndex row, std::int32_t pods) {
  const SlotId id = SlotFor(pod_class);
  Slot& slot = slots_[id];
  const auto it = slot.count_by_row.try_emplace(row, 0).first;
  it->second += pods;
  if (it->second == 0) slot.count_by_row.erase(it);
  const bool was_live = slot.pod_count > 0;
  slot.pod_count += pods;
  const bool is_live = slot.pod_count > 0;
  if (is_live && !was_live) ++live_slot_count_;
  if (was_live && !is_live) --live_slot_count_;
  if (slot.terms) carrier_count_ += pods;
  is_row_used_[row] = true;
  log_.push_back({id, row, pods});
}

AffinityIndex::SlotId AffinityIndex::SlotFor(const std::shared_ptr<const PodClass>& pod_class) {
  const auto [it, is_new] = slot_of_class_.try_emplace(pod_class.get(), static_cast<SlotId>(slots_.size()));
  if (!is_new) return it->second;
  const SlotId id = it->second;
  Slot& slot = slots_.emplace_back();
  slot.pod_class = pod_class;
  if (!pod_class->spec.pod_affinity.empty() || !pod_class->spec.pod_anti_affinity.empty()) {
    slot.terms = std::make_unique<const PodTerms>(ParseTerms(*pod_class));
    AddCarrier(id);
  }
  if (has_pod_buckets_) AddToPodBuckets(id);
  return id;
}

void AffinityIndex::AddCarrier(SlotId id) {
  const PodTerms& terms = *slots_[id].terms;
  for (const AffinityTerm& term : terms.required_anti_affinity) AddCarriedTerm(id, term);
  if (hard_weight_ > 0) {
    for (const AffinityTerm& term : terms.required_affinity) AddCarriedTerm(id, term);
  }
  for (const WeightedAffinityTerm& weighted : terms.preferred_affinity) AddCarriedTerm(id, weighted.term);
  for (const WeightedAffinityTerm& weighted : terms.preferred_anti_affinity) AddCarriedTerm(id, weighted.term);
}

void AffinityIndex::AddCarriedTerm(SlotId id, const AffinityTerm& term) {
  if (!term.spec->selector) return;
  const api::Requirement* narrowest = Narrowest(*term.spec->selector);
  const auto add = [&](std::string_view namespace_name) {
    if (narrowest == nullptr) {
      SetBucket(bucket_, namespace_name, "", "");
      carriers_[bucket_].push_back(id);
      return;
    }
    for (const std::string& value : narrowest->values) {
      SetBucket(bucket_, namespace_name, narrowest->key, value);
      carriers_[bucket_].push_back(id);
    }
  };
  if (term.spec->namespace_selector) {
    add("");
  } else {
    for (const std::string& name : term.namespaces) add(name);
  }
}

void AffinityIndex::AddToPodBuckets(SlotId id) {
  const PodClass& pod_class = *slots_[id].pod_class;
  for (const std::string_view namespace_name : {std::string_view(pod_class.namespace_name), std::string_view()}) {
    SetBucket(bucket_, namespace_name, "", "");
    pods_[bucket_].push_back(id);
    for (const auto& [label, value] : pod_class.labels) {
      SetBucket(bucket_, namespace_name, label, value);
      pods_[bucket_].push_back(id);
    }
  }
}

std::shared_ptr<const AffinityCounts> AffinityIndex::CountsFor(const std::shared_ptr<const PodClass>& pod_class) {
  std::shared_ptr<AffinityCounts>& slot = counts_[pod_class.get()];
  const bool is_new = slot == nullptr;
  if (is_new) {
    slot = std::make_shared<AffinityCounts>(pod_class, PodTerms());
    slot->namespaces_version_ = namespaces_.version() + 1;
  }
  // Account() may drop it from the table.
  const std::shared_ptr<AffinityCounts> counts = slot;
  counts->last_used_ = ++uses_;
  const bool has_other_namespaces = counts->namespaces_version_ != namespaces_.version() && RefreshNamespaces(*counts);
  const std::size_t new_slots = slots_.size() - counts->slots_seen_;
  if (is_new || has_other_namespaces || new_slots > kDirectTestsMax) {
    Match(*counts);
    CountAll(*counts);
    Account(*counts);
    return counts;
  }
  for (; counts->slots_seen_ < slots_.size(); ++counts->slots_seen_) {
    AddEffects(*counts, static_cast<SlotId>(counts->slots_seen_));
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
  Account(*counts);
  return counts;
}

// True when that makes a difference.
bool AffinityIndex::RefreshNamespaces(AffinityCounts& counts) {
  counts.namespaces_version_ = namespaces_.version();
  PodTerms terms = ParseTerms(*counts.pod_class_);
  MergeNamespaces(terms, namespaces_);
  // A namespace that does not exist counts as one without labels.
  const api::Namespace* found = namespaces_.Find(counts.pod_class_->namespace_name);
  const api::StringMap& labels = found == nullptr ? NoLabels() : found->metadata.labels;
  if (terms == counts.terms_ && labels == counts.namespace_labels_) return false;
  counts.SetTerms(std::move(terms));
  counts.namespace_labels_ = labels;
  return true;
}

// Finds anew which running classes bear on the counts' class.
void AffinityIndex::Match(AffinityCounts& counts) {
  counts.counters_.clear();
  counts.counters_base_ = (++matches_) << 32;
  counts.effects_.clear();
  counts.effects_of_slot_.clear();
  counts.slots_seen_ = slots_.size();
  // Filters look at the pod's own keys also where nothing is counted.
  const auto follow = [&](CountKind kind, const std::vector<AffinityTerm>& terms) {
    for (const AffinityTerm& term : terms) {
      counts.CounterFor(kind, topology_.Follow(term.topology_key(), *nodes_), topology_);
    }
  };
  follow(CountKind::kAffinity, counts.terms_.required_affinity);
  follow(CountKind::kAntiAffinity, counts.terms_.required_anti_affinity);
  CollectCandidates(counts);
  for (const SlotId id : candidates_) AddEffects(counts, id);
}

void AffinityIndex::CollectCandidates(const AffinityCounts& counts) {
  candidates_.clear();
  CollectCarriers(counts.pod_class_->namespace_name, counts.pod_class_->labels);
  CollectCarriers("", counts.pod_class_->labels);
  const PodTerms& terms = counts.terms_;
  // A pod counts for affinity when it matches all terms: those that match the first one suffice.
  if (!terms.required_affinity.empty()) CollectMatching(terms.required_affinity.front());
  for (const AffinityTerm& term : terms.required_anti_affinity) CollectMatching(term);
  for (const WeightedAffinityTerm& weighted : terms.preferred_affinity) CollectMatching(weighted.term);
  for (const WeightedAffinityTerm& weighted : terms.preferred_anti_affinity) CollectMatching(weighted.term);
  std::sort(candidates_.begin(), candidates_.end());
  candidates_.erase(std::unique(candidates_.begin(), candidates_.end()), candidates_.end());
}

void AffinityIndex::CollectFrom(const Buckets& buckets, std::string_view key) {
  const auto it = buckets.find(key);
  if (it != buckets.end()) candidates_.insert(candidates_.end(), it->second.begin(), it->second.end());
}

// Running classes with a term that may match a pod of these labels.
void AffinityIndex::CollectCarriers(std::string_view namespace_name, const api::StringMap& labels) {
  if (carriers_.empty()) return;
  SetBucket(bucket_, namespace_name, "", "");
  CollectFrom(carriers_, bucket_);
  for (const auto& [label, value] : labels) {
    SetBucket(bucket_, namespace_name, label, value);
    CollectFrom(carriers_, bucket_);
  }
}

// Running classes that may match a term of an incoming pod.
void AffinityIndex::CollectMatching(const AffinityTerm& term) {
  if (!term.spec->selector) return;
  if (!has_pod_buckets_) {
    has_pod_buckets_ = true;
    for (SlotId id = 0; id < slots_.size(); ++id) AddToPodBuckets(id);
  }
  const api::Requirement* narrowest = Narrowest(*term.spec->selector);
  const auto collect = [&](std::string_view namespace_name) {
    if (narrowest == nullptr) {
      SetBucket(bucket_, namespace_name, "", "");
      CollectFrom(pods_, bucket_);
      return;
    }
    for (const std::string& value : narrowest->values) {
      SetBucket(bucket_, namespace_name, narrowest->key, value);
      CollectFrom(pods_, bucket_);
    }
  };
  if (term.spec->namespace_selector && term.spec->namespace_selector->Matches(NoLabels())) {
    collect("");
  } else {
    for (const std::string& name : term.namespaces) collect(name);
  }
}

// Fills found_effects_: one entry a kind and key.
void AffinityIndex::CollectEffects(const AffinityCounts& counts, const PodClass& running, const PodTerms* terms) {
  found_effects_.clear();
  const auto add = [this](CountKind kind, const AffinityTerm& term, std::int64_t weight) {
    const Topology::KeyIndex key = topology_.Follow(term.topology_key(), *nodes_);
    for (AffinityEffect& effect : found_effects_) {
      if (effect.kind != kind || effect.key != key) continue;
      effect.weight += weight;
      return;
    }
    found_effects_.push_back({kind, key, weight});
  };
  const PodClass& incoming = *counts.pod_class_;
  if (terms != nullptr) {
    const api::StringMap& labels = counts.namespace_labels_;
    for (const AffinityTerm& term : terms->required_anti_affinity) {
      if (term.Matches(incoming, labels)) add(CountKind::kExistingAntiAffinity, term, 1);
    }
    for (const AffinityTerm& term : terms->required_affinity) {
      if (hard_weight_ > 0 && term.Matches(incoming, labels)) add(CountKind::kScore, term, hard_weight_);
    }
    for (const auto& [term, weight] : terms->preferred_affinity) {
      if (term.Matches(incoming, labels)) add(CountKind::kScore, term, weight);
    }
    for (const auto& [term, weight] : terms->preferred_anti_affinity) {
      if (term.Matches(incoming, labels)) add(CountKind::kScore, term, Negated(weight));
    }
  }
  const PodTerms& own = counts.terms_;
  if (MatchesAll(own.required_affinity, running)) {
    for (const AffinityTerm& term : own.required_affinity) add(CountKind::kAffinity, term, 1);
  }
  for (const AffinityTerm& term : own.required_anti_affinity) {
    if (term.Matches(running, NoLabels())) add(CountKind::kAntiAffinity, term, 1);
  }
  for (const auto& [term, weight] : own.preferred_affinity) {
    if (term.Matches(running, NoLabels())) add(CountKind::kScore, term, weight);
  }
  for (const auto& [term, weight] : own.preferred_anti_affinity) {
    if (term.Matches(running, NoLabels())) add(CountKind::kScore, term, Negated(weight));
  }
}

void AffinityIndex::AddEffects(AffinityCounts& counts, SlotId id) {
  const Slot& slot = slots_[id];
  CollectEffects(counts, *slot.pod_class, slot.terms.get());
  if (found_effects_.empty()) return;
  const auto begin = static_cast<std::uint32_t>(counts.effects_.size());
  for (const AffinityEffect& effect : found_effects_) {
    counts.effects_.push_back({counts.CounterFor(effect.kind, effect.key, topology_), effect.weight});
  }
  counts.effects_of_slot_[id] = {begin, static_cast<std::uint32_t>(counts.effects_.size())};
}

std::vector<AffinityEffect> AffinityIndex::EffectsOf(const AffinityCounts& counts, const PodClass& running) {
  std::vector<AffinityEffect> effects;
  const auto it = slot_of_class_.find(&running);
  if (it != slot_of_class_.end() && it->second < counts.slots_seen_) {
    const auto known = counts.effects_of_slot_.find(it->second);
    if (known == counts.effects_of_slot_.end()) return effects;
    for (std::uint32_t i = known->second.begin; i < known->second.end; ++i) {
      const TopologyCounter& counter = counts.counters_[counts.effects_[i].counter];
      if (counter.kind() == CountKind::kScore) continue;
      effects.push_back({counter.kind(), counter.key(), counts.effects_[i].weight});
    }
    return effects;
  }
  const PodTerms terms = ParseTerms(running);
  CollectEffects(counts, running, &terms);
  for (const AffinityEffect& effect : found_effects_) {
    if (effect.kind != CountKind::kScore) effects.push_back(effect);
  }
  return effects;
}

void AffinityIndex::Apply(AffinityCounts& counts, SlotId id, NodeIndex row, std::int32_t pods) {
  const auto it = counts.effects_of_slot_.find(id);
  if (it == counts.effects_of_slot_.end()) return;
  for (std::uint32_t i = it->second.begin; i < it->second.end; ++i) {
    TopologyCounter& counter = counts.counters_[counts.effects_[i].counter];
    const Topology::Ordinal ordinal = topology_.OrdinalsOf(counter.key())[row];
    if (ordinal != 0) counter.Add(ordinal, counts.effects_[i].weight, pods);
  }
}

void AffinityIndex::CountAll(AffinityCounts& counts) {
  for (TopologyCounter& counter : counts.counters_) counter.Clear();
  counts.recount_cost_ = 0;
  for (const auto& [id, range] : counts.effects_of_slot_) {
    for (const auto& [row, pods] : slots_[id].count_by_row) Apply(counts, id, row, pods);
    counts.recount_cost_ += slots_[id].count_by_row.size();
  }
  counts.log_position_ = log_base_ + log_.size();
  counts.moves_ = moves_;
}

void AffinityIndex::Replay(AffinityCounts& counts) {
  for (std::size_t i = counts.log_position_ - log_base_; i < log_.size(); ++i) {
    Apply(counts, log_[i].slot, log_[i].row, log_[i].pods);
  }
  counts.log_position_ = log_base_ + log_.size();
}

// Keeps the sum of what all classes hold below its bound. The counts just asked for are the newest and stay.
void AffinityIndex::Account(AffinityCounts& counts) {
  const std::size_t bytes = counts.Bytes();
  counts_bytes_ += bytes - counts.bytes_;
  counts.bytes_ = bytes;
  if (counts_bytes_ <= kCountsBytesMax || counts_.size() < 2) return;
  std::vector<std::uint64_t> uses;
  for (const auto& [pod_class, kept] : counts_) uses.push_back(kept->last_used_);
  const auto middle = uses.begin() + static_cast<std::ptrdiff_t>(uses.size() / 2);
  std::nth_element(uses.begin(), middle, uses.end());
  const std::uint64_t oldest_kept = *middle;
  absl::erase_if(counts_, [&](const auto& entry) {
    if (entry.second->last_used_ >= oldest_kept) return false;
    counts_bytes_ -= entry.second->bytes_;
    return true;
  });
}

}  // namespace berth::plugins
