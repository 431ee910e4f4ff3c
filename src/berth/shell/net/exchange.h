// SPDX-License-Identifier: Apache-2.0
// Exchange: one Send() of the HTTP client, from its acceptance to its answer. For the sources of this folder; used on
// its loop's thread only, once it is there.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <string>

#include "berth/shell/net/io_context_impl.h"
#include "berth/shell/net/transport.h"

namespace berth::net {

class Http2Call;

// How often a request may meet a kept-alive connection that has died before it is given up.
inline constexpr int kAttemptsMax = 3;

// A node of exactly one of the pool's lists (client_pool.h), so that it never moves in memory.
struct Exchange {
  Request request;
  std::string wire;  // of HTTP/1.1
  Transport::Done done;
  SteadyTime deadline;
  Duration timeout{};
  std::size_t body_bytes_max = 0;
  bool (*is_about_certificate)(const Response& answer) = nullptr;  // see SendOptions
  bool is_repeatable = false;                                      // GET and HEAD
  bool is_head = false;
  int attempts = 0;
  std::shared_ptr<Http2Call> call;  // while it is in flight over HTTP/2

  // For clients with a certificate: whether the answer may be about that.
  bool IsCertificateRefused(const Response& answer) const {
    return answer.status == 401 && (is_about_certificate == nullptr || is_about_certificate(answer));
  }
};

using ExchangeList = std::list<Exchange>;

}  // namespace berth::net
