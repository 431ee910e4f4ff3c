// SPDX-License-Identifier: Apache-2.0
// The devices that the claims of a bound pod got, as a case records them.
#pragma once

#include <string>

#include "berth/framework/objects.h"
#include "berth/framework/pod_info.h"
#include "berth/proof/conformance/case.h"

namespace berth::conformance {

// The devices of the pod's claims: of those that its status named when `pod` was made, and of the one for its extended
// resources. Claims without an allocation are left out.
DevicesByClaim DevicesOf(const framework::PodInfo& pod, const framework::Objects& objects);

// The status of each claim, by "namespace/name".
std::map<std::string, ClaimRecord> ClaimsOf(const framework::Objects& objects);

// Equal records have the same text: "gpu: c: [r: driver/pool/device share {memory: 4}]".
std::string Show(const DevicesByClaim& devices);
// "[r: driver/pool/device] for pods/a, podgroups/b".
std::string Show(const ClaimRecord& claim);

}  // namespace berth::conformance
