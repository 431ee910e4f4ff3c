// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/cli/ansi_screen.h"

#include <algorithm>
#include <utility>

#include "berth/shell/cli/text.h"

namespace berth::cli {

void AnsiScreen::Show(std::vector<std::string> lines, Time now) {
  if (is_pending_ || lines != lines_) {
    lines_ = std::move(lines);
    is_pending_ = true;
  }
  if (!terminal_.IsTty()) return DrawPlain();
  Refresh(now);
}

void AnsiScreen::Print(std::string_view line) {
  if (!terminal_.IsTty()) return terminal_.Write(std::string(line) + "\n");
  std::string output = Erased();
  output.append(line).append("\n");
  terminal_.Write(output + Block());
}

void AnsiScreen::Refresh(Time now) {
  // A clock that was set back must not stop the drawing.
  if (!is_pending_ || (last_draw_ && now >= *last_draw_ && now < *last_draw_ + kRedrawInterval)) return;
  last_draw_ = now;
  Draw();
}

std::optional<Time> AnsiScreen::NextRedraw() const {
  if (!is_pending_ || !last_draw_) return std::nullopt;
  return *last_draw_ + kRedrawInterval;
}

void AnsiScreen::Finish() {
  if (is_pending_) terminal_.IsTty() ? Draw() : DrawPlain();
  lines_.clear();
  drawn_count_ = 0;
  last_draw_.reset();
}

void AnsiScreen::Draw() {
  std::string output = Erased();
  terminal_.Write(output + Block());
}

void AnsiScreen::DrawPlain() {
  if (!is_pending_) return;
  is_pending_ = false;
  std::string output;
  for (const std::string& line : lines_) {
    if (!std::ranges::binary_search(printed_, line)) output.append(line).append("\n");
  }
  printed_ = lines_;
  std::ranges::sort(printed_);
  terminal_.Write(output);
}

// Goes back to the block's first line and clears from there on.
std::string AnsiScreen::Erased() const {
  return drawn_count_ == 0 ? "" : "\x1b[" + std::to_string(drawn_count_) + "A\r\x1b[J";
}

std::string AnsiScreen::Block() {
  const TerminalSize size = terminal_.Size();
  // The cursor stands on the line below the block, and the last column makes some terminals wrap.
  const std::size_t rows_max = std::max<std::size_t>(size.rows, 3) - 1;
  const std::size_t columns_max = std::max<std::size_t>(size.columns, 2) - 1;
  std::string block;
  const std::size_t count = std::min(lines_.size(), rows_max);
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_rest = i + 1 == count && count < lines_.size();
    const std::string rest = is_rest ? "… and " + std::to_string(lines_.size() - i) + " more lines" : "";
    block.append(CutToWidth(is_rest ? rest : lines_[i], columns_max)).append("\n");
  }
  drawn_count_ = count;
  is_pending_ = false;
  return block;
}

}  // namespace berth::cli
