// SPDX-License-Identifier: Apache-2.0
#include "berth/languages/cel/source.h"

#include <algorithm>
#include <utility>

#include "berth/base/utf8.h"

namespace berth::cel {
namespace {
constexpr std::size_t kIssuesMax = 100;
}

Source::Source(std::string_view text) : runes_(Runes(text)) {
  for (std::size_t i = 0; i < runes_.size(); ++i) {
    if (runes_[i] == '\n') line_starts_.push_back(static_cast<int>(i) + 1);
  }
}

Source::Location Source::At(int offset) const {
  const auto next = std::ranges::upper_bound(line_starts_, offset);
  const int line = static_cast<int>(next - line_starts_.begin()) + 1;
  return {line, line == 1 ? offset : offset - *(next - 1)};
}

std::string Source::Line(int line) const {
  const auto start_of = [&](int which) {
    return static_cast<std::size_t>(line_starts_[static_cast<std::size_t>(which) - 2]);
  };
  const std::size_t begin = line == 1 ? 0 : start_of(line);
  const bool is_last = static_cast<std::size_t>(line) == line_starts_.size() + 1;
  return TextOf(runes_, begin, is_last ? runes_.size() : start_of(line + 1) - 1);
}

void Issues::Report(int offset, std::string message) {
  if (++count_ > kIssuesMax) return;
  issues_.push_back({offset == kNoOffset ? Source::Location{-1, -1} : source_->At(offset), std::move(message)});
}

std::string Issues::Show(const Issue& issue) const {
  const auto [line, column] = issue.location;
  std::string text = "ERROR: <input>:" + std::to_string(line) + ":" + std::to_string(column + 1) + ": " + issue.message;
  constexpr std::size_t kSnippetMax = 16384;
  if (line < 1 || source_->runes().empty()) return text;
  std::string snippet = source_->Line(line);
  if (snippet.size() > kSnippetMax) return text;
  std::ranges::replace(snippet, '\t', ' ');
  text += "\n | " + snippet + "\n | ";
  std::string_view rest = snippet;
  for (int i = 0; i < column && !rest.empty(); ++i) {
    const std::size_t size = DecodeRune(rest).size;
    text += size > 1 ? "\uff0e" : ".";
    rest.remove_prefix(size);
  }
  return text + (DecodeRune(rest).size > 1 ? "\uff3e" : "^");
}

std::string Issues::ToString() const {
  std::vector<const Issue*> sorted;
  for (const Issue& issue : issues_) sorted.push_back(&issue);
  std::ranges::stable_sort(sorted, [](const Issue* a, const Issue* b) {
    return std::pair(a->location.line, a->location.column) < std::pair(b->location.line, b->location.column);
  });
  std::string text;
  for (const Issue* issue : sorted) text += (text.empty() ? "" : "\n") + Show(*issue);
  if (count_ > kIssuesMax) text += "\n" + std::to_string(count_ - kIssuesMax) + " more errors were truncated";
  return text;
}

}  // namespace berth::cel
