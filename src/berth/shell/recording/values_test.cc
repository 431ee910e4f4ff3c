// SPDX-License-Identifier: Apache-2.0
// What is read back equals what was written: every object of the golden cases, and values with everything in them.
#include "berth/shell/recording/values.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/api/decode.h"
#include "berth/codec/json_reader.h"
#include "berth/framework/object_kinds.h"
#include "berth/shell/recording/records.h"
#include "berth/testing/builders.h"
#include "berth/testing/source_path.h"

namespace berth::recording {
namespace {

template <typename T>
T ThereAndBack(ByteWriter& out, const T& value, const AnnotationFilter& annotations = {}) {
  out.Clear();
  ValueWriter(out, annotations).Put(value);
  ByteReader in(out.bytes());
  T back = ValueReader(in).Get<T>();
  EXPECT_TRUE(in.is_good());
  EXPECT_TRUE(in.is_at_end());
  return back;
}

// Writes and reads the value as a delta.
template <typename T>
T ThereAndBack(ByteWriter& out, const T& value, const T& base, const AnnotationFilter& annotations = {}) {
  out.Clear();
  ValueWriter(out, annotations).PutDelta(value, base);
  ByteReader in(out.bytes());
  T back = ThereAndBack(*std::make_unique<ByteWriter>(), base, annotations);
  ValueReader(in).GetDelta(back);
  EXPECT_TRUE(in.is_good());
  EXPECT_TRUE(in.is_at_end());
  return back;
}

struct Checked {
  ByteWriter out;
  api::Pod pod;    // the latest
  api::Node node;  // the latest
  int count = 0;

  template <typename T>
  void Check(const T& value) {
    ++count;
    EXPECT_EQ(ThereAndBack(out, value), value) << value.metadata.name;
  }
  template <typename T>
  void Check(const T& value, T& before) {
    Check(value);
    EXPECT_EQ(ThereAndBack(out, value, before), value) << value.metadata.name << " after " << before.metadata.name;
    before = value;
  }
  void Take(std::string_view kind, simdjson::dom::element object) {
    if (kind == "Pod") {
      if (const auto decoded = api::DecodePod(object); decoded.ok()) Check(**decoded, pod);
    } else if (kind == "Node") {
      if (const auto decoded = api::DecodeNode(object); decoded.ok()) Check(**decoded, node);
    } else {
      for (std::size_t i = 0; i < framework::kObjectKindCount; ++i) {
        const auto which = static_cast<framework::ObjectKind>(i);
        if (framework::InfoOf(which).name != kind) continue;
        if (const auto any = framework::DecodeObject(which, object); any.ok())
          std::visit([this](const auto& each) { Check(*each); }, *any);
      }
    }
  }
};

TEST(Values, ObjectsOfTheWireTestsComeBack) {
  Checked checked;
  std::ifstream lines(testing::SourcePath("tests/differential/wire/objects.jsonl"));
  simdjson::dom::parser parser;
  for (std::string line; std::getline(lines, line);) {
    simdjson::dom::element parsed;
    ASSERT_EQ(parser.parse(line).get(parsed), simdjson::SUCCESS);
    const auto object = codec::FindMember(parsed, "json");
    const simdjson::dom::element it = object ? *object : parsed;
    checked.Take(codec::StringOrEmpty(it, "kind"), it);
  }
  EXPECT_GT(checked.count, 100);
}

TEST(Values, ObjectsOfTheGoldenCasesComeBack) {
  Checked checked;
  simdjson::dom::parser parser;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(testing::SourcePath("tests/golden"))) {
    if (entry.path().extension() != ".json") continue;
    simdjson::dom::element parsed;
    if (parser.load(entry.path().string()).get(parsed) != simdjson::SUCCESS) continue;
    for (const char* list : {"nodes", "pods", "pending"}) {
      const auto array = codec::FindArray(parsed, list);
      if (!array) continue;
      for (const auto object : *array) checked.Take(std::string_view(list) == "nodes" ? "Node" : "Pod", object);
    }
    const auto objects = codec::FindArray(parsed, "objects");
    if (!objects) continue;
    for (const auto object : *objects) checked.Take(codec::StringOrEmpty(object, "kind"), object);
  }
  EXPECT_GT(checked.count, 10'000);
}

TEST(Values, NumbersTextsAndQuantities) {
  ByteWriter out;
  for (const std::int64_t number : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{127}, std::int64_t{-12345678},
                                    std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()})
    EXPECT_EQ(ThereAndBack(out, number), number);
  for (const std::string text :
       {"", "a", "0b6c9c8e-0d1f-4a6b-8a52-6c1a3d0a9f11", "0B6C9C8E-0D1F-4A6B-8A52-6C1A3D0A9F11",
        "0b6c9c8e-0d1f-4a6b-8a52-6c1a3d0a9f1g", "0b6c9c8e00d1f-4a6b-8a52-6c1a3d0a9f11"})
    EXPECT_EQ(ThereAndBack(out, text), text);
  EXPECT_EQ((ThereAndBack(out, std::string("0b6c9c8e-0d1f-4a6b-8a52-6c1a3d0a9f11")), out.bytes().size()), 17u);
  for (const char* text : {"0", "1", "-1", "100m", "8Gi", "9223372036854775807", "-9223372036854775807", "1n"}) {
    const api::Quantity quantity = *api::Quantity::Parse(text);
    EXPECT_EQ(ThereAndBack(out, quantity), quantity) << text;
  }
}

TEST(Values, StatusesComeBack) {
  ByteWriter out;
  const framework::Status refusal(framework::Code::kUnschedulable, {"one", "two"});
  for (const framework::Status& status :
       {framework::Status(), framework::Status::Skip(), refusal, refusal.WithPlugin("Fit")})
    EXPECT_EQ(ThereAndBack(out, status), status);
}

TEST(Values, ADeltaHasOnlyWhatDiffers) {
  ByteWriter out;
  api::Pod pod = testing::MakePod("web-1").Request("cpu", "500m").Request("memory", "1Gi").Label("app", "web").Build();
  pod.spec.containers.front().image = "registry.example.com/team/web@sha256:0123456789012345678901234567890123456789";
  const api::Pod before = pod;
  EXPECT_EQ(ThereAndBack(out, pod, before), pod);
  EXPECT_LE(out.bytes().size(), 8u) << "masks alone";
  pod.metadata.name = "web-2";
  pod.spec.node_name = "node-1";
  pod.spec.tolerations.clear();
  pod.spec.priority.reset();
  pod.status.conditions = {{"PodScheduled", "True", "", ""}};
  EXPECT_EQ(ThereAndBack(out, pod, before), pod);
  EXPECT_LE(out.bytes().size(), 45u);
  EXPECT_EQ(ThereAndBack(out, before, pod), before);
}

TEST(Values, AnnotationsThatNobodyReadsAreLeftOutButDistinguishObjects) {
  ByteWriter out;
  const AnnotationFilter filter({"berth.dev/*", "team.example.com/", "exact"});
  api::Node node = *testing::MakeNode("n").Build();
  node.metadata.annotations = {{"berth.dev/price", "3"}, {"exact", "1"}, {"secret", "x"}, {"team.example.com/a", "b"}};
  const api::Node back = ThereAndBack(out, node, filter);
  EXPECT_EQ(*back.metadata.annotations.Find("berth.dev/price"), "3");
  EXPECT_EQ(*back.metadata.annotations.Find("exact"), "1");
  EXPECT_EQ(*back.metadata.annotations.Find("team.example.com/a"), "b");
  EXPECT_EQ(back.metadata.annotations.Find("secret"), nullptr);
  EXPECT_EQ(out.bytes().find("secret"), std::string_view::npos);
  node.metadata.annotations.Set("secret", "y");
  EXPECT_NE(ThereAndBack(out, node, filter).metadata.annotations, back.metadata.annotations);
  node.metadata.annotations.Set("secret", "x");
  EXPECT_EQ(ThereAndBack(out, node, filter).metadata.annotations, back.metadata.annotations);
  api::Node later = node;
  later.metadata.annotations.Set("exact", "2");
  EXPECT_EQ(*ThereAndBack(out, later, node, filter).metadata.annotations.Find("exact"), "2");
  EXPECT_EQ(out.bytes().find("secret"), std::string_view::npos);
}

// Whatever stands in a damaged recording: an answer, and no more memory than the bytes call for.
TEST(Values, DamageIsFoundOut) {
  ByteWriter out;
  const AnnotationFilter all;
  const api::Pod pod = testing::MakePod("p").Request("cpu", "1").Label("a", "b").Toleration("x", "Exists").Build();
  ValueWriter(out, all).Put(pod);
  const std::string whole(out.bytes());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    ByteReader in(std::string_view(whole).substr(0, size));
    static_cast<void>(ValueReader(in).Get<api::Pod>());
    EXPECT_FALSE(in.is_good()) << size;
    api::Pod base;
    ByteReader as_delta(std::string_view(whole).substr(0, size));
    ValueReader(as_delta).GetDelta(base);
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char c : {'\0', '\x01', '\x7f', '\xff'}) {
      std::string damaged = whole;
      damaged[at] = c;
      ByteReader in(damaged);
      static_cast<void>(ValueReader(in).Get<api::Pod>());
    }
  }
}

TEST(Values, TheLayoutDistinguishesTypes) {
  const auto layout = []<typename T>(std::type_identity<T>) {
    std::string out;
    AddLayout<T>(out);
    return out;
  };
  EXPECT_EQ(layout(std::type_identity<api::Toleration>()), "(ssse)");
  EXPECT_EQ(layout(std::type_identity<std::vector<std::optional<api::Quantity>>>()), "*?q");
  EXPECT_EQ(Layout(), Layout());
}

}  // namespace
}  // namespace berth::recording
