// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/inter_pod_affinity/affinity_counts.h"

#include <algorithm>
#include <utility>

namespace berth::plugins {

std::int64_t TopologyCounter::Get(Topology::Ordinal ordinal) const {
  if (!is_list_) return ordinal < array_.size() ? array_[ordinal] : 0;
  for (const Entry& entry : list_) {
    if (entry.ordinal == ordinal) return entry.sum;
  }
  return 0;
}

void TopologyCounter::Add(Topology::Ordinal ordinal, std::int64_t weight, std::int64_t pods) {
  pod_count_ += pods;
  const std::int64_t sum = weight * pods;
  if (sum == 0) return;
  if (is_list_ && list_.size() == kListMax) ToArray();
  AddSum(ordinal, sum);
}

void TopologyCounter::AddSum(Topology::Ordinal ordinal, std::int64_t sum) {
  if (!is_list_) {
    if (ordinal >= array_.size()) array_.resize(ordinal + 1);
    const bool was_zero = array_[ordinal] == 0;
    array_[ordinal] += sum;
    if (array_[ordinal] == 0) --nonzero_count_;
    if (!was_zero) return;
    ++nonzero_count_;
    Touch(ordinal);
    return;
  }
  const auto it =
      std::find_if(list_.begin(), list_.end(), [ordinal](const Entry& entry) { return entry.ordinal == ordinal; });
  if (it == list_.end()) {
    list_.push_back({ordinal, sum});
    ++nonzero_count_;
    return;
  }
  it->sum += sum;
  if (it->sum != 0) return;
  *it = list_.back();
  list_.pop_back();
  --nonzero_count_;
}

void TopologyCounter::Touch(Topology::Ordinal ordinal) {
  if (touched_.size() > 2 * nonzero_count_ + kListMax) SortTouched();
  touched_.push_back(ordinal);
}

void TopologyCounter::SortTouched() {
  std::erase_if(touched_, [this](Topology::Ordinal touched) { return array_[touched] == 0; });
  std::sort(touched_.begin(), touched_.end());
  touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
}

void TopologyCounter::ForgetOrder() {
  std::sort(list_.begin(), list_.end(), [](const Entry& a, const Entry& b) { return a.ordinal < b.ordinal; });
  SortTouched();
}

void TopologyCounter::CollectNonzero(std::vector<Topology::Ordinal>& ordinals) const {
  for (const Entry& entry : list_) ordinals.push_back(entry.ordinal);
  for (const Topology::Ordinal ordinal : touched_) {
    if (array_[ordinal] != 0) ordinals.push_back(ordinal);
  }
}

void TopologyCounter::ToArray() {
  is_list_ = false;
  nonzero_count_ = 0;
  for (const Entry& entry : std::exchange(list_, {})) AddSum(entry.ordinal, entry.sum);
}

void TopologyCounter::Clear() {
  list_.clear();
  std::fill(array_.begin(), array_.end(), 0);
  touched_.clear();
  pod_count_ = 0;
  nonzero_count_ = 0;
}

std::span<const std::int64_t> TopologyCounter::Array(std::vector<std::int64_t>& scratch) const {
  if (!is_list_) return array_;
  scratch.clear();
  for (const Entry& entry : list_) {
    if (entry.ordinal >= scratch.size()) scratch.resize(entry.ordinal + 1);
    scratch[entry.ordinal] = entry.sum;
  }
  return scratch;
}

std::size_t TopologyCounter::Bytes() const {
  return sizeof(*this) + list_.capacity() * sizeof(Entry) + array_.capacity() * sizeof(array_[0]) +
         touched_.capacity() * sizeof(touched_[0]);
}

std::int64_t AffinityCounts::Get(CountKind kind, Topology::KeyIndex key, Topology::Ordinal ordinal) const {
  for (const TopologyCounter& counter : counters_) {
    if (counter.kind() == kind && counter.key() == key) return counter.Get(ordinal);
  }
  return 0;
}

bool AffinityCounts::Any(CountKind kind) const {
  return std::any_of(counters_.begin(), counters_.end(), [kind](const TopologyCounter& counter) {
    return counter.kind() == kind && counter.pod_count() > 0;
  });
}

std::size_t AffinityCounts::PairCount(CountKind kind) const {
  std::size_t count = 0;
  for (const TopologyCounter& counter : counters_) {
    if (counter.kind() == kind) count += counter.nonzero_count();
  }
  return count;
}

std::uint64_t AffinityCounts::MarksVersion(std::uint64_t way, std::uint64_t& numbers) const {
  if (marks_version_.number == 0 || marks_version_.counters_version != counters_version() ||
      marks_version_.way != way) {
    marks_version_ = {counters_version(), way, ++numbers};
  }
  return marks_version_.number;
}

std::uint32_t AffinityCounts::CounterFor(CountKind kind, Topology::KeyIndex key, const Topology& topology) {
  for (std::uint32_t i = 0; i < counters_.size(); ++i) {
    if (counters_[i].kind() == kind && counters_[i].key() == key) return i;
  }
  counters_.emplace_back(kind, key, topology.OrdinalCount(key));
  return static_cast<std::uint32_t>(counters_.size() - 1);
}

std::size_t AffinityCounts::Bytes() const {
  std::size_t bytes = sizeof(*this) + effects_.capacity() * sizeof(CounterEffect) +
                      effects_of_kind_.capacity() * (sizeof(KindId) + sizeof(Range) + 1);
  for (const TopologyCounter& counter : counters_) bytes += counter.Bytes();
  return bytes;
}

}  // namespace berth::plugins
