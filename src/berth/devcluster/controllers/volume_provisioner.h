// SPDX-License-Identifier: Apache-2.0
// VolumeProvisioner: makes a PersistentVolume for each claim of a StorageClass of berth's own provisioner and binds the
// two; with WaitForFirstConsumer once the scheduler has named a node. A claim's volume goes with it, unless the class
// says Retain. Other claims and volumes are left alone. On the loop's thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "berth/devcluster/controllers/context.h"
#include "berth/shell/client/informer.h"
#include "berth/shell/client/work_queue.h"

namespace berth::controllers {

// provisioner of the StorageClasses that it looks after
inline constexpr const char* kProvisioner = "berth.dev/simulated";

class VolumeProvisioner {
 public:
  // `context` owns what uses it and outlives it.
  explicit VolumeProvisioner(Context& context);
  ~VolumeProvisioner();

  void Start();
  void Stop();

 private:
  struct Claim;
  struct Class;

  void Sync(const std::string& key, client::WorkQueue::Done done);
  // The volume, its status, the claim's spec and status, one after the other.
  void MakeVolume(const std::shared_ptr<const Claim>& claim, const Class& storage_class, client::WorkQueue::Done done);
  void BindClaim(const std::shared_ptr<const Claim>& claim, client::WorkQueue::Done done);
  void RemoveVolume(const std::string& uid, client::WorkQueue::Done done);
  Context::Answer Then(std::string_view doing, std::string key, client::WorkQueue::Done done,
                       std::function<void()> next);

  Context& context_;
  std::shared_ptr<client::WorkQueue> queue_;
  std::unique_ptr<client::Informer<Claim>> claims_informer_;
  std::unique_ptr<client::Informer<Class>> classes_informer_;
  std::map<std::string, std::shared_ptr<const Claim>, std::less<>> claims_;  // by namespace/name
  std::map<std::string, std::shared_ptr<const Class>, std::less<>> classes_;
};

}  // namespace berth::controllers
