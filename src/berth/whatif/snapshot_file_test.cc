// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/snapshot_file.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/shell/client/rest_client.h"
#include "berth/whatif/anonymizer.h"
#include "berth/whatif/zstd_file.h"

namespace berth::whatif {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SnapshotFileTest : public ::testing::Test {
 protected:
  SnapshotFileTest() {
    std::string name = (std::filesystem::temp_directory_path() / "berth-snapshot-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
    path = (folder / "s.zst").string();
  }
  ~SnapshotFileTest() override { std::filesystem::remove_all(folder); }

  static Expected<void> Put(SnapshotWriter& writer, std::string_view kind, std::string_view object) {
    simdjson::dom::parser parser;
    simdjson::dom::element parsed;
    EXPECT_EQ(parser.parse(object).get(parsed), simdjson::SUCCESS) << object;
    return writer.Take(*KindNamed(kind), parsed);
  }
  static ClusterState End() {
    ClusterState state;
    state.source = "https://server";
    state.kubernetes_version = "v1.36.3";
    state.read_at = *ParseRfc3339("2026-03-01T10:00:00Z");
    state.left_out = {"csinodes: forbidden: User \"jane\""};
    return state;
  }
  void WriteSmall(SnapshotWriteOptions options = {}) {
    options.path = path;
    auto writer = SnapshotWriter::Create(options);
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    ASSERT_TRUE(Put(**writer, "Pod", R"({"metadata":{"name":"gone","namespace":"shop"}})").ok());
    ASSERT_TRUE((*writer)->RestartList(kPods).ok());
    ASSERT_TRUE(Put(**writer, "Pod", R"({"metadata":{"name":"web","namespace":"shop","annotations":{"note":"x",
        "berth.dev/spot":"never"}},"spec":{"containers":[{"name":"c","env":[{"name":"A","value":"secret"}]}]}})")
                    .ok());
    ASSERT_TRUE(Put(**writer, "Node", R"({"metadata":{"name":"n1"}})").ok());
    ASSERT_TRUE(Put(**writer, "Namespace", R"({"metadata":{"name":"shop"}})").ok());
    ASSERT_TRUE((*writer)->Finish(End()).ok());
  }
  void WriteLines(const std::vector<std::string>& lines) {
    auto file = ZstdFileWriter::Create(path, true);
    ASSERT_TRUE(file.ok());
    for (const std::string& line : lines) ASSERT_TRUE((*file)->Write(line + "\n").ok());
    ASSERT_TRUE((*file)->Finish().ok());
  }
  std::string Bytes() const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void SetBytes(const std::string& bytes) { std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes; }
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
    return names;
  }

  std::filesystem::path folder;
  std::string path;
};

TEST_F(SnapshotFileTest, WhatIsWrittenIsRead) {
  WriteSmall();
  const auto state = ReadSnapshot(path);
  ASSERT_TRUE(state.ok()) << state.error().message;
  ASSERT_EQ(state->pods.size(), 1u);
  EXPECT_EQ(state->pods[0]->metadata.name, "web");
  EXPECT_EQ(state->pods[0]->metadata.annotations, (api::StringMap{{"berth.dev/spot", "never"}}));
  ASSERT_EQ(state->nodes.size(), 1u);
  EXPECT_EQ(state->nodes[0]->metadata.name, "n1");
  ASSERT_EQ(state->objects.size(), 1u);
  EXPECT_EQ(framework::KeyOf(state->objects[0]), "shop");
  EXPECT_EQ(state->source, path);
  EXPECT_EQ(state->kubernetes_version, "v1.36.3");
  EXPECT_EQ(state->read_at, End().read_at);
  EXPECT_EQ(state->left_out, End().left_out);
}

TEST_F(SnapshotFileTest, WhoWritesAndWhoReadsCountAlike) {
  const Anonymizer anonymizer({1, 2});
  for (const Anonymizer* each : {static_cast<const Anonymizer*>(nullptr), &anonymizer}) {
    SnapshotWriteOptions options;
    options.path = path;
    options.overwrites = true;
    options.anonymizer = each;
    const auto writer = SnapshotWriter::Create(options);
    ASSERT_TRUE(writer.ok());
    for (const char* object : {R"({"metadata":{"name":"web"},"status":{"phase":"Running"}})",
                               R"({"metadata":{"name":"done"},"status":{"phase":"Succeeded"}})"})
      ASSERT_TRUE(Put(**writer, "Pod", object).ok());
    ASSERT_TRUE(Put(**writer, "Node", R"({"metadata":{"name":"n1"}})").ok());
    ASSERT_TRUE(Put(**writer, "Namespace", R"({"metadata":{"name":"shop"}})").ok());
    ASSERT_TRUE(Put(**writer, "PriorityClass", R"({"metadata":{"name":"high"},"value":5})").ok());
    // What this berth cannot read, another has written.
    ASSERT_TRUE(Put(**writer, "Node", R"({"metadata":{"name":"n2"},"status":{"allocatable":{"cpu":"x"}}})").ok());
    ASSERT_TRUE((*writer)->Finish(End()).ok());

    SnapshotContents contents;
    SnapshotReadOptions how;
    how.contents = &contents;
    ASSERT_TRUE(ReadSnapshot(path, how).ok());
    EXPECT_EQ(ToText(contents), ToText((*writer)->contents()));
    EXPECT_EQ(ToText(contents),
              std::string("2 nodes, 2 pods, 2 other objects, Kubernetes v1.36.3, read 2026-03-01T10:00:00Z, 1 KiB") +
                  (each == nullptr ? "" : ", anonymous"));
  }
}

TEST_F(SnapshotFileTest, MuchTextInALittleFileIsRefused) {
  const auto read = [this](std::size_t lines) {
    WriteLines(std::vector<std::string>(lines, std::string(std::size_t{7} << 20, ' ')));
    return ReadZstdFile(path, {kSnapshotLineBytesMax, kSnapshotBytesMax},
                        [](std::string_view) -> Expected<void> { return {}; });
  };
  EXPECT_TRUE(read(5).ok());
  const auto refused = read(20);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("MiB of text in")) << refused.error().message;
}

TEST_F(SnapshotFileTest, FinishedPodsAndDetailsAreForThoseWhoAskForThem) {
  SnapshotWriteOptions options;
  options.path = path;
  const auto writer = SnapshotWriter::Create(options);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(Put(**writer, "Pod", R"({"metadata":{"name":"web","annotations":{"kubernetes.io/config.mirror":"x"}},
      "status":{"phase":"Running","containerStatuses":[{"restartCount":7}]}})")
                  .ok());
  ASSERT_TRUE(
      Put(**writer, "Pod", R"({"metadata":{"name":"done"},"status":{"phase":"Failed","reason":"Evicted"}})").ok());
  ASSERT_TRUE((*writer)->Finish(End()).ok());

  const auto plain = ReadSnapshot(path);
  ASSERT_TRUE(plain.ok()) << plain.error().message;
  EXPECT_EQ(plain->pods.size(), 1u);
  EXPECT_THAT(plain->finished_pods, IsEmpty());
  EXPECT_THAT(plain->pod_details, IsEmpty());
  EXPECT_NE(plain->pods[0]->metadata.annotations.Find("kubernetes.io/config.mirror"), nullptr);

  SnapshotReadOptions how;
  how.keeps_pod_details = true;
  const auto detailed = ReadSnapshot(path, how);
  ASSERT_TRUE(detailed.ok()) << detailed.error().message;
  ASSERT_EQ(detailed->pod_details.size(), 1u);
  EXPECT_EQ(detailed->pod_details[0]->status.containers[0].restart_count, 7);
  ASSERT_EQ(detailed->finished_pods.size(), 1u);
  EXPECT_EQ(detailed->finished_pods[0]->metadata.name, "done");
  EXPECT_EQ(detailed->finished_pod_details[0]->status.reason, "Evicted");
}

TEST_F(SnapshotFileTest, TheFileIsItsOwnersAloneAndComesWhole) {
  SnapshotWriteOptions options;
  options.path = path;
  {
    const auto writer = SnapshotWriter::Create(options);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(Put(**writer, "Node", R"({"metadata":{"name":"n1"}})").ok());
    EXPECT_FALSE(std::filesystem::exists(path));
  }
  EXPECT_THAT(Files(), IsEmpty()) << "given up";
  WriteSmall();
  EXPECT_THAT(Files(), ElementsAre("s.zst"));
  struct stat found{};
  ASSERT_EQ(::stat(path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777u, 0600u);
}

TEST_F(SnapshotFileTest, AFileThatIsThereStaysUnlessForced) {
  SetBytes("mine");
  SnapshotWriteOptions options;
  options.path = path;
  const auto refused = SnapshotWriter::Create(options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kAlreadyExists);
  EXPECT_EQ(refused.error().message, path + ": is there already");
  std::filesystem::remove(path);
  const auto late = SnapshotWriter::Create(options);
  ASSERT_TRUE(late.ok());
  SetBytes("mine");  // somebody was faster
  const auto finished = (*late)->Finish(End());
  ASSERT_FALSE(finished.ok());
  EXPECT_EQ(finished.error().code, ErrorCode::kAlreadyExists);
  EXPECT_EQ(Bytes(), "mine");
  options.overwrites = true;
  WriteSmall(options);
  EXPECT_TRUE(ReadSnapshot(path).ok());
}

TEST_F(SnapshotFileTest, BadPlaces) {
  SnapshotWriteOptions options;
  options.path = folder.string();
  EXPECT_EQ(SnapshotWriter::Create(options).error().message, folder.string() + ": is a directory");
  options.path = (folder / "none" / "s.zst").string();
  EXPECT_EQ(SnapshotWriter::Create(options).error().message, options.path + ": no such file or directory");
}

TEST_F(SnapshotFileTest, BadFilesAreOneLineEach) {
  const std::string header = R"({"format":"berth-snapshot","version":1,"berth":"0.1.0"})";
  const std::string node = R"({"kind":"Node","object":{"metadata":{"name":"n"}}})";
  const std::string end = R"({"end":{"readAt":"2026-03-01T10:00:00Z","counts":{"Node":1}}})";
  struct Case {
    const char* name;
    std::vector<std::string> lines;
    std::string want;  // empty: it is read
  };
  const Case cases[] = {
      {"good", {header, node, end}, ""},
      {"empty", {}, ": is no snapshot of berth: it is empty"},
      {"something else", {"{}"}, ": is no snapshot of berth"},
      {"no JSON", {"hello"}, ": is no snapshot of berth: its first line is no JSON"},
      {"a newer one",
       {R"({"format":"berth-snapshot","version":2,"berth":"0.9.0"})", "what it says is for the newer"},
       ": has format 2, written by berth 0.9.0; this berth, "},
      {"cut off", {header, node}, ": is cut off behind 1 nodes and 0 pods"},
      {"behind its end", {header, node, end, node}, ": is damaged: there is something behind its last line"},
      {"an object too many", {header, node, node, end}, ": of the kind Node it has 2 objects and should have 1"},
      {"an object too few", {header, end}, ": of the kind Node it has 0 objects and should have 1"},
      {"a line of nonsense",
       {header, node, "{\"kind\":", end},
       ": is damaged: a line behind 1 nodes and 0 pods is no JS"},
      {"a kind that nobody knows", {header, R"({"kind":"Secret","object":{}})", end}, " is of no kind that there is"},
      {"neither", {header, "7", end}, " is neither an object nor the last"},
      {"no time", {header, node, R"({"end":{"counts":{"Node":1}}})"}, ": is damaged: its last line says no time"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    WriteLines(c.lines);
    const auto state = ReadSnapshot(path);
    ASSERT_EQ(state.ok(), c.want.empty()) << (state.ok() ? "" : state.error().message);
    if (c.want.empty()) continue;
    EXPECT_TRUE(state.error().message.starts_with(path + ": ")) << state.error().message;
    EXPECT_THAT(state.error().message, HasSubstr(c.want));
    EXPECT_EQ(state.error().message.find('\n'), std::string::npos);
  }
}

TEST_F(SnapshotFileTest, BytesThatAreMissingOrOthersAreNoticed) {
  WriteSmall();
  const std::string good = Bytes();
  for (std::size_t size = 0; size < good.size(); ++size) {
    SetBytes(good.substr(0, size));
    EXPECT_FALSE(ReadSnapshot(path).ok()) << "cut to " << size << " bytes";
  }
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    SetBytes(bad);
    const auto state = ReadSnapshot(path);
    // Some bits of a frame's header mean nothing.
    EXPECT_TRUE(!state.ok() || state->pods.size() == 1) << "byte " << i;
  }
  SetBytes("plain text, and no file of zstd");
  EXPECT_EQ(ReadSnapshot(path).error().message, path + ": is not compressed with zstd");
  EXPECT_EQ(ReadSnapshot(path + "x").error().message, path + "x: no such file or directory");
  EXPECT_THAT(ReadSnapshot(folder.string()).error().message, HasSubstr("is a directory"));
}

TEST_F(SnapshotFileTest, ObjectsThatThisBerthCannotReadAreLeftOut) {
  WriteLines({R"({"format":"berth-snapshot","version":1,"berth":"0.1.0"})",
              R"({"kind":"Node","object":{"metadata":{"name":"n"},"status":{"allocatable":{"cpu":"x"}}}})",
              R"({"end":{"readAt":"2026-03-01T10:00:00Z","leftOut":["a: b"],"counts":{"Node":1}}})"});
  const auto state = ReadSnapshot(path);
  ASSERT_TRUE(state.ok()) << state.error().message;
  EXPECT_THAT(state->left_out, ElementsAre("a: b", HasSubstr("nodes: Node n: status.allocatable[cpu]")));
}

TEST_F(SnapshotFileTest, ALineThatIsTooLongEndsIt) {
  WriteLines(
      {R"({"format":"berth-snapshot","version":1,"berth":"0.1.0"})", std::string(kSnapshotLineBytesMax + 1, ' ')});
  EXPECT_THAT(ReadSnapshot(path).error().message, HasSubstr("has a line of more than 8388608 bytes"));
  WriteLines({std::string(100, ' '), std::string(100, ' ')});
  const auto ended = ReadZstdFile(path, {1000, 150}, [](std::string_view) { return Expected<void>(); });
  ASSERT_FALSE(ended.ok());
  EXPECT_THAT(ended.error().message, HasSubstr("has more than 150 bytes of text"));
}

TEST_F(SnapshotFileTest, AnonymousOnRequest) {
  const Anonymizer anonymizer({1, 2});
  SnapshotWriteOptions options;
  options.anonymizer = &anonymizer;
  options.annotations = {"note"};
  WriteSmall(options);
  const auto state = ReadSnapshot(path);
  ASSERT_TRUE(state.ok()) << state.error().message;
  EXPECT_EQ(state->pods[0]->metadata.name, anonymizer.Text("web"));
  EXPECT_EQ(state->pods[0]->metadata.namespace_name, framework::KeyOf(state->objects[0]));
  EXPECT_EQ(*state->pods[0]->metadata.annotations.Find(anonymizer.Text("note")), anonymizer.Text("x"));
  EXPECT_THAT(state->left_out, ElementsAre("csinodes: forbidden"));
  std::string text;
  ASSERT_TRUE(ReadZstdFile(path, {kSnapshotLineBytesMax, kSnapshotBytesMax}, [&](std::string_view line) {
                text.append(line).append("\n");
                return Expected<void>();
              }).ok());
  for (const char* word : {"shop", "web", "n1", "server", "jane", "secret"})
    EXPECT_THAT(text, ::testing::Not(HasSubstr(word)));
}

}  // namespace
}  // namespace berth::whatif
