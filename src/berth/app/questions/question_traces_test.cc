// SPDX-License-Identifier: Apache-2.0
#include "berth/app/questions/question_traces.h"

#include <chrono>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/shell/client/client_fakes.h"

namespace berth::app {
namespace {

using client::BorrowedTransport;
using client::FakeLoop;
using client::FakeTransport;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

class QuestionTracesTest : public ::testing::Test {
 protected:
  // What the collector gets of a question when so many of a million are traced.
  std::string Sent(std::uint32_t per_million, const std::string& traceparent, const std::string& error = "") {
    tracing::Tracer tracer(0, 1, loop_,
                           std::make_unique<tracing::TraceExporter>(
                               loop_, std::make_unique<BorrowedTransport>(transport_), tracing::TracingConfig{},
                               tracing::TraceExporterOptions{}, framework::Metrics::None()));
    QuestionTraces traces(tracer, per_million, 7);
    const Time now = loop_.Now();
    traces.Note({"can-drain", "jane", traceparent, "no", error, now, now + seconds(1), now + seconds(3)});
    loop_.Advance(seconds(5));
    return transport_.Waiting() == 0 ? "" : transport_.Next()->request.body;
  }

  FakeLoop loop_;
  FakeTransport transport_;
};

TEST_F(QuestionTracesTest, HasTheQuestionItsWaitAndItsAnswer) {
  const std::string sent = Sent(1'000'000, "", "jane has asked too much");
  for (const char* const part :
       {"question can-drain", "wait", "answer", "berth.outcome", "enduser.id", "jane", "too much"})
    EXPECT_THAT(sent, HasSubstr(part));
  EXPECT_EQ(Sent(0, ""), "");
}

TEST_F(QuestionTracesTest, GoesOnWithTheClientsTrace) {
  const std::string trace = "0af7651916cd43dd8448eb211c80319c";
  const std::string bytes("\x0a\xf7\x65\x19\x16\xcd\x43\xdd\x84\x48\xeb\x21\x1c\x80\x31\x9c", 16);
  const std::string parent("\xb7\xad\x6b\x71\x69\x20\x33\x31", 8);
  const std::string sent = Sent(0, "00-" + trace + "-b7ad6b7169203331-01");
  EXPECT_THAT(sent, HasSubstr(bytes));
  EXPECT_THAT(sent, HasSubstr(parent));
  EXPECT_EQ(Sent(1'000'000, "00-" + trace + "-b7ad6b7169203331-00"), "") << "the client does not sample it";
  EXPECT_THAT(Sent(1'000'000, "nonsense"), Not(HasSubstr(bytes)));
}

}  // namespace
}  // namespace berth::app
