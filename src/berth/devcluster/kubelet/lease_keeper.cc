// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/kubelet/lease_keeper.h"

#include <algorithm>

#include "berth/devcluster/kubelet/node_objects.h"
#include "berth/shell/client/api_writer.h"

namespace berth::kubelet {
namespace {

using client::ObjectPath;
using client::WorkQueue;

constexpr std::string_view kCoordination = "/apis/coordination.k8s.io/v1";
constexpr std::string_view kLeaseNamespace = "kube-node-lease";
// A lease holds for four heartbeats, as a kubelet's does.
constexpr int kHeartbeatsPerLease = 4;

}  // namespace

LeaseKeeper::LeaseKeeper(Context& context, SimulatedNodes& nodes, WorkQueue& queue)
    : context_(context),
      nodes_(nodes),
      queue_(queue),
      heartbeat_(std::max(context.options.heartbeat,
                          Duration(std::chrono::seconds(nodes.count())) / context.options.renewals_per_second_max)) {}

Duration LeaseKeeper::Validity() const { return heartbeat_ * kHeartbeatsPerLease; }

// Takes the next free place in the sequence of renewals, which is what bounds their rate.
Duration LeaseKeeper::NextSlot() {
  const Time now = context_.loop.Now();
  next_slot_ = std::max(now, next_slot_);
  const Duration wait = next_slot_ - now;
  next_slot_ += Duration(std::chrono::seconds(1)) / context_.options.renewals_per_second_max;
  return wait;
}

void LeaseKeeper::RenewSoon(SimulatedNode& node) {
  if (node.has_lease) return;
  node.has_lease = true;
  queue_.AddAfter(KeyOf(node), NextSlot());
}

void LeaseKeeper::Sync(int number, WorkQueue::Done done) {
  const SimulatedNode& node = nodes_.At(number);
  if (!node.exists) return done(true);
  const std::string& name = node.shape.name;
  context_.Send("PATCH", ObjectPath(kCoordination, kLeaseNamespace, "leases", name),
                LeaseRenewal(name, Validity(), context_.loop.WallNow()), kMergePatch,
                [this, number, done](Expected<net::Response> response) {
                  if (response.ok()) return OnRenewed(number, done);
                  if (response.error().code == ErrorCode::kNotFound) return Create(number, done);
                  context_.CountFailure("renewing the lease of node " + nodes_.At(number).shape.name, response.error());
                  done(false);
                });
}

void LeaseKeeper::OnRenewed(int number, const WorkQueue::Done& done) {
  ++renewals_;
  queue_.AddAfter(KeyOf(nodes_.At(number)), heartbeat_);
  done(true);
}

void LeaseKeeper::Create(int number, const WorkQueue::Done& done) {
  const SimulatedNode& node = nodes_.At(number);
  context_.Send("POST", ObjectPath(kCoordination, kLeaseNamespace, "leases"),
                LeaseDocument(node.shape.name, node.uid, Validity(), context_.loop.WallNow()), {},
                [this, number, done](Expected<net::Response> response) {
                  if (response.ok()) return OnRenewed(number, done);
                  if (response.error().code == ErrorCode::kNotFound) return CreateNamespace(done);
                  if (response.error().code != ErrorCode::kAlreadyExists)
                    context_.CountFailure("creating the lease of node " + nodes_.At(number).shape.name,
                                          response.error());
                  done(false);
                });
}

void LeaseKeeper::CreateNamespace(const WorkQueue::Done& done) {
  context_.Send(
      "POST", ObjectPath(kCorePrefix, {}, "namespaces"),
      R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")" + std::string(kLeaseNamespace) + R"("}})", {},
      [this, done](Expected<net::Response> response) {
        if (!response.ok() && response.error().code != ErrorCode::kAlreadyExists)
          context_.CountFailure("creating the namespace " + std::string(kLeaseNamespace), response.error());
        done(false);  // the lease itself is still to come
      });
}

}  // namespace berth::kubelet
