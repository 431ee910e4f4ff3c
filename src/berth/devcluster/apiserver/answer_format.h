// SPDX-License-Identifier: Apache-2.0
// The format of whole answers: JSON, indented JSON or YAML. Pure functions, any thread.
#pragma once

#include "berth/shell/net/transport.h"
#include "berth/shell/net/url.h"

namespace berth::apiserver {

// The client takes YAML rather than JSON.
bool WantsYaml(const net::Request& request);

// Brings an answer in JSON into the format that the request asks for. Indented as upstream decides: where ?pretty says
// so, or else for browsers, curl and wget.
void FormatAnswer(const net::Request& request, const net::Target& target, net::Response& response);

}  // namespace berth::apiserver
