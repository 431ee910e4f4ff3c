// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/serving/gzip.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <boost/beast/zlib/inflate_stream.hpp>
#include <boost/crc.hpp>

#include "berth/shell/serving/answers.h"

namespace berth::serving {
namespace {

constexpr std::size_t kHeaderBytes = 10;
constexpr std::size_t kTrailerBytes = 8;

std::uint32_t NumberAt(const std::string& file, std::size_t at) {
  std::uint32_t number = 0;
  for (int i = 3; i >= 0; --i)
    number = number << 8 | static_cast<unsigned char>(file[at + static_cast<std::size_t>(i)]);
  return number;
}

// What a reader of gzip files makes of it.
std::string Unpacked(const std::string& file, std::size_t size) {
  namespace zlib = boost::beast::zlib;
  EXPECT_EQ(file.substr(0, 4), std::string("\x1f\x8b\x08\0", 4));
  std::string text(size + 1, '\0');
  zlib::inflate_stream stream;
  zlib::z_params params;
  params.next_in = file.data() + kHeaderBytes;
  params.avail_in = file.size() - kHeaderBytes - kTrailerBytes;
  params.next_out = text.data();
  params.avail_out = text.size();
  boost::beast::error_code ec;
  stream.write(params, zlib::Flush::finish, ec);
  EXPECT_EQ(ec, zlib::error::end_of_stream);
  EXPECT_EQ(params.avail_in, 0U);
  text.resize(params.total_out);
  boost::crc_32_type crc;
  crc.process_bytes(text.data(), text.size());
  EXPECT_EQ(NumberAt(file, file.size() - kTrailerBytes), crc.checksum());
  EXPECT_EQ(NumberAt(file, file.size() - 4), text.size());
  return text;
}

TEST(Gzip, CanBeUnpacked) {
  std::string metrics;
  for (int i = 0; i < 20'000; ++i)
    metrics += "scheduler_x_bucket{le=\"" + std::to_string(i) + "\"} " + std::to_string(i % 7) + "\n";
  for (const std::string& text : {std::string(), std::string("a"), std::string("\0\xff", 2), metrics})
    EXPECT_EQ(Unpacked(Gzip(text), text.size()), text);
  EXPECT_LT(Gzip(metrics).size(), metrics.size() / 4);
}

TEST(Gzip, PiecesMakeAStreamInAnyOrder) {
  namespace zlib = boost::beast::zlib;
  const std::string texts[] = {"event: one\n\n", "", std::string(200'000, 'x'), "event: one\n\n"};
  for (const auto& order : {std::vector{0, 1, 2, 3}, std::vector{2, 3, 2, 0}}) {
    std::string packed, want;
    for (const int i : order) {
      packed += GzipPiece(texts[i]);
      want += texts[i];
    }
    EXPECT_LT(packed.size(), 3'000U);
    std::string text(want.size() + 1, '\0');
    zlib::inflate_stream stream;
    zlib::z_params params;
    params.next_in = packed.data();
    params.avail_in = packed.size();
    params.next_out = text.data();
    params.avail_out = text.size();
    boost::beast::error_code ec;
    stream.write(params, zlib::Flush::sync, ec);
    EXPECT_FALSE(ec.failed()) << ec.message();
    text.resize(params.total_out);
    EXPECT_EQ(text, want) << "all of it, though the stream has no end";
  }
  EXPECT_EQ(GzipStreamHead(), Gzip("a").substr(0, kHeaderBytes));
}

TEST(Gzip, ForWhoAcceptsIt) {
  const struct {
    const char* accept;
    bool is_accepted;
  } cases[] = {
      {"", false},
      {"identity", false},
      {"gzip", true},
      {"deflate, gzip;q=1.0, *;q=0.5", true},
      {"gzip;q=0", false},
      {"gzip;q=0.0, br", false},
      {"*", true},
      {"zstd,gzip", true},
      {"gzipped", false},
      {"deflate, br", false},
      {" gzip ; q=0.5", true},
      {"*;q=0", false},
      {"*, gzip;q=0", false},
  };
  for (const auto& c : cases) {
    net::Request request;
    if (*c.accept != '\0') request.headers.push_back({"Accept-Encoding", c.accept});
    EXPECT_EQ(AcceptsGzip(request), c.is_accepted) << c.accept;
    const net::Response answer = Compressed(request, Text("metrics"));
    EXPECT_EQ(answer.body == "metrics", !c.is_accepted) << c.accept;
  }
}

}  // namespace
}  // namespace berth::serving
