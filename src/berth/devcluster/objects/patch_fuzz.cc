// SPDX-License-Identifier: Apache-2.0
// A document and a patch, divided by the first line feed: no patch may crash, hang or grow without bound.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "berth/codec/json.h"
#include "berth/devcluster/objects/patch.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  using namespace berth::objects;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t line = input.find('\n');
  const auto document = codec::ParseJson(input.substr(0, line));
  const auto patch = codec::ParseJson(line == std::string_view::npos ? std::string_view() : input.substr(line + 1));
  if (!document.ok() || !patch.ok()) return 0;
  const MergeKeyOf merge_key = [](std::string_view, std::string_view path) -> std::string_view {
    if (path.ends_with("containers") || path.ends_with("l")) return "name";
    if (path.ends_with("finalizers") || path.ends_with("s")) return "*";
    return "";
  };
  for (const auto& patched : {ApplyJsonPatch(*document, *patch), ApplyMergePatch(*document, *patch),
                              ApplyStrategicMergePatch(*document, *patch, "Pod", merge_key)}) {
    if (patched.ok()) (void)codec::WriteJson(*patched);
  }
  return 0;
}
