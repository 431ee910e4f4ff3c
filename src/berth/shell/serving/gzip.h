// SPDX-License-Identifier: Apache-2.0
// Answers compressed with gzip for whoever accepts it, as client_golang compresses metrics. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

#include "berth/shell/net/transport.h"

namespace berth::serving {

// Whether the request's Accept-Encoding has that coding, or *, with a weight above 0. A coding's own weight counts more
// than that of *.
bool Accepts(const net::Request& request, std::string_view coding);
inline bool AcceptsGzip(const net::Request& request) { return Accepts(request, "gzip"); }

// The text as a gzip file (RFC 1952).
std::string Gzip(std::string_view text);

// A gzip stream of pieces that may be put together in any order: what it begins with, and a piece. A piece ends on a
// whole byte and refers to none before it. The stream has no end.
std::string_view GzipStreamHead();
std::string GzipPiece(std::string_view text);

// Returns `response` with its body compressed if the request accepts that.
net::Response Compressed(const net::Request& request, net::Response response);

}  // namespace berth::serving
