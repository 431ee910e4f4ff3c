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

std::size_t Aligned(std::size_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

template <typename Values>
std::string_view BytesOf(const Values& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0])};
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
  string_bytes_.append(text);
  string_offsets_.push_back(static_cast<std::uint32_t>(string_bytes_.size()));
  return number;
}

void ColumnFrame::AddDifferences(std::string_view name, std::vector<std::uint32_t> values) {
  std::adjacent_difference(values.begin(), values.end(), values.begin());
  AddRows(name, "d32", std::move(values), 1);
}

// The directory's columns are written as text, since of a small delta a tree of values would be most of the work.
std::string ColumnFrame::Take(codec::json::object directory) && {
  AddDifferences("string.offset", std::move(string_offsets_));
  columns_.push_back({"string.bytes", "u8", string_bytes_.size(), std::move(string_bytes_)});
  std::string text = codec::WriteJson(directory);
  text.back() = ',';
  text.append(R"("columns":[)");
  std::size_t size = 0;
  for (const Column& column : columns_) {
    size = Aligned(size);
    std::visit(
        [&](const auto& values) {
          text.append(R"({"name":")").append(column.name).append(R"(","type":")").append(column.type);
          text.append(R"(","offset":)").append(std::to_string(size));
          text.append(R"(,"length":)").append(std::to_string(column.length));
          if (values.size() < column.length) text.append(R"(,"stored":)").append(std::to_string(values.size()));
          text.append("},");
          size += BytesOf(values).size();
        },
        column.values);
  }
  text.back() = ']';
  text += '}';
  const std::size_t begin = Aligned(kHeadBytes + text.size());
  std::string frame;
  frame.reserve(begin + size);
  frame += kMagic;
  AppendNumber(frame, kVersion);
  AppendNumber(frame, static_cast<std::uint32_t>(text.size()));
  AppendNumber(frame, static_cast<std::uint32_t>(begin));
  frame += text;
  frame.resize(begin, ' ');
  for (const Column& column : columns_) {
    frame.resize(begin + Aligned(frame.size() - begin), '\0');
    frame += std::visit([](const auto& values) { return BytesOf(values); }, column.values);
  }
  return frame;
}

}  // namespace berth::page
