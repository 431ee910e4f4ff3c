// SPDX-License-Identifier: Apache-2.0
// CoveringProgram: a linear program of the form "the cheapest mix of columns that meets each demand and keeps each
// limit", solved by the revised simplex method while columns are added. For a few hundred rows: the inverse of the
// basis is a dense matrix. Deterministic; one thread. docs/adr/0023-buying-nodes.md says why no library does this.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace berth::buy {

class CoveringProgram {
 public:
  // Row and amount; rows in ascending order. Rows of demands come first, those of limits after them.
  using Column = std::vector<std::pair<std::size_t, double>>;

  // The sum of amounts is at least `demands[i]`, which is not negative, and at most `limits[i]`. `missing_cost` is what
  // one unit of a demand that is not met costs, far more than a column does.
  CoveringProgram(const std::vector<double>& demands, const std::vector<double>& limits, double missing_cost);

  // The columns are numbered in the order in which they are added.
  void AddColumn(Column column, double cost);
  // Takes at most so many steps from where the last call ended. False: there are more to take, and the solution is
  // feasible, but not known to be the best.
  bool Solve(std::size_t pivots_max);

  double objective() const;
  std::size_t pivot_count() const { return pivot_count_; }
  // How much of the column is used.
  std::vector<double> Values() const;
  // What one unit more of each demand costs, and what one unit more of each limit saves; not negative.
  const std::vector<double>& demand_prices() const { return demand_prices_; }
  const std::vector<double>& limit_prices() const { return limit_prices_; }

 private:
  struct Stored {
    Column rows;
    double cost = 0;
    bool is_basic = false;
  };

  void Price();
  std::size_t Enter(bool takes_first) const;
  bool Pivot(std::size_t entering, bool takes_first);
  void Invert();
  double& Inverse(std::size_t row, std::size_t column) { return inverse_[row * row_count_ + column]; }

  const std::size_t demand_count_;
  const std::size_t row_count_;
  std::size_t own_count_ = 0;  // columns of slack, surplus and what is missing, which come first
  std::vector<double> right_;  // not negative
  std::vector<double> sign_;   // -1: the row was turned around, so that its right side is not negative
  std::vector<Stored> columns_;
  std::vector<std::size_t> basis_;  // by row: its column
  std::vector<double> values_;      // by row: of that column
  std::vector<double> inverse_;     // of the basis, row by row
  std::vector<double> prices_;      // of rows
  std::vector<double> demand_prices_, limit_prices_;
  std::size_t pivot_count_ = 0;
  std::size_t pivots_since_inversion_ = 0;
  std::size_t idle_pivots_ = 0;  // that changed nothing, one after the other
};

}  // namespace berth::buy
