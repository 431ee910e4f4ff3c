// SPDX-License-Identifier: Apache-2.0
// Responses exactly as k8s.io/apiserver and Go's net/http write them. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

#include "berth/shell/net/transport.h"
#include "berth/shell/serving/user.h"

namespace berth::serving {

// As http.Error: the text and a newline.
net::Response PlainError(int status, std::string_view text);

// 200 with this body.
net::Response Text(std::string body, std::string_view content_type = "text/plain; charset=utf-8");

// As http.NotFound.
net::Response NotFound();

// A Status object for 401, 403, 406 and 429. `request` decides whether the JSON is indented.
net::Response Unauthorized(const net::Request& request);
net::Response Forbidden(const net::Request& request, const User& user, std::string_view verb, std::string_view path,
                        std::string_view reason);
net::Response NotAcceptable(const net::Request& request);
net::Response TooManyRequests(const net::Request& request);

// Any other failure, as a Status object; `reason` is one of the API's: "NotFound". A status of 429 or 503 comes with
// Retry-After: 1.
net::Response Failure(const net::Request& request, int status, std::string_view reason, std::string_view message);

// As responsewriters.InternalError.
net::Response InternalFailure(const net::Request& request, std::string_view message);

}  // namespace berth::serving
