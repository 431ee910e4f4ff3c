// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/kubelet/pod_runner.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "berth/devcluster/kubelet/node_objects.h"

namespace berth::kubelet {
namespace {

using client::WorkQueue;

constexpr std::int64_t kGraceSecondsMax = 1'000'000'000;  // what is beyond cannot be added to a time

std::string KeyOf(const PodView& pod) { return pod.namespace_name + '/' + pod.name; }

client::Informer<PodView>::Options InformerOptions(std::uint64_t seed) {
  client::Informer<PodView>::Options options;
  options.name = "pods with a node";
  options.path = "/api/v1/pods";
  options.field_selector = "spec.nodeName!=";
  options.seed = seed;
  options.decode = DecodePodView;
  return options;
}

}  // namespace

PodRunner::PodRunner(Context& context, SimulatedNodes& nodes)
    : context_(context),
      nodes_(nodes),
      writer_(context.rest, {.tries = 1}),
      random_(context.options.seed),
      queue_(
          context.MakeQueue(2, [this](const std::string& key, WorkQueue::Done done) { Sync(key, std::move(done)); })),
      informer_(context.rest, InformerOptions(context.options.seed + 4), MakeHandler()) {}

client::Informer<PodView>::Handler PodRunner::MakeHandler() {
  client::Informer<PodView>::Handler handler;
  handler.on_add = [this](const auto& pod) { OnPod(pod); };
  handler.on_update = [this](const auto&, const auto& pod) { OnPod(pod); };
  handler.on_delete = [this](const auto& pod) { OnPodGone(*pod); };
  return handler;
}

void PodRunner::TakeWaitingPods(const std::string& node) {
  std::vector<std::shared_ptr<const PodView>> pods;
  for (const auto& [key, view] : waiting_) {
    if (view->node_name == node) pods.push_back(view);
  }
  for (const auto& pod : pods) {
    waiting_.erase(KeyOf(*pod));
    OnPod(pod);
  }
}

void PodRunner::OnPod(const std::shared_ptr<const PodView>& view) {
  const int number = nodes_.NumberOf(view->node_name);
  const std::string key = KeyOf(*view);
  if (number == 0) {
    if (context_.options.adopts_nodes) waiting_[key] = view;
    return;
  }
  const auto [it, is_new] = pods_.try_emplace(key);
  Pod& pod = it->second;
  const Time now = context_.loop.Now();
  if (is_new) {
    count_ = pods_.size();
    pod.node = number;
    const Duration latency = context_.options.start_latency;
    const auto spread = static_cast<std::uint64_t>(latency.count());
    pod.start_at = now + latency / 2 + Duration(random_.Below(spread + 1));
    pod.address = PodOfAddress(number, view->pod_ip);
    if (pod.address != 0) nodes_.At(number).addresses.set(static_cast<std::size_t>(pod.address));
  }
  pod.view = view;
  if (view->phase == "Running" && !pod.started_at)
    pod.started_at = now - (view->start_time ? context_.loop.WallNow() - *view->start_time : Duration::zero());
  if (view->is_deleted) {
    Duration wait = std::chrono::seconds(std::clamp<std::int64_t>(view->deletion_grace_seconds, 0, kGraceSecondsMax));
    if (!context_.options.takes_full_grace) wait = std::min(wait, context_.options.shutdown_latency);
    pod.remove_at = std::min(pod.remove_at.value_or(now + wait), now + wait);
  }
  if (const auto due = DueTime(pod)) queue_->AddAfter(key, *due - now);
}

void PodRunner::OnPodGone(const PodView& view) {
  waiting_.erase(KeyOf(view));
  const auto it = pods_.find(KeyOf(view));
  if (it == pods_.end()) return;
  if (it->second.is_remove_sent) ++removed_;
  if (it->second.address != 0) nodes_.At(it->second.node).addresses.reset(static_cast<std::size_t>(it->second.address));
  pods_.erase(it);
  count_ = pods_.size();
}

// When something is to be done for the pod; nullopt: nothing as it stands.
std::optional<Time> PodRunner::DueTime(const Pod& pod) {
  if (pod.remove_at) return pod.is_remove_sent ? std::nullopt : pod.remove_at;
  if (pod.view->IsFinished()) return std::nullopt;
  if (pod.view->phase == "Running" || pod.is_start_sent) {
    if (!pod.view->run_time || !pod.started_at || pod.is_finish_sent) return std::nullopt;
    return *pod.started_at + *pod.view->run_time;
  }
  return pod.start_at;
}

void PodRunner::Sync(const std::string& key, WorkQueue::Done done) {
  const auto it = pods_.find(key);
  if (it == pods_.end()) return done(true);
  Pod& pod = it->second;
  const auto due = DueTime(pod);
  if (!due) return done(true);
  if (*due > context_.loop.Now()) {
    queue_->AddAfter(key, *due - context_.loop.Now());
    return done(true);
  }
  const client::PodTarget target{pod.view->namespace_name, pod.view->name, pod.view->uid};
  if (pod.remove_at) {
    // The watch may show its end before the answer comes.
    pod.is_remove_sent = true;
    writer_.DeletePod(target, 0, AfterWrite(key, target.uid, "removing the pod ", done, [](Pod&) {}));
  } else if (pod.view->phase == "Running" || pod.is_start_sent) {
    writer_.PatchPodStatus(target,
                           SucceededPatch(*pod.view, context_.loop.WallAt(*pod.started_at), context_.loop.WallNow()),
                           AfterWrite(key, target.uid, "finishing the pod ", done, [this](Pod& finished) {
                             finished.is_finish_sent = true;
                             ++finished_;
                           }));
  } else {
    const std::string host_ip = NodeAddress(pod.node);
    if (pod.address == 0 && !pod.view->is_host_network) pod.address = nodes_.At(pod.node).TakeAddress();
    const std::string pod_ip = pod.view->is_host_network ? host_ip : PodAddress(pod.node, pod.address);
    const Time now = context_.loop.Now();
    writer_.PatchPodStatus(target, RunningPatch(*pod.view, host_ip, pod_ip, context_.loop.WallNow()),
                           AfterWrite(key, target.uid, "starting the pod ", done, [this, now](Pod& started) {
                             started.is_start_sent = true;
                             if (!started.started_at) started.started_at = now;
                             ++started_;
                           }));
  }
}

// The end of a write to a pod. `took_effect` runs when the pod is still the one that was meant.
client::ApiWriter::Done PodRunner::AfterWrite(const std::string& key, const std::string& uid, std::string_view doing,
                                              WorkQueue::Done done, std::function<void(Pod&)> took_effect) {
  return context_.WhenAlive([this, key, uid, doing, done = std::move(done),
                             took_effect = std::move(took_effect)](const Expected<void>& result) {
    if (!result.ok()) {
      // The pod is gone, or another has its name: the watch shows what there is instead. A refused version is tried
      // again.
      if (result.error().code == ErrorCode::kNotFound) return done(true);
      context_.CountFailure(std::string(doing) + key, result.error());
      const auto same = pods_.find(key);
      if (same != pods_.end()) same->second.is_remove_sent = false;
      return done(false);
    }
    const auto it = pods_.find(key);
    if (it == pods_.end() || it->second.view->uid != uid) return done(true);
    took_effect(it->second);
    if (const auto due = DueTime(it->second)) queue_->AddAfter(key, *due - context_.loop.Now());
    done(true);
  });
}

}  // namespace berth::kubelet
