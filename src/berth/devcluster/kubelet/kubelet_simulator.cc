// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/kubelet/kubelet_simulator.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "berth/api/meta.h"
#include "berth/api/quantity.h"
#include "berth/base/check.h"
#include "berth/base/log.h"
#include "berth/base/random.h"
#include "berth/codec/json_reader.h"
#include "berth/devcluster/kubelet/node_objects.h"
#include "berth/devcluster/kubelet/pod_objects.h"
#include "berth/devcluster/kubelet/simulated_nodes.h"
#include "berth/shell/client/api_writer.h"
#include "berth/shell/client/informer.h"
#include "berth/shell/client/work_queue.h"

namespace berth::kubelet {
namespace {

using client::ObjectPath;
using client::WorkQueue;

constexpr std::int64_t kGraceSecondsMax = 1'000'000'000;  // what is beyond cannot be added to a time
constexpr std::string_view kCore = "/api/v1";
constexpr std::string_view kCoordination = "/apis/coordination.k8s.io/v1";
constexpr std::string_view kLeaseNamespace = "kube-node-lease";
constexpr std::string_view kNodeKey = "node/";
constexpr std::string_view kLeaseKey = "lease/";
// A lease holds for four heartbeats, as a kubelet's does.
constexpr int kHeartbeatsPerLease = 4;
// Failures are logged so often at most; the rest is counted.
constexpr Duration kLogInterval = std::chrono::seconds(5);

net::Request MakeRequest(std::string method, std::string target, std::string body, std::string content_type = {}) {
  net::Request request;
  request.method = std::move(method);
  request.target = std::move(target);
  request.body = std::move(body);
  if (!content_type.empty()) request.headers.push_back({"Content-Type", std::move(content_type)});
  return request;
}

// The work queues try again themselves, and look at the newest state before they do.
constexpr client::RestOptions kOnce{.tries = 1};

}  // namespace

Expected<void> CheckKubeletOptions(const KubeletOptions& options) {
  if (options.nodes < 0 || options.nodes > kNodesMax) {
    return InvalidError("the number of simulated nodes is " + std::to_string(options.nodes) + ", and should be 0 to " +
                        std::to_string(kNodesMax));
  }
  for (const NodeShape& shape : options.shapes) {
    if (!api::IsDnsSubdomain(shape.name)) return InvalidError("\"" + shape.name + "\" is no name of a node");
  }
  if (options.shapes.size() > static_cast<std::size_t>(kNodesMax))
    return InvalidError("there are " + std::to_string(options.shapes.size()) + " node shapes, and should be at most " +
                        std::to_string(kNodesMax));
  if (options.zones < 1)
    return InvalidError("the number of zones is " + std::to_string(options.zones) + ", and should be above 0");
  if (!api::IsDnsSubdomain(options.node_prefix + std::to_string(kNodesMax))) {
    return InvalidError("the node prefix \"" + options.node_prefix +
                        "\" should be lower-case letters, digits, '-' and '.'");
  }
  if (!api::IsLabelValue(options.region))
    return InvalidError("the region \"" + options.region + "\" should be a label value");
  const std::pair<const char*, const std::string&> quantities[] = {
      {"cpu", options.cpu}, {"memory", options.memory}, {"pods", options.pods}};
  for (const auto& [name, text] : quantities) {
    const auto quantity = api::Quantity::Parse(text);
    if (!quantity.ok()) return quantity.error().Wrap(std::string("while reading the nodes' ") + name);
  }
  if (options.in_flight_max < 1 || options.renewals_per_second_max < 1 || options.heartbeat <= Duration::zero() ||
      options.start_latency < Duration::zero() || options.shutdown_latency < Duration::zero()) {
    return InvalidError("the simulated kubelets' bounds and times should be above 0");
  }
  return {};
}

// All state belongs to the loop's thread but what is atomic.
class KubeletSimulator::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(client::RestClient& rest, KubeletOptions options)
      : rest_(rest),
        loop_(rest.loop()),
        options_(std::move(options)),
        writer_(rest, {.tries = 1}),
        random_(options_.seed) {
    for (NodeShape& shape : ShapesOf(options_)) nodes_.Add(std::move(shape));
    const Duration least = Duration(std::chrono::seconds(nodes_.count())) / options_.renewals_per_second_max;
    heartbeat_ = std::max(options_.heartbeat, least);
  }

  void Start() {
    const auto weak = weak_from_this();
    const auto handler = [weak](void (Impl::*method)(const std::string&, WorkQueue::Done)) {
      return [weak, method](const std::string& key, WorkQueue::Done done) {
        const auto self = weak.lock();
        if (self && !self->is_stopped_) (self.get()->*method)(key, std::move(done));
      };
    };
    node_queue_ = std::make_shared<WorkQueue>(
        loop_, client::WorkQueueOptions{.in_flight_max = options_.in_flight_max, .seed = options_.seed + 1},
        handler(&Impl::SyncNodeOrLease));
    pod_queue_ = std::make_shared<WorkQueue>(
        loop_, client::WorkQueueOptions{.in_flight_max = options_.in_flight_max, .seed = options_.seed + 2},
        handler(&Impl::SyncPod));

    client::Informer<NodeView>::Options nodes;
    nodes.name = "nodes";
    nodes.path = "/api/v1/nodes";
    nodes.seed = options_.seed + 3;
    nodes.decode = DecodeNodeView;
    client::Informer<NodeView>::Handler on_nodes;
    on_nodes.on_add = [this](const auto& node) { OnNode(*node); };
    on_nodes.on_update = [this](const auto&, const auto& node) { OnNode(*node); };
    on_nodes.on_delete = [this](const auto& node) { OnNodeGone(*node); };
    on_nodes.on_synced = [this] { OnNodesSynced(); };
    node_informer_ = std::make_unique<client::Informer<NodeView>>(rest_, std::move(nodes), std::move(on_nodes));

    client::Informer<PodView>::Options pods;
    pods.name = "pods with a node";
    pods.path = "/api/v1/pods";
    pods.field_selector = "spec.nodeName!=";
    pods.seed = options_.seed + 4;
    pods.decode = DecodePodView;
    client::Informer<PodView>::Handler on_pods;
    on_pods.on_add = [this](const auto& pod) { OnPod(pod); };
    on_pods.on_update = [this](const auto&, const auto& pod) { OnPod(pod); };
    on_pods.on_delete = [this](const auto& pod) { OnPodGone(*pod); };
    pod_informer_ = std::make_unique<client::Informer<PodView>>(rest_, std::move(pods), std::move(on_pods));

    node_informer_->Start();
    pod_informer_->Start();
  }

  void Stop() {
    if (is_stopped_.exchange(true)) return;
    if (node_informer_) node_informer_->Stop();
    if (pod_informer_) pod_informer_->Stop();
  }

  KubeletStats Stats() const {
    return {nodes_ready_, pods_count_, pods_started_, pods_finished_, pods_removed_, renewals_, failures_};
  }

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

  // Wraps the end of a request: it does nothing once we have stopped.
  template <typename F>
  auto WhenAlive(F work) {
    return [weak = weak_from_this(), work = std::move(work)](auto&&... args) {
      const auto self = weak.lock();
      if (self && !self->is_stopped_) work(*self, std::forward<decltype(args)>(args)...);
    };
  }

  void CountFailure(const std::string& doing, const Error& error) {
    ++failures_;
    if (failure_logged_at_ && loop_.Now() - *failure_logged_at_ < kLogInterval) return;
    failure_logged_at_ = loop_.Now();
    log::Warning("kubelet", "Will try again",
                 {{"while", doing}, {"err", error.message}, {"failures", failures_.load()}});
  }

  // ---- nodes

  // 0 when it is not to be ours.
  int Adopt(const NodeView& view) {
    if (!options_.adopts_nodes || nodes_.count() >= kNodesMax) return 0;
    NodeShape shape;
    shape.name = view.name;
    shape.cpu = options_.cpu;
    shape.memory = options_.memory;
    shape.pods = options_.pods;
    shape.kubelet_version = options_.version;
    const int number = nodes_.Add(std::move(shape));
    nodes_.At(number).is_adopted = true;
    return number;
  }

  // Takes up the pods that were bound to a node before it was known.
  void TakeWaitingPods(const std::string& node) {
    std::vector<std::shared_ptr<const PodView>> pods;
    for (const auto& [key, view] : waiting_) {
      if (view->node_name == node) pods.push_back(view);
    }
    for (const auto& pod : pods) {
      waiting_.erase(KeyOf(*pod));
      OnPod(pod);
    }
  }

  void SetReady(SimulatedNode& node, bool is_ready) {
    if (node.is_ready == is_ready) return;
    node.is_ready = is_ready;
    nodes_ready_ += is_ready ? 1 : -1;
  }

  void OnNode(const NodeView& view) {
    int number = nodes_.NumberOf(view.name);
    const bool is_new = number == 0;
    if (is_new) number = Adopt(view);
    if (number == 0) return;
    if (is_new) TakeWaitingPods(view.name);
    SimulatedNode& node = nodes_.At(number);
    if (node.is_adopted) {
      node.has_labels = view.has_hostname;
      // What a report of ours brought is its own from then on.
      node.keeps_amounts = view.has_amounts;
    }
    node.was_seen = true;
    node.exists = true;
    node.uid = view.uid;
    SetReady(node, view.is_ready);
    if (!is_synced_) return;
    if (!view.is_ready || !node.is_reported) node_queue_->Add(std::string(kNodeKey) + view.name);
    RenewSoon(view.name, node);
  }

  void OnNodeGone(const NodeView& view) {
    const int number = nodes_.NumberOf(view.name);
    if (number == 0) return;
    SimulatedNode& node = nodes_.At(number);
    node.exists = false;
    node.has_lease = false;
    if (node.is_adopted) node.is_reported = false;  // it may come again, as somebody else makes it
    SetReady(node, false);
  }

  void OnNodesSynced() {
    is_synced_ = true;
    for (int number = 1; number <= nodes_.count(); ++number) {
      node_queue_->Add(std::string(kNodeKey) + nodes_.At(number).shape.name);
    }
  }

  void SyncNodeOrLease(const std::string& key, WorkQueue::Done done) {
    const bool is_node = key.starts_with(kNodeKey);
    const std::string name = key.substr((is_node ? kNodeKey : kLeaseKey).size());
    const int number = nodes_.NumberOf(name);
    if (number == 0) return done(true);
    if (is_node) {
      SyncNode(number, name, std::move(done));
    } else {
      SyncLease(number, name, std::move(done));
    }
  }

  void SyncNode(int number, const std::string& name, WorkQueue::Done done) {
    const SimulatedNode& node = nodes_.At(number);
    if (!node.exists) {
      if (node.was_seen) return done(true);
      return CreateNode(number, name, std::move(done));
    }
    if (node.is_adopted && !node.has_labels) return LabelNode(number, name, std::move(done));
    if (node.is_ready && node.is_reported) return done(true);
    auto request = MakeRequest("PATCH", ObjectPath(kCore, {}, "nodes", name, "status"),
                               NodeStatusPatch(node.shape, number, node.keeps_amounts, loop_.WallNow()),
                               "application/strategic-merge-patch+json");
    rest_.Do(std::move(request), kOnce, WhenAlive([number, name, done](Impl& self, Expected<net::Response> response) {
               if (!response.ok()) {
                 if (response.error().code == ErrorCode::kNotFound) return done(true);  // the watch shows that as well
                 self.CountFailure("reporting the status of node " + name, response.error());
                 return done(false);
               }
               self.nodes_.At(number).is_reported = true;
               self.SetReady(self.nodes_.At(number), true);
               self.RenewSoon(name, self.nodes_.At(number));
               done(true);
             }));
  }

  void LabelNode(int number, const std::string& name, WorkQueue::Done done) {
    auto request = MakeRequest("PATCH", ObjectPath(kCore, {}, "nodes", name), NodeLabelsPatch(name),
                               "application/merge-patch+json");
    rest_.Do(std::move(request), kOnce, WhenAlive([number, name, done](Impl& self, Expected<net::Response> response) {
               if (!response.ok() && response.error().code != ErrorCode::kNotFound) {
                 self.CountFailure("labelling node " + name, response.error());
                 return done(false);
               }
               self.nodes_.At(number).has_labels = true;
               self.node_queue_->Add(std::string(kNodeKey) + name);
               done(true);
             }));
  }

  void CreateNode(int number, const std::string& name, WorkQueue::Done done) {
    auto request = MakeRequest("POST", ObjectPath(kCore, {}, "nodes"),
                               NodeDocument(nodes_.At(number).shape, number, loop_.WallNow()));
    rest_.Do(std::move(request), kOnce, WhenAlive([number, name, done](Impl& self, Expected<net::Response> response) {
               SimulatedNode& node = self.nodes_.At(number);
               if (!response.ok()) {
                 // It is there although the list did not show it, or an answer of ours was lost: take it over.
                 if (response.error().code == ErrorCode::kAlreadyExists) {
                   node.was_seen = node.exists = true;
                   self.node_queue_->Add(std::string(kNodeKey) + name);
                   return done(true);
                 }
                 self.CountFailure("creating node " + name, response.error());
                 return done(false);
               }
               node.was_seen = node.exists = true;
               auto answer = self.reader_.Parse(response->body);
               const auto view =
                   answer.ok() ? DecodeNodeView(*answer) : Expected<std::shared_ptr<const NodeView>>(answer.error());
               if (view.ok() && node.uid.empty()) node.uid = (*view)->uid;
               // API servers keep a new node's status. To one that drops it the status is written again.
               node.is_reported = view.ok() && (*view)->is_ready;
               self.SetReady(node, node.is_reported);
               if (!node.is_reported) self.node_queue_->Add(std::string(kNodeKey) + name);
               self.RenewSoon(name, node);
               done(true);
             }));
  }

  // ---- leases

  // Takes the next free place in the sequence of renewals, which is what bounds their rate.
  Duration NextRenewalSlot() {
    const Time now = loop_.Now();
    renewal_slot_ = std::max(now, renewal_slot_);
    const Duration wait = renewal_slot_ - now;
    renewal_slot_ += Duration(std::chrono::seconds(1)) / options_.renewals_per_second_max;
    return wait;
  }

  // Begins the renewals of a node that has none under way.
  void RenewSoon(const std::string& name, SimulatedNode& node) {
    if (node.has_lease) return;
    node.has_lease = true;
    node_queue_->AddAfter(std::string(kLeaseKey) + name, NextRenewalSlot());
  }

  void SyncLease(int number, const std::string& name, WorkQueue::Done done) {
    const SimulatedNode& node = nodes_.At(number);
    if (!node.exists) return done(true);
    auto request = MakeRequest("PATCH", ObjectPath(kCoordination, kLeaseNamespace, "leases", name),
                               LeaseRenewal(name, heartbeat_ * kHeartbeatsPerLease, loop_.WallNow()),
                               "application/merge-patch+json");
    rest_.Do(std::move(request), kOnce, WhenAlive([number, name, done](Impl& self, Expected<net::Response> response) {
               if (response.ok()) return self.OnRenewed(name, done);
               if (response.error().code == ErrorCode::kNotFound) return self.CreateLease(number, name, done);
               self.CountFailure("renewing the lease of node " + name, response.error());
               done(false);
             }));
  }

  void OnRenewed(const std::string& name, const WorkQueue::Done& done) {
    ++renewals_;
    node_queue_->AddAfter(std::string(kLeaseKey) + name, heartbeat_);
    done(true);
  }

  void CreateLease(int number, const std::string& name, const WorkQueue::Done& done) {
    auto request =
        MakeRequest("POST", ObjectPath(kCoordination, kLeaseNamespace, "leases"),
                    LeaseDocument(name, nodes_.At(number).uid, heartbeat_ * kHeartbeatsPerLease, loop_.WallNow()));
    rest_.Do(std::move(request), kOnce, WhenAlive([name, done](Impl& self, Expected<net::Response> response) {
               if (response.ok()) return self.OnRenewed(name, done);
               if (response.error().code == ErrorCode::kNotFound) return self.CreateLeaseNamespace(done);
               if (response.error().code == ErrorCode::kAlreadyExists) return done(false);
               self.CountFailure("creating the lease of node " + name, response.error());
               done(false);
             }));
  }

  void CreateLeaseNamespace(const WorkQueue::Done& done) {
    auto request = MakeRequest(
        "POST", ObjectPath(kCore, {}, "namespaces"),
        R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")" + std::string(kLeaseNamespace) + R"("}})");
    rest_.Do(std::move(request), kOnce, WhenAlive([done](Impl& self, Expected<net::Response> response) {
               if (!response.ok() && response.error().code != ErrorCode::kAlreadyExists) {
                 self.CountFailure("creating the namespace " + std::string(kLeaseNamespace), response.error());
               }
               done(false);  // the lease itself is still to come
             }));
  }

  // ---- pods

  static std::string KeyOf(const PodView& pod) { return pod.namespace_name + '/' + pod.name; }

  void OnPod(const std::shared_ptr<const PodView>& view) {
    const int number = nodes_.NumberOf(view->node_name);
    const std::string key = KeyOf(*view);
    if (number == 0) {
      if (options_.adopts_nodes) waiting_[key] = view;
      return;
    }
    const auto [it, is_new] = pods_.try_emplace(key);
    Pod& pod = it->second;
    const Time now = loop_.Now();
    if (is_new) {
      pods_count_ = pods_.size();
      pod.node = number;
      const Duration latency = options_.start_latency;
      const auto spread = static_cast<std::uint64_t>(latency.count());
      pod.start_at = now + latency / 2 + Duration(random_.Below(spread + 1));
      pod.address = PodOfAddress(number, view->pod_ip);
      if (pod.address != 0) nodes_.At(number).addresses.set(static_cast<std::size_t>(pod.address));
    }
    pod.view = view;
    if (view->phase == "Running" && !pod.started_at)
      pod.started_at = now - (view->start_time ? loop_.WallNow() - *view->start_time : Duration::zero());
    if (view->is_deleted) {
      Duration wait = std::chrono::seconds(std::clamp<std::int64_t>(view->deletion_grace_seconds, 0, kGraceSecondsMax));
      if (!options_.takes_full_grace) wait = std::min(wait, options_.shutdown_latency);
      pod.remove_at = std::min(pod.remove_at.value_or(now + wait), now + wait);
    }
    if (const auto due = DueTime(pod)) pod_queue_->AddAfter(key, *due - now);
  }

  void OnPodGone(const PodView& view) {
    waiting_.erase(KeyOf(view));
    const auto it = pods_.find(KeyOf(view));
    if (it == pods_.end()) return;
    if (it->second.is_remove_sent) ++pods_removed_;
    if (it->second.address != 0)
      nodes_.At(it->second.node).addresses.reset(static_cast<std::size_t>(it->second.address));
    pods_.erase(it);
    pods_count_ = pods_.size();
  }

  // When something is to be done for the pod; nullopt: nothing as it stands.
  static std::optional<Time> DueTime(const Pod& pod) {
    if (pod.remove_at) return pod.is_remove_sent ? std::nullopt : pod.remove_at;
    if (pod.view->IsFinished()) return std::nullopt;
    if (pod.view->phase == "Running" || pod.is_start_sent) {
      if (!pod.view->run_time || !pod.started_at || pod.is_finish_sent) return std::nullopt;
      return *pod.started_at + *pod.view->run_time;
    }
    return pod.start_at;
  }

  void SyncPod(const std::string& key, WorkQueue::Done done) {
    const auto it = pods_.find(key);
    if (it == pods_.end()) return done(true);
    Pod& pod = it->second;
    const auto due = DueTime(pod);
    if (!due) return done(true);
    if (*due > loop_.Now()) {
      pod_queue_->AddAfter(key, *due - loop_.Now());
      return done(true);
    }
    const client::PodTarget target{pod.view->namespace_name, pod.view->name, pod.view->uid};
    if (pod.remove_at) {
      // The watch may show its end before the answer comes.
      pod.is_remove_sent = true;
      writer_.DeletePod(target, 0, AfterWrite(key, target.uid, "removing the pod ", done, [](Impl&, Pod&) {}));
    } else if (pod.view->phase == "Running" || pod.is_start_sent) {
      writer_.PatchPodStatus(target, SucceededPatch(*pod.view, loop_.WallAt(*pod.started_at), loop_.WallNow()),
                             AfterWrite(key, target.uid, "finishing the pod ", done, [](Impl& self, Pod& finished) {
                               finished.is_finish_sent = true;
                               ++self.pods_finished_;
                             }));
    } else {
      const std::string host_ip = NodeAddress(pod.node);
      if (pod.address == 0 && !pod.view->is_host_network) pod.address = nodes_.At(pod.node).TakeAddress();
      const std::string pod_ip = pod.view->is_host_network ? host_ip : PodAddress(pod.node, pod.address);
      const Time now = loop_.Now();
      writer_.PatchPodStatus(target, RunningPatch(*pod.view, host_ip, pod_ip, loop_.WallNow()),
                             AfterWrite(key, target.uid, "starting the pod ", done, [now](Impl& self, Pod& started) {
                               started.is_start_sent = true;
                               if (!started.started_at) started.started_at = now;
                               ++self.pods_started_;
                             }));
    }
  }

  // The end of a write to a pod. `took_effect` runs when the pod is still the one that was meant.
  client::ApiWriter::Done AfterWrite(const std::string& key, const std::string& uid, std::string_view doing,
                                     WorkQueue::Done done, std::function<void(Impl&, Pod&)> took_effect) {
    return WhenAlive([key, uid, doing, done = std::move(done), took_effect = std::move(took_effect)](
                         Impl& self, Expected<void> result) {
      if (!result.ok()) {
        // The pod is gone, or another has its name: the watch shows what there is instead. A refused version is tried
        // again.
        if (result.error().code == ErrorCode::kNotFound) return done(true);
        self.CountFailure(std::string(doing) + key, result.error());
        const auto same = self.pods_.find(key);
        if (same != self.pods_.end()) same->second.is_remove_sent = false;
        return done(false);
      }
      const auto it = self.pods_.find(key);
      if (it == self.pods_.end() || it->second.view->uid != uid) return done(true);
      took_effect(self, it->second);
      if (const auto due = DueTime(it->second)) self.pod_queue_->AddAfter(key, *due - self.loop_.Now());
      done(true);
    });
  }

  client::RestClient& rest_;
  client::EventLoop& loop_;
  const KubeletOptions options_;
  client::ApiWriter writer_;
  codec::JsonReader reader_;
  Random random_;
  Duration heartbeat_;

  SimulatedNodes nodes_;
  StringHashMap<Pod> pods_;
  StringHashMap<std::shared_ptr<const PodView>> waiting_;  // bound to nodes that are not known; where nodes are adopted
  bool is_synced_ = false;
  Time renewal_slot_;
  std::optional<Time> failure_logged_at_;
  std::shared_ptr<WorkQueue> node_queue_;
  std::shared_ptr<WorkQueue> pod_queue_;
  std::unique_ptr<client::Informer<NodeView>> node_informer_;
  std::unique_ptr<client::Informer<PodView>> pod_informer_;

  std::atomic<bool> is_stopped_{false};
  std::atomic<int> nodes_ready_{0};
  std::atomic<std::size_t> pods_count_{0};
  std::atomic<std::uint64_t> pods_started_{0};
  std::atomic<std::uint64_t> pods_finished_{0};
  std::atomic<std::uint64_t> pods_removed_{0};
  std::atomic<std::uint64_t> renewals_{0};
  std::atomic<std::uint64_t> failures_{0};
};

KubeletSimulator::KubeletSimulator(client::RestClient& rest, KubeletOptions options) {
  const auto check = CheckKubeletOptions(options);
  BERTH_CHECK(check.ok(), check.error().message);
  impl_ = std::make_shared<Impl>(rest, std::move(options));
}

KubeletSimulator::~KubeletSimulator() { Stop(); }

void KubeletSimulator::Start() { impl_->Start(); }
void KubeletSimulator::Stop() { impl_->Stop(); }
KubeletStats KubeletSimulator::Stats() const { return impl_->Stats(); }

}  // namespace berth::kubelet
