// SPDX-License-Identifier: Apache-2.0
// KeptCandidates: what preemption's dry runs for the pods of one class came to on each row, while it holds, so that the
// next pod of the class asks only about rows that changed. The cheapest candidates are found from minima of blocks of
// rows. Within turns only.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "berth/framework/node_table.h"
#include "berth/framework/nominated_rows.h"
#include "berth/framework/plugin.h"
#include "berth/plugins/default_preemption/victims.h"

namespace berth::plugins {

class KeptCandidates {
 public:
  using NodeIndex = framework::NodeIndex;

  // With more distinct refusals than these, all that is kept is dropped.
  static constexpr std::size_t kRefusalsMax = 1024;

  // CandidateCost in less room, and comparable between cycles: what has not started counts as started at the time of
  // whichever cycle compares. In the order of importance.
  struct Cost {
    std::int32_t violations = 0;
    std::int32_t highest = 0;
    std::int64_t sum = 0;
    std::int32_t count = 0;
    std::int64_t earliness = 0;
    auto operator<=>(const Cost& other) const = default;
  };

  // What the kept results rest on beside the rows themselves.
  struct Basis {
    const framework::NominatedRows* nominated = nullptr;
    std::uint64_t epoch = 0;            // FastFilterRunner::NodeEpoch
    std::uint64_t budgets_shape = 0;    // changes when another pod may have a budget
    std::uint64_t budgets_version = 0;  // changes with every budget
  };

  // Takes over what changed since the last call: rows where preemption may help are those that `statuses` call
  // kUnschedulable. To be called once at the beginning of a cycle.
  void Update(const framework::Cycle& cycle, const framework::PodInfo& pod, const framework::NodeStatuses& statuses,
              const Basis& basis);

  // How many rows there are where preemption may help.
  std::size_t potential_count() const { return potential_count_; }

  // What a search from the `offset`-th such row on came to; it goes round and ends as upstream's, when `wanted`
  // candidates are found of which one overdraws no budget.
  struct Found {
    bool has_error = false;  // of a dry run: nothing else here is to be used
    std::size_t offset = 0;
    std::size_t wanted = 0;
    std::size_t candidate_count = 0;
    Cost cheapest{};
    std::size_t cheapest_count = 0;  // candidates of that cost
  };
  // `dry_run` is asked about rows of which nothing is known.
  Found Search(std::size_t offset, std::size_t wanted, Time now, DryRun& dry_run);

  // The nth of the cheapest rows of the last Search(), in the order of the search. n is below cheapest_count.
  NodeIndex NthCheapest(const Found& found, std::size_t n);
  // All candidates: those that overdraw no budget first, in the order of the search.
  std::vector<NodeIndex> Candidates(const Found& found) const;
  Cost CostOfRow(NodeIndex row) const { return costs_[row]; }

  // Why rows do not help, with how many. Of all rows after a Search() that found no candidate.
  std::vector<std::pair<framework::Status, std::size_t>> Refusals() const;

  std::size_t Bytes() const;

 private:
  static constexpr std::size_t kBlockRows = 64;

  enum class State : std::uint8_t { kHopeless, kUnknown, kRefused, kCandidate };
  // Counts follow every change of a row; the minimum is found anew when it is asked for.
  struct Block {
    std::uint8_t potential = 0;
    std::uint8_t unknown = 0;
    std::uint8_t candidates = 0;
    std::uint8_t violating = 0;  // candidates that overdraw a budget
    std::uint8_t cheapest_count = 0;
    bool is_stale = true;
    Cost cheapest{};
  };

  void Reset(const framework::Cycle& cycle);
  void Refresh(NodeIndex row, const framework::Cycle& cycle, const framework::NodeStatuses& statuses);
  void Leave(NodeIndex row);
  void Enter(NodeIndex row, State state);
  std::uint32_t RefusalId(const framework::Status& status);
  // False when the dry run ends with an error.
  bool Ask(NodeIndex row, Time now, DryRun& dry_run);
  const Block& WithCheapest(std::size_t block);
  NodeIndex NthPotential(std::size_t n) const;
  // The rows that a search looks at, in its order: on_block(block) for whole blocks of which all is known and that have
  // candidates, on_candidate(row) for others, ask(row) for rows of which nothing is known. Each returns false to stop.
  template <typename OnBlock, typename OnCandidate, typename OnUnknown>
  void Walk(std::size_t offset, std::size_t wanted, const OnBlock& on_block, const OnCandidate& on_candidate,
            const OnUnknown& ask) const;

  const framework::NodeTable* nodes_ = nullptr;
  Basis basis_;
  std::uint64_t table_version_ = 0;
  std::uint64_t nominated_version_ = 0;

  std::vector<State> states_;               // by row, as the next two
  std::vector<Cost> costs_;                 // of kCandidate
  std::vector<std::uint32_t> refusal_ids_;  // of kRefused
  std::vector<Block> blocks_;
  std::size_t potential_count_ = 0;
  std::vector<std::pair<framework::Status, std::size_t>> refusals_;  // distinct, with the rows that have it
  // Rows to be asked again in the next cycle whatever happens, and when a budget changes.
  std::vector<NodeIndex> passing_;
  std::vector<NodeIndex> budgeted_;
  std::vector<bool> is_budgeted_;  // by row: it is in budgeted_
};

}  // namespace berth::plugins
