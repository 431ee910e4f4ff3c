// SPDX-License-Identifier: Apache-2.0
// Lua's patterns (reference manual of Lua 5.4, 6.4.1) with a limit on the work: Lua's own matcher may run for hours and
// cannot be interrupted. Nothing here allocates or throws, so that longjmp-style errors are safe. Thread-compatible.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace berth::script {

class Pattern {
 public:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  static constexpr std::size_t kOpen = static_cast<std::size_t>(-2);      // length of a capture that is not closed yet
  static constexpr std::size_t kPosition = static_cast<std::size_t>(-3);  // length of a position capture "()"
  static constexpr int kCapturesMax = 32;
  static constexpr int kDepthMax = 200;

  struct Capture {
    std::size_t begin = 0;
    std::size_t length = kOpen;
  };
  enum class Result : std::uint8_t { kMatch, kNoMatch, kOutOfSteps, kMalformed };

  // Each character that is examined decrements `steps_left`. All arguments must outlive it.
  Pattern(std::string_view subject, std::string_view pattern, std::int64_t& steps_left)
      : subject_(subject), pattern_(pattern), steps_left_(steps_left) {}

  // Whether the pattern matches at exactly this position.
  Result MatchAt(std::size_t begin);

  // After kMatch: the end of the match, and the captures.
  std::size_t end() const { return end_; }
  int capture_count() const { return capture_count_; }
  const Capture& capture(int i) const { return captures_[static_cast<std::size_t>(i)]; }
  // After kMalformed: Lua's error message.
  const char* error() const { return error_; }

  // Whether the text has no characters with a special meaning in patterns.
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
