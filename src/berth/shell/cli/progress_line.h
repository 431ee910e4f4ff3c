// SPDX-License-Identifier: Apache-2.0
// ProgressLine: one line on standard error that says how far something is. It is written over and goes away in the end;
// where standard error is no terminal, nothing is written. One thread.
#pragma once

#include <string_view>

#include "berth/shell/cli/terminal.h"

namespace berth::cli {

class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void Show(std::string_view text);
  // Takes the line away, before something else is written.
  void Clear();

 private:
  FileTerminal terminal_;
  bool is_shown_ = false;
};

}  // namespace berth::cli
