// SPDX-License-Identifier: Apache-2.0
// The cost of decoding one Pod or Node from JSON and from protobuf, on objects that Go wrote in both forms.
//   berth-decode-bench tests/differential/wire/objects.jsonl [CASE [ROUNDS]]
// CASE is one of the printed names (default: all). Under `valgrind --tool=callgrind`, run one case with two numbers of
// rounds: the difference of the instructions divided by the difference of the rounds is the cost of one round.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <simdjson.h>

#include "berth/api/decode.h"
#include "berth/api/decode_protobuf_frame.h"
#include "berth/base/base64.h"
#include "berth/base/check.h"
#include "meter.h"

namespace {

namespace api = berth::api;

struct Object {
  std::string kind;
  std::string json;
  std::string protobuf;  // with its envelope
};

std::vector<Object> ReadObjects(const char* path) {
  std::ifstream file(path);
  std::vector<Object> objects;
  for (std::string text; std::getline(file, text);) {
    const auto line = api::ParseObject("line", text);
    BERTH_CHECK(line.ok(), path);
    objects.push_back({std::string(std::string_view((*line)["kind"])), simdjson::minify((*line)["json"]),
                       berth::DecodeBase64(std::string_view((*line)["protobuf"])).value()});
  }
  return objects;
}

// The JSON is parsed in advance, so that only decoding is measured.
template <typename T>
std::size_t DecodeJson(const std::vector<Object>& objects, std::string_view kind, int rounds,
                       berth::Expected<std::shared_ptr<const T>> (*decode)(simdjson::dom::element)) {
  std::size_t count = 0;
  for (const Object& object : objects) {
    if (object.kind != kind) continue;
    simdjson::dom::parser parser;
    const simdjson::dom::element element = parser.parse(object.json);
    for (int i = 0; i < rounds; ++i) BERTH_CHECK(decode(element).ok(), object.json);
    ++count;
  }
  return count;
}

template <typename T>
std::size_t DecodeProtobuf(const std::vector<Object>& objects, std::string_view kind, int rounds,
                           berth::Expected<std::shared_ptr<const T>> (*decode)(std::string_view)) {
  std::size_t count = 0;
  for (const Object& object : objects) {
    if (object.kind != kind) continue;
    const std::string_view raw = api::UnwrapUnknown(object.protobuf)->raw;
    for (int i = 0; i < rounds; ++i) BERTH_CHECK(decode(raw).ok(), object.json);
    ++count;
  }
  return count;
}

std::size_t Run(std::string_view name, const std::vector<Object>& objects, int rounds) {
  if (name == "pod-json") return DecodeJson<api::Pod>(objects, "Pod", rounds, api::DecodePod);
  if (name == "node-json") return DecodeJson<api::Node>(objects, "Node", rounds, api::DecodeNode);
  if (name == "claim-json") {
    return DecodeJson<api::ResourceClaim>(objects, "ResourceClaim", rounds, api::DecodeResourceClaim);
  }
  if (name == "slice-json") {
    return DecodeJson<api::ResourceSlice>(objects, "ResourceSlice", rounds, api::DecodeResourceSlice);
  }
  if (name == "volume-json") {
    return DecodeJson<api::PersistentVolume>(objects, "PersistentVolume", rounds, api::DecodePersistentVolume);
  }
  if (name == "pod-protobuf") return DecodeProtobuf<api::Pod>(objects, "Pod", rounds, api::DecodePodProtobuf);
  if (name == "node-protobuf") return DecodeProtobuf<api::Node>(objects, "Node", rounds, api::DecodeNodeProtobuf);
  if (name == "claim-protobuf") {
    return DecodeProtobuf<api::ResourceClaim>(objects, "ResourceClaim", rounds, api::DecodeResourceClaimProtobuf);
  }
  if (name == "slice-protobuf") {
    return DecodeProtobuf<api::ResourceSlice>(objects, "ResourceSlice", rounds, api::DecodeResourceSliceProtobuf);
  }
  if (name == "volume-protobuf") {
    return DecodeProtobuf<api::PersistentVolume>(objects, "PersistentVolume", rounds,
                                                 api::DecodePersistentVolumeProtobuf);
  }
  return 0;
}

constexpr const char* kCases[] = {"pod-json",       "node-json",      "claim-json",    "slice-json",
                                  "volume-json",    "pod-protobuf",   "node-protobuf", "claim-protobuf",
                                  "slice-protobuf", "volume-protobuf"};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s OBJECTS [CASE [ROUNDS]]\n", argv[0]);
    return 2;
  }
  const std::string_view only = argc > 2 ? argv[2] : "";
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 2000;
  const std::vector<Object> objects = ReadObjects(argv[1]);
  const berth::bench::Meter meter;
  std::printf("%-16s %12s %12s %12s\n", "case", "CPU ns", "instructions", "allocations");
  for (const char* name : kCases) {
    if (!only.empty() && only != name) continue;
    const berth::bench::Reading before = meter.Read();
    const double decoded = static_cast<double>(Run(name, objects, rounds)) * rounds;
    const berth::bench::Reading after = meter.Read();
    const double instructions = after.instructions && before.instructions
                                    ? static_cast<double>(*after.instructions - *before.instructions) / decoded
                                    : 0;
    std::printf("%-16s %12.0f %12.0f %12.1f\n", name, (after.cpu_s - before.cpu_s) * 1e9 / decoded, instructions,
                static_cast<double>(after.allocations - before.allocations) / decoded);
  }
  return 0;
}
