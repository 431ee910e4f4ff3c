// SPDX-License-Identifier: Apache-2.0
// The smallest changes with which a refused pod would be placed, found by trying them on an overlay: each is evaluated
// as the scheduler would, and of each kind none that is smaller does. Within turns only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "berth/api/pod.h"
#include "berth/core/scheduler/overlay.h"
#include "berth/framework/status.h"

namespace berth::whatif {

enum class ChangeKind : std::uint8_t {
  kRequest,     // the pod asks for less of one resource
  kToleration,  // the pod tolerates one more taint
  kSelector,    // the pod names one requirement less: nodeSelector, affinity, spreading, a host port
  kNode,        // a node gets labels, or is uncordoned
  kPodLess,     // one pod less on a node
  kNewNode,     // one more node like one that there is
  kTogether,    // several of these at once, for one node
};

// "request", "toleration", ...: as in JSON.
std::string_view ToString(ChangeKind kind);

struct Change {
  ChangeKind kind{};
  std::vector<std::string> what;  // a line for each field or object that changes
  // The nodes that the pod would fit then: how many, and some of them by name.
  std::size_t node_count = 0;
  std::vector<std::string> nodes;
};

// What each filter says of a node that was refused.
using RefusalsByRow = std::map<framework::NodeIndex, std::vector<framework::Status>>;

struct ChangeSearch {
  std::vector<Change> changes;  // the kinds in the order of ChangeKind
  bool is_complete = true;      // false: a bound ended the search, and there may be others
  std::size_t evaluation_count = 0;
};

// `pod` must have been refused by an evaluation on the overlay, with `refusals` of all nodes. Everything that is tried
// is taken back. Bounded: of each kind so many are tried (kTriesMax), the nearest nodes first; and it ends, not
// complete, once `is_over` says so. What is named then is right all the same. Empty: it is never over.
ChangeSearch FindSmallestChanges(scheduler::Overlay& overlay, const api::Pod& pod, const RefusalsByRow& refusals,
                                 const std::function<bool()>& is_over = {});

}  // namespace berth::whatif
