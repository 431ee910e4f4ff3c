// SPDX-License-Identifier: Apache-2.0
// Compares the protobuf decoders with those of JSON on objects that Go wrote in both forms (tests/differential/wire),
// and tests malformed bytes.
#include <array>
#include <cstdint>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <protozero/pbf_writer.hpp>

#include "berth/api/decode.h"
#include "berth/api/decode_protobuf_frame.h"
#include "berth/api/encode_protobuf.h"
#include "berth/base/base64.h"
#include "berth/testing/source_path.h"

namespace berth::api {
namespace {

using protozero::pbf_writer;

struct Line {
  std::string kind;
  std::string json;
  std::string protobuf;
};

std::vector<Line> ReadLines(const std::string& name) {
  std::ifstream file(testing::SourcePath("tests/differential/wire/" + name));
  std::vector<Line> lines;
  for (std::string text; std::getline(file, text);) {
    const auto line = ParseObject("line", text);
    lines.push_back({std::string(std::string_view((*line)["kind"])), simdjson::minify((*line)["json"]),
                     DecodeBase64(std::string_view((*line)["protobuf"])).value()});
  }
  EXPECT_FALSE(lines.empty()) << name;
  return lines;
}

const std::vector<Line>& Objects() {
  static const std::vector<Line> lines = ReadLines("objects.jsonl");
  return lines;
}

// The operations on objects of a kind.
struct Kind {
  std::function<void(const Line&)> compare;
  std::function<std::string(std::string_view raw)> error;  // of decoding; empty: success
};

template <typename T>
using DecodeJson = Expected<std::shared_ptr<const T>> (*)(simdjson::dom::element);
template <typename T>
using DecodeProtobuf = Expected<std::shared_ptr<const T>> (*)(std::string_view);

template <typename T>
Kind MakeKind(DecodeJson<T> from_json, DecodeProtobuf<T> from_protobuf) {
  const auto compare = [=](const Line& line) {
    const auto unknown = UnwrapUnknown(line.protobuf);
    ASSERT_TRUE(unknown.ok()) << unknown.error().message;
    EXPECT_EQ(unknown->kind, line.kind);
    const auto want = from_json(*ParseObject("object", line.json));
    const auto got = from_protobuf(unknown->raw);
    ASSERT_TRUE(want.ok()) << want.error().message << '\n' << line.json;
    ASSERT_TRUE(got.ok()) << got.error().message << '\n' << line.json;
    EXPECT_EQ((**got).metadata, (**want).metadata) << line.json;
    EXPECT_TRUE(**got == **want) << line.json;
    const auto meta = ReadProtobufMeta(unknown->raw);
    ASSERT_TRUE(meta.ok()) << meta.error().message;
    EXPECT_EQ(meta->name, (**want).metadata.name);
    EXPECT_EQ(meta->namespace_name, (**want).metadata.namespace_name);
    EXPECT_EQ(meta->uid, (**want).metadata.uid);
    EXPECT_EQ(meta->resource_version, (**want).metadata.resource_version);
    EXPECT_FALSE(meta->has_initial_events_end);
  };
  const auto error = [=](std::string_view raw) {
    const auto decoded = from_protobuf(raw);
    return decoded.ok() ? std::string() : decoded.error().message;
  };
  return {compare, error};
}

const std::map<std::string, Kind>& Kinds() {
  static const std::map<std::string, Kind> kinds = {
      {"Pod", MakeKind<Pod>(DecodePod, DecodePodProtobuf)},
      {"Node", MakeKind<Node>(DecodeNode, DecodeNodeProtobuf)},
      {"PersistentVolume", MakeKind<PersistentVolume>(DecodePersistentVolume, DecodePersistentVolumeProtobuf)},
      {"PersistentVolumeClaim",
       MakeKind<PersistentVolumeClaim>(DecodePersistentVolumeClaim, DecodePersistentVolumeClaimProtobuf)},
      {"StorageClass", MakeKind<StorageClass>(DecodeStorageClass, DecodeStorageClassProtobuf)},
      {"CSINode", MakeKind<CsiNode>(DecodeCsiNode, DecodeCsiNodeProtobuf)},
      {"CSIDriver", MakeKind<CsiDriver>(DecodeCsiDriver, DecodeCsiDriverProtobuf)},
      {"CSIStorageCapacity", MakeKind<CsiStorageCapacity>(DecodeCsiStorageCapacity, DecodeCsiStorageCapacityProtobuf)},
      {"VolumeAttachment", MakeKind<VolumeAttachment>(DecodeVolumeAttachment, DecodeVolumeAttachmentProtobuf)},
      {"PodDisruptionBudget",
       MakeKind<PodDisruptionBudget>(DecodePodDisruptionBudget, DecodePodDisruptionBudgetProtobuf)},
      {"Namespace", MakeKind<Namespace>(DecodeNamespace, DecodeNamespaceProtobuf)},
      {"Service", MakeKind<Service>(DecodeService, DecodeServiceProtobuf)},
      {"ReplicationController",
       MakeKind<ReplicationController>(DecodeReplicationController, DecodeReplicationControllerProtobuf)},
      {"ReplicaSet", MakeKind<ReplicaSet>(DecodeReplicaSet, DecodeReplicaSetProtobuf)},
      {"StatefulSet", MakeKind<StatefulSet>(DecodeStatefulSet, DecodeStatefulSetProtobuf)},
      {"ResourceSlice", MakeKind<ResourceSlice>(DecodeResourceSlice, DecodeResourceSliceProtobuf)},
      {"DeviceClass", MakeKind<DeviceClass>(DecodeDeviceClass, DecodeDeviceClassProtobuf)},
      {"ResourceClaim", MakeKind<ResourceClaim>(DecodeResourceClaim, DecodeResourceClaimProtobuf)},
  };
  return kinds;
}

TEST(DecodeProtobufTest, SameAsJson) {
  std::map<std::string, int> seen;
  for (const Line& line : Objects()) {
    const auto kind = Kinds().find(line.kind);
    if (kind == Kinds().end()) continue;  // a frame instead of an object
    kind->second.compare(line);
    ++seen[line.kind];
  }
  EXPECT_EQ(seen.size(), Kinds().size());
  for (const auto& [kind, count] : seen) EXPECT_GE(count, 3) << kind;
}

// Passes the bytes to every reader: an error must have a message.
void TryEverything(std::string_view bytes, const Kind* kind) {
  const auto say = [](const auto& outcome) { EXPECT_TRUE(outcome.ok() || !outcome.error().message.empty()); };
  say(UnwrapUnknown(bytes));
  say(ReadProtobufMeta(bytes));
  say(ReadProtobufList(bytes));
  say(ReadProtobufStatus(bytes));
  say(ReadProtobufWatchEvent(bytes));
  ProtobufListReader reader([](std::string_view) { return Expected<void>(); });
  say(reader.Feed(bytes));
  say(reader.Finish());
  if (kind != nullptr) (void)kind->error(bytes);
}

TEST(DecodeProtobufTest, CutAnywhere) {
  for (const Line& line : Objects()) {
    const auto kind = Kinds().find(line.kind);
    if (kind == Kinds().end()) continue;
    const auto unknown = UnwrapUnknown(line.protobuf);
    ASSERT_TRUE(unknown.ok());
    const std::string_view raw = unknown->raw;
    // Each prefix is a separate heap allocation, so that a sanitizer detects reads beyond its end.
    for (std::size_t size = 0; size < raw.size(); ++size) {
      (void)kind->second.error(std::string(raw.substr(0, size)));
    }
  }
}

TEST(DecodeProtobufTest, BitFlips) {
  std::uint32_t chance = 1;
  for (const Line& line : Objects()) {
    const auto kind = Kinds().find(line.kind);
    std::string bytes = kind == Kinds().end() ? line.protobuf : std::string(UnwrapUnknown(line.protobuf)->raw);
    for (char& byte : bytes) {
      const char before = byte;
      chance = chance * 1664525 + 1013904223;
      byte = static_cast<char>(byte ^ (1 << (chance >> 29)));
      if (kind == Kinds().end()) {
        TryEverything(bytes, nullptr);
      } else {
        (void)kind->second.error(bytes);
      }
      byte = before;
    }
  }
}

// Builds messages: Bytes([](pbf_writer& m) { m.add_string(1, "name"); }).
template <typename Fill>
std::string Bytes(Fill fill) {
  std::string bytes;
  pbf_writer writer(bytes);
  fill(writer);
  return bytes;
}

// The bytes of a pod web/p with `spec`.
std::string PodBytes(const std::string& spec) {
  return Bytes([&](pbf_writer& pod) {
    pod.add_message(1, Bytes([](pbf_writer& metadata) {
                      metadata.add_string(1, "p");
                      metadata.add_string(3, "web");
                    }));
    pod.add_message(2, spec);
  });
}
template <typename Fill>
std::string PodWith(Fill fill) {
  return PodBytes(Bytes(fill));
}

std::string MapEntry(const std::string& key, const std::string& value) {
  return Bytes([&](pbf_writer& entry) {
    entry.add_string(1, key);
    entry.add_message(2, value);
  });
}

std::string QuantityBytes(const std::string& text) {
  return Bytes([&](pbf_writer& quantity) { quantity.add_string(1, text); });
}

TEST(DecodeProtobufTest, ErrorsNameObjectAndPlace) {
  const std::string bad_request = Bytes([](pbf_writer& container) {
    container.add_string(1, "c");
    container.add_message(8, Bytes([](pbf_writer& resources) {
                            resources.add_message(2, MapEntry("memory", QuantityBytes("1Gi")));
                            resources.add_message(2, MapEntry("cpu", QuantityBytes("1x")));
                          }));
  });
  struct Case {
    const char* name;
    std::string pod;
    std::string want;
  };
  const Case cases[] = {
      {"quantity", PodWith([&](pbf_writer& spec) {
         spec.add_message(2, Bytes([](pbf_writer& container) { container.add_string(1, "a"); }));
         spec.add_message(2, bad_request);
       }),
       "Pod web/p: spec.containers[1].resources.requests[cpu]: \"1x\" is no quantity: it must be a number and a suffix "
       "(such as 500m, 2, 1.5Gi or 1e3)"},
      {"empty quantity", PodWith([](pbf_writer& spec) { spec.add_message(32, MapEntry("cpu", QuantityBytes(""))); }),
       "Pod web/p: spec.overhead[cpu]: \"\" is no quantity: it must be a number and a suffix (such as 500m, 2, 1.5Gi "
       "or 1e3)"},
      {"a number for a string", PodWith([](pbf_writer& spec) { spec.add_int32(10, 3); }),
       "Pod web/p: spec.nodeName: must be a string, not a number"},
      {"a string for a number", PodWith([](pbf_writer& spec) { spec.add_string(25, "9"); }),
       "Pod web/p: spec.priority: must be a whole number, not bytes"},
      {"a fixed number for a message", PodWith([](pbf_writer& spec) { spec.add_fixed64(18, 1); }),
       "Pod web/p: spec.affinity: must be a message, not a number of fixed size"},
      {"a number for a boolean's list", PodWith([](pbf_writer& spec) { spec.add_int32(22, 1); }),
       "Pod web/p: spec.tolerations[0]: must be a message, not a number"},
      {"an id of a volume", PodWith([](pbf_writer& spec) {
         spec.add_message(1, Bytes([](pbf_writer& volume) {
                            pbf_writer source(volume, 2);
                            pbf_writer disk(source, 3);
                            disk.add_int32(1, 1);
                          }));
       }),
       "Pod web/p: spec.volumes[0].gcePersistentDisk.pdName: must be a string, not a number"},
      {"cut short", PodBytes("\x0A\x7F"), "Pod web/p: spec: is no valid protobuf"},
      {"field number zero", PodBytes(std::string("\x00\x01", 2)), "Pod web/p: spec: is no valid protobuf"},
      {"group", PodBytes("\x0B"), "Pod web/p: spec: is no valid protobuf"},
      {"time", PodBytes("") + Bytes([](pbf_writer& pod) {
                 pod.add_message(3, Bytes([](pbf_writer& status) {
                                   status.add_message(7, Bytes([](pbf_writer& time) { time.add_int64(1, INT64_MAX); }));
                                 }));
               }),
       "Pod web/p: status.startTime: \"9223372036854775807\" is no RFC 3339 time"},
      {"no name", Bytes([](pbf_writer& pod) { pod.add_message(2, std::string()); }), "Pod: metadata.name: is missing"},
      {"nothing", "", "Pod: metadata.name: is missing"},
  };
  for (const Case& c : cases) {
    const auto pod = DecodePodProtobuf(c.pod);
    ASSERT_FALSE(pod.ok()) << c.name;
    EXPECT_EQ(pod.error().message, c.want) << c.name;
    EXPECT_EQ(pod.error().code, ErrorCode::kInvalid) << c.name;
  }
}

TEST(DecodeProtobufTest, UnknownFieldsOfEveryTypeArePassedOver) {
  const auto pod = DecodePodProtobuf(PodWith([](pbf_writer& spec) {
    spec.add_int64(900, -1);
    spec.add_fixed32(901, 1);
    spec.add_fixed64(902, 1);
    spec.add_string(903, "no message \xFF");
    spec.add_string(10, "n1");
  }));
  ASSERT_TRUE(pod.ok()) << pod.error().message;
  EXPECT_EQ((*pod)->spec.node_name, "n1");
}

// Unusual, but valid in protobuf.
TEST(DecodeProtobufTest, MapsInAnyOrder) {
  const auto label = [](const char* key, const char* value) {
    return Bytes([&](pbf_writer& entry) {
      entry.add_string(2, value);
      entry.add_string(1, key);
    });
  };
  const auto pod = DecodePodProtobuf(PodWith([&](pbf_writer& spec) {
    spec.add_message(7, label("b", "1"));
    spec.add_message(32, MapEntry("memory", QuantityBytes("1")));
    spec.add_message(7, label("a", "2"));
    spec.add_message(32, MapEntry("cpu", QuantityBytes("2")));
    spec.add_message(7, label("b", "3"));
    spec.add_message(32, MapEntry("memory", QuantityBytes("3")));
    spec.add_message(32, MapEntry("zero", ""));
  }));
  ASSERT_TRUE(pod.ok()) << pod.error().message;
  EXPECT_EQ((*pod)->spec.node_selector, (StringMap{{"a", "2"}, {"b", "3"}}));
  const ResourceList want = {{"cpu", Quantity::FromValue(2)}, {"memory", Quantity::FromValue(3)}, {"zero", Quantity()}};
  EXPECT_EQ((*pod)->spec.overhead, want);
}

TEST(DecodeProtobufTest, DeviceTaintRule) {
  const std::string bytes = Bytes([](pbf_writer& root) {
    root.add_message(1, Bytes([](pbf_writer& metadata) { metadata.add_string(1, "r"); }));
    pbf_writer spec(root, 2);
    spec.add_message(1, Bytes([](pbf_writer& selector) {
                       selector.add_string(2, "d");
                       selector.add_string(4, "x");
                     }));
    spec.add_message(2, Bytes([](pbf_writer& taint) {
                       taint.add_string(1, "k");
                       taint.add_string(2, "v");
                       taint.add_string(3, "NoSchedule");
                     }));
  });
  const auto rule = DecodeDeviceTaintRuleProtobuf(bytes);
  ASSERT_TRUE(rule.ok()) << rule.error().message;
  EXPECT_EQ((*rule)->metadata.name, "r");
  EXPECT_EQ((*rule)->selector, (DeviceTaintRule::Selector{"d", std::nullopt, "x"}));
  EXPECT_EQ((*rule)->taint, (DeviceTaint{"k", "v", "NoSchedule"}));
}

TEST(DecodeProtobufTest, ParametersThatAreNoJson) {
  const auto device_class = [](const std::string& driver, const std::string& parameters) {
    return Bytes([&](pbf_writer& root) {
      root.add_message(1, Bytes([](pbf_writer& metadata) { metadata.add_string(1, "c"); }));
      pbf_writer spec(root, 2);
      pbf_writer config(spec, 2);
      pbf_writer configuration(config, 1);
      pbf_writer opaque(configuration, 1);
      opaque.add_string(1, driver);
      pbf_writer extension(opaque, 2);
      extension.add_string(1, parameters);
    });
  };
  const auto good = DecodeDeviceClassProtobuf(device_class("a\"\\\n\x01", R"({ "x" : [1, "<"] })"));
  ASSERT_TRUE(good.ok()) << good.error().message;
  EXPECT_EQ((*good)->configs,
            (std::vector<std::string>{R"({"opaque":{"driver":"a\"\\\n\u0001","parameters":{"x":[1,"<"]}}})"}));
  for (const char* text : {"{", "1,\"driver\":\"other\"", "1}},{\"opaque\":{\"driver\":\"x\"", "nul", "\"\xFF\""}) {
    const auto bad = DecodeDeviceClassProtobuf(device_class("d", text));
    ASSERT_FALSE(bad.ok()) << text << ' ' << (*bad)->configs.at(0);
    EXPECT_EQ(bad.error().message.find("DeviceClass c: spec.config[0].opaque.parameters: "), 0U) << bad.error().message;
  }
}

const Line& Frame(const std::string& kind, const std::string& part_of_json = "") {
  for (const Line& line : Objects()) {
    if (line.kind == kind && line.json.find(part_of_json) != std::string::npos) return line;
  }
  ADD_FAILURE() << "no " << kind;
  return Objects().front();
}

TEST(ProtobufFrameTest, Envelope) {
  const auto unknown = UnwrapUnknown(Frame("PodDisruptionBudget").protobuf);
  ASSERT_TRUE(unknown.ok());
  EXPECT_EQ(unknown->api_version, "policy/v1");
  EXPECT_EQ(unknown->kind, "PodDisruptionBudget");
  EXPECT_EQ(unknown->content_type, "");
  EXPECT_EQ(unknown->content_encoding, "");
  EXPECT_EQ(UnwrapUnknown("{}").error().message,
            "is no Kubernetes protobuf: it should begin with \"k8s\" and a zero byte");
  EXPECT_EQ(UnwrapUnknown(std::string(kProtobufMagic) + "\x12\x05xx").error().message,
            "runtime.Unknown: is no valid protobuf");
  EXPECT_EQ(UnwrapUnknown(std::string(kProtobufMagic) + "\x10\x05").error().message,
            "runtime.Unknown: field 2 is of the wrong type");
}

TEST(ProtobufFrameTest, List) {
  const auto unknown = UnwrapUnknown(Frame("PodList").protobuf);
  ASSERT_TRUE(unknown.ok());
  EXPECT_EQ(unknown->kind, "PodList");
  const auto list = ReadProtobufList(unknown->raw);
  ASSERT_TRUE(list.ok()) << list.error().message;
  EXPECT_EQ(list->metadata.resource_version, "4711");
  EXPECT_EQ(list->metadata.continue_token, "token");
  EXPECT_EQ(list->metadata.remaining_item_count, 12);
  ASSERT_EQ(list->items.size(), 3U);
  EXPECT_EQ((*DecodePodProtobuf(list->items[2]))->metadata.name, "p2");

  const auto nodes = ReadProtobufList(UnwrapUnknown(Frame("NodeList").protobuf)->raw);
  ASSERT_TRUE(nodes.ok());
  EXPECT_EQ(nodes->metadata.resource_version, "8");
  EXPECT_EQ(nodes->metadata.remaining_item_count, std::nullopt);
  EXPECT_TRUE(nodes->items.empty());
}

// Feeds `body` in pieces of `size` bytes.
struct StreamedList {
  StreamedList(std::string_view body, std::size_t size, std::size_t item_bytes_max = 1 << 20)
      : reader(
            [this](std::string_view item) {
              items.emplace_back(item);
              return Expected<void>();
            },
            item_bytes_max) {
    while (!body.empty() && outcome.ok()) {
      outcome = reader.Feed(std::string(body.substr(0, size)));
      body.remove_prefix(std::min(size, body.size()));
    }
    if (outcome.ok()) outcome = reader.Finish();
  }

  std::vector<std::string> items;
  ProtobufListReader reader;
  Expected<void> outcome;
};

TEST(ProtobufFrameTest, ListThatStreams) {
  const std::string& body = Frame("PodList").protobuf;
  const auto whole = ReadProtobufList(UnwrapUnknown(body)->raw);
  for (std::size_t size = 1; size <= body.size(); ++size) {
    const StreamedList list(body, size);
    ASSERT_TRUE(list.outcome.ok()) << size << ": " << list.outcome.error().message;
    EXPECT_TRUE(std::equal(list.items.begin(), list.items.end(), whole->items.begin(), whole->items.end())) << size;
    EXPECT_EQ(list.reader.resource_version(), "4711");
    EXPECT_EQ(list.reader.continue_token(), "token");
    EXPECT_EQ(list.reader.remaining_item_count(), 12);
    EXPECT_EQ(list.reader.api_version(), "v1");
    EXPECT_EQ(list.reader.kind(), "PodList");
  }
  const StreamedList empty(Frame("NodeList").protobuf, 7);
  EXPECT_TRUE(empty.outcome.ok());
  EXPECT_EQ(empty.reader.resource_version(), "8");
  EXPECT_TRUE(empty.items.empty());
}

TEST(ProtobufFrameTest, ListThatIsBroken) {
  const std::string& body = Frame("PodList").protobuf;
  // The envelope ends with contentEncoding and contentType, which are empty: the list is complete without them.
  for (std::size_t size = 0; size + 4 < body.size(); ++size) {
    const StreamedList list(body.substr(0, size), 16);
    ASSERT_FALSE(list.outcome.ok()) << size;
    EXPECT_EQ(list.outcome.error().message, "the list was cut short") << size;
  }
  EXPECT_EQ(StreamedList("{}", 1).outcome.error().message, UnwrapUnknown("{}").error().message);
  const StreamedList large(body, 16, 32);
  ASSERT_FALSE(large.outcome.ok());
  EXPECT_EQ(large.outcome.error().code, ErrorCode::kTooLarge);
  // The item is longer than its list.
  EXPECT_EQ(StreamedList(std::string(kProtobufMagic) + "\x12\x03\x12\x05xxxxx", 1).outcome.error().message,
            "list: is no valid protobuf");
  EXPECT_EQ(StreamedList(std::string(kProtobufMagic) + "\x12\x01\x12\x01", 1).outcome.error().message,
            "list: is no valid protobuf");
  // An error of the callback ends the reading.
  ProtobufListReader reader([](std::string_view) -> Expected<void> { return InvalidError("no more"); });
  EXPECT_EQ(reader.Feed(body).error().message, "no more");
  EXPECT_FALSE(reader.Feed("").ok());
  EXPECT_FALSE(reader.Finish().ok());
}

TEST(ProtobufFrameTest, Status) {
  const auto status = ReadProtobufStatus(UnwrapUnknown(Frame("Status").protobuf)->raw);
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(status->status, "Failure");
  EXPECT_EQ(status->code, 429);
  EXPECT_EQ(status->reason, "TooManyRequests");
  EXPECT_EQ(status->message, "slow down");
  EXPECT_EQ(status->retry_after_seconds, 7);
}

TEST(ProtobufFrameTest, WatchEvents) {
  const auto bookmark = ReadProtobufWatchEvent(Frame("WatchEvent", "BOOKMARK").protobuf);
  ASSERT_TRUE(bookmark.ok());
  EXPECT_EQ(bookmark->type, "BOOKMARK");
  const auto meta = ReadProtobufMeta(UnwrapUnknown(bookmark->object)->raw);
  ASSERT_TRUE(meta.ok());
  EXPECT_EQ(meta->resource_version, "4712");
  EXPECT_TRUE(meta->has_initial_events_end);

  const auto failure = ReadProtobufWatchEvent(Frame("WatchEvent", "ERROR").protobuf);
  ASSERT_TRUE(failure.ok());
  EXPECT_EQ(failure->type, "ERROR");
  EXPECT_EQ(ReadProtobufStatus(UnwrapUnknown(failure->object)->raw)->code, 429);

  const auto added = ReadProtobufWatchEvent(Frame("WatchEvent", "ADDED").protobuf);
  ASSERT_TRUE(added.ok());
  EXPECT_EQ((*DecodePodProtobuf(UnwrapUnknown(added->object)->raw))->metadata.name, "p0");
}

std::string Hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

// written.jsonl is Go's decoding of these bytes (`wire read`, which reads the lines that a failure prints); its JSON
// shows that they have the intended meaning.
TEST(EncodeProtobufTest, AsGoReadsIt) {
  const Time time{std::chrono::microseconds(1'772'600'767'123'456)};
  const ObjectReferenceFields pod = {
      .api_version = "v1", .kind = "Pod", .namespace_name = "web", .name = "p", .uid = "u-1", .resource_version = "7"};
  EventFields event = {.namespace_name = "web",
                       .name = "p.18a",
                       .event_time = time,
                       .reporting_controller = "default-scheduler",
                       .reporting_instance = "default-scheduler-host",
                       .action = "Binding",
                       .reason = "Scheduled",
                       .regarding = pod,
                       .related = std::nullopt,
                       .note = "Successfully assigned web/p to n1",
                       .type = "Normal",
                       .series = std::nullopt};
  std::vector<std::string> written = {
      EncodeBinding({.namespace_name = "web", .name = "p", .uid = "u-1", .node_name = "n1"}),
      EncodeBinding({.namespace_name = "web", .name = "p", .uid = "", .node_name = "n1"}),
      EncodeDeleteOptions({.grace_seconds = std::nullopt, .uid = ""}),
      EncodeDeleteOptions({.grace_seconds = 0, .uid = "u-1"}), EncodeEvent(event)};
  event.related = ObjectReferenceFields{.api_version = "v1", .kind = "Node", .name = "n1"};
  event.series = EventFields::Series{.count = 3, .last_observed_time = Time{std::chrono::microseconds(-1)}};
  event.type = "Warning";
  written.push_back(EncodeEvent(event));

  const std::vector<Line> lines = ReadLines("written.jsonl");
  for (std::size_t i = 0; i < written.size(); ++i) {
    EXPECT_EQ(Hex(written[i]), i < lines.size() ? Hex(lines[i].protobuf) : "");
  }
}

}  // namespace
}  // namespace berth::api
