// SPDX-License-Identifier: Apache-2.0
// Decodes PodDetails and BudgetDetails from JSON, as decode.h describes.
#pragma once

#include <memory>

#include <simdjson.h>

#include "berth/api/pod_details.h"
#include "berth/base/expected.h"

namespace berth::api {

Expected<std::shared_ptr<const PodDetails>> DecodePodDetails(simdjson::dom::element object);
Expected<std::shared_ptr<const BudgetDetails>> DecodeBudgetDetails(simdjson::dom::element object);

}  // namespace berth::api
