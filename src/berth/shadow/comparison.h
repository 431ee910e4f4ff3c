// SPDX-License-Identifier: Apache-2.0
// Comparison: one decision of another scheduler beside berth's, made on the cluster as it was at that moment. Nothing
// is written and nothing stays: the evaluation is a question on an overlay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/time.h"
#include "berth/core/scheduler/overlay.h"
#include "berth/shadow/sighting.h"

namespace berth::shadow {

// From full agreement to none.
enum class Match : std::uint8_t {
  kSameNode,
  kEqualNode,        // other nodes, with the same total
  kSameRefusal,      // refused by both, in the same words, and preemption at the same node or none
  kOtherReasons,     // refused by both, in other words
  kOtherPreemption,  // refused by both, in the same words; preemption at nodes that a criterion tells apart
  kWorseNode,        // theirs has fewer points than the best one
  kUnfitNode,        // theirs is refused here, and another one takes the pod
  kRefusedHere,      // placed by them alone
  kPlacedHere,       // placed here alone
  kFailedHere,       // a plugin of ours failed
};
inline constexpr std::size_t kMatchCount = 10;

// "sameNode", ...: as in JSON and in labels of metrics.
std::string_view ToString(Match match);
// Whether both schedulers would be right to do what the other one did.
constexpr bool Agrees(Match match) { return match <= Match::kSameRefusal; }

// What a plugin gives each of the two nodes, weighted.
struct PluginPoints {
  std::string plugin;
  std::int64_t ours = 0;
  std::int64_t theirs = 0;
};

struct Comparison {
  Match match = Match::kFailedHere;
  // The two agree if the pod was decided a moment earlier or later than its binding says (order_search.h).
  bool is_explained_by_order = false;
  bool is_order_untried = false;  // it might have been explained: there were too many differences to try
  std::uint64_t number = 0;       // of the decision, from 1: ShadowReport counts
  std::string pod;                // "namespace/name"
  std::string scheduler_name;
  Time seen_at{};                       // time of day
  std::string their_node;               // empty: refused
  std::string our_node;                 // the same
  std::int64_t points = 0;              // kWorseNode: by which ours is better
  std::vector<PluginPoints> plugins{};  // kWorseNode: those that tell the two apart, the largest difference first
  // Of a refusal what the condition says, or would; of kUnfitNode ours is what is said of their node.
  std::string their_message;
  std::string our_message;
  // Where preemption makes room; empty: nowhere.
  std::string their_preemption;
  std::string our_preemption;
};

// How the decision itself is made: what `berth run` would do, and is timed.
struct OwnDecision {
  runtime::Result result = runtime::Result::kError;
  std::string node;        // empty: refused
  std::string message;     // of a refusal or failure
  std::string preemption;  // of a refusal: the node at which room would be made
};

// A profile must schedule the pod.
OwnDecision Decide(scheduler::Overlay& overlay, const framework::PodInfoPtr& pod, std::uint64_t seed);

// What `theirs` and `ours`, made on the overlay as it is, have in common. Leaves the overlay as it is.
Comparison Compare(scheduler::Overlay& overlay, const Sighting& theirs, const OwnDecision& ours, std::uint64_t seed);

}  // namespace berth::shadow
