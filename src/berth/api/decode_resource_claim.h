// SPDX-License-Identifier: Apache-2.0
// The kinds of dynamic resource allocation: decoding from JSON and from protobuf, as decode.h describes it.
#pragma once

#include <memory>
#include <string_view>

#include <simdjson.h>

#include "berth/api/resource_claim.h"
#include "berth/base/expected.h"

namespace berth::api {

Expected<std::shared_ptr<const ResourceSlice>> DecodeResourceSlice(simdjson::dom::element object);
Expected<std::shared_ptr<const ResourceSlice>> DecodeResourceSliceProtobuf(std::string_view raw);
Expected<std::shared_ptr<const DeviceTaintRule>> DecodeDeviceTaintRule(simdjson::dom::element object);
Expected<std::shared_ptr<const DeviceTaintRule>> DecodeDeviceTaintRuleProtobuf(std::string_view raw);
Expected<std::shared_ptr<const DeviceClass>> DecodeDeviceClass(simdjson::dom::element object);
Expected<std::shared_ptr<const DeviceClass>> DecodeDeviceClassProtobuf(std::string_view raw);
Expected<std::shared_ptr<const ResourceClaim>> DecodeResourceClaim(simdjson::dom::element object);
Expected<std::shared_ptr<const ResourceClaim>> DecodeResourceClaimProtobuf(std::string_view raw);

}  // namespace berth::api
