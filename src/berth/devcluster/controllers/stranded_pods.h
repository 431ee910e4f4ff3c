// SPDX-License-Identifier: Apache-2.0
// StrandedPods: ends the pods of nodes that are gone, as nobody else does. The API server is asked before a node is
// taken for gone. On the loop's thread.
#pragma once

#include <memory>
#include <string>

#include "berth/devcluster/controllers/context.h"
#include "berth/devcluster/controllers/objects.h"
#include "berth/shell/client/work_queue.h"

namespace berth::controllers {

class StrandedPods {
 public:
  // `context` owns what uses it and outlives it.
  explicit StrandedPods(Context& context);

  // Until the lists are complete nothing is done.
  void OnSynced();
  void OnPod(const PodView& pod);
  void OnNodeGone(const std::string& name);

 private:
  void Sync(const std::string& key, client::WorkQueue::Done done);
  bool IsStranded(const PodView& pod) const;

  Context& context_;
  std::shared_ptr<client::WorkQueue> queue_;
  bool is_synced_ = false;
};

}  // namespace berth::controllers
