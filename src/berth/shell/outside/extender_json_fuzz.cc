// SPDX-License-Identifier: Apache-2.0
// Any text is an answer of an extender or an error in one line; and any object can be sent to one.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/check.h"
#include "berth/codec/json_reader.h"
#include "berth/shell/outside/extender_json.h"

namespace {

void Check(const berth::Expected<berth::scheduler::ExtenderAnswer>& answer) {
  if (answer.ok()) return;
  BERTH_CHECK(!answer.error().message.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth::outside;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string> names = {"a", "b"};
  for (const bool is_capable : {false, true}) {
    const auto answer = ParseExtenderFilterResult(text, {"http://x", is_capable, names});
    Check(answer);
    if (!answer.ok()) continue;
    for (const std::string& name : answer->node_names) BERTH_CHECK(name == "a" || name == "b", name);
  }
  Check(ParseHostPriorityList(text));
  Check(ParseExtenderPreemptionResult(text));
  Check(ParseExtenderBindingResult(text));
  berth::codec::JsonReader reader({.bytes_max = std::size_t{1} << 20, .depth_max = 64});
  const auto object = reader.Parse(text);
  if (!object.ok()) return 0;
  // What is sent is JSON again.
  const std::string sent = ExtenderArgsOfNames(ObjectForExtender(*object), names);
  berth::codec::JsonReader again({.bytes_max = std::size_t{16} << 20, .depth_max = 80});
  BERTH_CHECK(again.Parse(sent).ok(), sent);
  return 0;
}
