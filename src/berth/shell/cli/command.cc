// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/cli/command.h"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <type_traits>
#include <utility>

#include "berth/base/edit_distance.h"
#include "berth/base/text.h"

namespace berth::cli {
namespace {

constexpr std::size_t kNameColumns = 30;

template <typename T>
struct ValueOf {
  using Type = T;
};
template <typename T>
struct ValueOf<std::optional<T>> {
  using Type = T;
};

// Of a double as C reads it, of whole numbers with 0x for hexadecimal and 0 for octal ones.
template <typename T>
std::optional<T> ParseNumber(const std::string& text) {
  char* end = nullptr;
  T number{};
  bool fits = true;
  if constexpr (std::is_floating_point_v<T>) {
    number = static_cast<T>(std::strtold(text.c_str(), &end));
  } else if constexpr (std::is_unsigned_v<T>) {
    number = std::strtoull(text.c_str(), &end, 0);
  } else {
    const long long wide = std::strtoll(text.c_str(), &end, 0);
    number = static_cast<T>(wide);
    fits = number == wide;
  }
  return fits && end == text.c_str() + text.size() ? std::optional(number) : std::nullopt;
}

// To be written as a switch: lower and upper case, and numbers, of which those above 0 are true.
std::optional<bool> ParseSwitch(std::string_view typed) {
  const std::string text = LowerCase(typed);
  for (const std::string_view yes : {"true", "t", "+", "y", "yes", "on", "enable"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"false", "f", "-", "n", "no", "off", "disable"}) {
    if (text == no) return false;
  }
  const auto number = text.empty() ? std::nullopt : ParseNumber<std::int64_t>(text);
  return number ? std::optional(*number > 0) : std::nullopt;
}

// A row of the help; "\n" in `text` begins another line.
std::string Row(const std::string& name, std::string_view text) {
  const std::string indent(kNameColumns, ' ');
  std::string row = "  " + name;
  row += row.size() < kNameColumns ? indent.substr(row.size()) : '\n' + indent;
  for (const char c : text) {
    row += c;
    if (c == '\n') row += indent;
  }
  return row + '\n';
}

std::string RowOf(const Flag& flag) {
  std::string name = flag.letter == 0 ? "" : std::string{'-', flag.letter, ','};
  name += flag.Shown();
  if (!flag.type.empty()) name += ' ' + flag.type;
  if (!flag.default_text.empty()) name += '=' + flag.default_text;
  if (flag.shows_list) name += " ...";
  if (flag.is_required) name += " REQUIRED";
  if (!flag.environment.empty()) name += " (Env:" + flag.environment + ')';
  const auto add = [&name](std::string_view title, const std::vector<const Flag*>& others) {
    if (!others.empty()) name += title;
    for (const Flag* other : others) name += ' ' + other->Shown();
  };
  add(" Needs:", flag.needs);
  add(" Excludes:", flag.excludes);
  return Row(name, flag.usage);
}

}  // namespace

// A command line as far as it is read.
struct Command::Reading {
  std::deque<std::string> words;  // that are not read yet
  std::vector<std::string> unknown_flags;
  std::vector<std::string> unknown_words;
  bool has_unknown_flag = false;  // other than "--"

  // Nobody knows the word.
  void Leave(std::string word) {
    const bool is_flag = word.size() > 1 && word.front() == '-';
    if (!is_flag) return unknown_words.push_back(std::move(word));
    has_unknown_flag |= word != "--";
    unknown_flags.push_back(word.substr(0, word.find('=')));
  }
  void LeaveFlag(std::string name) {
    has_unknown_flag = true;
    unknown_flags.push_back(std::move(name));
  }

  // "--" alone is nothing that is wrong.
  bool HasUnknown() const { return !unknown_words.empty() || has_unknown_flag; }
};

Command::Command(std::string_view name, std::string_view description) : Command(name, description, nullptr) {
  BeginGroup("");
  Switch("help", wants_help_, "Print this help message and exit").Letter('h');
  Switch("version", wants_version_, "Display program version information and exit");
}

Command& Command::AddForeign(std::string_view name, std::string_view description) {
  subcommands_.push_back(std::unique_ptr<Command>(new Command(name, description, this)));
  return *subcommands_.back();
}

Command& Command::AddSubcommand(std::string_view name, std::string_view description) {
  Command& command = AddForeign(name, description);
  command.BeginGroup("");
  command.Switch("help", command.wants_help_, "Print this help message and exit").Letter('h');
  return command;
}

Flag& Command::Option(std::string_view name, std::string_view usage, Flag::Parse parse) {
  return Add(name, "TEXT", usage, std::move(parse));
}

template <typename T>
Flag& Command::Option(std::string_view name, T& target, std::string_view usage) {
  using Value = typename ValueOf<T>::Type;
  constexpr bool kIsNumber = std::is_arithmetic_v<Value>;
  constexpr bool kIsList = std::is_same_v<T, std::vector<std::string>>;
  Flag& flag = Option(name, usage, [&target](std::string_view text) -> std::string {
    if constexpr (kIsNumber) {
      const auto number = ParseNumber<Value>(std::string(text));
      if (!number) return "is no number, or too large";
      target = text.empty() ? T() : T(*number);
    } else if constexpr (kIsList) {
      target.emplace_back(text);
    } else {
      target = text;
    }
    return "";
  });
  if (kIsNumber) flag.type = std::is_floating_point_v<Value> ? "FLOAT" : std::is_unsigned_v<Value> ? "UINT" : "INT";
  flag.is_list = kIsList;
  flag.shows_list = kIsList;
  if constexpr (std::is_same_v<T, std::string>) flag.first_text = target;
  if constexpr (std::is_arithmetic_v<T>) flag.first_text = std::to_string(target);
  return flag;
}

template Flag& Command::Option(std::string_view, std::string&, std::string_view);
template Flag& Command::Option(std::string_view, std::optional<std::string>&, std::string_view);
template Flag& Command::Option(std::string_view, std::vector<std::string>&, std::string_view);
template Flag& Command::Option(std::string_view, int&, std::string_view);
template Flag& Command::Option(std::string_view, std::uint64_t&, std::string_view);
template Flag& Command::Option(std::string_view, std::optional<int>&, std::string_view);
template Flag& Command::Option(std::string_view, std::optional<std::uint64_t>&, std::string_view);
template Flag& Command::Option(std::string_view, std::optional<double>&, std::string_view);

Flag& Command::Switch(std::string_view name, bool& target, std::string_view usage) {
  Flag& flag = Add(name, "", usage, [&target](std::string_view value) -> std::string {
    const std::optional<bool> parsed = ParseSwitch(value);
    if (!parsed) return "is no number, or too large";
    target = *parsed;
    return "";
  });
  flag.value_alone = "true";
  return flag;
}

Command* Command::Subcommand(std::string_view name) const {
  const auto found =
      std::ranges::find_if(subcommands_, [name](const auto& command) { return command->name() == name; });
  return found == subcommands_.end() ? nullptr : found->get();
}

std::string Command::Path() const { return parent_ == nullptr ? name_ : parent_->Path() + ' ' + name_; }

Flag* Command::FlagOf(const std::string& word) {
  return word.starts_with("--") ? Find(std::string_view(word).substr(2)) : Find(word[1]);
}

bool Command::TakeArgument(const std::string& word) {
  for (Flag* flag : Each()) {
    if (!flag->is_argument || (!flag->is_list && !flag->typed.empty())) continue;
    flag->typed.push_back(word);
    return true;
  }
  return false;
}

std::size_t Command::MissingArguments(bool required_alone) const {
  return static_cast<std::size_t>(std::ranges::count_if(flags(), [required_alone](const Flag* flag) {
    return flag->is_argument && flag->typed.empty() && (flag->is_required || !required_alone);
  }));
}

// Negative numbers are none.
bool Command::IsFlag(const std::string& word) {
  constexpr std::string_view kNoName = "-! \n";
  if (word.size() < 2 || word[0] != '-' || word == "--") return false;
  if (word[1] == '-') return word.size() > 2 && kNoName.find(word[2]) == std::string_view::npos;
  return kNoName.find(word[1]) == std::string_view::npos && (!IsDigit(word[1]) || Find(word[1]) != nullptr);
}

Expected<void> Command::ReadFlag(Reading& reading, std::string word) {
  // As kube-scheduler's users write them: -v=2, --leader_elect.
  if (word.starts_with("-v=")) word.insert(1, "-");
  const std::size_t equals = std::min(word.find('='), word.size());
  std::string name = word.substr(0, equals);
  std::string value = word.substr(std::min(equals + 1, word.size()));
  if (name.starts_with("--")) {
    std::ranges::replace(name, '_', '-');
  } else {
    value = word.substr(2);
  }
  std::deque<std::string>& words = reading.words;
  Flag* flag = FlagOf(name);
  if (flag == nullptr && takes_flags_of_parent_) flag = parent_->FlagOf(name);
  if (flag == nullptr) {
    reading.LeaveFlag(std::move(name));
    return {};
  }
  if (!flag->value_alone.empty()) {
    const bool is_long = name.starts_with("--");
    flag->typed.push_back(is_long && !value.empty() ? value : flag->value_alone);
    if (!is_long && !value.empty()) words.push_front('-' + value);  // -wl: -w -l
    return {};
  }
  if (value.empty()) {
    if (words.empty()) return InvalidError(flag->Shown() + ": 1 required " + flag->type + " missing");
    value = words.front();
    words.pop_front();
  }
  flag->typed.push_back(std::move(value));
  if (!flag->is_list) return {};
  const std::size_t kept = MissingArguments(true);
  while (words.size() > kept && !IsFlag(words.front()) && words.front() != "--" &&
         Subcommand(words.front()) == nullptr) {
    flag->typed.push_back(std::move(words.front()));
    words.pop_front();
  }
  if (!words.empty() && words.front() == "--") words.pop_front();  // that ends the list
  return {};
}

Expected<void> Command::GiveAll() {
  for (Flag* flag : Each()) {
    const char* const variable = flag->environment.empty() ? nullptr : std::getenv(flag->environment.c_str());
    if (flag->typed.empty() && variable != nullptr && *variable != '\0') flag->typed.emplace_back(variable);
    for (const std::string& value : flag->typed) {
      const std::string wrong = flag->check ? flag->check(value) : "";
      if (!wrong.empty()) return InvalidError(flag->Shown() + ": " + wrong);
    }
    const bool may_repeat = flag->is_list || !flag->value_alone.empty();
    if (flag->typed.size() > 1 && !may_repeat)
      return InvalidError(flag->Shown() + ": At Most 1 required but received " + std::to_string(flag->typed.size()));
    for (const std::string& value : flag->typed) BERTH_RETURN_IF_ERROR(Give(*flag, value));
    if (wants_version_) return {};
  }
  return {};
}

Command::Fault Command::FindFault() const {
  for (const Flag* flag : flags()) {
    if (flag->is_required && flag->typed.empty()) return {flag->Shown() + " is required", true};
    if (flag->typed.empty()) continue;
    for (const Flag* other : flag->needs) {
      if (other->typed.empty()) return {flag->Shown() + " requires " + other->Shown()};
    }
    for (const Flag* other : flag->excludes) {
      if (!other->typed.empty()) return {flag->Shown() + " excludes " + other->Shown()};
    }
  }
  return {};
}

Error Command::WrongSubcommand(std::span<const std::string> words) const {
  std::vector<std::string_view> known;
  for (const auto& command : subcommands_) known.emplace_back(command->name_);
  const std::string of = parent_ == nullptr ? "" : name_ + ": ";
  if (words.empty()) return InvalidError(of + "a subcommand is missing: one of " + Joined(known));
  const std::string_view nearest = SimilarName(words.front(), known);
  return InvalidError(of + "there is no subcommand " + Quoted(words.front()) +
                      (nearest.empty() ? "" : "; the nearest is " + std::string(nearest)) + "; one of " +
                      Joined(known));
}

Expected<Command::Line> Command::Read(std::span<const std::string> typed) {
  Reading reading;
  reading.words.assign(typed.begin(), typed.end());
  std::vector<Command*> commands = {this};
  Command* at = this;  // whose flags and arguments are read
  bool only_arguments = false;
  while (!reading.words.empty()) {
    std::string word = std::move(reading.words.front());
    reading.words.pop_front();
    Command* const below = at == commands.back() && !only_arguments ? at->Subcommand(word) : nullptr;
    if (word == "--" && !only_arguments) {
      // A subcommand without arguments to come ends there.
      only_arguments = at == this || at->MissingArguments(false) > 0;
      if (only_arguments) reading.Leave(std::move(word));
      if (!only_arguments) at = this;
    } else if (below != nullptr) {
      commands.push_back(below);
      at = below;
    } else if (!only_arguments && at->IsFlag(word)) {
      BERTH_RETURN_IF_ERROR(at->ReadFlag(reading, std::move(word)));
    } else if (!at->TakeArgument(word)) {
      reading.Leave(std::move(word));
    }
  }

  const Command& last = *commands.back();
  Wish wish = Wish::kRun;
  for (Command* const command : commands) {
    BERTH_RETURN_IF_ERROR(command->GiveAll());
    if (command->wants_help_) wish = Wish::kHelp;
    if (command->wants_version_) {
      wish = Wish::kVersion;
      break;
    }
  }
  if (wish != Wish::kRun) {
    if (last.requires_subcommand_ && !reading.unknown_words.empty()) return last.WrongSubcommand(reading.unknown_words);
    return Line{&last, wish};
  }
  Fault fault;
  for (const Command* const command : commands) {
    if (fault.text.empty()) fault = command->FindFault();
  }
  if (fault.text.empty() && last.requires_subcommand_) fault = {"a subcommand is missing", true};
  if (fault.is_missing || (fault.text.empty() && reading.HasUnknown())) {
    // What is unknown may be what is missing, with a slip of the hand.
    const std::vector<std::string>& flags = reading.unknown_flags;
    if (!flags.empty())
      return InvalidError((flags.size() == 1 ? "unknown flag " : "unknown flags ") + Joined(flags) +
                          last.Nearest(flags.front()));
    if (fault.is_missing && last.requires_subcommand_) return last.WrongSubcommand(reading.unknown_words);
    if (!fault.is_missing) return InvalidError("unexpected argument " + Quoted(reading.unknown_words.front()));
  }
  if (!fault.text.empty()) return InvalidError(fault.text);
  return Line{&last, wish};
}

std::string Command::Help() const {
  std::string usage = "Usage: " + Path();
  std::string arguments;
  std::string options;
  for (const Flag* flag : flags()) {
    (flag->is_argument ? arguments : options) += RowOf(*flag);
  }
  if (!options.empty()) usage += " [OPTIONS]";
  for (const Flag* flag : flags()) {
    if (!flag->is_argument) continue;
    const std::string name = flag->name + (flag->is_list ? "..." : "");
    usage += flag->is_required ? ' ' + name : " [" + name + ']';
  }
  std::string commands;
  for (const auto& command : subcommands_) commands += Row(command->name_, command->description_);
  if (!commands.empty()) usage += requires_subcommand_ ? " SUBCOMMAND" : " [SUBCOMMAND]";
  std::string help = description_ + '\n' + usage + '\n';
  if (!arguments.empty()) help += "\nPositionals:\n" + arguments;
  if (!options.empty()) help += "\nOptions:\n" + options;
  if (!commands.empty()) help += "\nSubcommands:\n" + commands;
  return help + '\n' + footer_ + (footer_.empty() ? "" : "\n");
}

}  // namespace berth::cli
