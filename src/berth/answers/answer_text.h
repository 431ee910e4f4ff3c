// SPDX-License-Identifier: Apache-2.0
// How answers write amounts, refusals and lists of names, in text and in JSON. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "berth/codec/json.h"
#include "berth/framework/resource.h"
#include "berth/whatif/placement.h"

namespace berth::answers {

// As a manifest would have it: {"cpu": "500m", "memory": "1Gi"}; what is 0 is left out.
codec::json::object AmountsJson(const framework::Resource& amounts);
// "cpu 500m, memory 1Gi"; "nothing".
std::string AmountsText(const framework::Resource& amounts);

// {"message", "reasons": [{"reason", "plugin", "nodes"}], "preemption": {"node", "victims"}}, the last only if there is
// one.
codec::json::object RefusalJson(const whatif::PlacementRefusal& refusal);

// "a, b and 12 more".
std::string NamesText(const std::vector<std::string>& names, std::size_t names_max);
// "1 pod", "2 pods".
std::string Counted(std::size_t count, std::string_view one, std::string_view many);

codec::json::array NamesJson(const std::vector<std::string>& names);
// {"namespace", "name"} of "namespace/name".
codec::json::object KeyJson(const std::string& key);

}  // namespace berth::answers
