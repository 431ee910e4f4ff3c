// SPDX-License-Identifier: Apache-2.0
// PodCounts: how many pods of some kind run on each node, kept up to date instead of counted again for each pod that is
// scheduled. Within turns only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "berth/framework/node_table.h"
#include "berth/plugins/helper/table_sync.h"

namespace berth::plugins {

class PodCounts {
 public:
  // What one pod adds to the count of its node: 1 or 0 for yes or no, or a weight. Must rest on the arguments alone (of
  // the pod's class, and whether the pod is being deleted): the answers are kept by PodClass::id. Where it rests on
  // more, Forget() has to follow each change of that.
  using Weigh = std::function<std::int32_t(const framework::PodClass& pod_class, bool is_terminating)>;

  // A row whose count differs from what it was before the update.
  struct Change {
    framework::NodeIndex row = framework::kNoNode;
    std::int32_t before = 0;
    std::int32_t after = 0;
  };

  // Bounds on kept answers, powers of two. A class may push another one out, which is then asked about anew.
  static constexpr std::size_t kAnswersMin = 256;
  static constexpr std::size_t kAnswersMax = 16384;

  explicit PodCounts(Weigh weigh) : weigh_(std::move(weigh)) {}

  // Brings the counts up to date with the table; looks at rows that changed since the last time only. Returns the
  // differences, each row at most once and valid until the next call; nullopt when all rows were counted anew: at
  // first, for another table, and when the last time was too long ago.
  std::optional<std::span<const Change>> Update(const framework::NodeTable& nodes);

  // Everything is counted and asked anew by the next Update().
  void Forget();

  // The counts by row, at least nodes.row_count() long as of the last update. Rows without a node object count 0:
  // upstream's snapshot does not know them, whatever pods name them.
  std::span<const std::int32_t> by_row() const { return by_row_; }
  // The sum over all rows.
  std::int64_t total() const { return total_; }

  // About what it holds on the heap.
  std::size_t Bytes() const;

 private:
  std::int32_t Count(const framework::NodeInfo& node);
  std::int32_t Answer(const framework::PodInfo& pod);

  struct KeptAnswer {
    std::uint64_t key = 0;  // 0: none
    std::int32_t weight = 0;
  };

  Weigh weigh_;
  std::vector<KeptAnswer> answers_;  // each key has one place
  std::size_t pushed_out_ = 0;       // since the answers last got more room
  std::vector<std::int32_t> by_row_;
  std::int64_t total_ = 0;
  std::vector<Change> changes_;
  TableSync table_;
};

}  // namespace berth::plugins
