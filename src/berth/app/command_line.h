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

// The arguments as CLI::App::parse takes them: without the program's name, in reverse order.
std::vector<std::string> NormalizedArguments(int argc, char** argv);

// What is wrong with the command line, and what would be right. One line, except that it repeats typed bytes as they
// are.
std::string Explain(const CLI::App& app, const CLI::ParseError& error);

// `text` in quotes, cut to 100 bytes.
std::string Quoted(std::string_view text);

}  // namespace berth::app
