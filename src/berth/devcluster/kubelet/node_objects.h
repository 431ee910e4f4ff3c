// SPDX-License-Identifier: Apache-2.0
// The documents of a simulated node: its Node object, its status and its lease. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include <simdjson.h>

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/devcluster/kubelet/kubelet_simulator.h"

namespace berth::kubelet {

// "node-3" is number 3 when there are so many nodes of that prefix; 0: not ours.
int NodeNumber(const KubeletOptions& options, std::string_view name);
std::string NodeName(const KubeletOptions& options, int number);
// The host's address, and that of its pod number `pod` (1 to 254).
std::string NodeAddress(int number);
std::string PodAddress(int number, int pod);
// The pod number in an address that PodAddress made for this node; 0 when it is another.
int PodOfAddress(int number, std::string_view address);

// The whole Node, with its status, for a POST.
std::string NodeDocument(const KubeletOptions& options, int number, Time now);
// A strategic merge patch of nodes/NAME/status: the kubelet of that node reports that it is ready.
std::string NodeStatusPatch(const KubeletOptions& options, int number, Time now);

// Lease of a node; `node_uid` may be empty. For a POST.
std::string LeaseDocument(const std::string& node_name, const std::string& node_uid, Duration duration, Time now);
// A merge patch that renews it.
std::string LeaseRenewal(const std::string& node_name, Duration duration, Time now);

// What the simulator reads of a Node.
struct NodeView {
  std::string name;
  std::string uid;
  bool is_ready = false;
};
Expected<std::shared_ptr<const NodeView>> DecodeNodeView(const simdjson::dom::element& object);

}  // namespace berth::kubelet
