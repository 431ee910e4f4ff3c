// SPDX-License-Identifier: Apache-2.0
#include "berth/app/man_pages.h"

#include <optional>

#include <gtest/gtest.h>
#include <CLI/CLI.hpp>

#include "berth/app/commands.h"
#include "berth/app/run_command.h"
#include "berth/app/run_flags.h"

namespace berth::app {
namespace {

std::map<std::string, std::string> Pages(const CLI::App& app) {
  cli::FlagSet run_flags;
  RunOptions unused;
  std::optional<std::string> unused_directory;
  AddRunFlags(run_flags, unused, unused_directory);
  return ManPages(app, run_flags, "1.2.3");
}

TEST(ManPages, OneForEachCommand) {
  Commands commands("berth");
  const auto pages = Pages(commands.app());
  std::size_t count = 1;
  for (const CLI::App* each : commands.app().get_subcommands([](const CLI::App*) { return true; })) {
    EXPECT_TRUE(pages.contains("berth-" + each->get_name() + ".1")) << each->get_name();
    count += 1 + each->get_subcommands([](const CLI::App*) { return true; }).size();
  }
  EXPECT_EQ(pages.size(), count);
  const std::string& demo = pages.at("berth-demo.1");
  EXPECT_TRUE(demo.starts_with(".TH BERTH-DEMO 1 \"\" \"berth 1.2.3\" \"berth\"\n.ad l\n.SH NAME\nberth\\-demo \\- "))
      << demo;
  EXPECT_NE(demo.find("\\fB\\-\\-nodes\\fR"), std::string::npos);
  EXPECT_NE(demo.find("(default 5)"), std::string::npos);
  EXPECT_NE(pages.at("berth-run.1").find("\\fB\\-\\-secure\\-port\\fR"), std::string::npos);
  EXPECT_NE(pages.at("berth.1").find("\\fBberth explain\\fR"), std::string::npos);
  EXPECT_NE(pages.at("berth-explain-pod.1").find("\\fBberth\\-explain\\fR(1)"), std::string::npos);
}

TEST(ManPages, NoTextIsTakenForARequest) {
  CLI::App app("says \\n and\n.more", "berth");
  app.add_flag("--x")->description(".first 'x'");
  const std::string page = Pages(app).at("berth.1");
  EXPECT_NE(page.find("says \\en and\n\\&.more"), std::string::npos) << page;
  EXPECT_NE(page.find("\n\\&.first 'x'"), std::string::npos) << page;
}

}  // namespace
}  // namespace berth::app
