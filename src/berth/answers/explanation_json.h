// SPDX-License-Identifier: Apache-2.0
// An Explanation as JSON, written and read again: what `berth explain -o json` prints and the secure port answers.
// docs/explain.md describes the fields. Pure functions.
#pragma once

#include <cstdint>

#include "berth/base/expected.h"
#include "berth/codec/json.h"
#include "berth/whatif/explanation.h"

namespace berth::answers {

enum class NodesInJson : std::uint8_t { kAll, kNone };

codec::json::value ExplanationJson(const whatif::Explanation& explanation, NodesInJson nodes = NodesInJson::kAll);

// Fields that are missing are as in an empty explanation, unknown ones are ignored. kInvalid: it has no state, or a
// field is of another type, which the message names.
Expected<whatif::Explanation> ParseExplanation(const codec::json::value& json);

}  // namespace berth::answers
