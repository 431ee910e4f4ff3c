// SPDX-License-Identifier: Apache-2.0
// Lua's patterns (reference manual of Lua 5.4, 6.4.1), with a bound on the work: Lua's own matcher may try for hours
// and cannot be interrupted. Nothing here allocates or throws, so that errors may jump over it. Thread-compatible.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace berth::script {

class Pattern {
 public:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  static constexpr std::size_t kOpen = static_cast<std::size_t>(-2);      // a capture's length: not closed
  static constexpr std::size_t kPosition = static_cast<std::size_t>(-3);  // a capture's length: "()"
  static constexpr int kCapturesMax = 32;
  static constexpr int kDepthMax = 200;

  struct Capture {
    std::size_t begin = 0;
    std::size_t length = kOpen;
  };
  enum class Result : std::uint8_t { kMatch, kNoMatch, kOutOfSteps, kMalformed };

  // `steps_left` goes down with each character that is looked at. All must outlive it.
  Pattern(std::string_view subject, std::string_view pattern, std::int64_t& steps_left)
      : subject_(subject), pattern_(pattern), steps_left_(steps_left) {}

  // Whether the pattern matches at that place, and there alone.
  Result MatchAt(std::size_t begin);

  // After kMatch: where the match ends, and what was captured.
  std::size_t end() const { return end_; }
  int capture_count() const { return capture_count_; }
  const Capture& capture(int i) const { return captures_[static_cast<std::size_t>(i)]; }
  // After kMalformed, what is wrong, as Lua says it.
  const char* error() const { return error_; }

  // Whether the text holds none of the characters that mean something in a pattern.
  static bool IsPlain(std::string_view pattern);

 private:
  std::size_t Match(std::size_t s, std::size_t p);
  std::size_t MatchOne(std::size_t s, std::size_t p, std::size_t item_end, bool& goes_on, std::size_t& next_s,
                       std::size_t& next_p);
  std::size_t Open(std::size_t s, std::size_t p, std::size_t length);
  std::size_t Close(std::size_t s, std::size_t p);
  std::size_t Longest(std::size_t s, std::size_t p, std::size_t item_end);
  std::size_t Shortest(std::size_t s, std::size_t p, std::size_t item_end);
  std::size_t Balanced(std::size_t s, std::size_t p);
  std::size_t BackReference(std::size_t s, char digit);
  bool IsFrontier(std::size_t s, std::size_t set, std::size_t set_end);
  std::size_t ItemEnd(std::size_t p);
  bool MatchesSingle(std::size_t s, std::size_t p, std::size_t item_end);
  bool MatchesSet(unsigned char c, std::size_t p, std::size_t last) const;
  std::size_t Malformed(const char* error);
  bool Step();
  bool IsStopped() const { return error_ != nullptr || is_out_of_steps_; }

  const std::string_view subject_;
  const std::string_view pattern_;
  std::int64_t& steps_left_;
  std::array<Capture, kCapturesMax> captures_;
  int capture_count_ = 0;
  int depth_ = 0;
  std::size_t end_ = 0;
  const char* error_ = nullptr;
  bool is_out_of_steps_ = false;
};

}  // namespace berth::script
