// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/serving/content_coding.h"

#include <string>

#include <gtest/gtest.h>
#include <zstd.h>

#include "berth/shell/serving/answers.h"

namespace berth::serving {
namespace {

net::Request Accepting(const char* codings) {
  net::Request request;
  if (*codings != '\0') request.headers.push_back({"Accept-Encoding", codings});
  return request;
}

TEST(ContentCoding, IsTheBestThatIsAccepted) {
  const struct {
    const char* accept;
    ContentCoding want;
  } cases[] = {
      {"", ContentCoding::kIdentity},
      {"br, deflate", ContentCoding::kIdentity},
      {"gzip, deflate, br", ContentCoding::kGzip},
      {"gzip, deflate, br, zstd", ContentCoding::kZstd},
      {"*", ContentCoding::kZstd},
      {"*, zstd;q=0", ContentCoding::kGzip},
      {"zstd;q=0, gzip;q=0.1", ContentCoding::kGzip},
  };
  for (const auto& c : cases) EXPECT_EQ(CodingFor(Accepting(c.accept)), c.want) << c.accept;
}

TEST(ContentCoding, ZstdCanBeUnpacked) {
  for (const std::string& text : {std::string(), std::string("a"), std::string(300'000, 'x')}) {
    const std::string packed = Encoded(ContentCoding::kZstd, text);
    std::string unpacked(text.size() + 1, '\0');
    const std::size_t size = ZSTD_decompress(unpacked.data(), unpacked.size(), packed.data(), packed.size());
    ASSERT_EQ(ZSTD_isError(size), 0U);
    unpacked.resize(size);
    EXPECT_EQ(unpacked, text);
  }
}

TEST(ContentCoding, PiecesAreFramesOfTheirOwn) {
  PieceEncoder encoder;
  EXPECT_EQ(PieceEncoder::Head(ContentCoding::kZstd), "");
  const std::string first = encoder.Encode(ContentCoding::kZstd, "first, first, first");
  const std::string second = encoder.Encode(ContentCoding::kZstd, std::string(300'000, 'x'));
  for (const std::string& packed : {first + second, second + first, second + second}) {
    std::string unpacked(600'001, '\0');
    const std::size_t size = ZSTD_decompress(unpacked.data(), unpacked.size(), packed.data(), packed.size());
    EXPECT_EQ(size, packed == second + second ? 600'000U : 300'019U);
  }
  EXPECT_EQ(encoder.Encode(ContentCoding::kIdentity, "as it is"), "as it is");
}

TEST(ContentCoding, OfALongAnswerAlone) {
  const std::string text(100'000, 'x');
  for (const char* const coding : {"gzip", "zstd"}) {
    const net::Response answer = EncodedFor(Accepting(coding), Text(text));
    EXPECT_EQ(answer.Get("Content-Encoding"), coding);
    EXPECT_EQ(answer.Get("Vary"), "Accept-Encoding");
    EXPECT_LT(answer.body.size(), text.size() / 10);
    EXPECT_EQ(EncodedFor(Accepting(coding), Text("short")).body, "short");
    EXPECT_EQ(EncodedFor(Accepting(coding), answer).body, answer.body) << "encoded already";
  }
  const net::Response plain = EncodedFor(Accepting(""), Text(text));
  EXPECT_EQ(plain.body, text);
  EXPECT_EQ(plain.Get("Content-Encoding"), "");
}

}  // namespace
}  // namespace berth::serving
