// SPDX-License-Identifier: Apache-2.0
// Decoding API objects from JSON (simdjson DOM) and from Kubernetes' protobuf, into the same structs. What scheduling
// does not read is skipped, managedFields above all. Lenient where the API server already validated, strict where a
// wrong value would change a decision: a quantity or time that does not parse, or a field of the wrong type, is an
// error that names object and field path. Thread-safe.
//
//   DecodePod(object)        `object` is the JSON of one Pod, whether from a list (no kind) or a watch.
//   DecodePodProtobuf(raw)   `raw` is the message of one object without its envelope: UnwrapUnknown takes that off
//                            (decode_protobuf_frame.h), and items of a list have none.
//
// An unknown operator or effect is kept as kUnknown (it matches nothing), as upstream treats it.
#pragma once

#include <memory>
#include <string_view>

#include <simdjson.h>

#include "berth/api/decode_node.h"
#include "berth/api/decode_pod.h"
#include "berth/api/decode_pod_group.h"
#include "berth/api/decode_resource_claim.h"
#include "berth/api/decode_storage.h"
#include "berth/api/decode_workloads.h"
#include "berth/base/expected.h"

namespace berth::api {

// The JSON of one object, for these functions. It lives until the thread's next call. `kind` is for the error.
Expected<simdjson::dom::element> ParseObject(std::string_view kind, std::string_view text);

// Both at once, for tools and tests.
Expected<std::shared_ptr<const Pod>> DecodePod(std::string_view text);
Expected<std::shared_ptr<const Node>> DecodeNode(std::string_view text);

}  // namespace berth::api
