// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/kubelet/node_keeper.h"

#include <utility>

#include "berth/shell/client/api_writer.h"

namespace berth::kubelet {
namespace {

using client::ObjectPath;
using client::WorkQueue;

constexpr std::string_view kNodeKey = "node/";

client::Informer<NodeView>::Options InformerOptions(std::uint64_t seed) {
  client::Informer<NodeView>::Options options;
  options.name = "nodes";
  options.path = "/api/v1/nodes";
  options.seed = seed;
  options.decode = DecodeNodeView;
  return options;
}

}  // namespace

NodeKeeper::NodeKeeper(Context& context, SimulatedNodes& nodes, std::function<void(const std::string& node)> on_adopted)
    : context_(context),
      nodes_(nodes),
      on_adopted_(std::move(on_adopted)),
      queue_(context.MakeQueue(
          1, [this](const std::string& key, WorkQueue::Done done) { SyncNodeOrLease(key, std::move(done)); })),
      leases_(context, nodes, *queue_),
      informer_(context.rest, InformerOptions(context.options.seed + 3), MakeHandler()) {}

client::Informer<NodeView>::Handler NodeKeeper::MakeHandler() {
  client::Informer<NodeView>::Handler handler;
  handler.on_add = [this](const auto& node) { OnNode(*node); };
  handler.on_update = [this](const auto&, const auto& node) { OnNode(*node); };
  handler.on_delete = [this](const auto& node) { OnNodeGone(*node); };
  handler.on_synced = [this] { OnSynced(); };
  return handler;
}

// Returns 0 when the node is not to be ours.
int NodeKeeper::Adopt(const NodeView& view) {
  const KubeletOptions& options = context_.options;
  if (!options.adopts_nodes || nodes_.count() >= kNodesMax) return 0;
  NodeShape shape;
  shape.name = view.name;
  shape.cpu = options.cpu;
  shape.memory = options.memory;
  shape.pods = options.pods;
  shape.kubelet_version = options.version;
  const int number = nodes_.Add(std::move(shape));
  nodes_.At(number).is_adopted = true;
  return number;
}

void NodeKeeper::SetReady(SimulatedNode& node, bool is_ready) {
  if (node.is_ready == is_ready) return;
  node.is_ready = is_ready;
  ready_count_ += is_ready ? 1 : -1;
}

void NodeKeeper::SyncSoon(const SimulatedNode& node) { queue_->Add(std::string(kNodeKey) + node.shape.name); }

void NodeKeeper::OnNode(const NodeView& view) {
  int number = nodes_.NumberOf(view.name);
  if (number == 0) {
    number = Adopt(view);
    if (number == 0) return;
    on_adopted_(view.name);
  }
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
  if (!view.is_ready || !node.is_reported) SyncSoon(node);
  leases_.RenewSoon(node);
}

void NodeKeeper::OnNodeGone(const NodeView& view) {
  const int number = nodes_.NumberOf(view.name);
  if (number == 0) return;
  SimulatedNode& node = nodes_.At(number);
  node.exists = false;
  node.has_lease = false;
  if (node.is_adopted) node.is_reported = false;  // it may come again, as somebody else makes it
  SetReady(node, false);
}

void NodeKeeper::OnSynced() {
  is_synced_ = true;
  for (int number = 1; number <= nodes_.count(); ++number) SyncSoon(nodes_.At(number));
}

void NodeKeeper::SyncNodeOrLease(const std::string& key, WorkQueue::Done done) {
  const bool is_node = key.starts_with(kNodeKey);
  const int number = nodes_.NumberOf(key.substr((is_node ? kNodeKey : LeaseKeeper::kKey).size()));
  if (number == 0) return done(true);
  if (is_node) {
    Sync(number, std::move(done));
  } else {
    leases_.Sync(number, std::move(done));
  }
}

void NodeKeeper::Sync(int number, WorkQueue::Done done) {
  const SimulatedNode& node = nodes_.At(number);
  if (!node.exists) {
    if (node.was_seen) return done(true);
    return Create(number, std::move(done));
  }
  if (node.is_adopted && !node.has_labels) return Label(number, std::move(done));
  if (node.is_ready && node.is_reported) return done(true);
  ReportStatus(number, std::move(done));
}

void NodeKeeper::ReportStatus(int number, WorkQueue::Done done) {
  const SimulatedNode& node = nodes_.At(number);
  context_.Send("PATCH", ObjectPath(kCorePrefix, {}, "nodes", node.shape.name, "status"),
                NodeStatusPatch(node.shape, number, node.keeps_amounts, context_.loop.WallNow()),
                "application/strategic-merge-patch+json", [this, number, done](Expected<net::Response> response) {
                  SimulatedNode& reported = nodes_.At(number);
                  if (!response.ok()) {
                    // The watch shows that as well.
                    if (response.error().code == ErrorCode::kNotFound) return done(true);
                    context_.CountFailure("reporting the status of node " + reported.shape.name, response.error());
                    return done(false);
                  }
                  reported.is_reported = true;
                  SetReady(reported, true);
                  leases_.RenewSoon(reported);
                  done(true);
                });
}

void NodeKeeper::Label(int number, WorkQueue::Done done) {
  const std::string& name = nodes_.At(number).shape.name;
  context_.Send("PATCH", ObjectPath(kCorePrefix, {}, "nodes", name), NodeLabelsPatch(name), kMergePatch,
                [this, number, done](Expected<net::Response> response) {
                  SimulatedNode& node = nodes_.At(number);
                  if (!response.ok() && response.error().code != ErrorCode::kNotFound) {
                    context_.CountFailure("labelling node " + node.shape.name, response.error());
                    return done(false);
                  }
                  node.has_labels = true;
                  SyncSoon(node);
                  done(true);
                });
}

void NodeKeeper::Create(int number, WorkQueue::Done done) {
  context_.Send("POST", ObjectPath(kCorePrefix, {}, "nodes"),
                NodeDocument(nodes_.At(number).shape, number, context_.loop.WallNow()), {},
                [this, number, done](Expected<net::Response> response) {
                  SimulatedNode& node = nodes_.At(number);
                  // It is there although the list did not show it, or an answer of ours was lost: take it over.
                  const bool is_there = !response.ok() && response.error().code == ErrorCode::kAlreadyExists;
                  if (!response.ok() && !is_there) {
                    context_.CountFailure("creating node " + node.shape.name, response.error());
                    return done(false);
                  }
                  node.was_seen = node.exists = true;
                  if (is_there) {
                    SyncSoon(node);
                  } else {
                    OnCreated(node, *response);
                  }
                  done(true);
                });
}

void NodeKeeper::OnCreated(SimulatedNode& node, const net::Response& response) {
  auto answer = reader_.Parse(response.body);
  const auto view = answer.ok() ? DecodeNodeView(*answer) : Expected<std::shared_ptr<const NodeView>>(answer.error());
  if (view.ok() && node.uid.empty()) node.uid = (*view)->uid;
  // API servers keep a new node's status. To one that drops it the status is written again.
  node.is_reported = view.ok() && (*view)->is_ready;
  SetReady(node, node.is_reported);
  if (!node.is_reported) SyncSoon(node);
  leases_.RenewSoon(node);
}

}  // namespace berth::kubelet
