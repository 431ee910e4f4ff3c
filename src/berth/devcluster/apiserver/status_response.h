// SPDX-License-Identifier: Apache-2.0
// Status objects and other JSON as HTTP responses. Pure, any thread.
#pragma once

#include <string>

#include "berth/devcluster/objects/status_error.h"
#include "berth/shell/net/transport.h"

namespace berth::apiserver {

// A JSON body with this status code.
net::Response JsonResponse(int code, std::string body);

// The answer for an error, with Retry-After where the error says when to try again.
net::Response ToResponse(const objects::StatusError& error);

}  // namespace berth::apiserver
