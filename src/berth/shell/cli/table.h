// SPDX-License-Identifier: Apache-2.0
// Table: text in aligned columns, as kubectl prints it. A value; fill it and render it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "berth/shell/cli/text.h"

namespace berth::cli {

struct Column {
  std::string title;
  bool is_right_aligned = false;                                    // numbers
  std::size_t width_max = std::numeric_limits<std::size_t>::max();  // longer cells are cut
};

struct Cell {
  Cell(std::string t, Color c = Color::kNone) : text(std::move(t)), color(c) {}  // NOLINT(google-explicit-constructor)
  Cell(const char* t, Color c = Color::kNone) : text(t), color(c) {}             // NOLINT(google-explicit-constructor)
  std::string text;
  Color color;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Missing cells are empty, cells beyond the last column are dropped. Cells are made printable first.
  void AddRow(std::vector<Cell> cells);
  std::size_t row_count() const { return rows_.size(); }

  struct Style {
    bool has_color = false;
    // Columns of the terminal; the widest columns shrink until the table fits. 0: as wide as it is.
    std::size_t width = 0;
  };
  // The titles and one line a row, without newlines and without blanks at the end.
  std::vector<std::string> Lines(const Style& style) const;

 private:
  std::vector<std::size_t> Widths(std::size_t limit) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace berth::cli
