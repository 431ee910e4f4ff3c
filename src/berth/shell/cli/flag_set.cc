// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/cli/flag_set.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <utility>

#include "berth/base/check.h"
#include "berth/base/edit_distance.h"
#include "berth/base/text.h"

namespace berth::cli {
namespace {

constexpr std::size_t kShownMax = 100;

bool IsDigitOf(char c, int base) {
  const int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : 99;
  return digit < base;
}

// Go allows "_" between digits, and between the prefix of the base and the first digit.
std::optional<std::string> WithoutUnderscores(std::string_view digits, int base, bool has_prefix) {
  std::string plain;
  bool may_separate = has_prefix;
  for (const char c : digits) {
    if (c == '_') {
      if (!may_separate) return std::nullopt;
      may_separate = false;
      continue;
    }
    if (!IsDigitOf(c, base)) return std::nullopt;
    plain += c;
    may_separate = true;
  }
  if (plain.empty() || digits.back() == '_') return std::nullopt;
  return plain;
}

// `text` in lines that begin with `indent` spaces, but for the first; "\n" in it ends a line, too.
std::string Wrapped(std::string_view text, std::size_t indent, std::size_t columns) {
  std::string out;
  std::size_t at = indent;
  const auto new_line = [&] {
    out += '\n' + std::string(indent, ' ');
    at = indent;
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    const std::string_view word = text.substr(0, end);
    const bool ends_line = end < text.size() && text[end] == '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
    if (at > indent && at + 1 + word.size() > columns) {
      new_line();
    } else if (at > indent) {
      out += ' ';
      ++at;
    }
    out += word;
    at += word.size();
    if (ends_line) new_line();
  }
  return out;
}

}  // namespace

std::optional<std::int64_t> ParseGoInteger(std::string_view text, int bits) {
  const bool is_negative = text.starts_with('-');
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  int base = 10;
  bool has_prefix = false;
  const auto prefix = [&](std::string_view lower, std::string_view upper, int of) {
    if (has_prefix || (!text.starts_with(lower) && !text.starts_with(upper))) return;
    text.remove_prefix(2);
    base = of;
    has_prefix = true;
  };
  prefix("0x", "0X", 16);
  prefix("0o", "0O", 8);
  prefix("0b", "0B", 2);
  if (!has_prefix && text.size() > 1 && text.front() == '0') {
    base = 8;
    has_prefix = true;
    text.remove_prefix(1);
  }
  if (text.empty()) return std::nullopt;
  const std::optional<std::string> digits = WithoutUnderscores(text, base, has_prefix);
  if (!digits) return std::nullopt;
  errno = 0;
  const std::int64_t value = std::strtoll(((is_negative ? "-" : "") + *digits).c_str(), nullptr, base);
  if (errno == ERANGE) return std::nullopt;
  if (bits < 64) {
    const std::int64_t limit = std::int64_t{1} << (bits - 1);
    if (value < -limit || value >= limit) return std::nullopt;
  }
  return value;
}

std::optional<bool> ParseGoBool(std::string_view text) {
  for (const std::string_view yes : {"1", "t", "T", "TRUE", "true", "True"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"0", "f", "F", "FALSE", "false", "False"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

std::optional<std::vector<std::string>> ParseCommaSeparated(std::string_view text) {
  std::vector<std::string> values;
  if (text.empty()) return values;
  std::size_t at = 0;
  while (true) {
    std::string& value = values.emplace_back();
    if (at < text.size() && text[at] == '"') {
      bool is_closed = false;
      for (++at; at < text.size() && !is_closed; ++at) {
        if (text[at] != '"') {
          value += text[at];
        } else if (at + 1 < text.size() && text[at + 1] == '"') {
          value += text[++at];
        } else {
          is_closed = true;
        }
      }
      if (!is_closed || (at < text.size() && text[at] != ',')) return std::nullopt;
    } else {
      const std::size_t end = std::min(text.find(',', at), text.size());
      value = text.substr(at, end - at);
      if (value.find('"') != std::string::npos) return std::nullopt;
      at = end;
    }
    if (at == text.size()) return values;
    ++at;  // the comma
  }
}

Flag& Flag::OneOf(const std::vector<std::string>& values) {
  const std::string all = '{' + Joined(values, ",") + '}';
  type += ':' + all;
  return Check([values, all](const std::string& value) {
    return std::ranges::find(values, value) != values.end() ? "" : value + " not in " + all;
  });
}

Flag& Flag::Range(std::uint64_t least, std::uint64_t most) {
  const std::string from = std::to_string(least);
  const std::string to = std::to_string(most);
  type += ':' + type + " in [" + from + " - " + to + ']';
  return Check([=](const std::string& value) {
    char* end = nullptr;
    const std::uint64_t number = std::strtoull(value.c_str(), &end, 0);
    const bool is_number = !value.empty() && *end == '\0';
    return is_number && number >= least && number <= most ? ""
                                                          : "Value " + value + " not in range " + from + " to " + to;
  });
}

void FlagSet::BeginGroup(std::string_view title) { groups_.push_back({std::string(title), {}}); }

Flag& FlagSet::Add(std::string_view name, std::string_view type, std::string_view usage, Flag::Parse parse) {
  Flag& flag = groups_.back().flags.emplace_back();
  flag.name = name;
  flag.type = type;
  flag.usage = usage;
  flag.parse = std::move(parse);
  return flag;
}

Flag& FlagSet::Add(std::string_view name, std::string& target, std::string_view usage) {
  Flag& flag = Add(name, "string", usage, [&target](std::string_view value) {
    target = value;
    return std::string();
  });
  if (!target.empty()) flag.default_text = Quoted(target);
  return flag;
}

Flag& FlagSet::Add(std::string_view name, bool& target, std::string_view usage) {
  Flag& flag = Add(name, "", usage, [&target](std::string_view value) -> std::string {
    const std::optional<bool> parsed = ParseGoBool(value);
    if (!parsed) return "should be true or false";
    target = *parsed;
    return "";
  });
  flag.value_alone = "true";
  flag.hint = "{true,false}";
  if (target) flag.default_text = "true";
  return flag;
}

Flag& FlagSet::Add(std::string_view name, std::int32_t& target, std::string_view usage) {
  Flag& flag = Add(name, "int", usage, [&target](std::string_view value) -> std::string {
    const std::optional<std::int64_t> parsed = ParseGoInteger(value, 32);
    if (!parsed) return "is no number, or too large: should be a whole number of 32 bits";
    target = static_cast<std::int32_t>(*parsed);
    return "";
  });
  if (target != 0) flag.default_text = std::to_string(target);
  return flag;
}

Flag& FlagSet::Add(std::string_view name, std::optional<std::uint64_t>& target, std::string_view usage) {
  Flag& flag = Add(name, "uint", usage, [&target](std::string_view value) -> std::string {
    errno = 0;
    char* end = nullptr;
    const std::string text(value);
    const bool is_digit = !text.empty() && text[0] >= '0' && text[0] <= '9';  // no sign: it would wrap
    const std::uint64_t parsed = is_digit ? std::strtoull(text.c_str(), &end, 10) : 0;
    if (!is_digit || *end != '\0' || errno == ERANGE) return "should be a number from 0 to 18446744073709551615";
    target = parsed;
    return "";
  });
  return flag;
}

Flag& FlagSet::Add(std::string_view name, Duration& target, std::string_view usage) {
  Flag& flag = Add(name, "duration", usage, [&target](std::string_view value) -> std::string {
    const std::optional<Duration> parsed = ParseGoDuration(value);
    if (!parsed) return "should be a duration such as 15s or 1m30s";
    target = *parsed;
    return "";
  });
  if (target != Duration::zero()) flag.default_text = FormatGoDuration(target);
  return flag;
}

Flag& FlagSet::Add(std::string_view name, std::vector<std::string>& target, std::string_view usage) {
  const auto replaces = std::make_shared<bool>(true);
  Flag& flag = Add(name, "strings", usage, [&target, replaces](std::string_view value) -> std::string {
    std::optional<std::vector<std::string>> parsed = ParseCommaSeparated(value);
    if (!parsed) return "should be a list by commas; a value with a comma or quote stands in double quotes";
    if (*replaces) target.clear();
    *replaces = false;
    std::move(parsed->begin(), parsed->end(), std::back_inserter(target));
    return "";
  });
  if (!target.empty()) flag.default_text = '[' + Joined(target, ",") + ']';
  return flag;
}

Flag& FlagSet::At(std::string_view name) {
  Flag* const flag = Find(name);
  BERTH_CHECK(flag != nullptr, name);
  return *flag;
}

std::vector<const Flag*> FlagSet::flags() const {
  std::vector<const Flag*> all;
  for (const Group& group : groups_) {
    for (const Flag& flag : group.flags) all.push_back(&flag);
  }
  return all;
}

std::vector<Flag*> FlagSet::Each() {
  std::vector<Flag*> all;
  for (Group& group : groups_) {
    for (Flag& flag : group.flags) all.push_back(&flag);
  }
  return all;
}

Flag* FlagSet::Find(std::string_view name) {
  for (Flag* flag : Each()) {
    if (flag->name == name && !flag->is_argument) return flag;
  }
  return nullptr;
}

Flag* FlagSet::Find(char letter) {
  for (Flag* flag : Each()) {
    if (letter != 0 && flag->letter == letter) return flag;
  }
  return nullptr;
}

bool FlagSet::IsGiven(std::string_view name) const {
  const std::vector<const Flag*> all = flags();
  return std::ranges::any_of(all, [name](const Flag* flag) { return flag->name == name && flag->is_given; });
}

Expected<void> FlagSet::Give(Flag& flag, std::string_view value) {
  if (const std::string wrong = flag.parse(value); !wrong.empty())
    return InvalidError(flag.Shown() + ": " + Quoted(value) + ' ' + wrong);
  flag.is_given = true;
  flag.given_text = value;
  return {};
}

std::string FlagSet::Nearest(std::string_view typed) const {
  std::vector<std::string> shown;
  for (const Flag* flag : flags()) {
    if (!flag->is_argument) shown.push_back(flag->Shown());
  }
  const std::vector<std::string_view> known(shown.begin(), shown.end());
  const std::string_view nearest = SimilarName(typed, known);
  return nearest.empty() ? "" : "; the nearest is " + std::string(nearest);
}

Expected<std::vector<std::string>> FlagSet::Parse(std::span<const std::string> arguments) {
  const auto unknown = [this](const std::string& typed) {
    return InvalidError("unknown flag " + typed.substr(0, kShownMax) + Nearest(typed));
  };
  std::vector<std::string> words;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument.size() < 2 || argument[0] != '-') {
      words.emplace_back(argument);
      continue;
    }
    if (argument == "--") {
      words.insert(words.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1, arguments.end());
      break;
    }
    const auto next = [&]() -> std::optional<std::string_view> {
      if (i + 1 == arguments.size()) return std::nullopt;
      return arguments[++i];
    };
    if (argument[1] == '-') {
      const std::size_t equals = argument.find('=');
      std::string name(argument.substr(2, equals == std::string_view::npos ? equals : equals - 2));
      if (name.empty() || name[0] == '-') return InvalidError(Quoted(argument) + " is no flag: should be --name=value");
      std::replace(name.begin(), name.end(), '_', '-');
      Flag* const flag = Find(name);
      if (flag == nullptr) return unknown("--" + name);
      std::optional<std::string_view> value;
      if (equals != std::string_view::npos) {
        value = argument.substr(equals + 1);
      } else {
        value = flag->value_alone.empty() ? next() : std::optional<std::string_view>(flag->value_alone);
      }
      if (!value) return InvalidError(flag->Shown() + " needs a value: " + flag->type);
      BERTH_RETURN_IF_ERROR(Give(*flag, *value));
      continue;
    }
    for (std::string_view letters = argument.substr(1); !letters.empty();) {
      Flag* const flag = Find(letters[0]);
      if (flag == nullptr) return unknown("-" + std::string(letters.substr(0, 1)));
      letters.remove_prefix(1);
      std::optional<std::string_view> value;
      if (letters.size() > 1 && letters[0] == '=') {
        value = letters.substr(1);
        letters = {};
      } else if (!flag->value_alone.empty()) {
        value = flag->value_alone;
      } else if (!letters.empty()) {
        value = letters;
        letters = {};
      } else {
        value = next();
      }
      if (!value) return InvalidError(flag->Shown() + " needs a value: " + flag->type);
      BERTH_RETURN_IF_ERROR(Give(*flag, *value));
    }
  }
  return words;
}

std::string FlagSet::Help(std::size_t columns) const {
  constexpr std::size_t kNameMax = 56;  // wider ones have their text on a line of its own
  std::string out;
  for (const Group& group : groups_) {
    out += (out.empty() ? "" : "\n") + group.title + " flags:\n\n";
    std::size_t width = 0;
    const auto name_of = [](const Flag& flag) {
      std::string text = flag.letter == 0 ? "      " : std::string("  -") + flag.letter + ", ";
      text += flag.Shown();
      if (!flag.type.empty()) text += ' ' + flag.type;
      return text;
    };
    for (const Flag& flag : group.flags) {
      if (const std::size_t size = name_of(flag).size(); size <= kNameMax) width = std::max(width, size);
    }
    for (const Flag& flag : group.flags) {
      std::string name = name_of(flag);
      const std::size_t indent = width + 3;
      out += name;
      if (name.size() > width) {
        out += '\n' + std::string(indent, ' ');
      } else {
        out += std::string(indent - name.size(), ' ');
      }
      std::string usage = flag.usage;
      if (!flag.default_text.empty()) usage += " (default " + flag.default_text + ')';
      out += Wrapped(usage, indent, columns) + '\n';
    }
  }
  return out;
}

}  // namespace berth::cli
