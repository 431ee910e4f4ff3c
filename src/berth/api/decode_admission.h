// SPDX-License-Identifier: Apache-2.0
// Decodes the kinds of admission.h from JSON, as decode.h describes. No informer reads them.
#pragma once

#include <memory>

#include <simdjson.h>

#include "berth/api/admission.h"
#include "berth/base/expected.h"

namespace berth::api {

Expected<std::shared_ptr<const PriorityClass>> DecodePriorityClass(simdjson::dom::element object);
Expected<std::shared_ptr<const RuntimeClass>> DecodeRuntimeClass(simdjson::dom::element object);
Expected<std::shared_ptr<const ResourceClaimTemplate>> DecodeResourceClaimTemplate(simdjson::dom::element object);
Expected<std::shared_ptr<const ResourceQuota>> DecodeResourceQuota(simdjson::dom::element object);

}  // namespace berth::api
