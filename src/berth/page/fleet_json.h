// SPDX-License-Identifier: Apache-2.0
// Rows of a Fleet as JSON: the schemas Node and PodFacts of docs/reference/page-api.yaml. Pure functions.
#pragma once

#include <cstddef>
#include <string_view>

#include "berth/codec/json.h"
#include "berth/page/fleet_rows.h"

namespace berth::page {

codec::json::object OwnerJson(const whatif::Workload& workload);
codec::json::object PodJson(const PodRow& row);
// `id` must be a node of the rows. At most `pods_max` of its pods, by name.
codec::json::object NodeJson(const FleetRows& rows, RowId id, std::size_t pods_max);
// Of the pods whose "namespace/name" or labels contain all words of the text, whatever the case, the best `count_max`:
// those whose name is the first word or begins with it come first, then by name. The search ends after kFoundMax.
inline constexpr std::size_t kFoundMax = 5'000;
codec::json::array PodsLike(const FleetRows& rows, std::string_view text, std::size_t count_max);

}  // namespace berth::page
