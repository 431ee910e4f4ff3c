// SPDX-License-Identifier: Apache-2.0
// Writes a JSON document as YAML in block style with sorted keys, as sigs.k8s.io/yaml does. Pure.
#pragma once

#include <string>

#include "berth/codec/json.h"

namespace berth::codec {

// ParseYaml of the result gives the same value.
std::string WriteYaml(const json::value& value);

}  // namespace berth::codec
