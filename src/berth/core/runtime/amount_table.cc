// SPDX-License-Identifier: Apache-2.0
#include "berth/core/runtime/amount_table.h"

namespace berth::runtime {

void AmountTable::Resize(std::size_t row_count) {
  for (std::size_t i = 0; i < kAmountCount; ++i) (columns_.*kAmountColumns[i]).resize(row_count, i < kCapacityCount);
  for (auto* column : {&columns_.allocatable_ephemeral_bytes, &columns_.requested_ephemeral_bytes})
    column->resize(row_count);
  for (auto* column : {&columns_.reciprocal_cpu, &columns_.reciprocal_memory}) column->resize(row_count, 1.0);
  for (auto* column : {&columns_.is_unschedulable, &columns_.is_unusual}) column->resize(row_count);
  columns_.taint_set.resize(row_count);
  no_values_.resize(row_count);
  const std::size_t old_count = rows_.size();
  rows_.resize(row_count);
  for (std::size_t row = old_count; row < row_count; ++row) rows_[row] = static_cast<framework::NodeIndex>(row);
}

void AmountTable::Set(framework::NodeIndex row, const Amounts& amounts) {
  for (std::size_t i = 0; i < kAmountCount; ++i) (columns_.*kAmountColumns[i])[row] = amounts[i];
  columns_.reciprocal_cpu[row] = 1 / static_cast<double>(columns_.allocatable_cpu_milli[row]);
  columns_.reciprocal_memory[row] = 1 / static_cast<double>(columns_.allocatable_memory_bytes[row]);
}

}  // namespace berth::runtime
