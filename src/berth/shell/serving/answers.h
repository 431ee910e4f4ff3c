// SPDX-License-Identifier: Apache-2.0
// Responses exactly as k8s.io/apiserver and Go's net/http write them. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

#include "berth/shell/net/transport.h"
#include "berth/shell/serving/user.h"

namespace berth::serving {

// The text and a newline, as http.Error of Go.
net::Response PlainError(int status, std::string_view text);

// 200 with this body.
net::Response Text(std::string body, std::string_view content_type = "text/plain; charset=utf-8");

// The answer of http.NotFound of Go.
net::Response NotFound();

// A Status object for 401, 403, 406 and 429. `request` decides whether the JSON is indented.
net::Response Unauthorized(const net::Request& request);
net::Response Forbidden(const net::Request& request, const User& user, std::string_view verb, std::string_view path,
                        std::string_view reason);
net::Response NotAcceptable(const net::Request& request);
net::Response TooManyRequests(const net::Request& request);

// A Status object for any other failure; `reason` is one of the API's, such as "NotFound". With 429 and 503 comes
// Retry-After: 1.
net::Response Failure(const net::Request& request, int status, std::string_view reason, std::string_view message);

// The answer of responsewriters.InternalError of k8s.io/apiserver.
net::Response InternalFailure(const net::Request& request, std::string_view message);

}  // namespace berth::serving
