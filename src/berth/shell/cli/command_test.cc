// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/cli/command.h"

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace berth::cli {
namespace {

using Words = std::vector<std::string>;

// A program with two commands, one of which has commands of its own.
struct Program {
  Command program{"tool", "what it is for"};
  int verbosity = 0;
  bool force = false;
  int nodes = 5;
  std::optional<std::uint64_t> seed;
  std::string file;
  std::string output = "table";
  Words files;
  Words names;
  std::string key;
  std::string node;

  Program() {
    program.RequireSubcommand();
    program.Option("v", verbosity, "how much is said").Letter('v');
    Command& run = program.AddSubcommand("show", "shows");
    run.Argument("NAMES", names, "what to show").Required();
    Flag& count = run.Option("nodes", nodes, "so many").Range(1, 10).ShowDefault();
    Flag& from = run.Option("file", file, "from there").Type(kFileHint).Excludes(count);
    from.environment = "BERTH_COMMAND_TEST_FILE";
    run.Option("seed", seed, "of chance").Needs(count);
    run.Option("output", output, "how").Letter('o').OneOf({"table", "json"}).ShowDefault();
    run.Option("filename", files, "more of them").Letter('f');
    run.Switch("force", force, "whatever comes").Letter('w');
    run.SetFooter("That is all.");
    Command& price = program.AddSubcommand("price", "prices");
    price.RequireSubcommand();
    price.Option("key", key, "where they are");
    Command& set = price.AddSubcommand("set", "sets one");
    set.TakeFlagsOfParent();
    set.Argument("NODE", node, "its name").Required();
  }
  // "COMMAND", "help of COMMAND", or what is wrong.
  std::string Read(const Words& words) {
    const auto line = program.Read(words);
    if (!line.ok()) return line.error().message;
    if (line->wish == Command::Wish::kVersion) return "version";
    return (line->wish == Command::Wish::kHelp ? "help of " : "") + line->command->Path();
  }
};

TEST(Command, ReadsCommandsFlagsAndArguments) {
  Program all;
  EXPECT_EQ(
      all.Read({"-v=4", "show", "a", "--nodes", "3", "-ojson", "-w", "-f", "x", "y", "--", "b", "-5", "--seed=7"}),
      "tool show");
  EXPECT_EQ(all.verbosity, 4);
  EXPECT_EQ(all.names, (Words{"a", "b", "-5"}));
  EXPECT_EQ(all.nodes, 3);
  EXPECT_EQ(all.output, "json");
  EXPECT_TRUE(all.force);
  EXPECT_EQ(all.files, (Words{"x", "y"}));
  EXPECT_EQ(all.seed, 7);

  Program priced;
  EXPECT_EQ(priced.Read({"price", "set", "show", "--key", "k"}), "tool price set");
  EXPECT_EQ(priced.node, "show");
  EXPECT_EQ(priced.key, "k");

  Program dashed;
  EXPECT_EQ(dashed.Read({"show", "--", "--nodes", "--force=x"}), "tool show");
  EXPECT_EQ(dashed.names, (Words{"--nodes", "--force=x"}));

  Program kept;
  EXPECT_EQ(kept.Read({"show", "-f", "x", "y"}), "tool show") << "the last word is the required argument";
  EXPECT_EQ(kept.files, Words{"x"});
  EXPECT_EQ(kept.names, Words{"y"});
}

TEST(Command, SaysWhatIsWrong) {
  struct {
    Words words;
    const char* want;
  } const cases[] = {
      {{}, "a subcommand is missing: one of show, price"},
      {{"shoow"}, "there is no subcommand \"shoow\"; the nearest is show; one of show, price"},
      {{"price", "remove"}, "price: there is no subcommand \"remove\"; one of set"},
      {{"show"}, "NAMES is required"},
      {{"show", "a", "--nodse", "3", "--x=1"}, "unknown flags --nodse, --x; the nearest is --nodes"},
      {{"show", "--no_des"}, "unknown flag --no-des; the nearest is --nodes"},
      {{"show", "a", "-wx"}, "unknown flag -x"},
      {{"show", "a", "-=x"}, "unknown flag -"},
      {{"show", "a", "--=x"}, "unknown flag --"},
      {{"price", "set", "a", "b"}, "unexpected argument \"b\""},
      {{"show", "a", "--nodes"}, "--nodes: 1 required INT:INT in [1 - 10] missing"},
      {{"show", "a", "--nodes", "11"}, "--nodes: Value 11 not in range 1 to 10"},
      {{"show", "a", "--nodes", "1", "--nodes=2"}, "--nodes: At Most 1 required but received 2"},
      {{"show", "a", "-o", "xml"}, "--output: xml not in {table,json}"},
      {{"-v", "x", "show"}, "--v: \"x\" is no number, or too large"},
      {{"show", "a", "--force=maybe"}, "--force: \"maybe\" is no number, or too large"},
      {{"show", "a", "--seed", "1"}, "--seed requires --nodes"},
      {{"show", "a", "--file", "f", "--nodes", "1"}, "--nodes excludes --file"},
  };
  for (const auto& [words, want] : cases) EXPECT_EQ(Program().Read(words), want) << ::testing::PrintToString(words);
}

TEST(Command, HelpComesBeforeWhatIsMissing) {
  EXPECT_EQ(Program().Read({"--help"}), "help of tool");
  EXPECT_EQ(Program().Read({"-h", "price", "set"}), "help of tool price set");
  EXPECT_EQ(Program().Read({"show", "--nosuch", "--help"}), "help of tool show");
  EXPECT_EQ(Program().Read({"shoow", "--help"}),
            "there is no subcommand \"shoow\"; the nearest is show; one of show, price");
  EXPECT_EQ(Program().Read({"--version"}), "version");
  EXPECT_EQ(Program().Read({"--help", "show", "--nodes", "x"}), "--nodes: Value x not in range 1 to 10");
}

TEST(Command, ReadsTheEnvironment) {
  ::setenv("BERTH_COMMAND_TEST_FILE", "there", 1);
  Program all;
  EXPECT_EQ(all.Read({"show", "a"}), "tool show");
  EXPECT_EQ(all.file, "there");
  Program given;
  EXPECT_EQ(given.Read({"show", "a", "--file=here"}), "tool show");
  EXPECT_EQ(given.file, "here");
  ::unsetenv("BERTH_COMMAND_TEST_FILE");
}

TEST(Command, HelpShowsAll) {
  EXPECT_EQ(Program().program.Subcommand("show")->Help(),
            "shows\n"
            "Usage: tool show [OPTIONS] NAMES...\n"
            "\n"
            "Positionals:\n"
            "  NAMES TEXT ... REQUIRED     what to show\n"
            "\n"
            "Options:\n"
            "  -h,--help                   Print this help message and exit\n"
            "  --nodes INT:INT in [1 - 10]=5 Excludes: --file\n"
            "                              so many\n"
            "  --file FILE (Env:BERTH_COMMAND_TEST_FILE) Excludes: --nodes\n"
            "                              from there\n"
            "  --seed UINT Needs: --nodes  of chance\n"
            "  -o,--output TEXT:{table,json}=table\n"
            "                              how\n"
            "  -f,--filename TEXT ...      more of them\n"
            "  -w,--force                  whatever comes\n"
            "\n"
            "That is all.\n");
  const std::string help = Program().program.Help();
  EXPECT_NE(help.find("Usage: tool [OPTIONS] SUBCOMMAND\n"), std::string::npos) << help;
  EXPECT_NE(help.find("\nSubcommands:\n  show                        shows\n  price                       prices\n\n"),
            std::string::npos)
      << help;
}

}  // namespace
}  // namespace berth::cli
