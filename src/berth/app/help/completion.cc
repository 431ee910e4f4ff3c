// SPDX-License-Identifier: Apache-2.0
#include "berth/app/help/completion.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "berth/app/common_flags.h"

namespace berth::app {
namespace {

constexpr std::size_t kAboutMax = 80;

// cobra's ShellCompDirective.
constexpr int kNoFiles = 4;
constexpr int kDirectoriesOnly = 16;

std::string FirstLine(std::string text) {
  text.resize(std::min({text.size(), text.find('\n'), kAboutMax}));
  return text;
}

// What a value is; see AddValues().
std::string_view HintOf(const cli::Flag& flag) {
  if (flag.is_argument && flag.type == "TEXT") return flag.name;
  return flag.hint.empty() ? flag.type : flag.hint;
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
  Completer(const cli::Command& program, const NamesOf& names) : command_(&program), names_(names) {
    AddKnown(program);
  }

  Completion Run(std::span<const std::string> words) {
    const std::string last = words.empty() ? "" : words.back();
    if (!words.empty()) {
      for (const std::string& word : words.first(words.size() - 1)) Take(word);
    }
    if (awaiting_ != nullptr) {
      AddValues(HintOf(*awaiting_), "", last);
    } else if (const std::size_t equals = last.find('='); HasFlagsYet(last) && equals != std::string::npos) {
      const cli::Flag* const flag = Find(last.substr(0, equals));
      if (flag != nullptr) AddValues(HintOf(*flag), last.substr(0, equals + 1), last.substr(equals + 1));
    } else if (HasFlagsYet(last)) {
      AddFlags(last);
    } else {
      AddCommands(last);
      AddArgument(last);
    }
    return std::move(answer_);
  }

 private:
  // Those of the command that is typed, and of the one above if it takes them.
  void AddKnown(const cli::Command& command) {
    for (const cli::Flag* flag : command.flags()) (flag->is_argument ? known_arguments_ : known_flags_).push_back(flag);
    if (command.takes_flags_of_parent()) AddKnown(*command.parent());
  }

  // A flag of which the name is given as it is, or with "_" for "-".
  const cli::Flag* Find(std::string name) const {
    if (name.starts_with("--")) std::replace(name.begin(), name.end(), '_', '-');
    const auto found = std::ranges::find_if(known_flags_, [&](const cli::Flag* flag) {
      return flag->Shown() == name || (flag->letter != 0 && name == std::string{'-', flag->letter});
    });
    return found == known_flags_.end() ? nullptr : *found;
  }

  bool HasFlagsYet(const std::string& word) const { return !only_arguments_ && !is_help_ && word.starts_with('-'); }

  void Give(const cli::Flag& flag, std::string value) {
    if (!flag.is_list) given_.push_back(&flag);
    typed_[flag.name] = std::move(value);
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
    if (const cli::Flag* const flag = Find(word.substr(0, equals)); flag != nullptr) {
      if (equals != std::string::npos) {
        Give(*flag, word.substr(equals + 1));
      } else if (flag->value_alone.empty()) {
        awaiting_ = flag;
      } else {
        Give(*flag, "true");
      }
    } else if (const cli::Flag* const letter = Find(word.substr(0, 2));
               letter != nullptr && letter->value_alone.empty()) {
      Give(*letter, word.substr(2));  // -nshop
    }
  }

  bool TakeCommand(const std::string& word) {
    if (arguments_ > 0) return false;
    if (command_->parent() == nullptr && word == "help") {
      is_help_ = true;
      return true;
    }
    const cli::Command* const below = command_->Subcommand(word);
    if (below == nullptr) return false;
    command_ = below;
    known_flags_.clear();
    known_arguments_.clear();
    AddKnown(*below);
    given_.clear();
    return true;
  }

  void Add(std::string text, std::string about, std::string_view begin) {
    if (text.starts_with(begin)) answer_.candidates.push_back({std::move(text), std::move(about)});
  }

  void AddFlags(const std::string& begin) {
    for (const cli::Flag* flag : known_flags_) {
      if (std::ranges::find(given_, flag) == given_.end()) Add(flag->Shown(), FirstLine(flag->usage), begin);
    }
  }

  void AddCommands(const std::string& begin) {
    if (arguments_ > 0) return;
    for (const auto& command : command_->subcommands()) {
      if (!is_help_ || command->name() != "help") Add(command->name(), FirstLine(command->description()), begin);
    }
  }

  void AddArgument(const std::string& begin) {
    if (is_help_ || known_arguments_.empty()) return;
    const cli::Flag& argument = *known_arguments_[std::min(arguments_, known_arguments_.size() - 1)];
    if (arguments_ < known_arguments_.size() || argument.is_list) AddValues(HintOf(argument), "", begin);
  }

  // `flag`: "--output=", where that is a part of the word.
  void AddValues(std::string_view hint, const std::string& flag, const std::string& begin) {
    if (hint == cli::kFileHint) answer_.files = Completion::Files::kAny;
    if (hint == cli::kDirectoryHint) answer_.files = Completion::Files::kDirectories;
    for (const std::string& choice : ChoicesOf(hint)) Add(flag + choice, "", flag + begin);
    if (hint != kPodHint && hint != kNodeHint && hint != kNamespaceHint) return;
    for (const std::string& name : names_(hint, typed_)) Add(flag + name, "", flag + begin);
  }

  const cli::Command* command_;  // as far as it is typed
  const NamesOf& names_;
  std::vector<const cli::Flag*> known_flags_;
  std::vector<const cli::Flag*> known_arguments_;
  const cli::Flag* awaiting_ = nullptr;  // its value comes next
  std::size_t arguments_ = 0;            // words that were neither flags nor commands
  bool only_arguments_ = false;          // after "--"
  bool is_help_ = false;                 // after `berth help`
  std::vector<const cli::Flag*> given_;  // those that may be given once
  TypedFlags typed_;
  Completion answer_;
};

}  // namespace

Completion Complete(const cli::Command& program, std::span<const std::string> words, const NamesOf& names) {
  return Completer(program, names).Run(words);
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
