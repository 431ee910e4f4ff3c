// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/runner/feeds.h"

#include <string>
#include <utility>

#include "berth/api/decode.h"
#include "berth/api/decode_protobuf_frame.h"
#include "berth/codec/json_reader.h"
#include "berth/shell/outside/http_extender.h"
#include "berth/shell/outside/outside_poller.h"

namespace berth::runner {

namespace {

// Clusters may lack devices and pod groups. Every API server serves the other kinds: a 404 for them does not come from
// the API server, and decisions without them would be wrong (no disruption budgets, no storage classes).
bool MayBeMissing(framework::ObjectKind kind) {
  return !framework::IsServedByAll(kind) || framework::InfoOf(kind).group_version.starts_with("resource.k8s.io/");
}

}  // namespace

Feeds::Feeds(client::RestClient& rest, outside::HttpExtenders& extenders,
             std::unique_ptr<outside::OutsidePoller> poller, const Options& options, Callbacks callbacks)
    : rest_(rest),
      extenders_(extenders),
      callbacks_(std::move(callbacks)),
      unsynced_(2 + options.kinds.size()),
      others_unlisted_(1 + options.kinds.size()),
      poller_(std::move(poller)) {
  MakeNodeInformer(options);
  MakePodInformer(options);
  for (const framework::ObjectKind kind : options.kinds) MakeObjectInformer(options, kind);
}

Feeds::~Feeds() = default;

void Feeds::Start() {
  nodes_->Start();
  pods_->Start();
  for (const auto& informer : objects_) informer->Start();
  rest_.loop().Dispatch([this] { poller_->Start(); });
}

// Each kind is listed with a consistent read. A watch could not tell that no more events are on their way, since
// bookmarks come a minute apart. The list costs little, as known versions are recognised and dropped.
void Feeds::Refresh(std::function<void()> on_fresh) {
  rest_.loop().Dispatch([this, on_fresh = std::move(on_fresh)] {
    stale_ = 2 + objects_.size();
    const auto one_is_fresh = [this, on_fresh] {
      if (--stale_ == 0) on_fresh();
    };
    nodes_->Refresh(one_is_fresh);
    pods_->Refresh(one_is_fresh);
    for (const auto& informer : objects_) informer->Refresh(one_is_fresh);
  });
}

void Feeds::Stop() {
  poller_->Stop();
  pods_->Stop();
  nodes_->Stop();
  for (const auto& informer : objects_) informer->Stop();
}

std::vector<FeedSource> Feeds::Sources() const {
  std::vector<FeedSource> sources;
  sources.push_back({"nodes", nodes_->HasSynced(), nodes_->Stats()});
  sources.push_back({"pods", pods_->HasSynced(), pods_->Stats()});
  for (std::size_t i = 0; i < objects_.size(); ++i)
    sources.push_back({object_names_[i], objects_[i]->HasSynced(), objects_[i]->Stats()});
  return sources;
}

KnownNames Feeds::Names() const {
  KnownNames names;
  nodes_->ForEach([&](const std::string& key, const auto&) { names.nodes.push_back(key); });
  pods_->ForEach([&](const std::string& key, const auto&) { names.pods.push_back(key); });
  return names;
}

void Feeds::SetListener(std::optional<ObjectListener> listener) {
  const std::lock_guard lock(listener_mutex_);
  listener_ = std::move(listener);
  has_listener_ = listener_.has_value();
}

template <typename Call>
void Feeds::Tell(const Call& call) {
  if (!has_listener_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(listener_mutex_);
  if (listener_) call(*listener_);
}

// Which list ends first is chance. Nodes get their rows, by which a seed chooses among equals, in the order in which
// they come, and a node that a pod names before gets its row then: if pods come last, a seed means the same at each
// start.
void Feeds::PushPod(scheduler::Input input) {
  if (!do_pods_wait_) return callbacks_.push(std::move(input));
  held_pods_.push_back(std::move(input));
  // Some list fails again and again, and changes of pods must not pile up meanwhile.
  if (held_pods_.size() > kHeldPodsMax) ReleasePods();
}

void Feeds::ReleasePods() {
  do_pods_wait_ = false;
  for (scheduler::Input& input : std::exchange(held_pods_, {})) callbacks_.push(std::move(input));
}

void Feeds::OtherListed() {
  if (--others_unlisted_ == 0) ReleasePods();
  Listed();
}

void Feeds::Listed() {
  if (--unsynced_ == 0) callbacks_.on_synced();
}

void Feeds::MakeNodeInformer(const Options& options) {
  client::Informer<api::Node>::Options nodes;
  nodes.name = "nodes";
  nodes.path = "/api/v1/nodes";
  nodes.streams_list = true;
  nodes.keeps_objects = false;  // the core has them
  nodes.seed = options.seed;
  nodes.decode = [this](const simdjson::dom::element& object) {
    auto node = api::DecodeNode(object);
    if (node.ok()) extenders_.SetNode(**node, object);
    return node;
  };
  // Extenders get whole objects in JSON, so nodes come in JSON if an extender wants them.
  if (!extenders_.wants_nodes())
    nodes.decode_protobuf = [](std::string_view message) { return api::DecodeNodeProtobuf(message); };
  client::Informer<api::Node>::Handler handler;
  const auto set = [this](std::shared_ptr<const api::Node> node) {
    Tell([&](const ObjectListener& listener) { listener.on_node(node); });
    callbacks_.push(scheduler::NodeSet{std::move(node)});
  };
  handler.on_add = set;
  handler.on_update = [set](const std::shared_ptr<const api::Node>&, std::shared_ptr<const api::Node> node) {
    set(std::move(node));
  };
  handler.on_gone = [this](const client::Reflector::Identity& node) {
    Tell([&](const ObjectListener& listener) { listener.on_node_gone(node.name); });
    extenders_.RemoveNode(node.name, node.uid);
    callbacks_.push(scheduler::NodeGone{std::string(node.name)});
  };
  handler.on_synced = [this] { OtherListed(); };
  nodes_ = std::make_unique<client::Informer<api::Node>>(rest_, std::move(nodes), std::move(handler));
}

void Feeds::MakePodInformer(const Options& options) {
  client::Informer<api::Pod>::Options pods;
  pods.name = "pods";
  pods.path = "/api/v1/pods";
  // Finished pods look like deleted ones, as upstream.
  pods.field_selector = "status.phase!=Succeeded,status.phase!=Failed";
  pods.streams_list = true;
  pods.keeps_objects = false;
  pods.seed = options.seed + 1;
  pods.decode = [this](const simdjson::dom::element& object) {
    auto pod = api::DecodePod(object);
    if (pod.ok()) extenders_.SetPod(**pod, object);
    return pod;
  };
  if (!extenders_.wants_pods())
    pods.decode_protobuf = [](std::string_view message) { return api::DecodePodProtobuf(message); };
  client::Informer<api::Pod>::Handler handler;
  const auto set = [this](std::shared_ptr<const api::Pod> pod) {
    Tell([&](const ObjectListener& listener) { listener.on_pod(pod); });
    PushPod(scheduler::PodSet{std::move(pod)});
  };
  handler.on_add = set;
  handler.on_update = [set](const std::shared_ptr<const api::Pod>&, std::shared_ptr<const api::Pod> pod) {
    set(std::move(pod));
  };
  handler.on_gone = [this](const client::Reflector::Identity& pod) {
    Tell([&](const ObjectListener& listener) { listener.on_pod_gone(pod.namespace_name, pod.name, pod.uid); });
    extenders_.RemovePod(pod.uid);
    PushPod(scheduler::PodGone{std::string(pod.namespace_name), std::string(pod.name), std::string(pod.uid)});
  };
  handler.on_synced = [this] { Listed(); };
  pods_ = std::make_unique<client::Informer<api::Pod>>(rest_, std::move(pods), std::move(handler));
}

void Feeds::MakeObjectInformer(const Options& options, framework::ObjectKind kind) {
  using Ptr = std::shared_ptr<const framework::AnyObject>;
  client::Informer<framework::AnyObject>::Options objects;
  objects.name = framework::InfoOf(kind).resource;
  object_names_.push_back(objects.name);
  objects.path = framework::ListPath(kind, options.release_minor);
  objects.may_be_missing = MayBeMissing(kind);
  objects.streams_list = true;
  objects.keeps_objects = false;
  objects.seed = options.seed + 2 + static_cast<std::uint64_t>(kind);
  objects.decode = [kind](const simdjson::dom::element& object) -> Expected<Ptr> {
    BERTH_ASSIGN_OR_RETURN(auto decoded, framework::DecodeObject(kind, object));
    return std::make_shared<const framework::AnyObject>(std::move(decoded));
  };
  objects.decode_protobuf = [kind](std::string_view message) -> Expected<Ptr> {
    BERTH_ASSIGN_OR_RETURN(auto decoded, framework::DecodeObjectProtobuf(kind, message));
    return std::make_shared<const framework::AnyObject>(std::move(decoded));
  };
  client::Informer<framework::AnyObject>::Handler handler;
  handler.on_add = [this](const Ptr& object) { callbacks_.push(scheduler::ObjectSet{*object}); };
  handler.on_update = [this](const Ptr&, const Ptr& object) { callbacks_.push(scheduler::ObjectSet{*object}); };
  handler.on_gone = [this, kind](const client::Reflector::Identity& object) {
    callbacks_.push(scheduler::ObjectGone{kind, framework::KeyOf(object.namespace_name, object.name)});
  };
  handler.on_synced = [this] { OtherListed(); };
  objects_.push_back(
      std::make_unique<client::Informer<framework::AnyObject>>(rest_, std::move(objects), std::move(handler)));
}

}  // namespace berth::runner
