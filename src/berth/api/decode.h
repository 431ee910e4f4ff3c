// Decoding API objects from JSON (simdjson DOM), skipping what scheduling does not read, managedFields above all.
// Lenient where the API server already validated, strict where a wrong value would change a decision: a quantity or
// time that does not parse, or a field of the wrong type, is an error that names object and field path. Thread-safe.
#pragma once

#include <memory>
#include <string_view>

#include <simdjson.h>

#include "berth/api/node.h"
#include "berth/api/pod.h"
#include "berth/base/expected.h"

namespace berth::api {

// `object` is the JSON of one Pod (Node), whether from a list (no kind) or a watch.
// An unknown operator or effect is kept as kUnknown (it matches nothing), as upstream treats it.
Expected<std::shared_ptr<const Pod>> DecodePod(simdjson::dom::element object);
Expected<std::shared_ptr<const Node>> DecodeNode(simdjson::dom::element object);

// The same from text, for tools and tests.
Expected<std::shared_ptr<const Pod>> DecodePod(std::string_view text);
Expected<std::shared_ptr<const Node>> DecodeNode(std::string_view text);

}  // namespace berth::api
