// SPDX-License-Identifier: Apache-2.0
// ColumnFrame: writes the binary frame in which the page gets many rows at once: a directory in JSON, then columns of
// numbers, and one table of strings. docs/reference/page-api.yaml has the layout. One thread's.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "berth/base/hash_map.h"
#include "berth/codec/json.h"

namespace berth::page {

static_assert(std::endian::native == std::endian::little, "columns are written as they are in memory");

class ColumnFrame {
 public:
  static constexpr std::string_view kMagic = "BFLT";
  static constexpr std::uint32_t kVersion = 4;

  ColumnFrame();

  // The string's number in the frame's table. Equal strings have one number; that of the empty one is 0.
  std::uint32_t Intern(std::string_view text);
  // A number of its own for a string that hardly comes twice, which costs no look-up.
  std::uint32_t Append(std::string_view text);

  // `name` needs no escapes in JSON, and is a literal: it is kept as it is. A matrix has `width` values a row. Of rows
  // that are all alike the first is written alone.
  void Add(std::string_view name, std::vector<std::uint16_t> values) { AddRows(name, "u16", std::move(values), 1); }
  void Add(std::string_view name, std::vector<std::uint32_t> values, std::size_t width = 1) {
    AddRows(name, "u32", std::move(values), width);
  }
  void Add(std::string_view name, std::vector<std::int32_t> values) { AddRows(name, "i32", std::move(values), 1); }
  void Add(std::string_view name, std::vector<double> values, std::size_t width = 1) {
    AddRows(name, "f64", std::move(values), width);
  }
  // As the differences of each to the one before it, modulo 2^32: of numbers that mostly count up these compress to
  // nearly nothing.
  void AddDifferences(std::string_view name, std::vector<std::uint32_t> values);

  // The whole frame: `directory` with its `columns`, and the columns, those of the string table among them. Once.
  std::string Take(codec::json::object directory) &&;

 private:
  using Values = std::variant<std::string, std::vector<std::uint16_t>, std::vector<std::uint32_t>,
                              std::vector<std::int32_t>, std::vector<double>>;
  struct Column {
    std::string_view name;
    std::string_view type;
    std::size_t length = 0;  // of values, of which those that are not in `values` repeat them
    Values values;
  };

  template <typename Number>
  void AddRows(std::string_view name, std::string_view type, std::vector<Number> values, std::size_t width) {
    const std::size_t length = values.size();
    // Bytes, since of numbers one that is unknown is not like itself.
    if (length > width && std::memcmp(values.data(), values.data() + width, (length - width) * sizeof(Number)) == 0)
      values.resize(width);
    columns_.push_back({name, type, length, std::move(values)});
  }

  StringHashMap<std::uint32_t> numbers_;  // of those that Intern() has seen
  std::vector<std::uint32_t> string_offsets_;
  std::string string_bytes_;
  std::vector<Column> columns_;
};

}  // namespace berth::page
