// SPDX-License-Identifier: Apache-2.0
// ClusterWatch: keeps a Fleet current with two informers, of nodes and of pods. Its callbacks come on the client's loop
// and do no more than change rows. Start() and Stop() on a thread that is not the loop's.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "berth/api/node.h"
#include "berth/api/pod.h"
#include "berth/base/time.h"
#include "berth/page/fleet.h"
#include "berth/shell/client/informer.h"
#include "berth/shell/client/rest_client.h"

namespace berth::page {

class ClusterWatch {
 public:
  // All three must outlive it.
  ClusterWatch(client::RestClient& rest, Fleet& fleet, const Clock& clock, std::uint64_t seed);
  ClusterWatch(const ClusterWatch&) = delete;
  ClusterWatch& operator=(const ClusterWatch&) = delete;

  void Start();
  // No row is changed after it returns.
  void Stop();

  // All nodes and pods have been listed once. Any thread.
  bool HasSynced() const { return nodes_->HasSynced() && pods_->HasSynced(); }
  // Why nothing new is heard of the cluster; empty: all is well. Any thread.
  std::string Problem() const;

 private:
  void MakeNodeInformer(client::RestClient& rest, std::uint64_t seed);
  void MakePodInformer(client::RestClient& rest, std::uint64_t seed);

  Fleet& fleet_;
  const Clock& clock_;
  bool has_started_ = false;
  std::atomic<bool> has_pods_{false};  // what comes from now on is news
  std::unique_ptr<client::Informer<api::Node>> nodes_;
  std::unique_ptr<client::Informer<api::Pod>> pods_;
};

}  // namespace berth::page
