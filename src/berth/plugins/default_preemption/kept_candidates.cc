// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/default_preemption/kept_candidates.h"

#include <algorithm>

#include "berth/base/check.h"
#include "berth/plugins/default_preemption/candidates.h"
#include "berth/plugins/helper/framework_names.h"

namespace berth::plugins {

namespace {

// The later the most important victims started, the cheaper. What started before `now` did so for ever; what has not
// started yet, or starts right now, comes after all of it whenever it is compared.
std::int64_t EarlinessOf(Time earliest, Time now) {
  constexpr std::int64_t kNow = INT64_MIN / 2;
  if (earliest < now) return -earliest.time_since_epoch().count();
  return kNow - (earliest - now).count();
}

KeptCandidates::Cost ToCost(const NodeVictims& found, NodeIndex row, Time now) {
  const framework::PreemptionReport::Candidate candidate{row, found.victims, found.pdb_violations};
  const CandidateCost cost = CostOf(candidate, now);
  const Time earliest{Duration{-cost[4]}};
  return {static_cast<std::int32_t>(cost[0]), static_cast<std::int32_t>(cost[1]), cost[2],
          static_cast<std::int32_t>(cost[3]), EarlinessOf(earliest, now)};
}

}  // namespace

void KeptCandidates::Leave(NodeIndex row) {
  const State state = states_[row];
  if (state == State::kHopeless) return;
  Block& block = blocks_[row / kBlockRows];
  --potential_count_;
  --block.potential;
  if (state == State::kUnknown) --block.unknown;
  if (state == State::kRefused) --refusals_[refusal_ids_[row]].second;
  if (state == State::kCandidate) {
    --block.candidates;
    if (costs_[row].violations > 0) --block.violating;
    block.is_stale = true;
  }
  states_[row] = State::kHopeless;
}

// Sets the row's state. Its cost or refusal has been set before.
void KeptCandidates::Enter(NodeIndex row, State state) {
  states_[row] = state;
  if (state == State::kHopeless) return;
  Block& block = blocks_[row / kBlockRows];
  ++potential_count_;
  ++block.potential;
  if (state == State::kUnknown) ++block.unknown;
  if (state == State::kRefused) ++refusals_[refusal_ids_[row]].second;
  if (state == State::kCandidate) {
    ++block.candidates;
    if (costs_[row].violations > 0) ++block.violating;
    block.is_stale = true;
  }
}

void KeptCandidates::Reset(const Cycle& cycle) {
  const std::size_t count = cycle.nodes.row_count();
  states_.assign(count, State::kHopeless);
  costs_.resize(count);
  refusal_ids_.resize(count);
  is_budgeted_.assign(count, false);
  blocks_.assign((count + kBlockRows - 1) / kBlockRows, {});
  potential_count_ = 0;
  refusals_.clear();
  passing_.clear();
  budgeted_.clear();
}

void KeptCandidates::Refresh(NodeIndex row, const Cycle& cycle, const NodeStatuses& statuses) {
  Leave(row);
  const bool is_potential = cycle.nodes.Info(row).has_node() && statuses.Get(row).code() == Code::kUnschedulable;
  Enter(row, is_potential ? State::kUnknown : State::kHopeless);
}

void KeptCandidates::Update(const Cycle& cycle, const PodInfo& pod, const NodeStatuses& statuses, const Basis& basis) {
  const NodeTable& nodes = cycle.table;
  const framework::NominatedRows& nominated = *basis.nominated;
  // Neither gets shorter or older: one that seems to is another one at the same address.
  const bool is_same = nodes_ == &nodes && table_version_ <= nodes.version() && states_.size() <= nodes.row_count() &&
                       basis_.nominated == &nominated && nominated_version_ <= nominated.version() &&
                       basis_.epoch == basis.epoch && basis_.budgets_shape == basis.budgets_shape &&
                       refusals_.size() <= kRefusalsMax;
  const auto changed = is_same ? nodes.ChangedSince(table_version_) : std::nullopt;
  const auto renominated = is_same ? nominated.ChangedSince(nominated_version_) : std::nullopt;
  if (!changed || !renominated) {
    Reset(cycle);
    for (const NodeIndex row : nodes.rows()) Refresh(row, cycle, statuses);
  } else {
    const std::size_t count = nodes.row_count();
    states_.resize(count, State::kHopeless);
    costs_.resize(count);
    refusal_ids_.resize(count);
    is_budgeted_.resize(count, false);
    blocks_.resize((count + kBlockRows - 1) / kBlockRows);
    for (const NodeIndex row : *changed) Refresh(row, cycle, statuses);
    for (const NodeIndex row : *renominated) Refresh(row, cycle, statuses);
    for (const NodeIndex row : passing_) Refresh(row, cycle, statuses);
    passing_.clear();
    if (basis_.budgets_version != basis.budgets_version) {
      for (const NodeIndex row : budgeted_) {
        Refresh(row, cycle, statuses);
        is_budgeted_[row] = false;
      }
      budgeted_.clear();
    }
  }
  nodes_ = &nodes;
  table_version_ = nodes.version();
  nominated_version_ = nominated.version();
  basis_ = basis;
  // The pod's own nomination counts for all pods but itself.
  if (const NodeIndex own = nominated.RowOf(pod.uid); own != kNoNode) {
    Refresh(own, cycle, statuses);
    passing_.push_back(own);
  }
}

std::uint32_t KeptCandidates::RefusalId(const Status& status) {
  std::size_t id = 0;
  while (id < refusals_.size() && !(refusals_[id].first == status)) ++id;
  if (id == refusals_.size()) refusals_.emplace_back(status, 0);
  return static_cast<std::uint32_t>(id);
}

bool KeptCandidates::Ask(NodeIndex row, Time now, DryRun& dry_run) {
  const NodeVictims found = dry_run.SelectVictims(row);
  const bool is_candidate = found.status.IsSuccess();
  if (is_candidate ? found.victims.empty() : !found.status.IsRejected()) return false;
  if (found.rests_on_time || found.rests_on_groups) passing_.push_back(row);
  if (found.rests_on_budgets && !is_budgeted_[row]) {
    budgeted_.push_back(row);
    is_budgeted_[row] = true;
  }
  Leave(row);
  if (is_candidate) {
    costs_[row] = ToCost(found, row, now);
  } else {
    refusal_ids_[row] = RefusalId(found.status);
  }
  Enter(row, is_candidate ? State::kCandidate : State::kRefused);
  return true;
}

const KeptCandidates::Block& KeptCandidates::WithCheapest(std::size_t index) {
  Block& block = blocks_[index];
  if (!block.is_stale) return block;
  block.is_stale = false;
  block.cheapest_count = 0;
  const State* const states = states_.data();
  const Cost* const costs = costs_.data();
  const std::size_t end = std::min(states_.size(), (index + 1) * kBlockRows);
  for (std::size_t row = index * kBlockRows; row < end; ++row) {
    if (states[row] != State::kCandidate) continue;
    const Cost& cost = costs[row];
    if (block.cheapest_count > 0 && cost > block.cheapest) continue;
    if (block.cheapest_count == 0 || cost < block.cheapest) {
      block.cheapest = cost;
      block.cheapest_count = 0;
    }
    ++block.cheapest_count;
  }
  return block;
}

NodeIndex KeptCandidates::NthPotential(std::size_t n) const {
  BERTH_DCHECK(n < potential_count_, n, potential_count_);
  const Block* block = blocks_.data();
  while (n >= block->potential) n -= block++->potential;
  const State* const states = states_.data();
  std::size_t row = static_cast<std::size_t>(block - blocks_.data()) * kBlockRows;
  while (states[row] == State::kHopeless || n-- > 0) ++row;
  return static_cast<NodeIndex>(row);
}

template <typename OnBlock, typename OnCandidate, typename OnUnknown>
void KeptCandidates::Walk(std::size_t offset, std::size_t wanted, const OnBlock& on_block,
                          const OnCandidate& on_candidate, const OnUnknown& ask) const {
  std::size_t clean = 0, violating = 0;
  // Rows stay below states_.size(), and nothing here changes how many there are.
  const Block* const blocks = blocks_.data();
  const State* const states = states_.data();
  const Cost* const costs = costs_.data();
  const auto goes_on = [&] { return clean == 0 || clean + violating < wanted; };
  const auto walk = [&](std::size_t row, std::size_t last) {
    while (row < last) {
      const std::size_t index = row / kBlockRows;
      const Block& block = blocks[index];
      const std::size_t end = std::min(last, (index + 1) * kBlockRows);
      const bool is_whole = row % kBlockRows == 0 && (end % kBlockRows == 0 || end == states_.size());
      if (is_whole && block.unknown == 0 && block.violating == 0 && clean + violating + block.candidates <= wanted) {
        if (block.candidates > 0 && !on_block(index)) return false;
        clean += block.candidates;
        if (!goes_on()) return false;
        row = end;
        continue;
      }
      for (; row < end; ++row) {
        if (states[row] == State::kUnknown && !ask(static_cast<NodeIndex>(row))) return false;
        if (states[row] != State::kCandidate) continue;
        // As upstream, a list that is full takes no more, and the search may go on all the same.
        std::size_t& list = costs[row].violations == 0 ? clean : violating;
        if (list < wanted) {
          ++list;
          if (!on_candidate(static_cast<NodeIndex>(row))) return false;
        }
        if (!goes_on()) return false;
      }
    }
    return true;
  };
  const NodeIndex first = NthPotential(offset);
  if (walk(first, states_.size())) (void)walk(0, first);
}

KeptCandidates::Found KeptCandidates::Search(std::size_t offset, std::size_t wanted, Time now, DryRun& dry_run) {
  BERTH_DCHECK(offset < potential_count_, offset, potential_count_);
  Found found;
  found.offset = offset;
  found.wanted = wanted;
  const auto consider = [&found](const Cost& cost, std::size_t count, std::size_t count_at_cost) {
    found.candidate_count += count;
    if (found.cheapest_count > 0 && cost > found.cheapest) return true;
    if (found.cheapest_count == 0 || cost < found.cheapest) {
      found.cheapest = cost;
      found.cheapest_count = 0;
    }
    found.cheapest_count += count_at_cost;
    return true;
  };
  Walk(
      offset, wanted,
      [&](std::size_t index) {
        const Block& block = WithCheapest(index);
        return consider(block.cheapest, block.candidates, block.cheapest_count);
      },
      [&](NodeIndex row) { return consider(costs_[row], 1, 1); },
      [&](NodeIndex row) {
        if (!Ask(row, now, dry_run)) found.has_error = true;
        return !found.has_error;
      });
  return found;
}

NodeIndex KeptCandidates::NthCheapest(const Found& found, std::size_t n) {
  NodeIndex nth = kNoNode;
  const auto look_at = [&](NodeIndex row) {
    if (states_[row] == State::kCandidate && costs_[row] == found.cheapest && n-- == 0) nth = row;
    return nth == kNoNode;
  };
  Walk(
      found.offset, found.wanted,
      [&](std::size_t index) {
        const Block& block = WithCheapest(index);
        if (block.cheapest != found.cheapest) return true;
        if (n >= block.cheapest_count) {
          n -= block.cheapest_count;
          return true;
        }
        auto row = static_cast<NodeIndex>(index * kBlockRows);
        while (look_at(row)) ++row;
        return false;
      },
      look_at, [](NodeIndex) { return false; });
  BERTH_CHECK(nth != kNoNode, n, found.cheapest_count);
  return nth;
}

std::vector<NodeIndex> KeptCandidates::Candidates(const Found& found) const {
  std::vector<NodeIndex> rows;
  const auto add = [&](NodeIndex row) {
    if (states_[row] == State::kCandidate) rows.push_back(row);
    return true;
  };
  Walk(
      found.offset, found.wanted,
      [&](std::size_t index) {
        const std::size_t end = std::min(states_.size(), (index + 1) * kBlockRows);
        for (std::size_t row = index * kBlockRows; row < end; ++row) add(static_cast<NodeIndex>(row));
        return true;
      },
      add, [](NodeIndex) { return false; });
  std::stable_partition(rows.begin(), rows.end(), [&](NodeIndex row) { return costs_[row].violations == 0; });
  return rows;
}

std::vector<std::pair<Status, std::size_t>> KeptCandidates::Refusals() const {
  std::vector<std::pair<Status, std::size_t>> refusals;
  for (const auto& entry : refusals_) {
    if (entry.second > 0) refusals.push_back(entry);
  }
  return refusals;
}

std::size_t KeptCandidates::Bytes() const {
  return states_.capacity() * (sizeof(State) + sizeof(Cost) + sizeof(std::uint32_t)) +
         blocks_.capacity() * sizeof(Block) + (passing_.capacity() + budgeted_.capacity()) * sizeof(NodeIndex) +
         refusals_.capacity() * 256;
}

}  // namespace berth::plugins
