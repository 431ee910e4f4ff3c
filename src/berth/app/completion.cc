// SPDX-License-Identifier: Apache-2.0
#include "berth/app/completion.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include <CLI/CLI.hpp>

#include "berth/app/common_flags.h"

namespace berth::app {
namespace {

constexpr std::size_t kAboutMax = 80;

// cobra's ShellCompDirective.
constexpr int kNoFiles = 4;
constexpr int kDirectoriesOnly = 16;

struct KnownFlag {
  std::string name;    // "--namespace"
  std::string letter;  // "-n", or empty
  std::string hint;    // what a value is; see ValuesOf()
  std::string about;
  bool takes_value = false;  // in the next word, where no = follows
  bool repeats = false;
};

// A command as far as it is typed.
struct Level {
  const CLI::App* app = nullptr;  // null: `berth run`
  std::vector<KnownFlag> flags;
  std::vector<std::string> arguments;  // hints; the last may be repeated
  bool last_repeats = false;
};

std::string FirstLine(std::string text) {
  text.resize(std::min({text.size(), text.find('\n'), kAboutMax}));
  return text;
}

void AddFlagsOf(const CLI::App& app, Level& level) {
  for (const CLI::Option* option : app.get_options()) {
    const bool repeats =
        option->get_items_expected_max() > 1 || option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
    if (option->get_positional()) {
      const std::string type = option->get_type_name();
      level.arguments.push_back(type == "TEXT" ? option->get_name() : type);
      level.last_repeats = repeats;
      continue;
    }
    KnownFlag flag;
    if (!option->get_lnames().empty()) flag.name = "--" + option->get_lnames().front();
    if (!option->get_snames().empty()) flag.letter = "-" + option->get_snames().front();
    flag.hint = option->get_type_name();
    flag.about = FirstLine(option->get_description());
    flag.takes_value = option->get_items_expected_max() > 0;
    flag.repeats = repeats;
    level.flags.push_back(std::move(flag));
  }
  if (app.get_fallthrough() && app.get_parent() != nullptr) AddFlagsOf(*app.get_parent(), level);
}

Level LevelOf(const CLI::App& app) {
  Level level;
  level.app = &app;
  AddFlagsOf(app, level);
  return level;
}

Level LevelOf(const cli::FlagSet& flags) {
  Level level;
  for (const cli::FlagSet::Group& group : flags.groups()) {
    for (const cli::Flag& flag : group.flags) {
      level.flags.push_back({"--" + flag.name, flag.letter == 0 ? "" : std::string{'-', flag.letter}, flag.hint,
                             FirstLine(flag.usage), flag.value_alone.empty(), false});
    }
  }
  return level;
}

// The choices of "TEXT:{table,wide}".
std::vector<std::string> ChoicesOf(std::string_view hint) {
  std::vector<std::string> choices;
  const std::size_t begin = hint.find('{');
  if (begin == std::string_view::npos || !hint.ends_with('}')) return choices;
  hint = hint.substr(begin + 1, hint.size() - begin - 2);
  while (!hint.empty()) {
    const std::size_t end = std::min(hint.find(','), hint.size());
    choices.emplace_back(hint.substr(0, end));
    choices.back().erase(0, choices.back().find_first_not_of(' '));
    hint.remove_prefix(std::min(end + 1, hint.size()));
  }
  return choices;
}

class Completer {
 public:
  Completer(const CLI::App& app, const cli::FlagSet& run_flags, const NamesOf& names)
      : root_(app), run_flags_(run_flags), names_(names), level_(LevelOf(app)) {}

  Completion Run(std::span<const std::string> words) {
    const std::string last = words.empty() ? "" : words.back();
    if (!words.empty()) {
      for (const std::string& word : words.first(words.size() - 1)) Take(word);
    }
    if (awaiting_ != nullptr) {
      AddValues(awaiting_->hint, "", last);
    } else if (const std::size_t equals = last.find('='); HasFlagsYet(last) && equals != std::string::npos) {
      const KnownFlag* const flag = Find(last.substr(0, equals));
      if (flag != nullptr) AddValues(flag->hint, last.substr(0, equals + 1), last.substr(equals + 1));
    } else if (HasFlagsYet(last)) {
      AddFlags(last);
    } else {
      AddCommands(last);
      AddArgument(last);
    }
    return std::move(answer_);
  }

 private:
  // A flag of which the name is given as it is, or with "_" for "-".
  const KnownFlag* Find(std::string name) const {
    if (name.starts_with("--")) std::replace(name.begin(), name.end(), '_', '-');
    const auto found = std::ranges::find_if(
        level_.flags, [&](const KnownFlag& flag) { return flag.name == name || flag.letter == name; });
    return found == level_.flags.end() ? nullptr : &*found;
  }

  bool HasFlagsYet(const std::string& word) const { return !only_arguments_ && !is_help_ && word.starts_with('-'); }

  void Give(const KnownFlag& flag, std::string value) {
    if (!flag.repeats) given_.push_back(flag.name);
    typed_[flag.name.substr(std::min<std::size_t>(2, flag.name.size()))] = std::move(value);
  }

  // A word that is complete.
  void Take(const std::string& word) {
    if (awaiting_ != nullptr) {
      Give(*std::exchange(awaiting_, nullptr), word);
    } else if (HasFlagsYet(word) && word.size() > 1) {
      TakeFlag(word);
    } else if (!TakeCommand(word)) {
      ++arguments_;
    }
  }

  void TakeFlag(const std::string& word) {
    if (word == "--") {
      only_arguments_ = true;
      return;
    }
    const std::size_t equals = word.find('=');
    if (const KnownFlag* const flag = Find(word.substr(0, equals)); flag != nullptr) {
      if (equals != std::string::npos) {
        Give(*flag, word.substr(equals + 1));
      } else if (flag->takes_value) {
        awaiting_ = flag;
      } else {
        Give(*flag, "true");
      }
    } else if (const KnownFlag* const letter = Find(word.substr(0, 2)); letter != nullptr && letter->takes_value) {
      Give(*letter, word.substr(2));  // -nshop
    }
  }

  bool TakeCommand(const std::string& word) {
    if (level_.app == nullptr || arguments_ > 0) return false;
    if (level_.app == &root_ && word == "help") {
      is_help_ = true;
      return true;
    }
    const auto found = level_.app->get_subcommands([&](const CLI::App* of) { return of->get_name() == word; });
    if (found.empty()) return false;
    level_ = level_.app == &root_ && word == "run" ? LevelOf(run_flags_) : LevelOf(*found.front());
    given_.clear();
    return true;
  }

  void Add(std::string text, std::string about, std::string_view begin) {
    if (text.starts_with(begin)) answer_.candidates.push_back({std::move(text), std::move(about)});
  }

  void AddFlags(const std::string& begin) {
    for (const KnownFlag& flag : level_.flags) {
      if (std::ranges::find(given_, flag.name) == given_.end()) Add(flag.name, flag.about, begin);
    }
  }

  void AddCommands(const std::string& begin) {
    if (level_.app == nullptr || arguments_ > 0) return;
    for (const CLI::App* command : level_.app->get_subcommands([](const CLI::App*) { return true; })) {
      if (!is_help_ || command->get_name() != "help")
        Add(command->get_name(), FirstLine(command->get_description()), begin);
    }
  }

  void AddArgument(const std::string& begin) {
    if (is_help_ || level_.arguments.empty()) return;
    if (arguments_ < level_.arguments.size()) {
      AddValues(level_.arguments[arguments_], "", begin);
    } else if (level_.last_repeats) {
      AddValues(level_.arguments.back(), "", begin);
    }
  }

  // `flag`: "--output=", where that is a part of the word.
  void AddValues(std::string_view hint, const std::string& flag, const std::string& begin) {
    if (hint == cli::kFileHint) answer_.files = Completion::Files::kAny;
    if (hint == cli::kDirectoryHint) answer_.files = Completion::Files::kDirectories;
    for (const std::string& choice : ChoicesOf(hint)) Add(flag + choice, "", flag + begin);
    if (hint != kPodHint && hint != kNodeHint && hint != kNamespaceHint) return;
    for (const std::string& name : names_(hint, typed_)) Add(flag + name, "", flag + begin);
  }

  const CLI::App& root_;
  const cli::FlagSet& run_flags_;
  const NamesOf& names_;
  Level level_;
  const KnownFlag* awaiting_ = nullptr;  // of level_.flags; its value comes next
  std::size_t arguments_ = 0;            // words that were neither flags nor commands
  bool only_arguments_ = false;          // after "--"
  bool is_help_ = false;                 // after `berth help`
  std::vector<std::string> given_;       // flags that may be given once
  TypedFlags typed_;
  Completion answer_;
};

}  // namespace

Completion Complete(const CLI::App& app, const cli::FlagSet& run_flags, std::span<const std::string> words,
                    const NamesOf& names) {
  return Completer(app, run_flags, names).Run(words);
}

std::string CompletionText(const Completion& completion) {
  std::string text;
  for (const Completion::Candidate& candidate : completion.candidates)
    text += candidate.text + (candidate.about.empty() ? "" : "\t" + candidate.about) + '\n';
  const int directive = completion.files == Completion::Files::kAny           ? 0
                        : completion.files == Completion::Files::kDirectories ? kDirectoriesOnly
                                                                              : kNoFiles;
  return text + ':' + std::to_string(directive) + '\n';
}

}  // namespace berth::app
