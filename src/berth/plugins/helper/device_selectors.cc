// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/helper/device_selectors.h"

#include <type_traits>
#include <variant>

namespace berth::plugins {
namespace {

enum Verdict : std::uint8_t { kUnknown, kNo, kYes };

// Of one slice. A slice that more selectors are asked about forgets what the earlier ones said.
constexpr std::size_t kVerdictsMax = 32;

cel::DeviceAttribute ToCel(const api::DeviceAttribute& attribute) {
  return std::visit(
      []<typename T>(const T& value) -> cel::DeviceAttribute {
        if constexpr (std::is_same_v<T, api::VersionValue>) {
          return cel::DeviceVersion{value.text};
        } else if constexpr (std::is_same_v<T, std::vector<api::VersionValue>>) {
          std::vector<cel::DeviceVersion> versions;
          for (const api::VersionValue& version : value) versions.push_back({version.text});
          return versions;
        } else {
          return value;
        }
      },
      attribute);
}

Expected<cel::DeviceInput> MakeInput(std::string_view driver, const api::Device& device) {
  cel::Device input;
  input.driver = driver;
  input.allow_multiple_allocations = device.allow_multiple_allocations;
  for (const auto& [name, attribute] : device.attributes) input.attributes.emplace_back(name, ToCel(attribute));
  for (const auto& [name, capacity] : device.capacity) input.capacity.emplace_back(name, capacity.value);
  return cel::DeviceInput::Make(input);
}

Expected<bool> Evaluate(const Expected<cel::DeviceSelector>& program, const Expected<cel::DeviceInput>& input) {
  if (!program.ok()) return InvalidError("CEL compile error: " + program.error().message);
  if (!input.ok()) return InvalidError("CEL runtime error: " + input.error().message);
  auto matches = program->Matches(*input).matches;
  if (!matches.ok()) return InvalidError("CEL runtime error: " + matches.error().message);
  return matches;
}

}  // namespace

Expected<bool> DeviceSelector::Matches(std::string_view driver, const api::Device& device) const {
  return Evaluate(program, MakeInput(driver, device));
}

Expected<bool> DeviceSelector::Matches(const api::ResourceSlice& slice, std::size_t index,
                                       SelectorMemory& memory) const {
  auto it = memory.verdicts.find(id);
  if (it == memory.verdicts.end()) {
    if (memory.verdicts.size() >= kVerdictsMax) memory.verdicts.clear();
    it = memory.verdicts.emplace(id, std::vector<std::uint8_t>(slice.devices.size(), kUnknown)).first;
  }
  std::uint8_t& known = it->second[index];
  if (known != kUnknown) return known == kYes;
  memory.inputs.resize(slice.devices.size());
  auto& input = memory.inputs[index];
  if (input == nullptr) {
    input = std::make_unique<const Expected<cel::DeviceInput>>(MakeInput(slice.driver, slice.devices[index]));
  }
  const auto matches = Evaluate(program, *input);
  if (matches.ok()) known = *matches ? kYes : kNo;
  return matches;
}

DeviceSelectors::Ptr DeviceSelectors::Get(std::string_view expression) {
  const auto it = by_expression_.find(expression);
  if (it != by_expression_.end()) return it->second;
  if (by_expression_.size() >= kSelectorsMax) by_expression_.clear();
  auto made =
      std::make_shared<const DeviceSelector>(DeviceSelector{next_id_++, cel::DeviceSelector::Compile(expression)});
  by_expression_.emplace(std::string(expression), made);
  return made;
}

std::vector<DeviceSelectors::Ptr> DeviceSelectors::Get(const std::vector<std::string>& expressions) {
  std::vector<Ptr> selectors;
  selectors.reserve(expressions.size());
  for (const std::string& expression : expressions) selectors.push_back(Get(expression));
  return selectors;
}

}  // namespace berth::plugins
