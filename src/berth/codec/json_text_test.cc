// SPDX-License-Identifier: Apache-2.0
#include "berth/codec/json_text.h"

#include <string>

#include <gtest/gtest.h>

#include "berth/codec/json.h"

namespace berth::codec {
namespace {

TEST(JsonText, IsWhatATreeOfValuesWrites) {
  std::string every;
  for (int c = 0; c < 0x80; ++c) every += static_cast<char>(c);
  for (const std::string& text : {std::string(), std::string("web-1"), std::string("a \"quote\""), every,
                                  std::string("a\\b\n"), std::string("\xF0\x9F\x9A\xA2 \xD7\xA9")}) {
    std::string written = "x";
    AppendJsonString(text, written);
    EXPECT_EQ(written, "x" + WriteJson(json::value(text)));
  }
}

}  // namespace
}  // namespace berth::codec
