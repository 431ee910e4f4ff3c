// SPDX-License-Identifier: Apache-2.0
#include "berth/authoring/new_plugin.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <gtest/gtest.h>
#include <stdlib.h>

namespace berth::authoring {
namespace {

namespace fs = std::filesystem;

class PluginNewTest : public ::testing::Test {
 protected:
  PluginNewTest() {
    std::string pattern = (fs::temp_directory_path() / "berth-new-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~PluginNewTest() override { fs::remove_all(folder_); }

  std::set<std::string> Files(const fs::path& folder) const {
    std::set<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file()) files.insert(fs::relative(entry.path(), folder).string());
    }
    return files;
  }
  static std::string Text(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path folder_;
};

TEST_F(PluginNewTest, Writes) {
  const std::set<std::string> lua = {"README.md", "cases/plugin.yaml", "cases/profile.yaml", "profile.yaml",
                                     "zone_spread.lua"};
  const std::set<std::string> cpp = {"CMakeLists.txt", "README.md",    "cases/plugin.yaml", "cases/profile.yaml",
                                     "main.cc",        "profile.yaml", "zone_spread.cc",    "zone_spread.h"};
  for (const auto& [language, want] : {std::pair(std::string("lua"), lua), std::pair(std::string("cpp"), cpp)}) {
    const fs::path to = folder_ / language;
    const auto made = NewPlugin("ZoneSpread", language, to.string());
    ASSERT_TRUE(made.ok()) << made.error().message;
    EXPECT_EQ(Files(to), want);
    for (const std::string& file : want) {
      for (const char* left : {"{{Name", "{{snake", "{{kebab"})
        EXPECT_EQ(Text(to / file).find(left), std::string::npos) << file;
      EXPECT_NE(made->find(file), std::string::npos) << *made;
    }
    EXPECT_NE(Text(to / "profile.yaml").find("schedulerName: zone-spread"), std::string::npos);
  }
}

TEST_F(PluginNewTest, NamesTheFolderByItself) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  EXPECT_TRUE(NewPlugin("HTTPCost2Go", "lua", "").ok());
  fs::current_path(before);
  EXPECT_TRUE(fs::exists(folder_ / "http-cost2-go" / "http_cost2_go.lua"));
}

TEST_F(PluginNewTest, RefusesWhatWouldBeInTheWay) {
  fs::create_directory(folder_ / "empty");
  EXPECT_TRUE(NewPlugin("ZoneSpread", "lua", (folder_ / "empty").string()).ok());
  const auto again = NewPlugin("ZoneSpread", "lua", (folder_ / "empty").string());
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().message, (folder_ / "empty").string() + ": is not empty: name another one with --dir");
  const auto file = NewPlugin("ZoneSpread", "lua", (folder_ / "empty" / "README.md").string());
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().message, (folder_ / "empty" / "README.md").string() + ": is there and no directory");
  const auto below = NewPlugin("ZoneSpread", "lua", (folder_ / "empty" / "README.md" / "x").string());
  EXPECT_FALSE(below.ok());
}

TEST_F(PluginNewTest, SaysWhatToDoNext) {
  const std::string spaces = (folder_ / "it's here").string();
  const auto made = NewPlugin("ZoneSpread", "lua", spaces);
  ASSERT_TRUE(made.ok());
  EXPECT_TRUE(made->ends_with("\nNext: berth plugin test '" + (folder_ / "it'\\''s here").string() + "'\n")) << *made;
}

TEST_F(PluginNewTest, SaysWhyItCannotWrite) {
  std::ofstream(folder_ / "file") << "x";
  const auto below = NewPlugin("ZoneSpread", "lua", (folder_ / "file" / "x").string());
  ASSERT_FALSE(below.ok());
  EXPECT_EQ(below.error().message, (folder_ / "file" / "x").string() + ": cannot be made: Not a directory");
}

TEST_F(PluginNewTest, Names) {
  const struct {
    const char* name;
    const char* error;
  } cases[] = {
      {"zone-spread",
       "\"zone-spread\" is no name of a plugin: want 2 to 40 letters and digits, the first a capital: ZoneSpread"},
      {"my plugin",
       "\"my plugin\" is no name of a plugin: want 2 to 40 letters and digits, the first a capital: MyPlugin"},
      {"2fast", "\"2fast\" is no name of a plugin: want 2 to 40 letters and digits, the first a capital: Fast"},
      {"", "\"\" is no name of a plugin: want 2 to 40 letters and digits, the first a capital, as in ZoneSpread"},
      {"../x",
       "\"../x\" is no name of a plugin: want 2 to 40 letters and digits, the first a capital, as in ZoneSpread"},
      {"BestPrice", "a plugin BestPrice comes with berth: take another name"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    const auto made = NewPlugin(test.name, "lua", (folder_ / "x").string());
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().message, test.error);
    EXPECT_FALSE(fs::exists(folder_ / "x"));
  }
  EXPECT_FALSE(NewPlugin(std::string(1000, 'A'), "lua", (folder_ / "x").string()).ok());
  for (const char* name : {"Main", "Test", "Install"}) {
    const auto made = NewPlugin(name, "cpp", (folder_ / "x").string());
    ASSERT_FALSE(made.ok()) << name;
    EXPECT_TRUE(made.error().message.ends_with(", which its build has already: take another name"));
    EXPECT_FALSE(fs::exists(folder_ / "x"));
  }
  EXPECT_TRUE(NewPlugin("Main", "lua", (folder_ / "main").string()).ok());
  EXPECT_FALSE(NewPlugin("Good", "cobol", (folder_ / "x").string()).ok());
}

TEST(SplitName, Words) {
  const struct {
    const char* name;
    const char* want;
  } cases[] = {{"ZoneSpread", "zone_spread"}, {"A2", "a2"},   {"HTTPCost", "http_cost"}, {"GPU", "gpu"},
               {"NodeMatch2", "node_match2"}, {"AbC", "ab_c"}};
  for (const auto& test : cases) EXPECT_EQ(SplitName(test.name, '_'), test.want);
}

}  // namespace
}  // namespace berth::authoring
