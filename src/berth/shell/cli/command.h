// SPDX-License-Identifier: Apache-2.0
// Command: a program or a subcommand of it, with its flags, arguments and subcommands; reads a command line and makes
// the help. The whole line is read before anything is said to be wrong with it, so that --help and an unknown
// subcommand come first. Pure but for the environment variables that flags name; one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/shell/cli/flag_set.h"

namespace berth::cli {

class Command : public FlagSet {
 public:
  enum class Wish : std::uint8_t { kRun, kHelp, kVersion };
  // What a command line says.
  struct Line {
    const Command* command = nullptr;  // the last subcommand in it
    Wish wish = Wish::kRun;
  };

  // A program; it has the flags --help and --version.
  Command(std::string_view name, std::string_view description);
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  // With the flag --help.
  Command& AddSubcommand(std::string_view name, std::string_view description);
  // Without flags: they are read by a FlagSet's rules, and are here for help and completion.
  Command& AddForeign(std::string_view name, std::string_view description);
  void RequireSubcommand() { requires_subcommand_ = true; }
  // Flags that this command has not are looked for in the one above.
  void TakeFlagsOfParent() { takes_flags_of_parent_ = true; }
  // Text at the end of the help.
  void SetFooter(std::string_view footer) { footer_ = footer; }

  // The target must outlive the parsing: a std::string, int, std::uint64_t, an optional one of these or a double, or
  // several strings. What a flag takes is shown as TEXT, INT, UINT or FLOAT unless Flag::Type() says otherwise.
  template <typename T>
  Flag& Option(std::string_view name, T& target, std::string_view usage);
  Flag& Option(std::string_view name, std::string_view usage, Flag::Parse parse);
  Flag& Switch(std::string_view name, bool& target, std::string_view usage);
  // Words that are no flags, in this order.
  template <typename T>
  Flag& Argument(std::string_view name, T& target, std::string_view usage) {
    Flag& flag = Option(name, target, usage);
    flag.is_argument = true;
    return flag;
  }

  // Sets the targets of the commands in the line. `words` follow the program's name. An error is one line, but repeats
  // typed bytes as they are.
  Expected<Line> Read(std::span<const std::string> words);

  std::string Help() const;

  const std::string& name() const { return name_; }
  const std::string& description() const { return description_; }
  const std::string& footer() const { return footer_; }
  const Command* parent() const { return parent_; }
  bool takes_flags_of_parent() const { return takes_flags_of_parent_; }
  const std::vector<std::unique_ptr<Command>>& subcommands() const { return subcommands_; }
  // Null if there is none.
  Command* Subcommand(std::string_view name) const;
  // With those above: "berth explain pod".
  std::string Path() const;

 private:
  struct Reading;
  // What is wrong with the flags that are given together.
  struct Fault {
    std::string text;  // empty: nothing
    bool is_missing = false;
  };

  Command(std::string_view name, std::string_view description, Command* parent)
      : name_(name), description_(description), parent_(parent) {}

  Flag* FlagOf(const std::string& name);
  bool TakeArgument(const std::string& word);
  std::size_t MissingArguments(bool required_alone) const;
  bool IsFlag(const std::string& word);
  Expected<void> ReadFlag(Reading& reading, std::string word);
  Expected<void> GiveAll();
  Fault FindFault() const;
  Error WrongSubcommand(std::span<const std::string> words) const;

  const std::string name_;
  const std::string description_;
  Command* const parent_ = nullptr;
  std::string footer_;
  bool requires_subcommand_ = false;
  bool takes_flags_of_parent_ = false;
  bool wants_help_ = false;
  bool wants_version_ = false;
  std::vector<std::unique_ptr<Command>> subcommands_;
};

}  // namespace berth::cli
