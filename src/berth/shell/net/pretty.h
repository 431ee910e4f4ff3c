// SPDX-License-Identifier: Apache-2.0
// Whether an answer's JSON is indented. Upstream: isPrettyPrint of apiserver's response writers.
#pragma once

#include "berth/shell/net/transport.h"
#include "berth/shell/net/url.h"

namespace berth::net {

// The query parameter "pretty" decides. Without it, JSON is indented for the User-Agents of curl, wget and browsers.
// `target` is the request's, parsed. Any thread.
bool WantsPretty(const Request& request, const Target& target);

}  // namespace berth::net
