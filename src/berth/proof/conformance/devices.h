// SPDX-License-Identifier: Apache-2.0
// The devices that the claims of a bound pod got, as a case records them.
#pragma once

#include <string>

#include "berth/framework/objects.h"
#include "berth/framework/pod_info.h"
#include "berth/proof/conformance/case.h"

namespace berth::conformance {

// Of the claims of `objects`, all that the pod's status knew of when it was made, and the one for its extended
// resources. Claims without an allocation are left out.
DevicesByClaim DevicesOf(const framework::PodInfo& pod, const framework::Objects& objects);

// Of each claim, by "namespace/name".
std::map<std::string, ClaimRecord> ClaimsOf(const framework::Objects& objects);

// One text for equal records: "gpu: c: [r: driver/pool/device share {memory: 4}]".
std::string Show(const DevicesByClaim& devices);
// "[r: driver/pool/device] for pods/a, podgroups/b".
std::string Show(const ClaimRecord& claim);

}  // namespace berth::conformance
