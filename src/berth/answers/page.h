// SPDX-License-Identifier: Apache-2.0
// Page: the lines of an answer as a terminal shows them: titles, fields, sentences that are broken between words, and
// tables. A value.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/shell/cli/table.h"

namespace berth::answers {

// Columns of an answer that does not know how wide the terminal is.
inline constexpr std::size_t kAnswerColumns = 100;

// Makes the text printable and breaks it between words: its first line has at most `first` columns, the others `rest`.
// A word that is longer has a line of its own. There is at least one line.
std::vector<std::string> WrapWords(std::string_view text, std::size_t first, std::size_t rest);

class Page {
 public:
  // Sentences get as many columns as tables.
  explicit Page(const cli::Table::Style& style) : Page(style, style.width == 0 ? kAnswerColumns : style.width) {}
  Page(const cli::Table::Style& style, std::size_t columns) : style_(style), columns_(columns) {}

  // Adds a line as it is.
  void Line(std::string line) { lines_.push_back(std::move(line)); }
  // Adds a line, made printable and in that colour.
  void Line(std::string_view line, cli::Color color);
  // Adds an empty line, unless it would be the first.
  void Gap();
  // Adds an empty line and the text in bold.
  void Title(std::string_view text);
  // Adds text that is broken between words. The first line begins with `indent` blanks, the others with `hanging` more.
  void Text(std::string_view text, std::size_t indent = 0, std::size_t hanging = 2);
  // Adds "Name:       value". What does not fit continues below the beginning of the value, in lines that end `margin`
  // columns earlier.
  void Field(std::string_view name, std::string_view value, std::size_t margin = 0);
  void Rows(const cli::Table& table, std::size_t indent = 0);
  void Append(std::vector<std::string> lines);

  std::vector<std::string> Take() && { return std::move(lines_); }

 private:
  const cli::Table::Style style_;
  const std::size_t columns_;  // of sentences
  std::vector<std::string> lines_;
};

}  // namespace berth::answers
