// SPDX-License-Identifier: Apache-2.0
// Each kernel, in each version that this machine can run, gives what exact arithmetic gives.
#include "berth/plugins/helper/resource_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/random.h"
#include "berth/framework/node_table.h"
#include "berth/framework/row_runs.h"

namespace berth::plugins {
namespace {

constexpr std::int64_t kMax = framework::kUsualAmountMax;

std::vector<CpuLevel> Levels() {
  std::vector<CpuLevel> levels;
  for (const CpuLevel level : {CpuLevel::kBaseline, CpuLevel::kAvx2, CpuLevel::kAvx512}) {
    if (level <= BestCpuLevel()) levels.push_back(level);
  }
  return levels;
}

struct Columns {
  std::vector<std::int64_t> allocatable[2], allocated[2];
  std::vector<double> reciprocal[2];
  std::int64_t request[2] = {0, 0};

  explicit Columns(std::size_t count) {
    for (int r = 0; r < 2; ++r) {
      allocatable[r].resize(count);
      allocated[r].resize(count);
      reciprocal[r].resize(count);
    }
  }
  std::size_t size() const { return allocatable[0].size(); }
  std::array<ResourceRows, 2> Rows() {
    std::array<ResourceRows, 2> rows;
    for (std::size_t r = 0; r < 2; ++r) {
      for (std::size_t i = 0; i < size(); ++i) reciprocal[r][i] = 1 / static_cast<double>(allocatable[r][i]);
      rows[r] = {allocatable[r].data(), allocated[r].data(), reciprocal[r].data(), request[r]};
    }
    return rows;
  }
};

// Capacities and amounts around all that could go wrong: small and huge, exact fractions, one more and one less.
Columns Draw(Random& random, std::size_t count) {
  Columns columns(count);
  const auto any_bits = [&](std::int64_t max) {
    const auto bits = random.Below(47);
    return std::min<std::int64_t>(max, static_cast<std::int64_t>(random.Next() >> (63 - bits)));
  };
  for (int r = 0; r < 2; ++r) {
    columns.request[r] = random.Below(4) == 0 ? 0 : any_bits(kMax - 1);
    for (std::size_t i = 0; i < count; ++i) {
      std::int64_t capacity = std::max<std::int64_t>(1, any_bits(kMax));
      if (random.Below(8) == 0) capacity = kMax - static_cast<std::int64_t>(random.Below(3));
      std::int64_t taken = any_bits(kMax - 1);
      switch (random.Below(4)) {
        case 0: taken = capacity / 100 * static_cast<std::int64_t>(random.Below(101)); break;
        case 1: taken = capacity - columns.request[r]; break;
        case 2:
          taken =
              static_cast<std::int64_t>(static_cast<double>(capacity) * 0.01 * static_cast<double>(random.Below(101)));
          break;
        default: break;
      }
      taken += static_cast<std::int64_t>(random.Below(3)) - 1;
      columns.allocatable[r][i] = capacity;
      columns.allocated[r][i] = std::clamp<std::int64_t>(taken, 0, kMax - 1);
    }
  }
  return columns;
}

std::int64_t Share(ShareOf share, std::int64_t used, std::int64_t capacity) {
  if (share == ShareOf::kFree) return used > capacity ? 0 : (capacity - used) * 100 / capacity;
  return std::min(used, capacity) * 100 / capacity;
}

std::int64_t Balance(const Columns& c, std::size_t i, bool with_pod) {
  double fractions[2];
  for (int r = 0; r < 2; ++r) {
    const double used = static_cast<double>(c.allocated[r][i] + (with_pod ? c.request[r] : 0));
    fractions[r] = std::min(used / static_cast<double>(c.allocatable[r][i]), 1.0);
  }
  return static_cast<std::int64_t>((1 - std::abs((fractions[0] - fractions[1]) / 2)) * 100);
}

TEST(ResourceKernels, BoundBalancesFromAbove) {
  Random random(13);
  for (int round = 0; round < 2000; ++round) {
    Columns all = Draw(random, 1 + (round % 2 == 0 ? 0 : random.Below(6)));
    // Nodes that are a little different, in half of the rounds.
    for (int r = 0; r < 2 && round % 4 > 1; ++r) {
      for (std::size_t i = 1; i < all.size(); ++i) {
        const auto near = [&](std::int64_t value) { return value - static_cast<std::int64_t>(random.Below(3)); };
        all.allocatable[r][i] = std::max<std::int64_t>(1, near(all.allocatable[r][0]));
        all.allocated[r][i] = std::max<std::int64_t>(0, near(all.allocated[r][0]));
      }
    }
    Columns emptiest(1);
    Columns fullest(1);
    for (int r = 0; r < 2; ++r) {
      const auto [small, large] = std::minmax_element(all.allocatable[r].begin(), all.allocatable[r].end());
      const auto [least, most] = std::minmax_element(all.allocated[r].begin(), all.allocated[r].end());
      emptiest.allocatable[r][0] = *large;
      emptiest.allocated[r][0] = *least;
      fullest.allocatable[r][0] = *small;
      fullest.allocated[r][0] = *most;
      emptiest.request[r] = fullest.request[r] = all.request[r];
    }
    for (const BalanceScore kind : {BalanceScore::kChange, BalanceScore::kOutcome}) {
      std::vector<std::int64_t> scores(all.size());
      BalanceOfTwo(kind, all.Rows(), all.size(), scores.data());
      std::int64_t bound = 0;
      BoundsOfBalance(kind, emptiest.Rows(), fullest.Rows(), 1, &bound);
      for (const std::int64_t score : scores) ASSERT_LE(score, bound) << "round " << round;
      if (all.size() == 1) {
        ASSERT_EQ(scores[0], bound) << "round " << round;
      }
    }
  }
}

TEST(ResourceKernels, ScoreExactlyAtEveryLevel) {
  Random random(7);
  for (int round = 0; round < 400; ++round) {
    Columns columns = Draw(random, 1 + random.Below(70));
    const std::array<ResourceRows, 2> rows = columns.Rows();
    ASSERT_TRUE(AreExact(rows, columns.size()));
    const auto weight = [&] { return static_cast<std::int64_t>(1 + random.Below(round % 2 == 0 ? 3 : 1 << 20)); };
    const std::array<std::int64_t, 2> weights{weight(), weight()};
    std::vector<std::int64_t> scores(columns.size());
    for (const CpuLevel level : Levels()) {
      for (const ShareOf share : {ShareOf::kFree, ShareOf::kUsed}) {
        WeightedShare(share, rows, weights, columns.size(), scores.data(), level);
        for (std::size_t i = 0; i < columns.size(); ++i) {
          std::int64_t sum = 0;
          for (int r = 0; r < 2; ++r) {
            sum += weights[static_cast<std::size_t>(r)] *
                   Share(share, columns.allocated[r][i] + columns.request[r], columns.allocatable[r][i]);
          }
          ASSERT_EQ(scores[i], sum / (weights[0] + weights[1]))
              << "level " << static_cast<int>(level) << ", round " << round << ", row " << i;
        }
      }
      BalanceOfTwo(BalanceScore::kChange, rows, columns.size(), scores.data(), level);
      for (std::size_t i = 0; i < columns.size(); ++i) {
        ASSERT_EQ(scores[i], 50 + (50 + Balance(columns, i, true) - Balance(columns, i, false)) / 2)
            << "level " << static_cast<int>(level) << ", round " << round << ", row " << i;
      }
      BalanceOfTwo(BalanceScore::kOutcome, rows, columns.size(), scores.data(), level);
      for (std::size_t i = 0; i < columns.size(); ++i) {
        ASSERT_EQ(scores[i], Balance(columns, i, true))
            << "level " << static_cast<int>(level) << ", round " << round << ", row " << i;
      }
    }
  }
}

TEST(ResourceKernels, ReportWhatIsOutOfRange) {
  constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
  struct Case {
    const char* name;
    std::int64_t allocatable;
    std::int64_t allocated;
    bool want;
  };
  for (const Case& c :
       {Case{"usual", 4000, 100, true}, Case{"nothing taken", 1, 0, true}, Case{"the most", kMax, kMax - 1, true},
        Case{"no capacity", 0, 0, false}, Case{"too much capacity", kMax + 1, 0, false},
        Case{"too much taken", 4000, kMax, false}, Case{"negative capacity", -1, 0, false},
        Case{"less than nothing taken", 4000, -1, false}, Case{"lowest capacity", kLowest, 0, false}}) {
    for (const std::size_t resource : {0, 1}) {
      Columns columns(3);
      for (int r = 0; r < 2; ++r) {
        std::fill(columns.allocatable[r].begin(), columns.allocatable[r].end(), 4000);
      }
      columns.allocatable[resource][1] = c.allocatable;
      columns.allocated[resource][1] = c.allocated;
      EXPECT_EQ(AreExact(columns.Rows(), 3), c.want) << c.name;
    }
  }
}

TEST(ResourceKernels, FindAnyShortage) {
  constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
  struct Case {
    const char* name;
    std::int64_t request[2];
    std::int64_t allocatable[2];
    std::int64_t allocated[2];
    std::int64_t pods;  // of 10
    bool want;
  };
  const Case cases[] = {
      {"room", {10, 10}, {100, 100}, {90, 90}, 9, false},
      {"no slot", {10, 10}, {100, 100}, {90, 90}, 10, true},
      {"too many pods already", {10, 10}, {100, 100}, {90, 90}, 12, true},
      {"short of the first", {11, 10}, {100, 100}, {90, 90}, 9, true},
      {"short of the second", {10, 11}, {100, 100}, {90, 90}, 9, true},
      {"nothing requested of a full node", {0, 0}, {100, 100}, {100, 200}, 9, false},
      {"a request below nothing", {-5, 0}, {100, 100}, {200, 200}, 9, false},
      {"free amounts wrap", {10, 10}, {kLowest, 100}, {1, 90}, 9, false},
      {"no capacity", {1, 0}, {0, 0}, {0, 0}, 9, true},
  };
  for (const Case& c : cases) {
    for (const std::size_t count : {1, 2, 7, 8, 33}) {
      for (const std::size_t at : {std::size_t{0}, count / 2, count - 1}) {
        Columns columns(count);
        std::vector<std::int64_t> slots(count, 10), pods(count, 0);
        for (int r = 0; r < 2; ++r) {
          columns.request[r] = c.request[r];
          std::fill(columns.allocatable[r].begin(), columns.allocatable[r].end(), 1000);
          columns.allocatable[r][at] = c.allocatable[r];
          columns.allocated[r][at] = c.allocated[r];
        }
        pods[at] = c.pods;
        for (const CpuLevel level : Levels()) {
          EXPECT_EQ(AnyIsShort(slots.data(), pods.data(), columns.Rows(), count, level), c.want)
              << c.name << ", row " << at << " of " << count << ", level " << static_cast<int>(level);
        }
      }
    }
  }
}

TEST(RowRuns, CoverEachRowOnce) {
  Random random(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<framework::NodeIndex> rows;
    const std::uint64_t gap_in = 1 + random.Below(30);
    for (framework::NodeIndex row = static_cast<framework::NodeIndex>(random.Below(3)); rows.size() < 100; ++row) {
      if (random.Below(gap_in) != 0 || gap_in == 1) rows.push_back(row);
      if (random.Below(50) == 0) row += 5;
    }
    rows.resize(random.Below(101));
    const std::size_t count_max = 1 + random.Below(120);
    std::vector<framework::NodeIndex> visited;
    framework::ForEachRun(rows, count_max, [&](framework::NodeIndex first, std::size_t count) {
      EXPECT_GE(count, 1u);
      EXPECT_LE(count, count_max);
      for (std::size_t i = 0; i < count; ++i) visited.push_back(first + static_cast<framework::NodeIndex>(i));
    });
    ASSERT_EQ(visited, rows);
    std::vector<int> values(500, 1);
    framework::FillRows<int>(rows, values, 2);
    for (framework::NodeIndex row = 0; row < values.size(); ++row)
      ASSERT_EQ(values[row], std::binary_search(rows.begin(), rows.end(), row) ? 2 : 1);
  }
  EXPECT_EQ(framework::FirstRunLength(std::vector<framework::NodeIndex>{4, 5, 6}), 3u);
  EXPECT_EQ(framework::FirstRunLength(std::vector<framework::NodeIndex>{4, 6}), 1u);
}

}  // namespace
}  // namespace berth::plugins
