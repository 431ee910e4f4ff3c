// SPDX-License-Identifier: Apache-2.0
// Compares the evaluator with upstream's package (tests/differential/cel): result, error and cost of every case.
// BERTH_CEL_ANSWERS names another file of answers.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "berth/codec/json_reader.h"
#include "berth/languages/cel/device.h"
#include "berth/testing/source_path.h"

namespace berth::cel {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

template <typename T, typename Read>
std::vector<T> ReadList(element list, Read read) {
  std::vector<T> items;
  for (element item : list.get_array()) items.push_back(read(item));
  return items;
}

DeviceAttribute ReadAttribute(object attribute) {
  const auto text = [](element value) { return std::string(std::string_view(value)); };
  const auto version = [&](element value) { return DeviceVersion{text(value)}; };
  for (const auto [key, value] : attribute) {
    if (key == "int") return std::int64_t{value};
    if (key == "bool") return bool{value};
    if (key == "string") return text(value);
    if (key == "version") return version(value);
    if (key == "ints") return ReadList<std::int64_t>(value, [](element item) { return std::int64_t{item}; });
    if (key == "bools") return ReadList<bool>(value, [](element item) { return bool{item}; });
    if (key == "strings") return ReadList<std::string>(value, text);
    if (key == "versions") return ReadList<DeviceVersion>(value, version);
  }
  return {};
}

Device ReadDevice(element json) {
  Device device;
  device.driver = codec::StringOrEmpty(json, "driver");
  device.allow_multiple_allocations = codec::FindBool(json, "allowMultipleAllocations").value_or(false);
  if (const auto attributes = codec::FindObject(json, "attributes")) {
    for (const auto [name, value] : *attributes) device.attributes.emplace_back(name, ReadAttribute(value));
  }
  if (const auto capacity = codec::FindObject(json, "capacity")) {
    for (const auto [name, value] : *capacity) {
      device.capacity.emplace_back(name, *api::Quantity::Parse(std::string_view(value)));
    }
  }
  return device;
}

// The expected answer of a case, as text.
std::string WantedAnswer(element answer) {
  if (const auto error = codec::FindString(answer, "compileError")) return "compile: " + std::string(*error);
  const std::string cost = " cost " + std::to_string(codec::FindInt(answer, "cost").value_or(0));
  if (const auto error = codec::FindString(answer, "error")) return "error: " + std::string(*error) + cost;
  return std::string(codec::FindBool(answer, "match").value_or(false) ? "match" : "no match") + cost;
}

std::string GivenAnswer(element answer, const Device& standard) {
  DeviceFeatures features;
  features.list_attributes = codec::FindBool(answer, "listTypeAttributes").value_or(false);
  const auto selector = DeviceSelector::Compile(codec::StringOrEmpty(answer, "expression"), features);
  if (!selector.ok()) return "compile: " + selector.error().message;
  const auto own_device = codec::FindMember(answer, "device");
  const auto input = DeviceInput::Make(own_device ? ReadDevice(*own_device) : standard, features);
  if (!input.ok()) return "error: " + input.error().message + " cost 0";
  const auto limit = codec::FindInt(answer, "costLimit");
  const DeviceMatch match = selector->Matches(*input, limit ? static_cast<std::uint64_t>(*limit) : kSelectorCostMax);
  const std::string cost = " cost " + std::to_string(match.cost);
  if (!match.matches.ok()) return "error: " + match.matches.error().message + cost;
  return std::string(*match.matches ? "match" : "no match") + cost;
}

TEST(Answers, AreUpstreams) {
  const char* const other_file = std::getenv("BERTH_CEL_ANSWERS");
  const std::string path = other_file ? other_file : testing::SourcePath("tests/differential/cel/answers.jsonl");
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  codec::JsonReader reader;
  Device standard;
  int number = 0;
  int count = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    const auto answer = reader.Parse(line);
    ASSERT_TRUE(answer.ok()) << path << ":" << number;
    if (!codec::FindString(*answer, "expression")) {
      standard = ReadDevice(*codec::FindMember(*answer, "device"));
      continue;
    }
    ++count;
    EXPECT_EQ(GivenAnswer(*answer, standard), WantedAnswer(*answer))
        << path << ":" << number << ": " << codec::StringOrEmpty(*answer, "expression");
  }
  EXPECT_GE(count, 300);
}

}  // namespace
}  // namespace berth::cel
