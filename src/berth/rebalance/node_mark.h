// SPDX-License-Identifier: Apache-2.0
// NodeMark: what berth writes on a node for Consolidate, and what it reads from that later. Pure.
//
//     no mark --> cordoned, "true" --> no mark          the node is not emptied any more
//                       |
//                       +--> "true" --> "after TIME"    somebody else has uncordoned it
//
// Until TIME the node is left alone. After that the mark means nothing, and the node may be cordoned again.
#pragma once

#include <string>
#include <string_view>

#include "berth/api/node.h"
#include "berth/base/time.h"

namespace berth::rebalance {

inline constexpr std::string_view kConsolidatingAnnotation = "berth.dev/consolidating";
// How long Consolidate leaves a node alone after somebody else has uncordoned it.
inline constexpr Duration kUncordonedPause = std::chrono::hours(1);

// All that berth wants a node to have. Two empty fields: berth's mark goes, and with it the cordon, if it is berth's.
struct NodeMark {
  bool is_cordoned = false;
  std::string consolidating;  // the annotation's value
  bool operator==(const NodeMark&) const = default;
};

NodeMark CordonMark();
NodeMark LeaveAloneMark(Time until);

// Whether the node is cordoned and has the mark of being emptied.
bool IsConsolidating(const api::Node& node);
// Whether the node has the mark of being emptied and is not cordoned: somebody else has uncordoned it.
bool WasUncordoned(const api::Node& node);
// Whether somebody else has uncordoned the node, not long ago.
bool IsLeftAlone(const api::Node& node, Time now);

}  // namespace berth::rebalance
