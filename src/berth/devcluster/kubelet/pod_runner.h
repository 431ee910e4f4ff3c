// SPDX-License-Identifier: Apache-2.0
// PodRunner: starts the pods that are bound to simulated nodes, ends those that have run long enough, and finishes
// deletions. On the loop's thread, apart from the counts.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "berth/base/hash_map.h"
#include "berth/base/random.h"
#include "berth/devcluster/kubelet/context.h"
#include "berth/devcluster/kubelet/pod_objects.h"
#include "berth/devcluster/kubelet/simulated_nodes.h"
#include "berth/shell/client/api_writer.h"
#include "berth/shell/client/informer.h"

namespace berth::kubelet {

class PodRunner {
 public:
  // Both must outlive it.
  PodRunner(Context& context, SimulatedNodes& nodes);

  void Start() { informer_.Start(); }
  void Stop() { informer_.Stop(); }
  // Takes up the pods that were bound to a node before it was known.
  void TakeWaitingPods(const std::string& node);

  std::size_t count() const { return count_; }  // of pods on our nodes
  std::uint64_t started() const { return started_; }
  std::uint64_t finished() const { return finished_; }
  std::uint64_t removed() const { return removed_; }

 private:
  struct Pod {
    std::shared_ptr<const PodView> view;
    int node = 0;
    int address = 0;
    Time start_at;
    std::optional<Time> started_at;
    std::optional<Time> remove_at;
    bool is_start_sent = false;
    bool is_finish_sent = false;
    bool is_remove_sent = false;
  };

  client::Informer<PodView>::Handler MakeHandler();
  void OnPod(const std::shared_ptr<const PodView>& view);
  void OnPodGone(const PodView& view);
  void Sync(const std::string& key, client::WorkQueue::Done done);
  static std::optional<Time> DueTime(const Pod& pod);
  client::ApiWriter::Done AfterWrite(const std::string& key, const std::string& uid, std::string_view doing,
                                     client::WorkQueue::Done done, std::function<void(Pod&)> took_effect);

  Context& context_;
  SimulatedNodes& nodes_;
  client::ApiWriter writer_;
  Random random_;
  StringHashMap<Pod> pods_;
  StringHashMap<std::shared_ptr<const PodView>> waiting_;  // bound to nodes that are not known; where nodes are adopted
  const std::shared_ptr<client::WorkQueue> queue_;
  std::atomic<std::size_t> count_{0};
  std::atomic<std::uint64_t> started_{0};
  std::atomic<std::uint64_t> finished_{0};
  std::atomic<std::uint64_t> removed_{0};
  client::Informer<PodView> informer_;
};

}  // namespace berth::kubelet
