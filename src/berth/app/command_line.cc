// SPDX-License-Identifier: Apache-2.0
#include "berth/app/command_line.h"

#include <algorithm>
#include <span>
#include <utility>

#include <CLI/CLI.hpp>

#include "berth/base/edit_distance.h"
#include "berth/base/text.h"

namespace berth::app {
namespace {

// "; the nearest is X", if one is near enough to be a slip of the hand.
std::string Nearest(std::string_view word, std::span<const std::string_view> known) {
  const std::string_view nearest = SimilarName(word, known);
  return nearest.empty() ? "" : "; the nearest is " + std::string(nearest);
}

// What of the command line nobody knows, as it stands there; a flag without its value.
struct Leftovers {
  std::vector<std::string> flags;
  std::vector<std::string> words;
};

Leftovers LeftoversOf(const CLI::App& app) {
  Leftovers leftovers;
  for (std::string& argument : app.remaining(true)) {
    const bool is_flag = argument.size() > 1 && argument.front() == '-';
    if (is_flag) argument.resize(std::min(argument.find('='), argument.size()));
    (is_flag ? leftovers.flags : leftovers.words).push_back(std::move(argument));
  }
  return leftovers;
}

std::string UnknownFlags(const std::vector<std::string>& flags, const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  const std::vector<std::string_view> unknown(flags.begin(), flags.end());
  const std::vector<std::string_view> known(names.begin(), names.end());
  return (unknown.size() == 1 ? "unknown flag " : "unknown flags ") + Joined(unknown) + Nearest(unknown.front(), known);
}

std::string WrongSubcommand(const std::vector<std::string>& words, const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* known : command.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(known->get_name());
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string of = command.get_parent() == nullptr ? "" : command.get_name() + ": ";
  if (words.empty()) return of + "a subcommand is missing: one of " + Joined(known);
  return of + "there is no subcommand " + Quoted(words.front()) + Nearest(words.front(), known) + "; one of " +
         Joined(known);
}

// The last command of the line that exists.
const CLI::App* LastCommand(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().back();
  return command;
}

}  // namespace

Call ReadCall(int argc, char** argv) {
  Call call;
  call.name = argc > 0 ? argv[0] : "";
  call.name.erase(0, call.name.rfind('/') + 1);  // npos + 1: 0
  call.program = call.name == "kubectl-berth" ? "kubectl berth" : "berth";
  call.arguments.assign(argv + std::min(argc, 1), argv + argc);
  if (call.name != kKubeScheduler && !call.arguments.empty() && call.arguments.front() == "help") {
    std::rotate(call.arguments.begin(), call.arguments.begin() + 1, call.arguments.end());
    call.arguments.back() = "--help";
  }
  return call;
}

// kube-scheduler takes --leader_elect for --leader-elect, and -v=2 for -v 2.
std::vector<std::string> NormalizedArguments(const std::vector<std::string>& typed) {
  std::vector<std::string> arguments;
  for (std::string argument : typed) {
    if (argument.starts_with("-v=")) argument.insert(1, "-");
    if (argument.starts_with("--")) {
      const auto end = argument.begin() + static_cast<std::ptrdiff_t>(std::min(argument.find('='), argument.size()));
      std::replace(argument.begin(), end, '_', '-');
    }
    arguments.push_back(std::move(argument));
  }
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
  return arguments;
}

std::string Explain(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* const command = LastCommand(app);
  const Leftovers leftovers = LeftoversOf(app);
  const bool is_required = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  const bool is_extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  if ((is_required || is_extra) && !leftovers.flags.empty()) return UnknownFlags(leftovers.flags, *command);
  if (is_required && command->get_require_subcommand_min() > 0) return WrongSubcommand(leftovers.words, *command);
  if (is_extra && !leftovers.words.empty()) return "unexpected argument " + Quoted(leftovers.words.front());
  std::string text = error.what();
  constexpr std::string_view kConversion = "Could not convert: ";  // --nodes = three
  const std::size_t equals = text.find(" = ");
  if (text.starts_with(kConversion) && equals != std::string::npos) {
    return text.substr(kConversion.size(), equals - kConversion.size()) + ": " + Quoted(text.substr(equals + 3)) +
           " is no number, or too large";
  }
  return text;
}

std::string UnknownCommand(const CLI::App& app) {
  const CLI::App* const command = LastCommand(app);
  const Leftovers leftovers = LeftoversOf(app);
  if (leftovers.words.empty() || command->get_require_subcommand_min() == 0) return "";
  return WrongSubcommand(leftovers.words, *command);
}

}  // namespace berth::app
