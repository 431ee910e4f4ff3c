// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/controllers/stranded_pods.h"

#include <utility>

#include "berth/shell/client/rest_client.h"

namespace berth::controllers {
namespace {

using client::ObjectPath;
using client::WorkQueue;

// A node may be registered again; upstream waits as long before it ends the node's pods.
constexpr Duration kNodeQuarantine = std::chrono::seconds(40);

}  // namespace

StrandedPods::StrandedPods(Context& context)
    : context_(context),
      queue_(std::make_shared<WorkQueue>(
          context.loop,
          client::WorkQueueOptions{.in_flight_max = context.options.in_flight_max, .seed = context.options.seed + 32},
          [this](const std::string& key, WorkQueue::Done done) {
            if (!context_.is_stopped) Sync(key, std::move(done));
          })) {}

void StrandedPods::OnSynced() {
  is_synced_ = true;
  context_.pods.ForEach([this](const PodView& pod) { OnPod(pod); });
}

void StrandedPods::OnPod(const PodView& pod) {
  if (is_synced_ && IsStranded(pod)) queue_->AddAfter(pod.Key(), kNodeQuarantine);
}

bool StrandedPods::IsStranded(const PodView& pod) const {
  return !pod.node_name.empty() && !context_.nodes.contains(pod.node_name);
}

void StrandedPods::OnNodeGone(const std::string& name) {
  if (!is_synced_) return;
  context_.pods.ForEach([this, &name](const PodView& pod) {
    if (pod.node_name == name) queue_->AddAfter(pod.Key(), kNodeQuarantine);
  });
}

void StrandedPods::Sync(const std::string& key, WorkQueue::Done done) {
  const auto pod = context_.pods.Find(key);
  if (!pod || !IsStranded(*pod)) return done(true);
  context_.Read(ObjectPath(kCorePrefix, {}, "nodes", pod->node_name),
                [this, key, pod, done](Expected<net::Response> response) {
                  if (response.ok()) return done(true);  // the watch will show it
                  if (response.error().code != ErrorCode::kNotFound) {
                    context_.CountFailure("looking for the node of", key, response.error());
                    return done(false);
                  }
                  context_.Delete(ObjectPath(kCorePrefix, pod->namespace_name, "pods", pod->name), *pod,
                                  {.is_immediate = true}, context_.AfterCollecting(key, done));
                });
}

}  // namespace berth::controllers
