// SPDX-License-Identifier: Apache-2.0
// Decodes API objects from JSON (simdjson DOM) and from Kubernetes' protobuf into the same structs. Fields that
// scheduling does not read are skipped, above all managedFields. Decoding is lenient where the API server has already
// validated, and strict where a wrong value would change a decision: a quantity or time that does not parse, or a field
// of the wrong type, is an error with object and field path. Thread-safe.
//
//   DecodePod(object)        `object` is the JSON of one Pod, from a list (without kind) or a watch.
//   DecodePodProtobuf(raw)   `raw` is the message of one object without its envelope: UnwrapUnknown removes that
//                            (decode_protobuf_frame.h); items of a list have none.
//
// As in upstream, an unknown operator or effect is kept as kUnknown and matches nothing.
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

// Parses the JSON of one object for these functions. The result is valid until the thread's next call. `kind` is for
// the error message.
Expected<simdjson::dom::element> ParseObject(std::string_view kind, std::string_view text);

// Parse and decode, for tools and tests.
Expected<std::shared_ptr<const Pod>> DecodePod(std::string_view text);
Expected<std::shared_ptr<const Node>> DecodeNode(std::string_view text);

}  // namespace berth::api
