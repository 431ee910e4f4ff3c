// SPDX-License-Identifier: Apache-2.0
#include "berth/page/column_frame.h"

#include <cstring>
#include <numeric>
#include <utility>

namespace berth::page {
namespace {

// Columns begin at such multiples, so that a reader can look at them where they are.
constexpr std::size_t kAlignment = 8;
constexpr std::size_t kHeadBytes = 16;

void Align(std::string& text, char padding) {
  while (text.size() % kAlignment != 0) text.push_back(padding);
}

void AppendNumber(std::string& to, std::uint32_t number) {
  char bytes[sizeof(number)];
  std::memcpy(bytes, &number, sizeof(number));
  to.append(bytes, sizeof(bytes));
}

}  // namespace

ColumnFrame::ColumnFrame() : string_offsets_{0} { Intern(""); }

std::uint32_t ColumnFrame::Intern(std::string_view text) {
  const auto known = numbers_.find(text);
  if (known != numbers_.end()) return known->second;
  const std::uint32_t number = Append(text);
  numbers_.emplace(std::string(text), number);
  return number;
}

std::uint32_t ColumnFrame::Append(std::string_view text) {
  const auto number = static_cast<std::uint32_t>(string_offsets_.size() - 1);
  string_bytes_.insert(string_bytes_.end(), text.begin(), text.end());
  string_offsets_.push_back(static_cast<std::uint32_t>(string_bytes_.size()));
  return number;
}

void ColumnFrame::AddDifferences(std::string_view name, const std::vector<std::uint32_t>& values) {
  std::vector<std::uint32_t> differences(values.size());
  std::adjacent_difference(values.begin(), values.end(), differences.begin());
  AddBytes(name, "d32", differences);
}

void ColumnFrame::AddColumn(std::string_view name, std::string_view type, const void* values, std::size_t length,
                            std::size_t size) {
  Align(body_, '\0');
  columns_.push_back(codec::json::object{{"name", name}, {"type", type}, {"offset", body_.size()}, {"length", length}});
  if (length > 0) body_.append(static_cast<const char*>(values), length * size);
}

std::string ColumnFrame::Take(codec::json::object directory) && {
  AddDifferences("string.offset", string_offsets_);
  Add("string.bytes", string_bytes_);
  directory["columns"] = std::move(columns_);
  const std::string text = codec::WriteJson(directory);
  std::string frame(kMagic);
  AppendNumber(frame, kVersion);
  AppendNumber(frame, static_cast<std::uint32_t>(text.size()));
  const std::size_t begin = (kHeadBytes + text.size() + kAlignment - 1) / kAlignment * kAlignment;
  AppendNumber(frame, static_cast<std::uint32_t>(begin));
  frame.reserve(begin + body_.size());
  frame += text;
  Align(frame, ' ');
  frame += body_;
  return frame;
}

}  // namespace berth::page
