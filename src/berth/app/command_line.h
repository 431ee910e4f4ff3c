// SPDX-License-Identifier: Apache-2.0
// Prepares the command line for CLI11, and words its errors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace berth::app {

// The name under which the program takes kube-scheduler's flags alone.
inline constexpr std::string_view kKubeScheduler = "kube-scheduler";

// What the program was called as, and what follows its name.
struct Call {
  std::string name;                    // of the file: "berth", "kubectl-berth"
  std::string program;                 // as the help calls it: "berth", "kubectl berth"
  std::vector<std::string> arguments;  // with `help COMMAND` as `COMMAND --help`
};

Call ReadCall(int argc, char** argv);

// The arguments as CLI::App::parse takes them: in reverse order.
std::vector<std::string> NormalizedArguments(const std::vector<std::string>& arguments);

// What is wrong with the command line, and what would be right. One line, except that it repeats typed bytes as they
// are.
std::string Explain(const CLI::App& app, const CLI::ParseError& error);
// Of a command line that asks for help or the version and parses so far: the command in it that does not exist, worded
// as by Explain(); empty if there is none.
std::string UnknownCommand(const CLI::App& app);

}  // namespace berth::app
