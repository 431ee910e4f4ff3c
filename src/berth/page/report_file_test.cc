// SPDX-License-Identifier: Apache-2.0
#include "berth/page/report_file.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::page {
namespace {

using codec::json::object;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ReportFile, IsThePageWithTheReportInIt) {
  if (PageFiles().empty()) GTEST_SKIP() << "built without the page";
  const auto file = ReportFile(PageFiles(), object{{"decisions", 3}, {"source", "</script><b>&\"\xE2\x80\xA8"}});
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_THAT(*file, Not(HasSubstr("src=\"app.js\"")));
  EXPECT_THAT(*file, Not(HasSubstr("href=\"app.css\"")));
  EXPECT_THAT(*file, Not(HasSubstr("icon.svg")));
  EXPECT_THAT(*file, HasSubstr("Content-Security-Policy"));
  const std::string begin = "<script type=\"application/json\" id=\"report\">";
  const std::size_t at = file->find(begin);
  ASSERT_NE(at, std::string::npos);
  const std::string text = file->substr(at + begin.size(), file->find("</script>", at) - at - begin.size());
  EXPECT_THAT(text, Not(HasSubstr("<"))) << "text of the cluster begins no element";
  EXPECT_EQ(codec::ParseJson(text)->at("source").as_string(), "</script><b>&\"\xE2\x80\xA8");
  EXPECT_LT(at, file->find("<script type=\"module\">")) << "what the script reads is there when it runs";
}

TEST(ReportFile, SaysWhatIsMissing) {
  EXPECT_EQ(ReportFile({}, object{}).error().message, "this berth was built without its page");
  const PageFile files[] = {{"index.html", "", "<p>another page</p>"}, {"app.js", "", "1"}, {"app.css", "", "a{}"}};
  EXPECT_EQ(ReportFile(files, object{}).error().code, ErrorCode::kInternal);
  const PageFile ends[] = {{"index.html", "", "x"}, {"app.js", "", "'</script>'"}, {"app.css", "", "a{}"}};
  EXPECT_EQ(ReportFile(ends, object{}).error().code, ErrorCode::kInternal);
}

}  // namespace
}  // namespace berth::page
