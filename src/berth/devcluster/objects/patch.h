// SPDX-License-Identifier: Apache-2.0
// The three patch formats of the Kubernetes API over JSON documents: JSON patch (RFC 6902), merge patch (RFC 7386) and
// strategic merge patch. Pure functions, any thread. They change the document in place: a patch costs what it says and
// not what the document holds, and where it could be otherwise there is a bound.
#pragma once

#include <cstddef>
#include <string_view>

#include "berth/codec/json.h"
#include "berth/devcluster/objects/status_error.h"

namespace berth::objects {

// Operations of one JSON patch; more are refused with 413, as upstream.
inline constexpr std::size_t kJsonPatchOperationsMax = 10'000;
// What the "copy" operations of one patch may add up to: without a bound each could double the document.
inline constexpr std::size_t kPatchCopyBytesMax = std::size_t{3} << 20;
// Bytes that one operation of a JSON patch may move to a deeper place.
inline constexpr std::size_t kPatchMoveBytesMax = std::size_t{64} << 20;
// List elements that a JSON patch may shift by what it puts before them or takes away there: about 0.2 s.
inline constexpr std::size_t kPatchShiftedElementsMax = std::size_t{64} << 20;
// Elements of the lists that a strategic merge patch goes through. The largest document and the largest patch have
// fewer, unless the patch goes through a list again and again.
inline constexpr std::size_t kPatchMergedElementsMax = std::size_t{512} << 10;
// Nesting of a patched document.
inline constexpr int kPatchedDepthMax = 256;

// A malformed patch is 400; one that does not apply (a failed test, a missing path) is 422.
Outcome<json::value> ApplyJsonPatch(json::value document, const json::value& patch);

Outcome<json::value> ApplyMergePatch(json::value document, const json::value& patch);

// Lists merge by the keys that PatchMergeKey names for `kind`; understood are $patch (merge, replace, delete),
// $setElementOrder, $deleteFromPrimitiveList and $retainKeys.
using MergeKeyOf = std::string_view (*)(std::string_view kind, std::string_view path);
Outcome<json::value> ApplyStrategicMergePatch(json::value document, const json::value& patch, std::string_view kind,
                                              MergeKeyOf merge_key_of);

}  // namespace berth::objects
