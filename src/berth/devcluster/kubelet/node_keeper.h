// SPDX-License-Identifier: Apache-2.0
// NodeKeeper: creates the Node objects of a KubeletSimulator, adopts others' where it is asked to, and reports them
// ready. On the loop's thread, apart from the counts.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "berth/codec/json_reader.h"
#include "berth/devcluster/kubelet/context.h"
#include "berth/devcluster/kubelet/lease_keeper.h"
#include "berth/devcluster/kubelet/node_objects.h"
#include "berth/devcluster/kubelet/simulated_nodes.h"
#include "berth/shell/client/informer.h"

namespace berth::kubelet {

class NodeKeeper {
 public:
  // `on_adopted` is called when a node has become ours. Both references must outlive it.
  NodeKeeper(Context& context, SimulatedNodes& nodes, std::function<void(const std::string& node)> on_adopted);

  void Start() { informer_.Start(); }
  void Stop() { informer_.Stop(); }

  int ready_count() const { return ready_count_; }
  std::uint64_t renewals() const { return leases_.renewals(); }

 private:
  client::Informer<NodeView>::Handler MakeHandler();
  int Adopt(const NodeView& view);
  void OnNode(const NodeView& view);
  void OnNodeGone(const NodeView& view);
  void OnSynced();
  void SetReady(SimulatedNode& node, bool is_ready);
  void SyncSoon(const SimulatedNode& node);
  void SyncNodeOrLease(const std::string& key, client::WorkQueue::Done done);
  void Sync(int number, client::WorkQueue::Done done);
  void ReportStatus(int number, client::WorkQueue::Done done);
  void Label(int number, client::WorkQueue::Done done);
  void Create(int number, client::WorkQueue::Done done);
  void OnCreated(SimulatedNode& node, const net::Response& response);

  Context& context_;
  SimulatedNodes& nodes_;
  const std::function<void(const std::string& node)> on_adopted_;
  const std::shared_ptr<client::WorkQueue> queue_;
  LeaseKeeper leases_;
  codec::JsonReader reader_;
  bool is_synced_ = false;
  std::atomic<int> ready_count_{0};
  client::Informer<NodeView> informer_;
};

}  // namespace berth::kubelet
