// SPDX-License-Identifier: Apache-2.0
// PackingProblem: which nodes to buy, as numbers alone: kinds of pods with amounts, offers of nodes with room and a
// price. What scheduling demands beyond that is in `fits`, as far as it concerns one node and one kind of pod. A value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace berth::buy {

// One entry for each resource that any pod requests, the number of pods being one of them; units are those of
// framework::Resource.
using Amounts = std::vector<std::int64_t>;

inline constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

// Pods that are alike in amounts and in where they fit.
struct PodKind {
  std::int64_t count = 0;
  Amounts size;
};

// Nodes of one shape in one zone.
struct NodeOffer {
  Amounts room;  // for pods: what a node has less what its DaemonSets take
  std::int64_t price_micro = 0;
  std::int64_t count_max = kUnlimited;
  std::vector<std::int32_t> fits;  // by kind: how many pods of it alone such a node takes; 0: it refuses them
};

// The sum of these amounts over all nodes must not exceed `max`: a number of nodes, or a share of them.
struct SideLimit {
  std::vector<double> per_offer;
  double max = 0;
};

struct PackingProblem {
  std::vector<PodKind> kinds;
  std::vector<NodeOffer> offers;
  std::vector<SideLimit> limits;
};

// What a node is filled with: pods of a kind, by kind in ascending order.
using Fill = std::vector<std::pair<std::size_t, std::int32_t>>;

struct PackedNode {
  std::size_t offer = 0;
  Fill fill;
};

struct Packing {
  std::vector<PackedNode> nodes;
  std::vector<std::int64_t> left;  // by kind: pods for which there is no node
  std::int64_t price_micro = 0;

  std::int64_t LeftCount() const;
};

// Whether a node of the offer takes all of the fill.
bool Fits(const PackingProblem& problem, const NodeOffer& offer, const Fill& fill);

}  // namespace berth::buy
