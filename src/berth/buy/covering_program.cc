// SPDX-License-Identifier: Apache-2.0
#include "berth/buy/covering_program.h"

#include <algorithm>
#include <cmath>

namespace berth::buy {
namespace {

// Relative to costs and amounts of about 1: callers scale.
constexpr double kReducedCostMin = 1e-9;
constexpr double kPivotMin = 1e-9;
constexpr double kTie = 1e-12;
// Rounding errors add up from pivot to pivot.
constexpr std::size_t kPivotsPerInversion = 100;
// So many pivots without progress may be a circle, which Bland's rule ends.
constexpr std::size_t kIdlePivotsMax = 40;
constexpr std::size_t kNone = static_cast<std::size_t>(-1);

}  // namespace

CoveringProgram::CoveringProgram(const std::vector<double>& demands, const std::vector<double>& limits,
                                 double missing_cost)
    : demand_count_(demands.size()), row_count_(demands.size() + limits.size()) {
  right_.reserve(row_count_);
  for (const double demand : demands) right_.push_back(std::max(demand, 0.0));
  sign_.assign(row_count_, 1);
  for (std::size_t i = 0; i < limits.size(); ++i) {
    sign_[demand_count_ + i] = limits[i] < 0 ? -1 : 1;
    right_.push_back(std::abs(limits[i]));
  }
  basis_.resize(row_count_);
  for (std::size_t row = 0; row < row_count_; ++row) {
    const bool is_at_least = row < demand_count_ || sign_[row] < 0;
    if (is_at_least) columns_.push_back({{{row, -1.0}}, 0, false});
    basis_[row] = columns_.size();
    columns_.push_back({{{row, 1.0}}, is_at_least ? missing_cost : 0, true});
  }
  own_count_ = columns_.size();
  values_ = right_;
  inverse_.assign(row_count_ * row_count_, 0);
  for (std::size_t row = 0; row < row_count_; ++row) Inverse(row, row) = 1;
}

void CoveringProgram::AddColumn(Column column, double cost) {
  for (auto& [row, amount] : column) amount *= sign_[row];
  columns_.push_back({std::move(column), cost, false});
}

bool CoveringProgram::Solve(std::size_t pivots_max) {
  Price();
  for (std::size_t pivot = 0;; ++pivot) {
    const bool takes_first = idle_pivots_ > kIdlePivotsMax;
    const std::size_t entering = Enter(takes_first);
    if (entering == kNone) return true;
    if (pivot == pivots_max || !Pivot(entering, takes_first)) return false;
    if (++pivots_since_inversion_ >= kPivotsPerInversion) Invert();
    Price();
  }
}

double CoveringProgram::objective() const {
  double sum = 0;
  for (std::size_t row = 0; row < row_count_; ++row) sum += columns_[basis_[row]].cost * values_[row];
  return sum;
}

std::vector<double> CoveringProgram::Values() const {
  std::vector<double> values(columns_.size() - own_count_, 0);
  for (std::size_t row = 0; row < row_count_; ++row) {
    if (basis_[row] >= own_count_) values[basis_[row] - own_count_] = std::max(values_[row], 0.0);
  }
  return values;
}

void CoveringProgram::Price() {
  prices_.assign(row_count_, 0);
  for (std::size_t row = 0; row < row_count_; ++row) {
    const double cost = columns_[basis_[row]].cost;
    if (cost == 0) continue;
    const double* const inverse = &inverse_[row * row_count_];
    for (std::size_t i = 0; i < row_count_; ++i) prices_[i] += cost * inverse[i];
  }
  demand_prices_.resize(demand_count_);
  for (std::size_t i = 0; i < demand_count_; ++i) demand_prices_[i] = std::max(prices_[i], 0.0);
  limit_prices_.resize(row_count_ - demand_count_);
  for (std::size_t i = demand_count_; i < row_count_; ++i)
    limit_prices_[i - demand_count_] = std::max(-prices_[i] * sign_[i], 0.0);
}

std::size_t CoveringProgram::Enter(bool takes_first) const {
  std::size_t best = kNone;
  double least = -kReducedCostMin;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Stored& column = columns_[i];
    if (column.is_basic) continue;
    double reduced = column.cost;
    for (const auto& [row, amount] : column.rows) reduced -= prices_[row] * amount;
    if (reduced >= least) continue;
    if (takes_first) return i;
    best = i;
    least = reduced;
  }
  return best;
}

// False: numbers have become too small to go on.
bool CoveringProgram::Pivot(std::size_t entering, bool takes_first) {
  std::vector<double> direction(row_count_, 0);
  for (std::size_t row = 0; row < row_count_; ++row) {
    const double* const inverse = &inverse_[row * row_count_];
    for (const auto& [i, amount] : columns_[entering].rows) direction[row] += inverse[i] * amount;
  }
  std::size_t leaving = kNone;
  double ratio_min = 0;
  for (std::size_t row = 0; row < row_count_; ++row) {
    if (direction[row] < kPivotMin) continue;
    const double ratio = std::max(values_[row], 0.0) / direction[row];
    const bool is_tie = leaving != kNone && std::abs(ratio - ratio_min) <= kTie;
    const bool is_better_tie =
        is_tie && (takes_first ? basis_[row] < basis_[leaving] : direction[row] > direction[leaving]);
    if (leaving != kNone && !is_better_tie && (is_tie || ratio > ratio_min)) continue;
    leaving = row;
    ratio_min = ratio;
  }
  if (leaving == kNone) return false;
  ++pivot_count_;
  idle_pivots_ = ratio_min <= kTie ? idle_pivots_ + 1 : 0;
  const double pivot = direction[leaving];
  double* const of_leaving = &inverse_[leaving * row_count_];
  for (std::size_t i = 0; i < row_count_; ++i) of_leaving[i] /= pivot;
  for (std::size_t row = 0; row < row_count_; ++row) {
    if (row == leaving || direction[row] == 0) continue;
    double* const of_row = &inverse_[row * row_count_];
    const double factor = direction[row];
    for (std::size_t i = 0; i < row_count_; ++i) of_row[i] -= factor * of_leaving[i];
    values_[row] = std::max(values_[row] - factor * ratio_min, 0.0);
  }
  values_[leaving] = ratio_min;
  columns_[basis_[leaving]].is_basic = false;
  columns_[entering].is_basic = true;
  basis_[leaving] = entering;
  return true;
}

// Computes the inverse of the basis anew, by Gauss-Jordan elimination.
void CoveringProgram::Invert() {
  pivots_since_inversion_ = 0;
  std::vector<double> matrix(row_count_ * row_count_, 0);
  for (std::size_t column = 0; column < row_count_; ++column) {
    for (const auto& [row, amount] : columns_[basis_[column]].rows) matrix[row * row_count_ + column] = amount;
  }
  std::vector<double> inverse(row_count_ * row_count_, 0);
  for (std::size_t row = 0; row < row_count_; ++row) inverse[row * row_count_ + row] = 1;
  for (std::size_t column = 0; column < row_count_; ++column) {
    std::size_t pivot = column;
    for (std::size_t row = column + 1; row < row_count_; ++row) {
      if (std::abs(matrix[row * row_count_ + column]) > std::abs(matrix[pivot * row_count_ + column])) pivot = row;
    }
    const double of_pivot = matrix[pivot * row_count_ + column];
    if (std::abs(of_pivot) < kPivotMin) return;  // what there is is better
    if (pivot != column) {
      std::swap_ranges(&matrix[pivot * row_count_], &matrix[pivot * row_count_] + row_count_,
                       &matrix[column * row_count_]);
      std::swap_ranges(&inverse[pivot * row_count_], &inverse[pivot * row_count_] + row_count_,
                       &inverse[column * row_count_]);
    }
    for (std::size_t i = 0; i < row_count_; ++i) {
      matrix[column * row_count_ + i] /= of_pivot;
      inverse[column * row_count_ + i] /= of_pivot;
    }
    for (std::size_t row = 0; row < row_count_; ++row) {
      const double factor = matrix[row * row_count_ + column];
      if (row == column || factor == 0) continue;
      for (std::size_t i = 0; i < row_count_; ++i) {
        matrix[row * row_count_ + i] -= factor * matrix[column * row_count_ + i];
        inverse[row * row_count_ + i] -= factor * inverse[column * row_count_ + i];
      }
    }
  }
  inverse_ = std::move(inverse);
  for (std::size_t row = 0; row < row_count_; ++row) {
    double value = 0;
    for (std::size_t i = 0; i < row_count_; ++i) value += inverse_[row * row_count_ + i] * right_[i];
    values_[row] = std::max(value, 0.0);
  }
}

}  // namespace berth::buy
