// SPDX-License-Identifier: Apache-2.0
// The claims that controllers make for one pod: of ephemeral volumes and ResourceClaimTemplates, and those of a
// StatefulSet's volumeClaimTemplates; and claims that a pod alone holds. Another pod of the same kind gets its own.
// One thread's.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/api/pod.h"
#include "berth/api/resource_claim.h"
#include "berth/api/storage.h"
#include "berth/core/scheduler/overlay.h"
#include "berth/framework/objects.h"

namespace berth::whatif {

class OwnClaims {
 public:
  // The claims that `pod` has, as they are before anything is bound or allocated. `of_set`: a StatefulSet's, too, which
  // a pod that takes this one's place would use again, and any other pod of the set would not.
  OwnClaims(const api::Pod& pod, const framework::Objects& objects, bool of_set);

  bool empty() const { return volumes_.empty() && resources_.empty(); }
  // Names a claim of the pod that does not exist, so that what it asks for is not known. Empty: there is none.
  const std::string& missing() const { return missing_; }

  // Lets `pod` use such claims under names that begin with `name`; they are appended to `objects`. A pod that is given
  // no other claim for an ephemeral volume goes without it.
  void Give(api::Pod& pod, const std::string& name, std::vector<framework::AnyObject>& objects) const;

 private:
  // By the name of the volume, and of the entry in spec.resourceClaims.
  std::vector<std::pair<std::string, std::shared_ptr<const api::PersistentVolumeClaim>>> volumes_;
  std::vector<std::pair<std::string, std::shared_ptr<const api::ResourceClaim>>> resources_;
  std::string missing_;
};

// What the resource claim controller does once the pod is gone: claims that nobody else holds lose their devices. Those
// that were made for the pod would go as well; without devices they are in nobody's way. `serial` tells one such
// release from the other.
void ReleaseResourceClaims(scheduler::Overlay& overlay, const api::Pod& pod, std::size_t serial);

}  // namespace berth::whatif
