// SPDX-License-Identifier: Apache-2.0
// Slices agree with the reader: every object or array that it parses is split into the same number of members or
// elements, each of which it parses as well.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "berth/base/check.h"
#include "berth/codec/json_reader.h"
#include "berth/codec/json_slices.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  using namespace berth::codec;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto members = SliceObject(text);
  const auto elements = SliceArray(text);
  BERTH_CHECK(!members || !elements || (members->empty() && elements->empty()));
  if (text.starts_with("\xEF\xBB\xBF")) return 0;  // only the reader accepts a byte order mark
  JsonReader reader;
  std::size_t count = 0;
  {
    const auto document = reader.Parse(text);
    if (!document.ok() || (!document->is_object() && !document->is_array())) return 0;
    count = document->is_object() ? document->get_object().value().size() : document->get_array().value().size();
    BERTH_CHECK(document->is_object() ? members.has_value() : elements.has_value());
  }
  const auto& slices = members ? *members : *elements;
  constexpr std::size_t kCountedMax = 0xFFFFFF;  // simdjson's limit on counts
  BERTH_CHECK(slices.size() == count || count == kCountedMax, slices.size(), count);
  for (const JsonSlice& slice : slices) {
    BERTH_CHECK(slice.value.data() >= text.data() && slice.value.data() + slice.value.size() <= text.data() + size);
    BERTH_CHECK(reader.Parse(slice.value).ok(), slice.value);
  }
  return 0;
}
