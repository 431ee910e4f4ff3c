// SPDX-License-Identifier: Apache-2.0
// AmountTable: a node table whose rows have amounts of CPU, memory and pods only, for calls of
// framework::AmountsPlugin. Questions about images are answered from the table that it stands for, though no row has an
// image. Single-threaded.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "berth/framework/node_table.h"

namespace berth::runtime {

// Indices into Amounts: the first kCapacityCount are a node's capacity, the others what is taken of it.
inline constexpr std::size_t kAmountCount = 8;
inline constexpr std::size_t kCapacityCount = 3;
using Amounts = std::array<std::int64_t, kAmountCount>;
inline constexpr std::array<std::vector<std::int64_t> framework::NodeTable::Columns::*, kAmountCount> kAmountColumns{
    &framework::NodeTable::Columns::allocatable_cpu_milli,  &framework::NodeTable::Columns::allocatable_memory_bytes,
    &framework::NodeTable::Columns::allocatable_pods,       &framework::NodeTable::Columns::requested_cpu_milli,
    &framework::NodeTable::Columns::requested_memory_bytes, &framework::NodeTable::Columns::nonzero_cpu_milli,
    &framework::NodeTable::Columns::nonzero_memory_bytes,   &framework::NodeTable::Columns::pod_count};

inline Amounts AmountsOf(const framework::NodeTable::Columns& columns, framework::NodeIndex row) {
  Amounts amounts;
  for (std::size_t i = 0; i < kAmountCount; ++i) amounts[i] = (columns.*kAmountColumns[i])[row];
  return amounts;
}

class AmountTable final : public framework::NodeTable {
 public:
  // New rows have a capacity of 1 each, of which nothing is taken.
  void Resize(std::size_t row_count);
  void Set(framework::NodeIndex row, const Amounts& amounts);
  Amounts Get(framework::NodeIndex row) const { return AmountsOf(columns_, row); }
  // Null: no table, so that there are no images. `table` must live as long as it is set.
  void StandFor(const framework::NodeTable* table) { table_ = table; }

  std::size_t row_count() const override { return rows_.size(); }
  std::span<const framework::NodeIndex> rows() const override { return rows_; }
  std::size_t node_count() const override { return rows_.size(); }
  framework::NodeIndex Find(std::string_view) const override { return framework::kNoNode; }
  const framework::NodeInfo& Info(framework::NodeIndex) const override { return no_info_; }
  const Columns& columns() const override { return columns_; }
  const std::vector<api::Taint>& TaintSet(std::uint32_t) const override { return no_taints_; }
  std::size_t taint_set_count() const override { return 1; }
  std::span<const framework::ValueId> LabelColumn(std::string_view) const override { return no_values_; }
  std::optional<framework::ValueId> FindValue(std::string_view) const override { return std::nullopt; }
  std::string_view Value(framework::ValueId) const override { return {}; }
  std::size_t value_count() const override { return 1; }
  std::uint64_t values_version() const override { return 0; }
  std::int64_t ImageNodeCount(std::string_view image) const override {
    return table_ == nullptr ? 0 : table_->ImageNodeCount(image);
  }
  std::int64_t ImageSizeBytes(std::string_view image) const override {
    return table_ == nullptr ? 0 : table_->ImageSizeBytes(image);
  }
  std::span<const framework::NodeIndex> ImageRows(std::string_view) const override { return {}; }
  std::uint64_t version() const override { return 0; }
  std::optional<std::span<const framework::NodeIndex>> ChangedSince(std::uint64_t) const override {
    return std::nullopt;
  }
  std::span<const std::uint32_t> PodsKeptSince(std::uint64_t) const override { return {}; }
  std::uint64_t nodes_version() const override { return 0; }

 private:
  const framework::NodeTable* table_ = nullptr;
  Columns columns_;
  std::vector<framework::NodeIndex> rows_;
  std::vector<framework::ValueId> no_values_;
  std::vector<api::Taint> no_taints_;
  framework::NodeInfo no_info_;
};

}  // namespace berth::runtime
