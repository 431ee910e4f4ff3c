// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/recording/recorder.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/log.h"
#include "berth/base/random.h"
#include "berth/core/config/default.h"
#include "berth/shell/recording/recording_reader.h"
#include "berth/shell/recording/recording_testing.h"
#include "berth/testing/builders.h"

namespace berth::recording {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr Time kNow = std::chrono::sys_days{std::chrono::year{2026} / 11 / 25};

class RecorderTest : public ::testing::Test {
 protected:
  void SetUp() override { log::SetLevel(log::Level::kError); }

  RecordingHeader Header(int second = 0) const {
    RecordingHeader header = MakeHeader(config::DefaultConfiguration(), {}, {});
    header.version = "0.1.0";
    header.started_at = kNow + std::chrono::seconds(second);
    header.origin = kNow;
    header.seed = 17;
    return header;
  }
  std::unique_ptr<Recorder> Start(Recorder::Options options, int second = 0) {
    options.directory = directory.path();
    auto made = Recorder::Start(std::move(options), Header(second), {});
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
    return *std::move(made);
  }
  static scheduler::Input Pod(const std::string& name) {
    return scheduler::PodSet{std::make_shared<const api::Pod>(testing::MakePod(name).Build())};
  }
  static void Turn(Recorder& recorder, Time now, const std::vector<scheduler::Input>& inputs) {
    recorder.BeginTurn(now, 3s);
    for (const scheduler::Input& input : inputs) recorder.Takes(input);
    recorder.Ticks();
    recorder.Schedules();
    recorder.Scheduled(Scheduled::kNothing);
    recorder.EndTurn({});
  }
  // Nothing of this can be compressed.
  scheduler::Input Noise() {
    scheduler::PodGone gone;
    for (int i = 0; i < 1000; ++i) gone.name += static_cast<char>(random.Next());
    return gone;
  }
  // The names of the pods in a recording.
  std::vector<std::string> PodsIn(const std::string& path) {
    std::vector<std::string> names;
    auto reader = RecordingReader::Open(path);
    EXPECT_TRUE(reader.ok()) << (reader.ok() ? "" : reader.error().message);
    if (!reader.ok()) return names;
    for (Record record;;) {
      const auto more = (*reader)->Next(record);
      EXPECT_TRUE(more.ok());
      if (!more.ok() || !*more) break;
      last = record;
      if (record.op == Op::kTurn) times.push_back(record.now);
      if (record.op != Op::kInput) continue;
      scheduler::Input input;
      if (!(*reader)->TakeInput({}, input)) break;
      if (const auto* pod = std::get_if<scheduler::PodSet>(&input)) names.push_back(pod->pod->metadata.name);
    }
    damage = (*reader)->damage();
    return names;
  }
  TemporaryDirectory directory;
  Random random{1};
  std::vector<Time> times;
  Record last;
  std::string damage;
};

TEST_F(RecorderTest, WritesTurnsAndTheHeader) {
  std::string path;
  {
    const auto recorder = Start({});
    path = recorder->path();
    Turn(*recorder, kNow + 1s, {Pod("a"), Pod("b")});
    Turn(*recorder, kNow + 2s, {Pod("c")});
  }
  EXPECT_THAT(path, HasSubstr("/berth-20261125T000000.000000Z.rec"));
  EXPECT_EQ(PodsIn(path), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(times, (std::vector<Time>{kNow + 1s, kNow + 2s}));
  EXPECT_EQ(damage, "");
  const auto reader = RecordingReader::Open(path);
  const RecordingHeader& header = (*reader)->header();
  EXPECT_EQ(header.seed, 17u);
  EXPECT_EQ(header.build, BuildId());
  EXPECT_NE(header.build, "");
  EXPECT_EQ(header.kubernetes, "1.36");
  EXPECT_THAT(header.configuration, HasSubstr("kind: KubeSchedulerConfiguration"));
}

// A process that is killed loses no more than what came in its last moment.
TEST_F(RecorderTest, WritesWithoutAFlush) {
  const auto recorder = Start({});
  Turn(*recorder, kNow, {Pod("a")});
  recorder->WaitUntilWritten();
  EXPECT_EQ(PodsIn(recorder->path()), std::vector<std::string>{"a"});
}

TEST_F(RecorderTest, AFailedCheckSavesWhatWaits) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto recorder = Start({});
    Turn(*recorder, kNow, {Pod("a")});
    recorder->BeginTurn(kNow + 1s, 0s);
    recorder->Takes(Pod("b"));
    recorder->Schedules();
    Recorder::WriteTailsOnFailure();
    ::_exit(7);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(WEXITSTATUS(status), 7);
  const auto files = ListRecordings(directory.path());
  ASSERT_EQ(files->size(), 1u);
  EXPECT_EQ(PodsIn(files->front().path), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(last.op, Op::kSchedule);
  EXPECT_EQ(last.scheduled, Scheduled::kFailed);
  EXPECT_EQ(damage, "");
}

TEST_F(RecorderTest, EndsWhenTheBufferIsFullAndKeepsWhatItHas) {
  auto recorder = Start({.buffer_bytes_max = 2000});
  std::vector<scheduler::Input> many;
  for (int i = 0; i < 100; ++i) many.push_back(Pod("pod-with-a-long-name-" + std::to_string(i)));
  Turn(*recorder, kNow, {Pod("a")});
  Turn(*recorder, kNow, many);
  EXPECT_TRUE(recorder->has_ended());
  Turn(*recorder, kNow, {Pod("b")});
  const std::string path = recorder->path();
  recorder.reset();
  EXPECT_EQ(PodsIn(path), std::vector<std::string>{"a"});
}

// Stands for a full disk: a failed write ends the recording with a log line, and what was written stays readable.
TEST_F(RecorderTest, EndsWhenTheDiskTakesNoMore) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit most{30'000, 30'000};
    ::setrlimit(RLIMIT_FSIZE, &most);
    const auto recorder = Start({});
    int turns = 0;
    for (; turns < 1000 && !recorder->has_ended(); ++turns) {
      Turn(*recorder, kNow, {Pod("a"), Noise()});
      recorder->WaitUntilWritten();
    }
    Turn(*recorder, kNow, {Pod("after")});
    ::_exit(recorder->has_ended() && turns > 10 ? 7 : 8);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(WEXITSTATUS(status), 7);
  const auto files = ListRecordings(directory.path());
  ASSERT_EQ(files->size(), 1u);
  const std::vector<std::string> pods = PodsIn(files->front().path);
  EXPECT_GT(pods.size(), 10u);
  EXPECT_EQ(std::ranges::count(pods, "after"), 0);
  EXPECT_EQ(damage, "its last block is cut off");
}

TEST_F(RecorderTest, OlderRecordingsMakeRoomAndThenItEnds) {
  constexpr std::uint64_t kMax = 100'000;
  for (int second = 0; second < 3; ++second) {
    const auto recorder = Start({.files_bytes_max = kMax}, second);
    for (int i = 0; i < 40; ++i) Turn(*recorder, kNow, {Noise()});
  }
  const auto count = [this] { return ListRecordings(directory.path())->size(); };
  const auto recorder = Start({.files_bytes_max = kMax}, 3);
  EXPECT_EQ(count(), 3u) << "the first has made room for the third";
  for (int i = 0; i < 400 && !recorder->has_ended(); ++i) {
    Turn(*recorder, kNow, {Noise()});
    if (i % 40 == 0) recorder->WaitUntilWritten();
  }
  EXPECT_TRUE(recorder->has_ended());
  EXPECT_EQ(count(), 1u);
  std::uint64_t total = 0;
  const auto files = ListRecordings(directory.path());
  for (const RecordingFile& file : *files) total += file.bytes;
  EXPECT_LT(total, 4 * kMax);
  EXPECT_EQ(PodsIn(recorder->path()).size(), 0u);
  EXPECT_FALSE(times.empty()) << "what it has can be read";
}

TEST_F(RecorderTest, SaysWhatIsWrongWithTheDirectory) {
  const auto made = Recorder::Start({.directory = "/proc/nowhere"}, Header(), {});
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().message, HasSubstr("/proc/nowhere"));
}

}  // namespace
}  // namespace berth::recording
