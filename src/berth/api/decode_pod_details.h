// SPDX-License-Identifier: Apache-2.0
// PodDetails: decoding from the JSON of a pod, as decode.h describes it.
#pragma once

#include <memory>

#include <simdjson.h>

#include "berth/api/pod_details.h"
#include "berth/base/expected.h"

namespace berth::api {

Expected<std::shared_ptr<const PodDetails>> DecodePodDetails(simdjson::dom::element object);

}  // namespace berth::api
