// SPDX-License-Identifier: Apache-2.0
// A JSON document as YAML in block style, keys in byte order, as sigs.k8s.io/yaml writes it. Pure.
#pragma once

#include <string>

#include "berth/codec/json.h"

namespace berth::codec {

// Read back by ParseYaml, it is the same value.
std::string WriteYaml(const json::value& value);

}  // namespace berth::codec
