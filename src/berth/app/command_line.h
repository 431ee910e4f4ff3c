// SPDX-License-Identifier: Apache-2.0
// The command line as CLI11 is to read it, and what is said of one that it cannot read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace berth::app {

// For CLI::App::parse: without the program's name, the last argument first.
std::vector<std::string> NormalizedArguments(int argc, char** argv);

// What is wrong with the command line, and what would be right. In one line, but with the bytes that were typed.
std::string Explain(const CLI::App& app, const CLI::ParseError& error);

// In quotes, at most 100 bytes of it.
std::string Quoted(std::string_view text);

}  // namespace berth::app
