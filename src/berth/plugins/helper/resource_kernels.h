// SPDX-License-Identifier: Apache-2.0
// Fitting and scoring of many rows at once by cpu and memory, in vector instructions where the CPU has them. The
// results are exactly those of the integer and floating-point arithmetic of kube-scheduler. Pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "berth/base/cpu.h"

namespace berth::plugins {

// Rows are given to the kernels in pieces of about this many, so that one odd row spoils the vector form of few others.
inline constexpr std::size_t kKernelRows = 256;

// A resource of `count` consecutive rows; the pointers are those of the first one.
struct ResourceRows {
  const std::int64_t* allocatable = nullptr;
  const std::int64_t* allocated = nullptr;
  const double* reciprocal = nullptr;  // 1 / allocatable; AnyIsShort does without
  std::int64_t pod_request = 0;
};

// The columns from row `first` on.
inline std::array<ResourceRows, 2> From(const std::array<ResourceRows, 2>& columns, std::size_t first) {
  std::array<ResourceRows, 2> rows = columns;
  for (ResourceRows& resource : rows) {
    resource.allocatable += first;
    resource.allocated += first;
    if (resource.reciprocal != nullptr) resource.reciprocal += first;
  }
  return rows;
}

// Runs shorter than this are not worth a kernel's start.
inline constexpr std::size_t kKernelRowsMin = 8;

// Whether some row is short of a pod slot or of a resource: those of which more is requested than allocatable -
// allocated, which wraps. A request of 0 or less is never short.
bool AnyIsShort(const std::int64_t* allocatable_pods, const std::int64_t* pod_count,
                const std::array<ResourceRows, 2>& resources, std::size_t count, CpuLevel level = BestCpuLevel());

// The weights that WeightedShare takes: 1 to this.
inline constexpr std::int64_t kKernelWeightMax = 1 << 20;

enum class ShareOf : std::uint8_t { kFree, kUsed };

// Whether scores of these rows are exact in double precision, which the two below demand: capacities of 1 to
// framework::kUsualAmountMax, allocated amounts of 0 to below it. Pod requests must be in the range of the latter.
bool AreExact(const std::array<ResourceRows, 2>& resources, std::size_t count);

// Scores of NodeResourcesFit: the mean, by weight, of what is free (kLeastAllocated) or used (kMostAllocated) of each
// resource with the pod on the node, in whole percent.
void WeightedShare(ShareOf share, const std::array<ResourceRows, 2>& resources,
                   const std::array<std::int64_t, 2>& weights, std::size_t count, std::int64_t* scores,
                   CpuLevel level = BestCpuLevel());

// What NodeResourcesBalancedAllocation scores: what the pod changes in the balance of the used shares, or the balance
// with the pod (Release::scores_change_of_balance).
enum class BalanceScore : std::uint8_t { kChange, kOutcome };

// Scores of NodeResourcesBalancedAllocation over two resources.
void BalanceOfTwo(BalanceScore score, const std::array<ResourceRows, 2>& resources, std::size_t count,
                  std::int64_t* scores, CpuLevel level = BestCpuLevel());

// Upper bounds of BalanceOfTwo's scores. Each pair of rows stands for a set of rows: `emptiest` has the largest
// allocatable and the smallest allocated amounts of the set, and `fullest` the opposite. Demands what BalanceOfTwo
// does.
void BoundsOfBalance(BalanceScore score, const std::array<ResourceRows, 2>& emptiest,
                     const std::array<ResourceRows, 2>& fullest, std::size_t count, std::int64_t* bounds);

}  // namespace berth::plugins
