// SPDX-License-Identifier: Apache-2.0
// The text of an expression, positions in it, and its errors in the format of cel-go.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth::cel {

// A text split into characters. Offsets count characters.
class Source {
 public:
  explicit Source(std::string_view text);

  const std::vector<char32_t>& runes() const { return runes_; }

  struct Location {
    int line = 1;    // from 1
    int column = 0;  // from 0
  };
  Location At(int offset) const;
  // The line's text without its line break.
  std::string Line(int line) const;

 private:
  std::vector<char32_t> runes_;
  std::vector<int> line_starts_;  // without the first line
};

inline constexpr int kNoOffset = -1;

// The errors of one compilation, limited to a hundred as in upstream.
class Issues {
 public:
  explicit Issues(const Source& source) : source_(&source) {}

  // `offset` kNoOffset: an error without a position.
  void Report(int offset, std::string message);
  bool empty() const { return count_ == 0; }
  // All errors sorted by position: "ERROR: <input>:1:3: undeclared reference to 'x' (in container '')
  //  | 1 + x
  //  | ....^".
  std::string ToString() const;

 private:
  struct Issue {
    Source::Location location;
    std::string message;
  };
  std::string Show(const Issue& issue) const;

  const Source* source_;
  std::vector<Issue> issues_;
  std::size_t count_ = 0;
};

}  // namespace berth::cel
