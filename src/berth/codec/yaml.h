// SPDX-License-Identifier: Apache-2.0
// Parses YAML (and so JSON) into a JSON document, for configuration, kubeconfig and manifests. Scalars follow YAML 1.1
// as in sigs.k8s.io/yaml: plain booleans (including yes, no, on, off, y and n), null, integers and floats are typed,
// quoted scalars are strings; a float without a fraction becomes an integer; "<<" merges mappings. Duplicate keys,
// documents above the limits and alias bombs are errors with line and column. Thread-compatible.
#pragma once

#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/codec/json.h"

namespace berth::codec {

// Parses exactly one document.
Expected<json::value> ParseYaml(std::string_view text, ParseLimits limits = {});

// Parses a stream of documents separated by "---"; empty ones are skipped.
Expected<std::vector<json::value>> ParseYamlStream(std::string_view text, ParseLimits limits = {});

}  // namespace berth::codec
