// SPDX-License-Identifier: Apache-2.0
// ShownUrl: a URL as messages, logs, metrics and pages may show it. Pure.
#pragma once

#include <string>
#include <string_view>

namespace berth {

// A URL, or what should be one: without user and password, and with "xxxxx" for the values of its query, but for
// parameters that are the Kubernetes API's. What might be a password is not shown either.
std::string ShownUrl(std::string_view text);

}  // namespace berth
