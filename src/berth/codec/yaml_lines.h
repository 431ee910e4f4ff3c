// SPDX-License-Identifier: Apache-2.0
// Where in a YAML or JSON text the field is that an error is about. For messages: the text is parsed once more. Pure
// functions; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "berth/base/error.h"

namespace berth::codec {

// The field path with which an error's message begins: "spec.containers[0].name" of `spec.containers[0].name: is
// missing`, of `[spec.containers[0].name: is missing, spec.x: ...]` and of `unknown field "spec.containers[0].name"`.
// Empty where there is none.
std::string_view FieldPathOf(std::string_view message);

// The line, from 1, of the value that is called `path`, or of the innermost field on the way to it that is there;
// nullopt where none is. `document` counts those of the stream that are not empty, as ParseYamlStream() does. Keys with
// dots in them are found as well, with brackets around them or without: "requests[nvidia.com/gpu]".
std::optional<std::size_t> LineOfField(std::string_view text, std::string_view path, std::size_t document = 0);

// The error with the place in front: "pod.yaml:17: spec.containers[0]...", or "pod.yaml: ..." where no line is known.
// `text` is what is in the file.
Error InFile(std::string_view file, std::string_view text, const Error& error);

}  // namespace berth::codec
