// SPDX-License-Identifier: Apache-2.0
#include "berth/base/base64.h"

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

TEST(Base64Test, SkipsLineBreaksAlone) {
  EXPECT_EQ(DecodeBase64("Zm9v\nYmFy\r\n").value(), "foobar");
  for (const char* text : {"Z", "Zm8", "Zm=v", "Zm9v=", "====", "Zm 9v", "Zm9v!", "Zg==Zg=="}) {
    EXPECT_FALSE(DecodeBase64(text).ok()) << text;
  }
}

}  // namespace
}  // namespace berth
