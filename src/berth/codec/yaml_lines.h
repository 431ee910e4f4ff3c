// SPDX-License-Identifier: Apache-2.0
// Finds the line of a field in a YAML or JSON text, for error messages: the text is parsed a second time. Pure
// functions; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "berth/base/error.h"

namespace berth::codec {

// The field path at the start of an error message: "spec.containers[0].name" for `spec.containers[0].name: is missing`,
// for `[spec.containers[0].name: is missing, spec.x: ...]` and for `unknown field "spec.containers[0].name"`. Empty if
// there is none.
std::string_view FieldPathOf(std::string_view message);

// The line, counted from 1, of the value at `path`, or else of the innermost existing value on the way; nullopt if
// there is none. `document` is an index among the non-empty documents, as in ParseYamlStream(). Keys that contain dots
// are found with or without brackets: "requests[nvidia.com/gpu]".
std::optional<std::size_t> LineOfField(std::string_view text, std::string_view path, std::size_t document = 0);

// Adds the position to the error: "pod.yaml:17: spec.containers[0]...", or "pod.yaml: ..." if the line is unknown.
// `text` is the content of the file.
Error InFile(std::string_view file, std::string_view text, const Error& error);

}  // namespace berth::codec
