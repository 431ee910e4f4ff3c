// SPDX-License-Identifier: Apache-2.0
// ShownUrl: a URL without secrets, for messages, logs, metrics and pages. Pure.
#pragma once

#include <string>
#include <string_view>

namespace berth {

// Removes user and password from a URL, or from a text that should be one, and replaces the values of query parameters
// by "xxxxx" unless they are parameters of the Kubernetes API. What might be a password is removed as well.
std::string ShownUrl(std::string_view text);

}  // namespace berth
