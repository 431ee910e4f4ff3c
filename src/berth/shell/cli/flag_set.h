// SPDX-License-Identifier: Apache-2.0
// Flags as Go's pflag reads them, which kube-scheduler's users write: --flag value, --flag=value, -v 2, -v=2, -v2, "_"
// for "-" in names, switches that are true alone, "--" before arguments. One table of flags, in groups. The flags of
// commands are in the same table (command.h). Pure; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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

  std::string name;          // without dashes, with "-" alone; of an argument as the help shows it
  char letter = 0;           // "v" of -v; 0: none
  std::string type;          // shown in the help: "duration"; empty: a switch
  std::string default_text;  // shown in the help; empty: not shown
  std::string value_alone;   // what --flag without a value stands for; empty: it needs one
  std::string usage;         // one sentence or two, without a full stop at the end
  std::string hint;          // what a value is, such as kFileHint; empty: nothing to offer
  Parse parse;
  bool is_given = false;
  std::string given_text;  // the value that was given last

  // Of commands alone. `check` returns "", or the whole of what is wrong with a value, and comes before `parse`.
  std::function<std::string(const std::string& value)> check;
  std::string first_text;   // the value that the target begins with
  std::string environment;  // the variable that is read if the flag is not given; empty: none
  bool is_argument = false;
  bool is_required = false;
  bool is_list = false;  // may be repeated, and takes the words that follow a value, too
  bool shows_list = false;
  std::vector<const Flag*> needs;
  std::vector<const Flag*> excludes;
  std::vector<std::string> typed;

  // What is set when a command's flag is added: each returns the flag.
  Flag& Letter(char of_name) { return Set(letter, of_name); }
  Flag& Type(std::string_view shown) { return Set(type, shown); }
  Flag& Default(std::string_view shown) { return Set(default_text, shown); }
  Flag& ShowDefault() { return Default(first_text); }
  Flag& ShowAsOne() { return Set(shows_list, false); }  // of a list
  Flag& Required() { return Set(is_required, true); }
  Flag& Needs(const Flag& other) {
    needs.push_back(&other);
    return *this;
  }
  Flag& Excludes(Flag& other) {  // and is excluded by it
    excludes.push_back(&other);
    other.excludes.push_back(this);
    return *this;
  }
  Flag& Check(std::function<std::string(const std::string& value)> checks) { return Set(check, std::move(checks)); }
  Flag& OneOf(const std::vector<std::string>& values);
  Flag& Range(std::uint64_t least, std::uint64_t most);

  // As it is typed: "--output", "POD".
  std::string Shown() const { return is_argument ? name : "--" + name; }

 private:
  template <typename Member, typename Value>
  Flag& Set(Member& member, Value&& value) {
    member = std::forward<Value>(value);
    return *this;
  }
};

class FlagSet {
 public:
  struct Group {
    std::string title;  // "Secure serving"
    std::deque<Flag> flags;
  };

  // The flags that are added next belong to it.
  void BeginGroup(std::string_view title);

  // Targets must outlive the parsing, and hold the defaults.
  Flag& Add(std::string_view name, std::string_view type, std::string_view usage, Flag::Parse parse);
  Flag& Add(std::string_view name, std::string& target, std::string_view usage);
  Flag& Add(std::string_view name, bool& target, std::string_view usage);
  Flag& Add(std::string_view name, std::int32_t& target, std::string_view usage);
  Flag& Add(std::string_view name, std::optional<std::uint64_t>& target, std::string_view usage);
  Flag& Add(std::string_view name, Duration& target, std::string_view usage);
  // Given once, it replaces the default; again, it adds.
  Flag& Add(std::string_view name, std::vector<std::string>& target, std::string_view usage);

  // A flag that is there.
  Flag& At(std::string_view name);

  // Sets the targets; the words that are no flags. Fails at the first flag that is unknown or has a wrong value, in one
  // line that names both.
  Expected<std::vector<std::string>> Parse(std::span<const std::string> arguments);

  // Whether the last Parse() met the flag; false for one that does not exist.
  bool IsGiven(std::string_view name) const;
  const std::deque<Group>& groups() const { return groups_; }
  // Flags and arguments of all groups.
  std::vector<const Flag*> flags() const;

  // Every flag by group, in lines of at most `columns`, where words allow it.
  std::string Help(std::size_t columns) const;

 protected:
  std::vector<Flag*> Each();
  Flag* Find(std::string_view name);
  Flag* Find(char letter);
  static Expected<void> Give(Flag& flag, std::string_view value);
  // "; the nearest is --X", if one is near enough to be a slip of the hand.
  std::string Nearest(std::string_view typed) const;

 private:
  std::deque<Group> groups_;  // of which others keep references
};

}  // namespace berth::cli
