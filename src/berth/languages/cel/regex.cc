// SPDX-License-Identifier: Apache-2.0
#include "berth/languages/cel/regex.h"

#include <re2/re2.h>

#include <array>
#include <optional>
#include <utility>

#include "berth/base/utf8.h"

namespace berth::cel {

class Pattern {
 public:
  Pattern(const std::string& pattern, const re2::RE2::Options& options) : re2(pattern, options) {}

  re2::RE2 re2;
};

namespace {

using Arguments = std::span<const Value>;

// Go's names of syntax errors in patterns.
std::string_view GoError(re2::RE2::ErrorCode code) {
  switch (code) {
    case re2::RE2::ErrorBadEscape: return "invalid escape sequence";
    case re2::RE2::ErrorBadCharClass: return "invalid character class";
    case re2::RE2::ErrorBadCharRange: return "invalid character class range";
    case re2::RE2::ErrorMissingBracket: return "missing closing ]";
    case re2::RE2::ErrorMissingParen: return "missing closing )";
    case re2::RE2::ErrorUnexpectedParen: return "unexpected )";
    case re2::RE2::ErrorTrailingBackslash: return "trailing backslash at end of expression";
    case re2::RE2::ErrorRepeatArgument: return "missing argument to repetition operator";
    case re2::RE2::ErrorRepeatSize: return "invalid repeat count";
    case re2::RE2::ErrorRepeatOp: return "invalid nested repetition operator";
    case re2::RE2::ErrorBadPerlOp: return "invalid or unsupported Perl syntax";
    case re2::RE2::ErrorBadUTF8: return "invalid UTF-8";
    case re2::RE2::ErrorBadNamedCapture: return "invalid named capture";
    case re2::RE2::ErrorPatternTooLarge: return "expression too large";
    default: return "regexp/syntax: internal error";
  }
}

// Unlike RE2, Go also accepts (?<name>...) for a named group, and rejects \C.
Expected<std::string> ForRe2(const std::string& pattern) {
  std::string result;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) {
      if (pattern[i + 1] == 'C') return InvalidError("error parsing regexp: invalid escape sequence: `\\C`");
      result += pattern[i];
      result += pattern[++i];
    } else if (pattern.compare(i, 3, "(?<") == 0) {
      result += "(?P<";
      i += 2;
    } else {
      result += pattern[i];
    }
  }
  return result;
}

// The text of a string; upstream accepts a type as well.
std::optional<std::string_view> TextOf(const Value& value) {
  if (value.Is(ValueKind::kString)) return value.AsString();
  if (value.Is(ValueKind::kType)) return value.AsType()->name;
  return std::nullopt;
}

re2::StringPiece Piece(std::string_view text) { return {text.data(), text.size()}; }

Value Find(const re2::RE2& re2, std::string_view text) {
  re2::StringPiece found;
  if (!re2.Match(Piece(text), 0, text.size(), re2::RE2::UNANCHORED, &found, 1)) return Value::String("");
  return Value::String(std::string(found.data(), found.size()));
}

// Like Go's FindAllString: no empty match directly after a match.
Value FindAll(const re2::RE2& re2, std::string_view text, std::int64_t limit, WorkLimit& work) {
  std::vector<Value> matches;
  std::size_t at = 0;
  std::size_t previous_end = std::string_view::npos;
  while (at <= text.size() && (limit < 0 || static_cast<std::int64_t>(matches.size()) < limit) && work.Spend()) {
    re2::StringPiece found;
    if (!re2.Match(Piece(text), at, text.size(), re2::RE2::UNANCHORED, &found, 1)) break;
    const auto begin = static_cast<std::size_t>(found.data() - text.data());
    const std::size_t end = begin + found.size();
    const bool is_accepted = !found.empty() || begin != previous_end;
    if (found.empty()) {
      const std::size_t step = end < text.size() ? DecodeRune(text.substr(end)).size : 1;
      at = end + step;
    } else {
      at = end;
    }
    previous_end = end;
    if (is_accepted) matches.push_back(Value::String(std::string(found.data(), found.size())));
  }
  return Value::OfList(std::move(matches));
}

template <bool is_matches>
Value WithPattern(std::string_view function, Arguments arguments, WorkLimit& work) {
  if (!arguments[1].Is(ValueKind::kString)) return Value::NoSuchOverload();
  const auto pattern = CompilePattern(arguments[1].AsString());
  if (!pattern.ok()) {
    return Value::Error(is_matches ? pattern.error().message : "Illegal regex: " + pattern.error().message);
  }
  return ApplyPattern(**pattern, function, arguments, work);
}

Value Matches(Arguments arguments, WorkLimit& work) { return WithPattern<true>("matches", arguments, work); }
Value FindText(Arguments arguments, WorkLimit& work) { return WithPattern<false>("find", arguments, work); }
Value FindAllTexts(Arguments arguments, WorkLimit& work) { return WithPattern<false>("findAll", arguments, work); }

}  // namespace

Expected<std::shared_ptr<const Pattern>> CompilePattern(const std::string& pattern) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  BERTH_ASSIGN_OR_RETURN(const std::string translated, ForRe2(pattern));
  auto compiled = std::make_shared<const Pattern>(translated, options);
  if (!compiled->re2.ok()) {
    const re2::RE2::ErrorCode code = compiled->re2.error_code();
    const std::string about = code == re2::RE2::ErrorMissingParen || code == re2::RE2::ErrorUnexpectedParen
                                  ? pattern
                                  : compiled->re2.error_arg();
    const std::string shown = code == re2::RE2::ErrorTrailingBackslash ? "" : about;
    return InvalidError("error parsing regexp: " + std::string(GoError(code)) + ": `" + shown + "`");
  }
  return compiled;
}

Value ApplyPattern(const Pattern& pattern, std::string_view function, std::span<const Value> arguments,
                   WorkLimit& work) {
  const auto text = TextOf(arguments[0]);
  if (!text) return Value::NoSuchOverload();
  work.Spend(text->size());
  if (function == "matches") {
    return Value::Bool(pattern.re2.Match(Piece(*text), 0, text->size(), re2::RE2::UNANCHORED, nullptr, 0));
  }
  if (function == "find") return Find(pattern.re2, *text);
  std::int64_t limit = -1;
  if (arguments.size() == 3) {
    if (!arguments[2].Is(ValueKind::kInt)) return Value::NoSuchOverload();
    limit = arguments[2].AsInt();
  }
  return FindAll(pattern.re2, *text, limit, work);
}

std::span<const SingletonBinding> RegexSingletons() {
  static constexpr std::array kBindings = {SingletonBinding{"matches", Matches, Trait::kMatcher}};
  return kBindings;
}

std::span<const OverloadBinding> RegexBindings() {
  static constexpr std::array kBindings = {
      OverloadBinding{"string_find_string", FindText},
      OverloadBinding{"string_find_all_string", FindAllTexts, true},
      OverloadBinding{"string_find_all_string_int", FindAllTexts, true},
  };
  return kBindings;
}

}  // namespace berth::cel
