// SPDX-License-Identifier: Apache-2.0
// YAML (and so JSON) as a JSON document, for configuration, kubeconfig and manifests. Scalars follow YAML 1.1 as
// sigs.k8s.io/yaml reads it: plain booleans (yes, no, on, off, y and n among them), null, integers and floats are
// typed, quoted ones are strings; a float without a fraction becomes an integer; "<<" merges mappings. Duplicate keys,
// documents over the limits and alias bombs are errors that name line and column. Thread-compatible.
#pragma once

#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/codec/json.h"

namespace berth::codec {

// Exactly one document.
Expected<json::value> ParseYaml(std::string_view text, ParseLimits limits = {});

// A stream of documents separated by "---"; empty ones are left out.
Expected<std::vector<json::value>> ParseYamlStream(std::string_view text, ParseLimits limits = {});

}  // namespace berth::codec
