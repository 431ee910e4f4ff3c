// SPDX-License-Identifier: Apache-2.0
// Formats texts exactly as Go's standard library and Kubernetes' helpers do, for messages that must equal upstream's.
// Pure functions, thread-safe.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// %q: in double quotes, with control characters and invalid UTF-8 escaped.
std::string GoQuoted(std::string_view text);

// encoding/json of a string, which escapes characters special in HTML; and of a []string, where an empty list counts as
// nil, as in objects decoded from protobuf: "null".
std::string GoJson(std::string_view text);
std::string GoJson(std::span<const std::string> texts);

// %v of a []string: "[a b]".
std::string GoList(std::span<const std::string> texts);

// utilerrors.Aggregate: the only error, or "[a, b]" without duplicates; empty for no errors.
std::string GoAggregate(std::span<const std::string> errors);

// strings.Split: one part more than there are separators. The separator must not be empty.
std::vector<std::string> GoSplit(std::string_view text, std::string_view separator);

}  // namespace berth
