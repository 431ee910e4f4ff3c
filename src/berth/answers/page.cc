// SPDX-License-Identifier: Apache-2.0
#include "berth/answers/page.h"

#include <algorithm>
#include <iterator>

#include "berth/base/text.h"
#include "berth/shell/cli/text.h"

namespace berth::answers {
namespace {

constexpr std::size_t kLabelColumns = 12;

std::size_t Less(std::size_t columns, std::size_t by) { return columns - std::min(columns, by); }

}  // namespace

std::vector<std::string> WrapWords(std::string_view text, std::size_t first, std::size_t rest) {
  std::string safe = cli::Printable(text);
  if (safe.ends_with(' ')) safe.pop_back();
  std::vector<std::string> lines;
  std::size_t used = 0;
  for (const std::string_view word : Split(safe, ' ')) {
    const std::size_t columns = cli::DisplayWidth(word);
    if (lines.empty() || used + 1 + columns > (lines.size() == 1 ? first : rest)) {
      lines.emplace_back(word);
      used = columns;
    } else {
      lines.back().append(" ").append(word);
      used += 1 + columns;
    }
  }
  return lines;
}

void Page::Line(std::string_view line, cli::Color color) {
  Line(cli::Paint(cli::Printable(line), color, style_.has_color));
}

void Page::Gap() {
  if (!lines_.empty()) Line("");
}

void Page::Title(std::string_view text) {
  Line("");
  Line(text, cli::Color::kBold);
}

void Page::Text(std::string_view text, std::size_t indent, std::size_t hanging) {
  std::size_t blanks = indent;
  for (const std::string& line : WrapWords(text, Less(columns_, indent), Less(columns_, indent + hanging))) {
    Line(std::string(blanks, ' ') + line);
    blanks = indent + hanging;
  }
}

void Page::Field(std::string_view name, std::string_view value, std::size_t margin) {
  std::string label = std::string(name) + ':';
  label.resize(std::max(label.size() + 1, kLabelColumns), ' ');
  const std::size_t columns = Less(columns_, label.size());
  std::string before = cli::Paint(label, cli::Color::kBold, style_.has_color);
  for (const std::string& line : WrapWords(value, columns, Less(columns, margin))) {
    Line(before + line);
    before.assign(label.size(), ' ');
  }
}

void Page::Rows(const cli::Table& table, std::size_t indent) {
  for (const std::string& line : table.Lines(style_)) Line(std::string(indent, ' ') + line);
}

void Page::Append(std::vector<std::string> lines) { std::move(lines.begin(), lines.end(), std::back_inserter(lines_)); }

}  // namespace berth::answers
