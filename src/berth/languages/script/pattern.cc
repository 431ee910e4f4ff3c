// SPDX-License-Identifier: Apache-2.0
#include "berth/languages/script/pattern.h"

namespace berth::script {
namespace {

// The C locale regardless of the process's, so that a script has the same result everywhere.
bool IsLower(unsigned char c) { return c >= 'a' && c <= 'z'; }
bool IsUpper(unsigned char c) { return c >= 'A' && c <= 'Z'; }
bool IsDigit(unsigned char c) { return c >= '0' && c <= '9'; }
bool IsLetter(unsigned char c) { return IsLower(c) || IsUpper(c); }
bool IsSpace(unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool IsControl(unsigned char c) { return c < 32 || c == 127; }
bool IsVisible(unsigned char c) { return c > 32 && c < 127; }
bool IsHexDigit(unsigned char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// Whether `c` belongs to the class "%name".
bool IsOfClass(unsigned char c, unsigned char name) {
  bool is_in = false;
  switch (IsUpper(name) ? name - 'A' + 'a' : name) {
    case 'a': is_in = IsLetter(c); break;
    case 'c': is_in = IsControl(c); break;
    case 'd': is_in = IsDigit(c); break;
    case 'g': is_in = IsVisible(c); break;
    case 'l': is_in = IsLower(c); break;
    case 'p': is_in = IsVisible(c) && !IsLetter(c) && !IsDigit(c); break;
    case 's': is_in = IsSpace(c); break;
    case 'u': is_in = IsUpper(c); break;
    case 'w': is_in = IsLetter(c) || IsDigit(c); break;
    case 'x': is_in = IsHexDigit(c); break;
    case 'z': is_in = c == 0; break;  // no longer documented
    default: return c == name;
  }
  return is_in != IsUpper(name);
}

constexpr std::array<const char*, 10> kNoSuchCapture = {
    "invalid capture index %0", "invalid capture index %1", "invalid capture index %2", "invalid capture index %3",
    "invalid capture index %4", "invalid capture index %5", "invalid capture index %6", "invalid capture index %7",
    "invalid capture index %8", "invalid capture index %9"};

unsigned char At(std::string_view text, std::size_t i) { return static_cast<unsigned char>(text[i]); }

}  // namespace

bool Pattern::IsPlain(std::string_view pattern) {
  return pattern.find_first_of("^$*+?.([%-") == std::string_view::npos;
}

Pattern::Result Pattern::MatchAt(std::size_t begin) {
  capture_count_ = 0;
  depth_ = 0;
  end_ = Match(begin, 0);
  if (error_ != nullptr) return Result::kMalformed;
  if (is_out_of_steps_) return Result::kOutOfSteps;
  return end_ == kNone ? Result::kNoMatch : Result::kMatch;
}

bool Pattern::Step() {
  if (--steps_left_ >= 0) return true;
  is_out_of_steps_ = true;
  return false;
}

std::size_t Pattern::Malformed(const char* error) {
  error_ = error;
  return kNone;
}

// The end of the match of pattern_[p..] that begins at `s`.
std::size_t Pattern::Match(std::size_t s, std::size_t p) {
  if (++depth_ > kDepthMax) return Malformed("pattern too complex");
  std::size_t end = kNone;
  for (bool goes_on = true; goes_on && !IsStopped() && Step();) {
    goes_on = false;
    if (p == pattern_.size()) {
      end = s;
      break;
    }
    const bool has_next = p + 1 < pattern_.size();
    const char next = has_next ? pattern_[p + 1] : '\0';
    const char here = pattern_[p];
    if (here == '(') {
      end = has_next && next == ')' ? Open(s, p + 2, kPosition) : Open(s, p + 1, kOpen);
    } else if (here == ')') {
      end = Close(s, p + 1);
    } else if (here == '$' && !has_next) {
      end = s == subject_.size() ? s : kNone;
    } else if (here == '%' && has_next && next == 'b') {
      s = Balanced(s, p + 2);
      p += 4;
      goes_on = s != kNone;
    } else if (here == '%' && has_next && next == 'f') {
      if (p + 2 >= pattern_.size() || pattern_[p + 2] != '[') {
        end = Malformed("missing '[' after '%f' in pattern");
        break;
      }
      const std::size_t set_end = ItemEnd(p + 2);
      if (set_end == kNone) break;
      goes_on = IsFrontier(s, p + 2, set_end);
      p = set_end;
    } else if (here == '%' && has_next && IsDigit(static_cast<unsigned char>(next))) {
      s = BackReference(s, next);
      p += 2;
      goes_on = s != kNone;
    } else {
      const std::size_t item_end = ItemEnd(p);
      if (item_end == kNone) break;
      end = MatchOne(s, p, item_end, goes_on, s, p);
    }
  }
  --depth_;
  return IsStopped() ? kNone : end;
}

// Matches a single-character item with its repetition. Either returns the end of the whole match, or sets where to
// continue.
std::size_t Pattern::MatchOne(std::size_t s, std::size_t p, std::size_t item_end, bool& goes_on, std::size_t& next_s,
                              std::size_t& next_p) {
  const char how_often = item_end < pattern_.size() ? pattern_[item_end] : '\0';
  const bool is_there = MatchesSingle(s, p, item_end);
  switch (how_often) {
    case '?':
      if (is_there) {
        const std::size_t end = Match(s + 1, item_end + 1);
        if (end != kNone) return end;
      }
      break;
    case '+': return is_there ? Longest(s + 1, p, item_end) : kNone;
    case '*': return Longest(s, p, item_end);
    case '-': return Shortest(s, p, item_end);
    default:
      if (!is_there) return kNone;
      next_s = s + 1;
      next_p = item_end;
      goes_on = true;
      return kNone;
  }
  next_s = s;
  next_p = item_end + 1;
  goes_on = true;
  return kNone;
}

std::size_t Pattern::Open(std::size_t s, std::size_t p, std::size_t length) {
  if (capture_count_ == kCapturesMax) return Malformed("too many captures");
  captures_[static_cast<std::size_t>(capture_count_++)] = {s, length};
  const std::size_t end = Match(s, p);
  if (end == kNone) --capture_count_;
  return end;
}

std::size_t Pattern::Close(std::size_t s, std::size_t p) {
  for (int i = capture_count_; i-- > 0;) {
    Capture& open = captures_[static_cast<std::size_t>(i)];
    if (open.length != kOpen) continue;
    open.length = s - open.begin;
    const std::size_t end = Match(s, p);
    if (end == kNone) open.length = kOpen;
    return end;
  }
  return Malformed("invalid pattern capture");
}

std::size_t Pattern::Longest(std::size_t s, std::size_t p, std::size_t item_end) {
  std::size_t count = 0;
  while (MatchesSingle(s + count, p, item_end)) {
    if (!Step()) return kNone;
    ++count;
  }
  for (;; --count) {
    const std::size_t end = Match(s + count, item_end + 1);
    if (end != kNone || count == 0 || IsStopped()) return end;
  }
}

std::size_t Pattern::Shortest(std::size_t s, std::size_t p, std::size_t item_end) {
  for (;; ++s) {
    const std::size_t end = Match(s, item_end + 1);
    if (end != kNone || IsStopped()) return end;
    if (!MatchesSingle(s, p, item_end)) return kNone;
  }
}

std::size_t Pattern::Balanced(std::size_t s, std::size_t p) {
  if (p + 1 >= pattern_.size()) return Malformed("malformed pattern (missing arguments to '%b')");
  if (s >= subject_.size() || subject_[s] != pattern_[p]) return kNone;
  const char open = pattern_[p];
  const char close = pattern_[p + 1];
  std::size_t depth = 1;
  for (std::size_t i = s + 1; i < subject_.size(); ++i) {
    if (!Step()) return kNone;
    if (subject_[i] == close) {
      if (--depth == 0) return i + 1;
    } else if (subject_[i] == open) {
      ++depth;
    }
  }
  return kNone;
}

std::size_t Pattern::BackReference(std::size_t s, char digit) {
  const int i = digit - '1';
  if (i < 0 || i >= capture_count_ || capture(i).length == kOpen)
    return Malformed(kNoSuchCapture[static_cast<std::size_t>(digit - '0')]);
  const Capture& captured = capture(i);
  // Like Lua, a position capture never matches a back reference.
  if (captured.length == kPosition) return kNone;
  const std::size_t length = captured.length;
  steps_left_ -= static_cast<std::int64_t>(length);
  if (subject_.size() - s < length || subject_.substr(captured.begin, length) != subject_.substr(s, length))
    return kNone;
  return s + length;
}

// Whether `s` is between a character outside the set and one inside it; '\0' stands for both ends of the subject.
bool Pattern::IsFrontier(std::size_t s, std::size_t set, std::size_t set_end) {
  const unsigned char before = s == 0 ? 0 : At(subject_, s - 1);
  const unsigned char here = s == subject_.size() ? 0 : At(subject_, s);
  return !MatchesSet(before, set, set_end - 1) && MatchesSet(here, set, set_end - 1);
}

// The end of the single-character item that begins at `p`.
std::size_t Pattern::ItemEnd(std::size_t p) {
  const char first = pattern_[p++];
  if (first == '%') {
    if (p == pattern_.size()) return Malformed("malformed pattern (ends with '%')");
    return p + 1;
  }
  if (first != '[') return p;
  if (p < pattern_.size() && pattern_[p] == '^') ++p;
  // A ']' in first position is a character of the set.
  do {
    if (p >= pattern_.size()) return Malformed("malformed pattern (missing ']')");
    const char c = pattern_[p++];
    if (c == '%') ++p;
    if (!Step()) return kNone;
  } while (p >= pattern_.size() || pattern_[p] != ']');
  return p + 1;
}

bool Pattern::MatchesSingle(std::size_t s, std::size_t p, std::size_t item_end) {
  if (s >= subject_.size()) return false;
  const unsigned char c = At(subject_, s);
  switch (pattern_[p]) {
    case '.': return true;
    case '%': return IsOfClass(c, At(pattern_, p + 1));
    case '[': steps_left_ -= static_cast<std::int64_t>(item_end - p); return MatchesSet(c, p, item_end - 1);
    default: return At(pattern_, p) == c;
  }
}

// Whether `c` is in the set from '[' at `p` to ']' at `last`.
bool Pattern::MatchesSet(unsigned char c, std::size_t p, std::size_t last) const {
  bool is_in = true;
  ++p;
  if (pattern_[p] == '^') {
    is_in = false;
    ++p;
  }
  for (; p < last; ++p) {
    if (pattern_[p] == '%') {
      ++p;
      if (IsOfClass(c, At(pattern_, p))) return is_in;
    } else if (p + 2 < last && pattern_[p + 1] == '-') {
      if (At(pattern_, p) <= c && c <= At(pattern_, p + 2)) return is_in;
      p += 2;
    } else if (At(pattern_, p) == c) {
      return is_in;
    }
  }
  return !is_in;
}

}  // namespace berth::script
