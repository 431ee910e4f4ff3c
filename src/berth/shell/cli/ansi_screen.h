// SPDX-License-Identifier: Apache-2.0
// AnsiScreen: a block of lines at the bottom of a terminal that is drawn again in place, at most ten times a second.
// When the output is no terminal it gets plain lines: of each block those that the block before did not have.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/time.h"
#include "berth/shell/cli/terminal.h"

namespace berth::cli {

// Time comes from the caller. Not thread-safe. `terminal` must outlive the screen, and nothing else may write to it.
class AnsiScreen {
 public:
  static constexpr Duration kRedrawInterval = std::chrono::milliseconds(100);

  explicit AnsiScreen(Terminal& terminal) : terminal_(terminal) {}
  // Draws what is still to be drawn.
  ~AnsiScreen() { Finish(); }
  AnsiScreen(const AnsiScreen&) = delete;
  AnsiScreen& operator=(const AnsiScreen&) = delete;

  // Shows these lines in place of the last ones, now or when Refresh is called at NextRedraw. They hold no newlines and
  // may be coloured. Lines and blocks that are too large for the terminal are cut, so that redrawing stays in place.
  void Show(std::vector<std::string> lines, Time now);

  // A line that stays, above the block.
  void Print(std::string_view line);

  // Draws what Show had to put off, if its time has come.
  void Refresh(Time now);
  // When Refresh has something to do; nullopt: nothing was put off.
  std::optional<Time> NextRedraw() const;

  // Draws the last block and leaves it where it is; what comes next goes below.
  void Finish();

 private:
  void Draw();
  void DrawPlain();
  std::string Erased() const;
  std::string Block();

  Terminal& terminal_;
  std::vector<std::string> lines_;
  std::vector<std::string> printed_;  // plain: the block before, sorted
  std::size_t drawn_count_ = 0;       // lines of the block on the terminal
  bool is_pending_ = false;
  std::optional<Time> last_draw_;
};

}  // namespace berth::cli
