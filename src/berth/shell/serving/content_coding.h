// SPDX-License-Identifier: Apache-2.0
// Answers compressed as their reader accepts it: by zstd, which takes a fraction of the time, or by gzip. For what is
// large and made anew often; metrics are compressed by gzip alone, as client_golang does it. Pure functions, any
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "berth/shell/net/transport.h"

struct ZSTD_CCtx_s;

namespace berth::serving {

enum class ContentCoding : std::uint8_t { kIdentity, kGzip, kZstd };

// The best of what the request's Accept-Encoding has with a weight above 0.
ContentCoding CodingFor(const net::Request& request);

// "gzip", "zstd"; "" of kIdentity.
std::string_view NameOf(ContentCoding coding);

std::string Encoded(ContentCoding coding, std::string_view text);

// Compresses the pieces of streams that many readers get. A piece stands by itself: it is compressed once for all of
// them, whichever pieces a reader has had before it. One thread's.
class PieceEncoder {
 public:
  PieceEncoder();
  ~PieceEncoder();
  PieceEncoder(const PieceEncoder&) = delete;
  PieceEncoder& operator=(const PieceEncoder&) = delete;

  // What a reader's stream begins with.
  static std::string_view Head(ContentCoding coding);
  // The reader can read all of the piece as soon as it has come.
  std::string Encode(ContentCoding coding, std::string_view piece);

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s* context) const;
  };
  std::unique_ptr<ZSTD_CCtx_s, Free> zstd_;  // kept, since to make it costs as much as a small piece
};

// Replaces the body by one that is encoded already, and says so in the headers.
void SetEncodedBody(ContentCoding coding, std::string body, net::Response& response);

// Returns `response` with its body encoded as the request accepts it, unless it is encoded already, or so short that
// nothing is won.
net::Response EncodedFor(const net::Request& request, net::Response response);

}  // namespace berth::serving
