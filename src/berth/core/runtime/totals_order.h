// SPDX-License-Identifier: Apache-2.0
// TotalsOrder: feasible rows in groups of equal marks (framework::GroupingPlugin), sorted by total within each group.
// Finding a group's best row or moving a changed row does not look at other rows. Single-threaded.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <absl/container/btree_map.h>

#include "berth/base/hash_map.h"
#include "berth/framework/node_table.h"

namespace berth::runtime {

class TotalsOrder {
 public:
  using GroupId = std::uint32_t;
  static constexpr GroupId kNoGroup = UINT32_MAX;
  using LevelId = std::uint32_t;
  static constexpr LevelId kNoLevel = UINT32_MAX;

  // Removes all rows. `width` is the number of marks of a row.
  void Reset(std::size_t width);

  // Inserts the row, or moves it.
  void Put(framework::NodeIndex row, std::int64_t total, std::span<const std::uint32_t> marks);
  void Remove(framework::NodeIndex row);

  std::size_t width() const { return width_; }
  std::size_t row_count() const { return row_count_; }  // rows that were put and not removed
  // The groups with rows. Valid until the next change, as are all results below.
  std::span<const GroupId> groups() const { return live_; }
  GroupId GroupOf(framework::NodeIndex row) const;

  std::size_t SizeOf(GroupId group) const { return groups_[group].size; }

  // A level is the rows of one group with the same total. Level ids are below level_count().
  std::size_t level_count() const { return levels_.size(); }
  // The row must be in the order.
  LevelId LevelOf(framework::NodeIndex row) const { return places_[row].level; }
  std::int64_t TotalOf(LevelId level) const { return levels_[level].total; }
  // Not sorted, but deterministic.
  std::span<const framework::NodeIndex> RowsOf(LevelId level) const { return levels_[level].rows; }
  // The group's level with the largest total that has more than left_out[level] rows; kNoLevel when there is none.
  LevelId BestLevel(GroupId group, std::span<const std::uint32_t> left_out) const;

  std::size_t Bytes() const;

 private:
  // The rows of one group with the same total.
  struct Level {
    GroupId group = kNoGroup;
    std::int64_t total = 0;
    std::vector<framework::NodeIndex> rows;
  };
  struct Group {
    std::size_t size = 0;
    std::size_t live_index = 0;
    absl::btree_map<std::int64_t, LevelId> levels;  // by total; none is empty
  };
  struct Place {
    LevelId level = kNoLevel;
    std::uint32_t index = 0;
  };

  std::span<const std::uint32_t> MarksOf(GroupId group) const {
    return std::span<const std::uint32_t>(marks_).subspan(group * width_, width_);
  }
  bool IsOf(LevelId level, std::int64_t total, std::span<const std::uint32_t> marks) const;
  GroupId GroupFor(std::span<const std::uint32_t> marks);
  LevelId LevelFor(GroupId group, std::int64_t total);

  std::size_t width_ = 0;
  std::size_t row_count_ = 0;
  std::vector<Place> places_;  // by row
  std::vector<Level> levels_;
  std::vector<LevelId> free_levels_;
  std::vector<Group> groups_;
  std::vector<std::uint32_t> marks_;  // by group, width_ marks each
  std::vector<GroupId> free_groups_;
  std::vector<GroupId> live_;
  StringHashMap<GroupId> group_of_marks_;  // key: the bytes of the marks
  LevelId last_level_ = kNoLevel;          // the level of the last Put(): neighbouring rows are often alike
};

}  // namespace berth::runtime
