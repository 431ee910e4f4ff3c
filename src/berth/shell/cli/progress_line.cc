// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/cli/progress_line.h"

#include <string>

#include <unistd.h>

#include "berth/shell/cli/text.h"

namespace berth::cli {
namespace {

constexpr std::string_view kToEmptyLine = "\r\x1b[K";

}  // namespace

ProgressLine::ProgressLine() : terminal_(STDERR_FILENO) {}

ProgressLine::~ProgressLine() { Clear(); }

void ProgressLine::Show(std::string_view text) {
  if (!terminal_.IsTty()) return;
  // A longer line would wrap, and only its last row would be written over.
  terminal_.Write(std::string(kToEmptyLine) + CutToWidth(text, terminal_.Size().columns - 1));
  is_shown_ = true;
}

void ProgressLine::Clear() {
  if (is_shown_) terminal_.Write(kToEmptyLine);
  is_shown_ = false;
}

}  // namespace berth::cli
