// SPDX-License-Identifier: Apache-2.0
// ColumnGeneration: the linear relaxation of a PackingProblem: nodes may be bought in parts. A column is one way to
// fill a node of an offer; new ones are found by filling nodes with what the demands are worth (node_filling.h). Each
// solution comes with a lower bound of the price, which holds whatever was rounded or left out on the way: it follows
// from weak duality and the bounds of the fillings. Deterministic; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "berth/base/random.h"
#include "berth/buy/packing_problem.h"

namespace berth::buy {

// What is left of a problem after some nodes have been bought.
struct Remainder {
  std::vector<std::int64_t> demands;      // by kind
  std::vector<double> limits;             // by side limit
  std::vector<std::int64_t> offers_left;  // by offer
};
Remainder Everything(const PackingProblem& problem);
// Buys the node: the remainder shrinks by it. The fill is cut to what is still in demand.
void Buy(const PackingProblem& problem, PackedNode& node, Remainder& rest);
// Whether one more node of the offer keeps the limits.
bool MayBuy(const PackingProblem& problem, std::size_t offer, const Remainder& rest);

class ColumnGeneration {
 public:
  static constexpr std::size_t kRoundsMax = 400;
  static constexpr std::uint64_t kUnlimitedSteps = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::size_t kPivotsMax = 20'000;   // of one round
  static constexpr std::size_t kColumnsMax = 20'000;  // those of all solutions so far

  struct Use {
    std::size_t column = 0;
    double amount = 0;
  };
  struct Solution {
    std::vector<Use> uses;   // of what is used at all, by column
    double price_micro = 0;  // what is missing is not in it
    double missing = 0;      // pods for which there is no node
    double bound_micro = 0;  // no packing that leaves nothing costs less
  };

  // The problem must outlive it.
  explicit ColumnGeneration(const PackingProblem& problem);

  // Columns are kept for later calls. `rounds_max` and `steps_max` bound how many new ones are looked for.
  Solution Solve(const Remainder& rest, std::size_t rounds_max = kRoundsMax, std::uint64_t steps_max = kUnlimitedSteps);
  const PackedNode& column(std::size_t index) const { return columns_[index]; }
  // A node of some offer, filled with what takes most of its room, each kind a little more or less than it is worth.
  PackedNode RandomNode(const Remainder& rest, Random& random);
  // A measure of the work so far, of somewhat less than a microsecond each.
  std::uint64_t steps() const { return steps_; }

 private:
  void AddSimpleColumns();
  bool AddColumn(PackedNode column);
  std::vector<double> WorthByAmounts(const Remainder& rest) const;
  double BoundByWorth(const Remainder& rest, const std::vector<double>& worth);
  void AddWorthyColumns(Remainder rest, const std::vector<double>& worth, std::uint64_t steps_end);

  const PackingProblem& problem_;
  double scale_ = 1;                 // prices are divided by it
  std::vector<std::size_t> offers_;  // those that no other one makes superfluous, by price
  std::vector<PackedNode> columns_;
  std::vector<std::vector<double>> weights_;  // by offer, see FillNode()
  std::vector<double> worthiness_;            // by offer: what a filling is worth at most, of the price
  std::vector<std::uint8_t> is_scarce_;       // by offer: a row says how many there are
  std::size_t next_offer_ = 0;                // where the next round begins
  std::uint64_t steps_ = 0;
};

}  // namespace berth::buy
