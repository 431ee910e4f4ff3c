// SPDX-License-Identifier: Apache-2.0
// InMemoryApi: the part of an API server that plugins write to, over a cluster in memory, with what is around it: it
// names and numbers ResourceClaims, prepares devices as soon as they are allocated, and provisions and binds volumes at
// once, as a provisioner and the volume controller would. PodGroups get their conditions. Everything else is taken for
// written. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "berth/api/node.h"
#include "berth/base/expected.h"
#include "berth/codec/json.h"
#include "berth/framework/objects.h"
#include "berth/framework/operation.h"

namespace berth::whatif {

class InMemoryApi {
 public:
  // The cluster: where objects are read, and how they change.
  struct Cluster {
    const framework::Objects& objects;  // outlives the API
    std::function<void(framework::AnyObject)> set;
    std::function<void(framework::ObjectKind, const std::string& key)> remove;
    // Null: there is no such node. Empty: there are no nodes.
    std::function<const api::Node*(const std::string& name)> find_node;
  };

  explicit InMemoryApi(Cluster cluster) : cluster_(std::move(cluster)) {}

  // The API server's answer, as JSON.
  Expected<std::string> Do(const framework::ApiWrite& write);
  // Carries out the operation to its end, all waits included, as if it were `now` all the time.
  framework::Status Run(framework::Operation operation, Time now);

  // Binds a claim that waits for no pod to a volume that fits, or to one that is provisioned. The claim stays as it is
  // when neither is possible, or when its class waits for the first consumer.
  void BindNow(const api::PersistentVolumeClaim& claim);

  // Versions that are handed out are above this one, if it is a number.
  void RecordVersion(const std::string& version);
  std::string NextVersion() { return std::to_string(++version_); }

 private:
  using Claim = api::ResourceClaim;

  Expected<std::string> Create(const framework::ObjectCreate& write);
  Expected<std::string> Patch(const framework::ObjectPatch& write);
  Expected<std::string> Delete(const framework::ObjectDelete& write);
  Expected<std::string> Store(codec::json::object claim);
  const Claim* Find(const framework::ObjectRef& ref) const;

  Expected<std::string> PatchPodGroup(const framework::ObjectPatch& write);
  Expected<std::string> PatchVolume(const framework::ObjectPatch& write);
  Expected<std::string> PatchVolumeClaim(const framework::ObjectPatch& write);
  void Provision(const api::PersistentVolumeClaim& claim, const api::StorageClass& storage_class,
                 const api::Node* node);
  void Bind(const api::PersistentVolumeClaim& claim, const api::PersistentVolume& volume);

  const Cluster cluster_;
  std::int64_t version_ = 1000;
};

}  // namespace berth::whatif
