// SPDX-License-Identifier: Apache-2.0
// The documents of a simulated node: its Node object, its status and its lease. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <simdjson.h>

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/devcluster/kubelet/kubelet_simulator.h"

namespace berth::kubelet {

// The nodes that the options ask for, the first of which is number 1.
std::vector<NodeShape> ShapesOf(const KubeletOptions& options);
// The host's address, and that of its pod number `pod` (1 to 254).
std::string NodeAddress(int number);
std::string PodAddress(int number, int pod);
// The pod number in an address that PodAddress made for this node; 0 when it is another.
int PodOfAddress(int number, std::string_view address);

// The whole Node, with its status, for a POST.
std::string NodeDocument(const NodeShape& shape, int number, Time now);
// A strategic merge patch of nodes/NAME/status: the kubelet of that node reports that it is ready. `keeps_amounts`: the
// node has a capacity or allocatable of its own.
std::string NodeStatusPatch(const NodeShape& shape, int number, bool keeps_amounts, Time now);
// A merge patch of nodes/NAME: the labels that a kubelet gives its node.
std::string NodeLabelsPatch(const std::string& name);

// Lease of a node; `node_uid` may be empty. For a POST.
std::string LeaseDocument(const std::string& node_name, const std::string& node_uid, Duration duration, Time now);
// A merge patch that renews it.
std::string LeaseRenewal(const std::string& node_name, Duration duration, Time now);

// What the simulator reads of a Node.
struct NodeView {
  std::string name;
  std::string uid;
  bool is_ready = false;
  bool has_amounts = false;   // capacity or allocatable
  bool has_hostname = false;  // the label
};
Expected<std::shared_ptr<const NodeView>> DecodeNodeView(const simdjson::dom::element& object);

}  // namespace berth::kubelet
