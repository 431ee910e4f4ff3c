// SPDX-License-Identifier: Apache-2.0
// Texts as Go's standard library and Kubernetes' own helpers make them, for messages that have to be equal to those of
// upstream. Pure functions, thread-safe.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// %q: between double quotes, with control characters and bytes that are no UTF-8 escaped.
std::string GoQuoted(std::string_view text);

// encoding/json of a string, which escapes what HTML would misread, and of a []string, where one without elements
// counts as nil, as objects have it that came as protobuf: "null".
std::string GoJson(std::string_view text);
std::string GoJson(std::span<const std::string> texts);

// %v of a []string: "[a b]".
std::string GoList(std::span<const std::string> texts);

// utilerrors.Aggregate: the one error, or "[a, b]"; the same one twice counts once. Without errors: empty.
std::string GoAggregate(std::span<const std::string> errors);

// strings.Split: one part more than there are separators. The separator is not empty.
std::vector<std::string> GoSplit(std::string_view text, std::string_view separator);

}  // namespace berth
