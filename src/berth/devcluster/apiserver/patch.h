// SPDX-License-Identifier: Apache-2.0
// The three patch formats of the Kubernetes API over JSON documents: JSON patch (RFC 6902), merge patch (RFC 7386) and
// strategic merge patch. Pure functions, any thread. Hostile patches are bounded: depth, operations, copied bytes.
#pragma once

#include <cstddef>
#include <string_view>

#include "berth/codec/json.h"
#include "berth/devcluster/apiserver/status_error.h"

namespace berth::apiserver {

// Operations of one JSON patch; more are refused with 413, as upstream.
inline constexpr std::size_t kJsonPatchOperationsMax = 10'000;
// What the "copy" operations of one patch may add up to: without a bound each could double the document.
inline constexpr std::size_t kPatchCopyBytesMax = std::size_t{3} << 20;
// Of what a JSON patch moves to deeper places, each time.
inline constexpr std::size_t kPatchMoveBytesMax = std::size_t{64} << 20;
// Nesting of a patched document.
inline constexpr int kPatchedDepthMax = 256;

// A malformed patch is 400; one that does not apply (a failed test, a missing path) is 422.
Outcome<json::value> ApplyJsonPatch(const json::value& document, const json::value& patch);

Outcome<json::value> ApplyMergePatch(const json::value& document, const json::value& patch);

// Lists merge by the keys that PatchMergeKey names for `kind`; understood are $patch (merge, replace, delete),
// $setElementOrder, $deleteFromPrimitiveList and $retainKeys.
using MergeKeyOf = std::string_view (*)(std::string_view kind, std::string_view path);
Outcome<json::value> ApplyStrategicMergePatch(const json::value& document, const json::value& patch,
                                              std::string_view kind, MergeKeyOf merge_key_of);

}  // namespace berth::apiserver
