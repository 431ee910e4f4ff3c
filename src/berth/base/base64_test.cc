// SPDX-License-Identifier: Apache-2.0
#include "berth/base/base64.h"

#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(Base64Test, GoesBothWays) {
  // Test vectors of RFC 4648, section 10.
  struct Case {
    std::string_view bytes;
    std::string_view text;
  };
  for (const auto& [bytes, text] : {Case{"", ""}, Case{"f", "Zg=="}, Case{"fo", "Zm8="}, Case{"foo", "Zm9v"},
                                    Case{"foob", "Zm9vYg=="}, Case{"fooba", "Zm9vYmE="}, Case{"foobar", "Zm9vYmFy"},
                                    Case{"\xff\xfe", "//4="}, Case{"\xfb\xef", "++8="}, Case{{"\0\0", 2}, "AAA="}}) {
    EXPECT_EQ(EncodeBase64(bytes), text);
    const auto decoded = DecodeBase64(text);
    ASSERT_TRUE(decoded.ok()) << text;
    EXPECT_EQ(*decoded, bytes) << text;
  }
}

TEST(Base64Test, EachGroupOfBitsHasItsCharacter) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::uint32_t bits = 0; bits < 1U << 24; bits += 4093) {
    const char bytes[3] = {static_cast<char>(bits >> 16), static_cast<char>(bits >> 8), static_cast<char>(bits)};
    std::string text;
    for (int shift = 18; shift >= 0; shift -= 6) text += kAlphabet[bits >> shift & 63U];
    EXPECT_EQ(EncodeBase64({bytes, 3}), text);
  }
}

TEST(Base64Test, LongBytesAreAppendedWhole) {
  std::string bytes;
  for (int length = 0; length < 3'000; ++length, bytes += static_cast<char>(length * 7)) {
    std::string text = "before ";
    AppendBase64(bytes, text);
    ASSERT_EQ(text, "before " + EncodeBase64(bytes));
    ASSERT_EQ(text.size(), 7 + (bytes.size() + 2) / 3 * 4);
    ASSERT_EQ(DecodeBase64(std::string_view(text).substr(7)).value(), bytes) << length;
  }
}

TEST(Base64Test, SkipsLineBreaksAlone) {
  EXPECT_EQ(DecodeBase64("Zm9v\nYmFy\r\n").value(), "foobar");
  for (const char* text : {"Z", "Zm8", "Zm=v", "Zm9v=", "====", "Zm 9v", "Zm9v!", "Zg==Zg=="}) {
    EXPECT_FALSE(DecodeBase64(text).ok()) << text;
  }
}

}  // namespace
}  // namespace berth
