// SPDX-License-Identifier: Apache-2.0
#include "berth/app/help/completion.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/app/commands.h"
#include "berth/app/common_flags.h"

namespace berth::app {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using Words = std::vector<std::string>;

class CompletionTest : public ::testing::Test {
 protected:
  Completion Of(const Words& words) {
    const NamesOf names = [this](std::string_view hint, const TypedFlags& typed) {
      asked_ = hint;
      typed_ = typed;
      return std::vector<std::string>{"web-1", "web-2", "other"};
    };
    return Complete(commands_.program(), words, names);
  }
  Words Texts(const Words& words) {
    Words texts;
    for (const Completion::Candidate& candidate : Of(words).candidates) texts.push_back(candidate.text);
    return texts;
  }

  Commands commands_{"berth"};
  std::string asked_;
  TypedFlags typed_;
};

TEST_F(CompletionTest, OffersWhatFitsThePlace) {
  struct {
    const char* what;
    Words words;
    Words want;
  } const cases[] = {
      {"commands that begin so", {"e"}, {"explain"}},
      {"commands of a command", {"price", ""}, {"list", "set", "random", "import", "clear"}},
      {"a command behind flags", {"-v", "4", "--v=4", "expl"}, {"explain"}},
      {"a flag's value is no command", {"-v", "explain", "ca"}, {"capacity", "can-drain"}},
      {"flags that begin so", {"simulate", "--re"}, {"--remove-node"}},
      {"flags of the command above", {"price", "list", "--kubec"}, {"--kubeconfig"}},
      {"values of an enumeration", {"explain", "pod", "-o", ""}, {"table", "wide", "json", "yaml"}},
      {"values that begin so", {"explain", "pod", "web", "--output", "j"}, {"json"}},
      {"values behind =", {"capacity", "--output=w"}, {"--output=wide"}},
      {"_ for - in a flag", {"demo", "--policy=sp"}, {"--policy=spot-first", "--policy=spot-return"}},
      {"arguments of an enumeration", {"completion", ""}, {"bash", "zsh", "fish"}},
      {"one argument alone", {"completion", "bash", ""}, {}},
      {"pods", {"explain", "pod", "web"}, {"web-1", "web-2"}},
      {"nodes, as many as wanted", {"can-drain", "web-1", "web"}, {"web-1", "web-2"}},
      {"nodes of a flag", {"simulate", "--remove-node=o"}, {"--remove-node=other"}},
      {"flags of berth run", {"run", "--kubeconf"}, {"--kubeconfig"}},
      {"values of its flags", {"run", "--logging-format", ""}, {"text", "json"}},
      {"values of a switch", {"run", "--leader-elect="}, {"--leader-elect=true", "--leader-elect=false"}},
      {"a switch takes no other word", {"run", "--leader-elect", "--secure-p"}, {"--secure-port"}},
      {"commands to get help for", {"help", "s"}, {"simulate", "shadow", "snapshot", "serve"}},
      {"commands of a command to get help for", {"help", "explain", ""}, {"pod", "podgroup"}},
      {"no flags in help", {"help", "-"}, {}},
      {"nothing after an unknown command", {"nonsense", "e"}, {}},
      {"no flag after --", {"can-drain", "--", "--"}, {}},
  };
  for (const auto& [what, words, want] : cases) {
    SCOPED_TRACE(what);
    EXPECT_EQ(Texts(words), want);
  }
}

TEST_F(CompletionTest, OffersFilesWhereOneIsMeant) {
  using Files = Completion::Files;
  struct {
    Words words;
    Files want;
  } const cases[] = {
      {{"simulate", "-f", ""}, Files::kAny},
      {{"simulate", "-f", "a.yaml", "-f", ""}, Files::kAny},
      {{"snapshot", "--output=clu"}, Files::kAny},
      {{"run", "--config", ""}, Files::kAny},
      {{"run", "--cert-dir", ""}, Files::kDirectories},
      {{"demo", "--plugin-dir", "x"}, Files::kDirectories},
      {{"plugin", "test", ""}, Files::kAny},
      {{"price", "import", ""}, Files::kAny},
      {{"explain", "pod", "-o", ""}, Files::kNone},
      {{"simulate", ""}, Files::kNone},
      {{"simulate", "-f", "a.yaml", ""}, Files::kNone},
  };
  for (const auto& [words, want] : cases) EXPECT_EQ(Of(words).files, want) << ::testing::PrintToString(words);
}

TEST_F(CompletionTest, AFlagThatIsGivenIsNotOfferedAgainUnlessItMayBe) {
  EXPECT_THAT(Texts({"simulate", "-n", "shop", "-f", "a", "--"}), Not(Contains("--namespace")));
  EXPECT_THAT(Texts({"simulate", "-n", "shop", "-f", "a", "--"}), Contains("--filename"));
  EXPECT_THAT(Texts({"simulate", "--"}), Contains("--namespace"));
}

TEST_F(CompletionTest, AsksForNamesInTheClusterThatIsMeant) {
  Of({"explain", "pod", "-nshop", "--context", "far", "--kubeconfig=k", ""});
  EXPECT_EQ(asked_, kPodHint);
  EXPECT_EQ(typed_, (TypedFlags{{"namespace", "shop"}, {"context", "far"}, {"kubeconfig", "k"}}));
  Of({"headroom", "--namespace", ""});
  EXPECT_EQ(asked_, kNamespaceHint);
  asked_.clear();
  Of({"plugin", "new", ""});
  EXPECT_EQ(asked_, "");
}

// Of every command in the table.
TEST_F(CompletionTest, FollowsTheHelp) {
  for (const auto& command : commands_.program().subcommands()) {
    SCOPED_TRACE(command->name());
    EXPECT_THAT(Texts({""}), Contains(command->name()));
    EXPECT_FALSE(command->description().empty());
    if (command->name() == "help") continue;
    const Words offered = Texts({command->name(), "--"});
    for (const cli::Flag* flag : command->flags()) {
      if (flag->is_argument) continue;
      EXPECT_THAT(offered, Contains(flag->Shown()));
    }
  }
  EXPECT_EQ(commands_.program().Subcommand("explain")->Subcommand("pod")->At("output").type,
            "TEXT:{table,wide,json,yaml}");
}

TEST_F(CompletionTest, IsWrittenAsKubectlReadsIt) {
  EXPECT_EQ(CompletionText(Of({"plugin", ""})),
            "test\tcompare what plugins do with what cases in YAML expect\n"
            "new\twrite the folder of a new plugin: source, profile, cases, README\n:4\n");
  EXPECT_EQ(CompletionText(Of({"simulate", "-f", ""})), ":0\n");
  EXPECT_EQ(CompletionText(Of({"demo", "--plugin-dir", ""})), ":16\n");
}

TEST(Commands, AreCalledAsTheProgramIs) {
  Commands commands("kubectl berth");
  EXPECT_THAT(commands.program().Help(), ::testing::HasSubstr("Usage: kubectl berth"));
  // A cluster of one's own is of the recommended release, the questions follow the cluster.
  EXPECT_THAT(commands.program().Subcommand("cluster")->Help(), ::testing::HasSubstr("1.38}=1.36"));
  EXPECT_THAT(commands.program().Subcommand("capacity")->Help(), ::testing::HasSubstr("1.38}=auto"));
  const std::string explain = commands.program().Subcommand("explain")->Help();
  EXPECT_THAT(explain, ::testing::HasSubstr("  kubectl berth explain pod -n shop"));
  EXPECT_THAT(explain, Not(::testing::ContainsRegex("(^|[^l]) berth explain")));
}

}  // namespace
}  // namespace berth::app
