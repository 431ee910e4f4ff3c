// SPDX-License-Identifier: Apache-2.0
#include "berth/app/help/man_pages.h"

#include <gtest/gtest.h>

#include "berth/app/commands.h"

namespace berth::app {
namespace {

TEST(ManPages, OneForEachCommand) {
  Commands commands("berth");
  const auto pages = ManPages(commands.program(), "1.2.3");
  std::size_t count = 1;
  for (const auto& each : commands.program().subcommands()) {
    EXPECT_TRUE(pages.contains("berth-" + each->name() + ".1")) << each->name();
    count += 1 + each->subcommands().size();
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
  cli::Command program("berth", "says \\n and\n.more");
  bool unused = false;
  program.Switch("x", unused, ".first 'x'");
  const std::string page = ManPages(program, "1.2.3").at("berth.1");
  EXPECT_NE(page.find("says \\en and\n\\&.more"), std::string::npos) << page;
  EXPECT_NE(page.find("\n\\&.first 'x'"), std::string::npos) << page;
}

}  // namespace
}  // namespace berth::app
