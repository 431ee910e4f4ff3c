// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/cli/table.h"

#include <algorithm>
#include <numeric>

namespace berth::cli {
namespace {

constexpr std::size_t kGap = 3;
// No column becomes narrower than this to make room.
constexpr std::size_t kWidthMin = 6;

}  // namespace

void Table::AddRow(std::vector<Cell> cells) {
  cells.resize(columns_.size(), Cell(""));
  for (Cell& cell : cells) cell.text = Printable(cell.text);
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> Table::Widths(std::size_t limit) const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = DisplayWidth(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, std::min(DisplayWidth(row[i].text), columns_[i].width_max));
    widths.push_back(width);
  }
  if (limit == 0 || widths.empty()) return widths;
  std::size_t total = std::accumulate(widths.begin(), widths.end(), kGap * (widths.size() - 1));
  while (total > limit) {
    // The widest gives what is missing, but not more than makes it as wide as the next.
    const auto widest = std::ranges::max_element(widths);
    if (*widest <= kWidthMin) break;
    std::size_t next = kWidthMin;
    for (auto width = widths.begin(); width != widths.end(); ++width) {
      if (width != widest) next = std::max(next, std::min(*width, *widest - 1));
    }
    const std::size_t less = std::min(total - limit, *widest - next);
    *widest -= less;
    total -= less;
  }
  return widths;
}

std::vector<std::string> Table::Lines(const Style& style) const {
  const std::vector<std::size_t> widths = Widths(style.width);
  const auto render = [&](const std::vector<Cell>& cells) {
    std::string line;
    std::size_t blanks = 0;  // owed: a line does not end with blanks
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string text = CutToWidth(cells[i].text, widths[i]);
      const std::size_t rest = widths[i] - DisplayWidth(text);
      if (columns_[i].is_right_aligned) blanks += rest;
      if (!text.empty()) {
        line.append(blanks, ' ').append(Paint(text, cells[i].color, style.has_color));
        blanks = 0;
      }
      blanks += (columns_[i].is_right_aligned ? 0 : rest) + kGap;
    }
    return line;
  };
  std::vector<Cell> titles;
  for (const Column& column : columns_) titles.emplace_back(column.title, Color::kBold);
  std::vector<std::string> lines = {render(titles)};
  for (const auto& row : rows_) lines.push_back(render(row));
  return lines;
}

}  // namespace berth::cli
