// SPDX-License-Identifier: Apache-2.0
// Completion: what may stand next on a command line that is being typed. It is found in the commands and flags that
// --help shows. Pure but for `names`; one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/shell/cli/command.h"

namespace berth::app {

struct Completion {
  struct Candidate {
    std::string text;   // in place of the whole last word
    std::string about;  // one line; may be empty
    bool operator==(const Candidate&) const = default;
  };
  enum class Files : std::uint8_t { kNone, kAny, kDirectories };

  std::vector<Candidate> candidates;
  Files files = Files::kNone;  // what the shell should offer by itself, when there are no candidates
};

// The values of flags typed so far, by the flag's name: {"namespace", "shop"}.
using TypedFlags = std::map<std::string, std::string>;
// Names of objects of the cluster, by the hint that stands for their kind: kPodHint, kNodeHint, kNamespaceHint.
using NamesOf = std::function<std::vector<std::string>(std::string_view hint, const TypedFlags& typed)>;

// `words`: what follows the program's name; the last is being typed, and empty after a blank.
Completion Complete(const cli::Command& program, std::span<const std::string> words, const NamesOf& names);

// As cobra's programs answer __complete, kubectl's plugins among them: a line for each candidate, with a tab before
// what it is about, and ":N" at the end, the bits of cobra's ShellCompDirective.
std::string CompletionText(const Completion& completion);

}  // namespace berth::app
