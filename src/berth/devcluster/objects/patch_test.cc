// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/patch.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "berth/codec/json.h"

namespace berth::objects {
namespace {

json::value Parse(std::string_view text) {
  auto parsed = codec::ParseJson(text);
  BERTH_CHECK(parsed.ok(), text, parsed.ok() ? "" : parsed.error().message);
  return std::move(parsed).value();
}

// A schema of our own: containers merge by name, their ports by containerPort, finalizers as a set.
std::string_view TestMergeKey(std::string_view, std::string_view path) {
  if (path == "spec.containers") return "name";
  if (path == "spec.containers.ports") return "containerPort";
  if (path == "metadata.finalizers") return "*";
  return "";
}

struct Case {
  const char* name;
  const char* document;
  const char* patch;
  const char* want;  // a document, or "CODE text of the error"
};

void Check(const Case& c, const Outcome<json::value>& got) {
  const std::string want = c.want;
  if (!want.starts_with('{') && !want.starts_with('[') && !want.starts_with('"')) {
    ASSERT_FALSE(got.ok()) << c.name << ": " << json::serialize(*got);
    EXPECT_EQ(std::to_string(got.error().code), want.substr(0, 3)) << c.name << ": " << got.error().message;
    const std::string text =
        got.error().message + (got.error().causes.empty() ? "" : ": " + got.error().causes[0].message);
    EXPECT_NE(text.find(want.substr(4)), std::string::npos) << c.name << ": " << text;
    return;
  }
  ASSERT_TRUE(got.ok()) << c.name << ": " << got.error().message
                        << (got.error().causes.empty() ? "" : got.error().causes[0].message);
  EXPECT_EQ(Parse(want), *got) << c.name << "\n want " << want << "\n got  " << json::serialize(*got);
}

TEST(JsonPatch, Cases) {
  const Case cases[] = {
      {"add a member", R"({"a":1})", R"([{"op":"add","path":"/b","value":2}])", R"({"a":1,"b":2})"},
      {"add replaces", R"({"a":1})", R"([{"op":"add","path":"/a","value":2}])", R"({"a":2})"},
      {"add into a list", R"({"a":[1,3]})", R"([{"op":"add","path":"/a/1","value":2}])", R"({"a":[1,2,3]})"},
      {"add at the end", R"({"a":[1]})", R"([{"op":"add","path":"/a/-","value":2}])", R"({"a":[1,2]})"},
      {"the whole document", R"({"a":1})", R"([{"op":"add","path":"","value":{"b":1}}])", R"({"b":1})"},
      {"remove", R"({"a":1,"b":[1,2]})", R"([{"op":"remove","path":"/b/0"},{"op":"remove","path":"/a"}])",
       R"({"b":[2]})"},
      {"replace", R"({"a":{"b":1}})", R"([{"op":"replace","path":"/a/b","value":null}])", R"({"a":{"b":null}})"},
      {"move", R"({"a":{"b":1}})", R"([{"op":"move","from":"/a/b","path":"/c"}])", R"({"a":{},"c":1})"},
      {"copy", R"({"a":{"b":1}})", R"([{"op":"copy","from":"/a","path":"/c"}])", R"({"a":{"b":1},"c":{"b":1}})"},
      {"test holds", R"({"a":[1,"x"]})", R"([{"op":"test","path":"/a","value":[1,"x"]}])", R"({"a":[1,"x"]})"},
      {"test of an absent member for null", R"({"a":1})", R"([{"op":"test","path":"/b","value":null}])", R"({"a":1})"},
      {"escapes", R"({"a/b":{"m~n":1}})", R"([{"op":"replace","path":"/a~1b/m~0n","value":2}])",
       R"({"a/b":{"m~n":2}})"},
      {"nothing to do", R"({"a":1})", "[]", R"({"a":1})"},
      {"test fails", R"({"a":1})", R"([{"op":"test","path":"/a","value":2}])", "422 testing value /a failed"},
      {"remove what is not there", R"({"a":1})", R"([{"op":"remove","path":"/b"}])", "422 missing path"},
      {"replace what is not there", R"({"a":1})", R"([{"op":"replace","path":"/b","value":1}])", "422 missing path"},
      {"add below nothing", R"({"a":1})", R"([{"op":"add","path":"/b/c","value":1}])", "422 missing path"},
      {"index too large", R"({"a":[1]})", R"([{"op":"add","path":"/a/3","value":1}])", "422 invalid array index"},
      {"index with a zero", R"({"a":[1]})", R"([{"op":"remove","path":"/a/00"}])", "422 missing path"},
      {"into itself", R"({"a":{"b":1}})", R"([{"op":"move","from":"/a","path":"/a/b"}])", "422 inside its own source"},
      {"no list", R"({"a":1})", R"({"op":"add"})", "400 must be a list"},
      {"no object", R"({"a":1})", "[1]", "400 must be a list"},
      {"unknown operation", R"({"a":1})", R"([{"op":"put","path":"/a"}])", "400 unknown JSON patch operation"},
      {"no value", R"({"a":1})", R"([{"op":"add","path":"/a"}])", "400 needs a value"},
      {"no pointer", R"({"a":1})", R"([{"op":"remove","path":"a"}])", "400 not a JSON pointer"},
      {"no from", R"({"a":1})", R"([{"op":"copy","path":"/b"}])", "400 needs the pointer from"},
  };
  for (const Case& c : cases) Check(c, ApplyJsonPatch(Parse(c.document), Parse(c.patch)));
}

TEST(JsonPatch, HostilePatchesAreBounded) {
  std::string doubling = "[";
  for (int i = 0; i < 64; ++i) doubling += std::string(i == 0 ? "" : ",") + R"({"op":"copy","from":"","path":"/c"})";
  const auto doubled = ApplyJsonPatch(Parse(R"({"a":")" + std::string(100'000, 'x') + R"("})"), Parse(doubling + "]"));
  ASSERT_FALSE(doubled.ok());
  EXPECT_NE(doubled.error().causes[0].message.find("copy operations"), std::string::npos);

  const auto deep = ApplyJsonPatch(Parse(R"({"a":{}})"), [] {
    json::array operations;
    std::string path = "";
    for (int i = 0; i < 300; ++i) {
      path += "/a";
      operations.push_back(json::object{{"op", "add"}, {"path", path}, {"value", json::object()}});
    }
    return json::value(operations);
  }());
  ASSERT_FALSE(deep.ok());
  EXPECT_NE(deep.error().causes[0].message.find("deeper than 256"), std::string::npos);

  // Back and forth between two places: nothing is copied.
  const std::string large = R"({"a":[{"b":")" + std::string(1'000'000, 'x') + R"("},{}]})";
  json::array moves;
  for (std::size_t i = 0; i < kJsonPatchOperationsMax; ++i) {
    const bool is_back = i % 2 == 1;
    moves.push_back(
        json::object{{"op", "move"}, {"from", is_back ? "/a/1/b" : "/a/0/b"}, {"path", is_back ? "/a/0/b" : "/a/1/b"}});
  }
  const auto moved = ApplyJsonPatch(Parse(large), moves);
  ASSERT_TRUE(moved.ok());
  EXPECT_EQ(*moved, Parse(large));
  const auto too_deep =
      ApplyJsonPatch(Parse(R"({"a":[{"b":")" + std::string(1'000'000, 'x') + R"("}],"c":{"e":{}}})"), [] {
        json::array there_and_back;
        for (int i = 0; i < 200; ++i) {
          there_and_back.push_back(json::object{{"op", "move"}, {"from", "/a"}, {"path", "/c/e"}});
          there_and_back.push_back(json::object{{"op", "move"}, {"from", "/c/e"}, {"path", "/a"}});
        }
        return json::value(there_and_back);
      }());
  ASSERT_FALSE(too_deep.ok());
  EXPECT_NE(too_deep.error().causes[0].message.find("moves of the patch"), std::string::npos);

  json::array many(kJsonPatchOperationsMax + 1, json::value(json::object{{"op", "test"}, {"path", ""}}));
  const auto too_many = ApplyJsonPatch(Parse("{}"), many);
  ASSERT_FALSE(too_many.ok());
  EXPECT_EQ(too_many.error().code, 413);
}

// A memory resource that counts what is allocated through it.
class CountingMemory final : public boost::json::memory_resource {
 public:
  std::size_t bytes = 0;

 private:
  void* do_allocate(std::size_t size, std::size_t) override {
    bytes += size;
    return ::operator new(size);
  }
  void do_deallocate(void* at, std::size_t, std::size_t) override { ::operator delete(at); }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

// A pod of about a megabyte: annotations, and a list of many small elements.
json::value LargePod(const json::storage_ptr& storage) {
  json::object annotations;
  for (int i = 0; i < 5000; ++i) annotations["key-" + std::to_string(i)] = std::string(100, 'x');
  json::array args(100'000, json::value(""));
  json::object container{{"name", "a"}, {"args", args}};
  const json::object pod{{"metadata", json::object{{"annotations", annotations}}},
                         {"spec", json::object{{"containers", json::array{container}}}}};
  return json::value(pod, storage);
}

// Each operation costs what it says, whatever the document holds: a copy of the document for each would be gigabytes.
TEST(JsonPatch, ManyOperationsOnALargeDocumentAreDoneInPlace) {
  const auto annotation = [](int i) { return "/metadata/annotations/key-" + std::to_string(i % 5000); };
  struct {
    const char* name;
    std::function<json::object(int)> operation;
  } const cases[] = {
      {"replace",
       [&](int i) {
         return json::object{{"op", "replace"}, {"path", annotation(i)}, {"value", "y" + std::to_string(i)}};
       }},
      {"add",
       [&](int i) {
         return json::object{{"op", "add"}, {"path", annotation(i) + "-new"}, {"value", json::object{{"a", i}}}};
       }},
      {"test",
       [&](int i) { return json::object{{"op", "test"}, {"path", annotation(i)}, {"value", std::string(100, 'x')}}; }},
      {"copy",
       [&](int i) { return json::object{{"op", "copy"}, {"from", annotation(i)}, {"path", annotation(i + 1)}}; }},
      {"move all there and back",
       [](int i) {
         return json::object{{"op", "move"},
                             {"from", i % 2 == 0 ? "/metadata/annotations" : "/metadata/other"},
                             {"path", i % 2 == 0 ? "/metadata/other" : "/metadata/annotations"}};
       }},
      {"add at the end",
       [&](int) { return json::object{{"op", "add"}, {"path", "/spec/containers/0/args/-"}, {"value", "z"}}; }},
  };
  for (const auto& c : cases) {
    json::array patch;
    for (int i = 0; i < static_cast<int>(kJsonPatchOperationsMax); ++i) patch.push_back(c.operation(i));
    const std::size_t patch_bytes = json::serialize(patch).size();
    CountingMemory memory;
    json::value document = LargePod(&memory);
    const std::size_t document_bytes = std::exchange(memory.bytes, 0);
    const auto patched = ApplyJsonPatch(std::move(document), patch);
    ASSERT_TRUE(patched.ok()) << c.name << ": " << patched.error().message;
    EXPECT_LT(memory.bytes, 4 * (patch_bytes + document_bytes)) << c.name;
  }
}

TEST(JsonPatch, ShiftsOfListElementsAreBounded) {
  for (const char* operation : {R"({"op":"remove","path":"/a/0"})", R"({"op":"add","path":"/a/0","value":0})",
                                R"({"op":"copy","from":"/a/1","path":"/a/0"})"}) {
    const json::array patch(kJsonPatchOperationsMax, Parse(operation));
    const auto refused = ApplyJsonPatch(json::object{{"a", json::array(500'000, json::value(1))}}, patch);
    ASSERT_FALSE(refused.ok()) << operation;
    EXPECT_EQ(refused.error().code, 413);
    EXPECT_NE(refused.error().message.find("shift more than"), std::string::npos) << refused.error().message;
    const auto taken =
        ApplyJsonPatch(json::object{{"a", json::array(2'000, json::value(1))}}, json::array(1'000, Parse(operation)));
    EXPECT_TRUE(taken.ok()) << operation;
  }
}

TEST(MergePatch, DeepDocumentsAreChangedInPlace) {
  CountingMemory memory;
  std::string document = R"({"x":")" + std::string(1'000'000, 'x') + R"("})";
  std::string patch = R"({"y":1})";
  for (int i = 0; i < 200; ++i) {
    document = R"({"a":)" + document + '}';
    patch = R"({"a":)" + patch + '}';
  }
  json::value parsed(Parse(document), &memory);
  memory.bytes = 0;
  const auto patched = ApplyMergePatch(std::move(parsed), Parse(patch));
  ASSERT_TRUE(patched.ok());
  EXPECT_LT(memory.bytes, 100'000u);
}

TEST(MergePatch, Cases) {
  const Case cases[] = {
      {"set, change, delete", R"({"a":1,"b":{"c":1,"d":2}})", R"({"a":null,"b":{"c":3},"e":[1]})",
       R"({"b":{"c":3,"d":2},"e":[1]})"},
      {"lists are replaced", R"({"a":[1,2]})", R"({"a":[3]})", R"({"a":[3]})"},
      {"an object takes the place of a scalar", R"({"a":1})", R"({"a":{"b":null,"c":1}})", R"({"a":{"c":1}})"},
      {"empty", R"({"a":1})", "{}", R"({"a":1})"},
      {"no object", R"({"a":1})", "[]", "400 must be an object"},
  };
  for (const Case& c : cases) Check(c, ApplyMergePatch(Parse(c.document), Parse(c.patch)));
}

TEST(StrategicMergePatch, Cases) {
  const Case cases[] = {
      {"maps merge", R"({"spec":{"a":1,"b":2}})", R"({"spec":{"a":null,"c":3}})", R"({"spec":{"b":2,"c":3}})"},
      {"a list without a key is replaced", R"({"spec":{"args":[1,2]}})", R"({"spec":{"args":[3]}})",
       R"({"spec":{"args":[3]}})"},
      {"an element is changed by its key",
       R"({"spec":{"containers":[{"name":"a","image":"x"},{"name":"b","image":"y"}]}})",
       R"({"spec":{"containers":[{"name":"b","image":"z"}]}})",
       R"({"spec":{"containers":[{"name":"a","image":"x"},{"name":"b","image":"z"}]}})"},
      // As the Kubernetes documentation's example of patching in a second container shows.
      {"a new element becomes the first", R"({"spec":{"containers":[{"name":"a"}]}})",
       R"({"spec":{"containers":[{"name":"n"}]}})", R"({"spec":{"containers":[{"name":"n"},{"name":"a"}]}})"},
      {"an order is followed", R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
       R"({"spec":{"$setElementOrder/containers":[{"name":"b"},{"name":"a"},{"name":"c"}],"containers":[{"name":"c"}]}})",
       R"({"spec":{"containers":[{"name":"b"},{"name":"a"},{"name":"c"}]}})"},
      {"an order alone", R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
       R"({"spec":{"$setElementOrder/containers":[{"name":"b"},{"name":"a"}]}})",
       R"({"spec":{"containers":[{"name":"b"},{"name":"a"}]}})"},
      {"elements that only the server has keep their place",
       R"({"spec":{"containers":[{"name":"a"},{"name":"server"},{"name":"b"}]}})",
       R"({"spec":{"$setElementOrder/containers":[{"name":"a"},{"name":"b"}],"containers":[{"name":"b","image":"x"}]}})",
       R"({"spec":{"containers":[{"name":"a"},{"name":"server"},{"name":"b","image":"x"}]}})"},
      {"$patch delete of an element", R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
       R"({"spec":{"containers":[{"name":"a","$patch":"delete"}]}})", R"({"spec":{"containers":[{"name":"b"}]}})"},
      {"$patch replace of a list", R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
       R"({"spec":{"containers":[{"$patch":"replace"},{"name":"c"}]}})", R"({"spec":{"containers":[{"name":"c"}]}})"},
      {"$patch replace of a map", R"({"spec":{"a":1,"b":2}})", R"({"spec":{"$patch":"replace","c":3}})",
       R"({"spec":{"c":3}})"},
      {"$patch delete of a map", R"({"spec":{"a":1},"b":2})", R"({"spec":{"$patch":"delete"}})",
       R"({"spec":{},"b":2})"},
      {"nested lists merge", R"({"spec":{"containers":[{"name":"a","ports":[{"containerPort":80}]}]}})",
       R"({"spec":{"containers":[{"name":"a","ports":[{"containerPort":80,"name":"http"}]}]}})",
       R"({"spec":{"containers":[{"name":"a","ports":[{"containerPort":80,"name":"http"}]}]}})"},
      {"a set of scalars", R"({"metadata":{"finalizers":["a","b"]}})", R"({"metadata":{"finalizers":["b","c"]}})",
       R"({"metadata":{"finalizers":["a","b","c"]}})"},
      {"$deleteFromPrimitiveList", R"({"metadata":{"finalizers":["a","b"]}})",
       R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["a"]}})", R"({"metadata":{"finalizers":["b"]}})"},
      {"$retainKeys", R"({"spec":{"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1}}}})",
       R"({"spec":{"strategy":{"$retainKeys":["type"],"type":"Recreate"}}})",
       R"({"spec":{"strategy":{"type":"Recreate"}}})"},
      {"directives leave no trace in new parts", R"({})",
       R"({"spec":{"$setElementOrder/containers":[{"name":"a"}],"containers":[{"name":"a","image":null}]}})",
       R"({"spec":{"containers":[{"name":"a"}]}})"},
      {"no merge key", R"({"spec":{"containers":[]}})", R"({"spec":{"containers":[{"image":"x"}]}})",
       "400 does not contain declared merge key: name"},
      {"no objects in a keyed list", R"({})", R"({"spec":{"containers":[1]}})", "400 must hold objects"},
      {"unknown directive", R"({})", R"({"spec":{"$patch":"forget"}})", "400 unknown $patch directive"},
      {"$retainKeys misses a key", R"({})", R"({"spec":{"$retainKeys":["a"],"b":1}})", "400 misses b"},
      {"no object", R"({})", "1", "400 must be an object"},
  };
  for (const Case& c : cases)
    Check(c, ApplyStrategicMergePatch(Parse(c.document), Parse(c.patch), "Pod", &TestMergeKey));
}

// One element may be named any number of times, and each time all of a list inside is looked at.
TEST(StrategicMergePatch, ListsThatAreMergedAgainAndAgainAreBounded) {
  json::array ports;
  for (int i = 0; i < 40'000; ++i) ports.push_back(json::object{{"containerPort", i}});
  const json::value pod =
      json::object{{"spec", json::object{{"containers", json::array{json::object{{"name", "a"}, {"ports", ports}}}}}}};
  const auto patch = [](std::size_t times) -> json::value {
    return json::object{
        {"spec", json::object{{"containers", json::array(times, Parse(R"({"name":"a","ports":[]})"))}}}};
  };
  EXPECT_TRUE(ApplyStrategicMergePatch(pod, patch(10), "Pod", &TestMergeKey).ok());
  const auto refused = ApplyStrategicMergePatch(pod, patch(40'000), "Pod", &TestMergeKey);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, 413);
  EXPECT_NE(refused.error().message.find("name each element of a list once"), std::string::npos);
}

std::size_t path_bytes_asked = 0;

TEST(StrategicMergePatch, LongPathsAreNotLookedUp) {
  const auto count = [](std::string_view, std::string_view path) -> std::string_view {
    path_bytes_asked += path.size();
    return "";
  };
  json::object members;
  for (int i = 0; i < 1000; ++i) members["k" + std::to_string(i)] = json::array();
  const json::value patch = json::object{{std::string(1'000'000, 'p'), members}};
  path_bytes_asked = 0;
  const auto patched = ApplyStrategicMergePatch(json::object(), patch, "Pod", count);
  ASSERT_TRUE(patched.ok());
  EXPECT_EQ(*patched, patch);
  EXPECT_EQ(path_bytes_asked, 0u);
}

}  // namespace
}  // namespace berth::objects
