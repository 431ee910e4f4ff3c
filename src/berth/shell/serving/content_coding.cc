// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/serving/content_coding.h"

#include <cstddef>
#include <memory>
#include <utility>

#include <zstd.h>

#include "berth/base/check.h"
#include "berth/shell/serving/gzip.h"

namespace berth::serving {
namespace {

// Of a fleet's frame higher levels save a twelfth, for three times the time.
constexpr int kZstdLevel = 3;
// A body that one packet holds comes no sooner when it is smaller.
constexpr std::size_t kWorthBytes = 1'400;

// Of pieces, which are small and come often, each level more takes half as long again and saves a few in a hundred.
constexpr int kPieceZstdLevel = 1;

std::string Zstd(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  const std::size_t size = ZSTD_compress(out.data(), out.size(), text.data(), text.size(), kZstdLevel);
  BERTH_CHECK(ZSTD_isError(size) == 0, ZSTD_getErrorName(size));
  out.resize(size);
  return out;
}

}  // namespace

ContentCoding CodingFor(const net::Request& request) {
  if (Accepts(request, "zstd")) return ContentCoding::kZstd;
  return Accepts(request, "gzip") ? ContentCoding::kGzip : ContentCoding::kIdentity;
}

std::string_view NameOf(ContentCoding coding) {
  switch (coding) {
    case ContentCoding::kGzip: return "gzip";
    case ContentCoding::kZstd: return "zstd";
    case ContentCoding::kIdentity: break;
  }
  return "";
}

std::string Encoded(ContentCoding coding, std::string_view text) {
  switch (coding) {
    case ContentCoding::kGzip: return Gzip(text);
    case ContentCoding::kZstd: return Zstd(text);
    case ContentCoding::kIdentity: break;
  }
  return std::string(text);
}

PieceEncoder::PieceEncoder() = default;
PieceEncoder::~PieceEncoder() = default;

void PieceEncoder::Free::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }

std::string_view PieceEncoder::Head(ContentCoding coding) {
  return coding == ContentCoding::kGzip ? GzipStreamHead() : std::string_view();
}

std::string PieceEncoder::Encode(ContentCoding coding, std::string_view piece) {
  switch (coding) {
    case ContentCoding::kGzip: return GzipPiece(piece);
    case ContentCoding::kZstd: break;
    case ContentCoding::kIdentity: return std::string(piece);
  }
  if (zstd_ == nullptr) zstd_.reset(ZSTD_createCCtx());
  const std::size_t bound = ZSTD_compressBound(piece.size());
  const auto out = std::make_unique_for_overwrite<char[]>(bound);  // most of it is not written
  const std::size_t size =
      ZSTD_compressCCtx(zstd_.get(), out.get(), bound, piece.data(), piece.size(), kPieceZstdLevel);
  BERTH_CHECK(ZSTD_isError(size) == 0, ZSTD_getErrorName(size));
  return {out.get(), size};
}

void SetEncodedBody(ContentCoding coding, std::string body, net::Response& response) {
  response.body = std::move(body);
  // What lies between may keep the answer, but not for who accepts something else.
  response.headers.push_back({"Vary", "Accept-Encoding"});
  if (coding != ContentCoding::kIdentity) response.headers.push_back({"Content-Encoding", std::string(NameOf(coding))});
}

net::Response EncodedFor(const net::Request& request, net::Response response) {
  const ContentCoding coding = CodingFor(request);
  const bool is_encoded = !response.Get("Content-Encoding").empty();
  if (coding == ContentCoding::kIdentity || is_encoded || response.body.size() < kWorthBytes) return response;
  SetEncodedBody(coding, Encoded(coding, response.body), response);
  return response;
}

}  // namespace berth::serving
