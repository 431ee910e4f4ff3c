// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/helper/device_selectors.h"

#include <type_traits>
#include <utility>
#include <variant>

#include <absl/hash/hash.h>

namespace berth::plugins {
namespace {

// kDear: the selector knows it by what it reads of the device.
enum Verdict : std::uint8_t { kUnknown, kNo, kYes, kDear };

// The number of selectors whose verdicts a slice keeps. When there are more, all earlier verdicts are forgotten.
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

Expected<cel::DeviceInput> MakeInput(std::string_view driver, const api::Device& device,
                                     const cel::DeviceFeatures& features) {
  cel::Device input;
  input.driver = driver;
  input.allow_multiple_allocations = device.allow_multiple_allocations;
  for (const auto& [name, attribute] : device.attributes) input.attributes.emplace_back(name, ToCel(attribute));
  for (const auto& [name, capacity] : device.capacity) input.capacity.emplace_back(name, capacity.value);
  return cel::DeviceInput::Make(input, features);
}

SelectorAnswer Evaluate(const Expected<cel::DeviceSelector>& program, const Expected<cel::DeviceInput>& input) {
  if (!program.ok()) return {InvalidError("CEL compile error: " + program.error().message)};
  if (!input.ok()) return {InvalidError("CEL runtime error: " + input.error().message)};
  auto match = program->Matches(*input);
  if (!match.matches.ok()) return {InvalidError("CEL runtime error: " + match.matches.error().message), match.cost};
  return {match.matches, match.cost};
}

void AppendText(std::string& text, std::string_view part) {
  text.append(std::to_string(part.size())).append(":").append(part);
}

// Texts of different values differ within one kind of attribute.
std::string TextOf(const api::DeviceAttribute& attribute) {
  std::string text = std::to_string(attribute.index()) + "=";
  std::visit(
      [&text]<typename T>(const T& value) {
        const auto append = [&text]<typename V>(const V& one) {
          if constexpr (std::is_same_v<V, std::string>) {
            AppendText(text, one);
          } else if constexpr (std::is_same_v<V, api::VersionValue>) {
            AppendText(text, one.text);
          } else if constexpr (!std::is_same_v<V, std::monostate>) {
            AppendText(text, std::to_string(static_cast<std::int64_t>(one)));
          }
        };
        if constexpr (requires { value.begin(); } && !std::is_same_v<T, std::string>) {
          for (auto&& each : value) append(each);
        } else {
          append(value);
        }
      },
      attribute);
  return text;
}

}  // namespace

DeviceSelector::DeviceSelector(std::uint64_t id, std::string_view expression, const cel::DeviceFeatures& features)
    : id_(id),
      is_constant_(expression.find("device") == std::string_view::npos),
      features_(features),
      program_(cel::DeviceSelector::Compile(expression, features)) {}

std::string DeviceSelector::TextOfRead(std::string_view driver, const api::Device& device) const {
  std::string text;
  if (is_constant_) return text;
  AppendText(text, driver);
  text += device.allow_multiple_allocations ? "+" : "-";
  for (const auto& [name, attribute] : device.attributes) {
    AppendText(text, name);
    AppendText(text, TextOf(attribute));
  }
  text += "|";
  for (const auto& [name, capacity] : device.capacity) {
    AppendText(text, name);
    constexpr std::int64_t kPart = 1'000'000'000;
    AppendText(text, std::to_string(static_cast<std::int64_t>(capacity.value.nanos() / kPart)));
    AppendText(text, std::to_string(static_cast<std::int64_t>(capacity.value.nanos() % kPart)));
  }
  return text;
}

SelectorAnswer DeviceSelector::Matches(std::string_view driver, const api::Device& device) const {
  SelectorAnswer answer = Evaluate(program_, MakeInput(driver, device, features_));
  if (answer.cost <= kCheapCostMax) return {std::move(answer.matches)};
  answer.read = absl::Hash<std::string>()(TextOfRead(driver, device));
  return answer;
}

SelectorAnswer DeviceSelector::Matches(const api::ResourceSlice& slice, std::size_t index,
                                       SelectorMemory& memory) const {
  auto it = memory.verdicts.find(id_);
  if (it == memory.verdicts.end()) {
    if (memory.verdicts.size() >= kVerdictsMax) memory.verdicts.clear();
    it = memory.verdicts.emplace(id_, std::vector<std::uint8_t>(slice.devices.size(), kUnknown)).first;
  }
  std::uint8_t& known = it->second[index];
  if (known == kNo || known == kYes) return {known == kYes};
  std::string text;
  if (is_dear_) {
    text = TextOfRead(slice.driver, slice.devices[index]);
    if (const auto dear = dear_answers_.find(text); dear != dear_answers_.end())
      return {dear->second.matches, dear->second.cost, absl::Hash<std::string>()(text)};
  }
  memory.inputs.resize(slice.devices.size());
  auto& input = memory.inputs[index];
  if (input == nullptr) {
    input =
        std::make_unique<const Expected<cel::DeviceInput>>(MakeInput(slice.driver, slice.devices[index], features_));
  }
  SelectorAnswer answer = Evaluate(program_, *input);
  if (answer.cost <= kCheapCostMax) {
    if (answer.matches.ok()) known = *answer.matches ? kYes : kNo;
    return {std::move(answer.matches)};
  }
  if (!std::exchange(is_dear_, true)) text = TextOfRead(slice.driver, slice.devices[index]);
  answer.read = absl::Hash<std::string>()(text);
  if (!answer.matches.ok()) return answer;
  known = kDear;
  if (dear_answers_.size() >= kDearAnswersMax) dear_answers_.clear();
  dear_answers_.emplace(std::move(text), DearAnswer{*answer.matches, answer.cost});
  return answer;
}

DeviceSelectors::Ptr DeviceSelectors::Get(std::string_view expression) {
  const auto it = by_expression_.find(expression);
  if (it != by_expression_.end()) return it->second;
  if (by_expression_.size() >= kSelectorsMax) by_expression_.clear();
  auto made = std::make_shared<const DeviceSelector>(next_id_++, expression, features_);
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
