// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/serving/gzip.h"

#include <cstdint>
#include <cstdlib>
#include <utility>

#include <boost/beast/zlib/deflate_stream.hpp>
#include <boost/crc.hpp>

#include "berth/base/check.h"
#include "berth/base/go_text.h"
#include "berth/base/text.h"
#include "berth/shell/serving/answers.h"

namespace berth::serving {
namespace {

namespace zlib = boost::beast::zlib;

// Metrics repeat themselves, so a higher level saves little.
constexpr int kLevel = 3;
constexpr int kWindowBits = 15;
constexpr int kMemoryLevel = 8;
// The header: deflate, no name, no time, an unknown system.
constexpr std::string_view kHeader("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);

void AppendLittleEndian(std::string& out, std::uint32_t number) {
  for (int i = 0; i < 4; ++i) out += static_cast<char>(number >> (8 * i) & 0xff);
}

// All of `text` is taken.
boost::beast::error_code AppendDeflated(std::string_view text, zlib::Flush flush, std::string& out) {
  constexpr std::size_t kFlushBytesMax = 16;  // that the end of a flush takes beyond the bound
  const std::size_t begin = out.size();
  zlib::deflate_stream stream;
  stream.reset(kLevel, kWindowBits, kMemoryLevel, zlib::Strategy::normal);
  out.resize(begin + stream.upper_bound(text.size()) + kFlushBytesMax);
  zlib::z_params params;
  params.next_in = text.data();
  params.avail_in = text.size();
  params.next_out = out.data() + begin;
  params.avail_out = out.size() - begin;
  boost::beast::error_code ec;
  stream.write(params, flush, ec);
  BERTH_CHECK(params.avail_in == 0 && params.avail_out > 0, ec.message());
  out.resize(begin + params.total_out);
  return ec;
}

}  // namespace

bool Accepts(const net::Request& request, std::string_view coding) {
  bool is_any_accepted = false;
  for (const std::string& clause : GoSplit(request.Get("Accept-Encoding"), ",")) {
    const std::string_view named = Trim(std::string_view(clause).substr(0, clause.find(';')));
    if (named != coding && named != "*") continue;
    const std::size_t weight = clause.find("q=");
    const bool is_accepted = weight == std::string::npos || std::strtod(clause.c_str() + weight + 2, nullptr) > 0;
    if (named == coding) return is_accepted;
    is_any_accepted = is_accepted;
  }
  return is_any_accepted;
}

std::string Gzip(std::string_view text) {
  std::string out(kHeader);
  BERTH_CHECK(AppendDeflated(text, zlib::Flush::finish, out) == zlib::error::end_of_stream);
  boost::crc_32_type crc;
  crc.process_bytes(text.data(), text.size());
  AppendLittleEndian(out, crc.checksum());
  AppendLittleEndian(out, static_cast<std::uint32_t>(text.size()));
  return out;
}

std::string_view GzipStreamHead() { return kHeader; }

std::string GzipPiece(std::string_view text) {
  std::string out;
  BERTH_CHECK(!AppendDeflated(text, zlib::Flush::full, out).failed());
  return out;
}

net::Response Compressed(const net::Request& request, net::Response response) {
  if (!AcceptsGzip(request)) return response;
  response.body = Gzip(response.body);
  response.headers.push_back({"Content-Encoding", "gzip"});
  return response;
}

}  // namespace berth::serving
