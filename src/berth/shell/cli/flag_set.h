// SPDX-License-Identifier: Apache-2.0
// Flags as Go's pflag reads them, which kube-scheduler's users write: --flag value, --flag=value, -v 2, -v=2, -v2, "_"
// for "-" in names, switches that are true alone, "--" before arguments. One table of flags, in groups. Pure; one
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/base/time.h"

namespace berth::cli {

// Go's strconv.ParseInt with base 0 ("10", "-0x1f", "1_000", "017"); nullopt when it is none, or of more than `bits`
// bits.
std::optional<std::int64_t> ParseGoInteger(std::string_view text, int bits);
// Go's strconv.ParseBool.
std::optional<bool> ParseGoBool(std::string_view text);
// One record of comma-separated values, quoted by " where they hold a comma; nullopt when a quote is out of place.
std::optional<std::vector<std::string>> ParseCommaSeparated(std::string_view text);

// Value hints: what a value is, for completion and in the help of commands: a file, a directory. "{a,b}" is one of
// these words.
inline constexpr char kFileHint[] = "FILE";
inline constexpr char kDirectoryHint[] = "DIR";

struct Flag {
  // Stores the value. Returns "", or what is wrong with it and what would be right, to be read after the value:
  // "should be a whole number".
  using Parse = std::function<std::string(std::string_view value)>;

  std::string name;          // without dashes, with "-" alone
  char letter = 0;           // "v" of -v; 0: none
  std::string type;          // shown in the help: "duration"; empty: a switch
  std::string default_text;  // shown in the help; empty: not shown
  std::string value_alone;   // what --flag without a value stands for; empty: it needs one
  std::string usage;         // one sentence or two, without a full stop at the end
  std::string hint;          // what a value is, such as kFileHint; empty: nothing to offer
  Parse parse;
  bool is_given = false;
  std::string given_text;  // the value that was given last
};

class FlagSet {
 public:
  struct Group {
    std::string title;  // "Secure serving"
    std::vector<Flag> flags;
  };

  // The flags that are added next belong to it.
  void BeginGroup(std::string_view title);

  // Targets must outlive the parsing, and hold the defaults. The reference holds until the next flag is added.
  Flag& Add(std::string_view name, std::string_view type, std::string_view usage, Flag::Parse parse);
  Flag& Add(std::string_view name, std::string& target, std::string_view usage);
  Flag& Add(std::string_view name, bool& target, std::string_view usage);
  Flag& Add(std::string_view name, std::int32_t& target, std::string_view usage);
  Flag& Add(std::string_view name, std::optional<std::uint64_t>& target, std::string_view usage);
  Flag& Add(std::string_view name, Duration& target, std::string_view usage);
  // Given once, it replaces the default; again, it adds.
  Flag& Add(std::string_view name, std::vector<std::string>& target, std::string_view usage);

  // Sets the hint of a flag that is there.
  void Hint(std::string_view name, std::string_view hint);

  // Sets the targets; the words that are no flags. Fails at the first flag that is unknown or has a wrong value, in one
  // line that names both.
  Expected<std::vector<std::string>> Parse(std::span<const std::string> arguments);

  // Whether the last Parse() met the flag; false for one that does not exist.
  bool IsGiven(std::string_view name) const;
  const std::vector<Group>& groups() const { return groups_; }

  // Every flag by group, in lines of at most `columns`, where words allow it.
  std::string Help(std::size_t columns) const;

 private:
  Flag* Find(std::string_view name);
  Flag* Find(char letter);
  Expected<void> Give(Flag& flag, std::string_view value);
  Error Unknown(std::string_view typed) const;

  std::vector<Group> groups_;
};

}  // namespace berth::cli
