// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/dynamic_resources/allocator.h"

#include <gtest/gtest.h>

#include "berth/plugins/dynamic_resources/device_testing.h"

namespace berth::plugins {
namespace {

using testing::MakeNode;

constexpr const char* kN1 = "'nodeName': 'n1'";

// Devices a, b, c ... without anything.
std::string Plain(std::initializer_list<const char*> names) {
  std::string out;
  for (const char* name : names) out += (out.empty() ? "{'name': '" : ", {'name': '") + std::string(name) + "'}";
  return out;
}

// With one attribute or more: {"a", "'x': {'int': 1}"}.
std::string Having(const std::vector<std::pair<std::string, std::string>>& devices) {
  std::string out;
  for (const auto& [name, attributes] : devices) {
    out += std::string(out.empty() ? "" : ", ") + "{'name': '" + name + "', 'attributes': {" + attributes + "}}";
  }
  return out;
}

struct Bench {
  framework::Objects objects;
  std::vector<std::shared_ptr<const api::ResourceClaim>> claims;  // to be allocated
  std::int64_t steps_max = 100'000;
  int minor = 36;          // of the release
  bool has_gates = false;  // that 1.35 has off: shared and partitionable devices

  Bench& Release(int of) {
    minor = of;
    return *this;
  }

  Bench& Slice(const std::string& name, const std::string& where, const std::string& devices,
               const std::string& more = "", const std::string& pool = "") {
    objects.Set(MakeSlice(name, where, devices, more, pool));
    return *this;
  }
  Bench& Class(const std::string& name, const std::string& spec) {
    objects.Set(MakeClass(name, spec));
    return *this;
  }
  // A claim that holds devices already.
  Bench& Taken(const std::string& name, const std::string& status) {
    objects.Set(MakeClaim(name, "", status));
    return *this;
  }
  Bench& Want(const std::string& spec) {
    claims.push_back(MakeClaim("claim" + std::to_string(claims.size()), spec));
    return *this;
  }

  // The allocation of each claim, joined by " | ", or why there is none.
  std::string On(const testing::NodeBuilder& builder) {
    Solve(builder);
    using Result = DeviceAllocator::Result;
    switch (answer.result) {
      case Result::kAllocated: break;
      case Result::kNotAllocated: return "none";
      case Result::kFailedOnNode: return "failed: " + answer.message;
      case Result::kError: return "error: " + answer.message;
      case Result::kOutOfSteps: return "out of steps";
    }
    std::string text;
    for (const api::AllocationResult& result : results) text += (text.empty() ? "" : " | ") + Describe(result);
    return text;
  }
  std::string OnN1() { return On(MakeNode("n1").Label("zone", "a")); }

  void Solve(const testing::NodeBuilder& builder) {
    if (objects.Of<api::DeviceClass>().Find("c") == nullptr) objects.Set(MakeClass("c"));
    framework::Release release = framework::ReleaseOf(minor);
    release.devices.has_consumable_capacity |= has_gates;
    release.devices.has_partitionable_devices |= has_gates;
    const framework::DeviceRules& rules = release.devices;
    DeviceState state(objects, release);
    std::vector<ResolvedClaim> resolved;
    std::vector<const ResolvedClaim*> wanted;
    for (const auto& claim : claims) resolved.push_back(ResolveClaim(claim, state.class_store(), state.selectors));
    for (const ResolvedClaim& claim : resolved) wanted.push_back(&claim);
    DeviceAllocator allocator(state.claims, steps_max, rules);
    const auto node = builder.Build();
    answer = allocator.Allocate(state.slices.PoolsOf(node), wanted);
    if (answer.result != DeviceAllocator::Result::kAllocated) return;
    results = allocator.Results(node->metadata.name, 7);
    for (std::size_t i = 0; i < claims.size(); ++i) score += allocator.PriorityScore(i);
    // Searching again finds the same.
    EXPECT_EQ(allocator.Allocate(state.slices.PoolsOf(node), wanted).result, DeviceAllocator::Result::kAllocated);
    EXPECT_EQ(allocator.Results(node->metadata.name, 7), results);
  }

  DeviceAllocator::Answer answer;
  std::vector<api::AllocationResult> results;
  std::int64_t score = 0;
};

TEST(DeviceAllocator, Counts) {
  const std::string three = Plain({"a", "b", "c"});
  EXPECT_EQ(Bench().Slice("s", kN1, three).Want(Requests(Exactly(2))).OnN1(), "r:s/a r:s/b");
  EXPECT_EQ(Bench().Slice("s", kN1, three).Want(Requests(Exactly(4))).OnN1(), "none");
  EXPECT_EQ(Bench().Slice("s", "'nodeName': 'n2'", three).Want(Requests(Exactly(1))).OnN1(), "none");
  EXPECT_EQ(Bench().Slice("s", kN1, three).Want(Requests(All())).OnN1(), "r:s/a r:s/b r:s/c");
  // All of nothing is nothing to be had.
  EXPECT_EQ(Bench().Want(Requests(All())).OnN1(), "none");
  EXPECT_EQ(Bench().Slice("s", kN1, three).Want(Requests(Exactly(1) + "," + Exactly(1, "", "q"))).OnN1(),
            "r:s/a q:s/b");
  EXPECT_EQ(Bench().Slice("s", kN1, three).Want(Requests(Exactly(2))).Want(Requests(Exactly(1))).OnN1(),
            "r:s/a r:s/b | r:s/c");
  EXPECT_EQ(Bench().Slice("s", kN1, three).Want(Requests(Exactly(33))).OnN1(),
            "error: claim default/claim0: number of requested devices 33 exceeds the claim limit of 32");
  EXPECT_EQ(Bench().Slice("s", kN1, three).Want("").OnN1(), "");
}

// What 1.37 does otherwise, switch by switch (docs/reference/versions.md).
TEST(DeviceAllocator, ReleasesDiffer) {
  const auto each = [](Bench bench, const std::string& in_136, const std::string& in_137) {
    EXPECT_EQ(Bench(bench).Release(36).OnN1(), in_136);
    EXPECT_EQ(Bench(bench).Release(37).OnN1(), in_137);
  };
  const std::string distinct = Requests(Exactly(3)) + ", 'constraints': [{'distinctAttribute': 'd/x'}]";
  each(Bench()
           .Slice("s", kN1, Having({{"a", "'x': {'int': 1}"}, {"b", "'x': {'int': 2}"}, {"c", "'x': {'int': 1}"}}))
           .Want(distinct),
       "r:s/a r:s/b r:s/c", "none");

  each(Bench().Slice("s", kN1, Plain({"a"})).Want(Requests(Exactly(30) + "," + Exactly(3, "", "q"))),
       "error: claim default/claim0: number of requested devices 33 exceeds the claim limit of 32",
       "error: claim default/claim0, request q: adding 3 devices exceeds the claim limit of 32, with 30 already "
       "accounted for");

  each(
      Bench()
          .Slice("s", kN1, Having({{"a", ""}}))
          .Want(Requests(Exactly(1, Cel(R"(device.attributes[\u0022d\u0022].n == 3)")))),
      "error: claim default/claim0: selector #0: CEL runtime error: no such key: n",
      "error: claim default/claim0: selector #0 on device d/s/a: CEL runtime error: no such key: n. consider using CEL "
      "optional chaining (.? followed by orValue()) or guarding the check with has() for optional fields");

  const std::string steps =
      "{'name': 'a', 'allowMultipleAllocations': true, 'capacity': {'m': {'value': '9Ei', 'requestPolicy': {'default': "
      "'1', 'validRange': {'min': '0', 'step': '5Ei'}}}}}";
  const auto asks = [](const std::string& amount) {
    return Requests(Exactly(1, "'capacity': {'requests': {'m': '" + amount + "'}}"));
  };
  each(Bench().Slice("s", kN1, steps).Want(asks("7Ei")), "none",
       "error: claim default/claim0, request r: checking capacity for device d/s/a: capacity \"m\": capacity request "
       "cannot be represented in the device's range arithmetic: rounding request 7Ei up to the next step passes "
       "MaxInt64");
}

// What gates that are off in 1.34 and 1.35 leave out.
TEST(DeviceAllocator, OlderReleasesKnowLess) {
  const auto each = [](Bench bench, const std::string& in_134, const std::string& in_135, const std::string& in_136) {
    EXPECT_EQ(Bench(bench).Release(34).OnN1(), in_134);
    EXPECT_EQ(Bench(bench).Release(35).OnN1(), in_135);
    EXPECT_EQ(Bench(bench).Release(36).OnN1(), in_136);
  };
  const std::string one = Requests(Exactly(1));
  const std::string taint = "{'name': 'a', 'taints': [{'key': 'k', 'value': 'v', 'effect': 'NoSchedule'}]}";
  each(Bench().Slice("s", kN1, taint).Want(one), "r:s/a", "r:s/a", "none");

  const std::string conditions =
      "{'name': 'a', 'bindingConditions': ['ready'], 'bindingFailureConditions': ['failed']}";
  each(Bench().Slice("s", kN1, conditions).Want(one), "none", "none", "r:s/a");

  const std::string shared = "{'name': 'a', 'allowMultipleAllocations': true, 'capacity': {'m': {'value': '10'}}}";
  const std::string ask = Requests(Exactly(1, "'capacity': {'requests': {'m': '4'}}"));
  const std::string refusal =
      "error: claim default/claim0, request r: has capacity requests, but the DRAConsumableCapacity feature is "
      "disabled";
  each(Bench().Slice("s", kN1, shared).Want(ask), refusal, "r:s/a", "r:s/a*");
  each(Bench().Slice("s", kN1, shared).Want(ask).Want(ask), refusal, "none", "r:s/a* | r:s/a*");

  const std::string distinct = one + ", 'constraints': [{'distinctAttribute': 'd/n'}]";
  each(Bench().Slice("s", kN1, Having({{"a", "'n': {'int': 1}"}})).Want(distinct), "r:s/a",
       "error: claim default/claim0, constraint #0: empty constraint (unsupported constraint type?)", "r:s/a");

  const std::string half =
      "{'name': 'b', 'consumesCounters': [{'counterSet': 'card', 'counters': {'x': {'value': '1'}}}]}";
  const std::string two = "'pool': {'name': 's', 'generation': 1, 'resourceSliceCount': 2}";
  Bench parts;
  parts.Slice("sets", kN1, "", two + ", 'sharedCounters': [{'name': 'card', 'counters': {'x': {'value': '1'}}}]");
  each(Bench(parts).Slice("parts", kN1, half, two).Want(one), "none", "none", "r:s/b");
  // The devices without counters remain.
  each(Bench(parts).Slice("parts", kN1, half + "," + Plain({"c"}), two).Want(one), "r:s/c", "r:s/c", "r:s/b");

  // After the first device of "all" older releases go on with the first alternative.
  const std::string alternatives =
      "{'name': 'r', 'firstAvailable': [{'name': 'x', 'deviceClassName': 'c', 'allocationMode': 'ExactCount', 'count': "
      "3}, {'name': 'y', 'deviceClassName': 'c', 'allocationMode': 'All'}]}";
  each(Bench().Slice("s", kN1, Plain({"a", "b"})).Want(Requests(alternatives)), "none", "none", "r/y:s/a r/y:s/b");

  const std::string three = "'pool': {'name': 's', 'generation': 1, 'resourceSliceCount': 3}";
  each(Bench().Slice("s", kN1, Plain({"a"}), three).Want(one), "r:s/a", "none", "none");
  Bench twice;
  twice.Slice("s1", kN1, Plain({"a"}), two).Slice("s2", kN1, Plain({"a"}), two);
  each(twice.Want(one), "error: pool s is invalid: duplicate device name a",
       "failed: invalid resource pools were encountered", "failed: invalid resource pools were encountered");
}

// What 1.38 does otherwise.
TEST(DeviceAllocator, NewerReleasesRefuseMore) {
  const auto each = [](Bench bench, const std::string& in_137, const std::string& in_138) {
    EXPECT_EQ(Bench(bench).Release(37).OnN1(), in_137);
    EXPECT_EQ(Bench(bench).Release(38).OnN1(), in_138);
  };
  const std::string three = "'pool': {'name': 's', 'generation': 1, 'resourceSliceCount': 3}";
  const std::string updated =
      "claim default/claim0, request r: asks for all devices, but resource pool d/s is currently being updated";
  each(Bench().Slice("s", kN1, Plain({"a"}), three).Want(Requests(All())), "error: " + updated, "failed: " + updated);

  const auto capacity = [](const std::string& policy) {
    return "{'name': 'a', 'allowMultipleAllocations': true, 'capacity': {'m': {'value': '10', 'requestPolicy': {" +
           policy + "}}}}";
  };
  const auto ask = [](const std::string& amounts) {
    return Requests(Exactly(1, "'capacity': {'requests': {" + amounts + "}}"));
  };
  each(Bench().Slice("s", kN1, capacity("")).Want(ask("'d/m': '4'")), "none", "r:s/a*");
  each(Bench().Slice("s", kN1, capacity("")).Want(ask("'d/m': '4', 'm': '3'")), "none",
       "error: claim default/claim0, request r: checking capacity for device d/s/a: capacity \"m\" requested both as "
       "\"m\" and as \"d/m\"");
  const std::string range = "'default': '1', 'validRange': {'min': '1'}";
  each(
      Bench().Slice("s", kN1, capacity(range)).Want(ask("'m': '-1'")), "r:s/a*",
      "error: claim default/claim0, request r: checking capacity for device d/s/a: capacity \"d/m\": capacity value is "
      "negative: request -1");
  const std::string share = ", 'shareID': 'u', 'consumedCapacity': {'m': '1'}";
  each(Bench().Slice("s", kN1, Plain({"a"})).Taken("x", Allocated("s", {"a"}, share)).Want(Requests(Exactly(1))),
       "r:s/a", "none");
}

TEST(DeviceAllocator, StepsMayBeFractionsFrom138On) {
  const auto consumed = [](int minor, const std::string& amount) -> std::int64_t {
    Bench bench;
    bench.Slice("s", kN1,
                "{'name': 'a', 'allowMultipleAllocations': true, 'capacity': {'m': {'value': '2', 'requestPolicy': "
                "{'default': '1', 'validRange': {'min': '500m', 'max': '2', 'step': '500m'}}}}}");
    bench.Release(minor).Want(Requests(Exactly(1, "'capacity': {'requests': {'m': '" + amount + "'}}")));
    if (bench.OnN1() != "r:s/a*") return -1;
    return bench.results[0].results[0].consumed_capacity.front().second.MilliValue();
  };
  EXPECT_EQ(consumed(37, "1200m"), 2000);
  EXPECT_EQ(consumed(38, "1200m"), 1500);
  EXPECT_EQ(consumed(38, "100m"), 500);
  EXPECT_EQ(consumed(38, "2100m"), -1) << "past the largest";
}

TEST(DeviceAllocator, DevicesInUse) {
  Bench bench;
  bench.Slice("s", kN1, Plain({"a", "b", "c"})).Taken("x", Allocated("s", {"a"}));
  // Devices with admin access are not taken.
  bench.Taken("y", Allocated("s", {"b"}, ", 'adminAccess': true"));
  EXPECT_EQ(Bench(bench).Want(Requests(Exactly(2))).OnN1(), "r:s/b r:s/c");
  EXPECT_EQ(Bench(bench).Want(Requests(Exactly(3))).OnN1(), "none");
  EXPECT_EQ(Bench(bench).Want(Requests(All())).OnN1(), "none");
  EXPECT_EQ(Bench(bench).Want(Requests(Exactly(3, "'adminAccess': true"))).OnN1(), "r:s/a! r:s/b! r:s/c!");
  // ... but only once for a claim.
  EXPECT_EQ(Bench(bench).Want(Requests(Exactly(4, "'adminAccess': true"))).OnN1(), "none");
}

TEST(DeviceAllocator, Selectors) {
  Bench bench;
  bench.Slice("s", kN1, Having({{"a", "'n': {'int': 1}"}, {"b", "'n': {'int': 2}"}, {"c", ""}}));
  const auto want = [&](const std::string& class_name, const std::string& selectors) {
    return Bench(bench).Want(Requests("{'name': 'r', 'exactly': {'deviceClassName': '" + class_name +
                                      "', 'allocationMode': 'ExactCount', 'count': 1" + selectors + "}}"));
  };
  // The quotes of CEL are written as \u0022 inside JSON here.
  const auto cel = [](const std::string& expression) { return ", " + Cel(expression); };
  EXPECT_EQ(want("c", cel(R"(device.driver == \u0022d\u0022)")).OnN1(), "r:s/a");
  EXPECT_EQ(want("c", cel(R"(device.driver == \u0022other\u0022)")).OnN1(), "none");
  EXPECT_EQ(want("c", cel(R"(device.attributes[\u0022d\u0022].n == 2)")).OnN1(), "r:s/b");
  EXPECT_EQ(want("c", cel(R"(device.attributes[\u0022d\u0022].n == 3)")).OnN1(),
            "error: claim default/claim0: selector #0: CEL runtime error: no such key: n");
  EXPECT_EQ(want("absent", "").OnN1(),
            "error: claim default/claim0, request r: could not retrieve device class absent: "
            "deviceclass.resource.k8s.io \"absent\" not found");
}

TEST(DeviceAllocator, SelectorsOfTheClassComeFirst) {
  Bench bench;
  bench.Slice("s", kN1, Having({{"a", "'n': {'int': 1}"}, {"b", "'n': {'int': 2}"}}));
  bench.Class("c", Cel(R"(device.attributes[\u0022d\u0022].n == 2)"));
  EXPECT_EQ(Bench(bench).Want(Requests(Exactly(1))).OnN1(), "r:s/b");
  EXPECT_EQ(Bench(bench).Want(Requests(All())).OnN1(), "r:s/b");
  bench.Class("c", Cel("device.nope"));
  const std::string error = Bench(bench).Want(Requests(Exactly(1))).OnN1();
  EXPECT_TRUE(error.starts_with("error: class c: selector #0: CEL compile error: compilation failed: ")) << error;
}

TEST(DeviceAllocator, FirstAvailable) {
  const auto list = [](const std::string& alternatives) {
    return "{'name': 'r', 'firstAvailable': [" + alternatives + "]}";
  };
  const auto sub = [](const std::string& name, int count) {
    return "{'name': '" + name +
           "', 'deviceClassName': 'c', 'allocationMode': 'ExactCount', 'count': " + std::to_string(count) + "}";
  };
  Bench bench;
  bench.Slice("s", kN1, Plain({"a", "b"}));
  Bench first = Bench(bench).Want(Requests(list(sub("x", 2) + "," + sub("y", 1))));
  EXPECT_EQ(first.OnN1(), "r/x:s/a r/x:s/b");
  EXPECT_EQ(first.score, 8);
  Bench second = Bench(bench).Want(Requests(list(sub("x", 3) + "," + sub("y", 1))));
  EXPECT_EQ(second.OnN1(), "r/y:s/a");
  EXPECT_EQ(second.score, 7);
  // What comes later can make an earlier request fall back.
  Bench third = Bench(bench).Want(Requests(list(sub("x", 2) + "," + sub("y", 1)) + "," + Exactly(1, "", "q")));
  EXPECT_EQ(third.OnN1(), "r/y:s/a q:s/b");
  EXPECT_EQ(third.score, 7);
  EXPECT_EQ(Bench(bench).Want(Requests(list(sub("x", 3) + "," + sub("y", 4)))).OnN1(), "none");
  // An alternative that is too large for a claim leaves room for a smaller one.
  EXPECT_EQ(Bench(bench).Want(Requests(list(sub("x", 40) + "," + sub("y", 2)))).OnN1(), "r/y:s/a r/y:s/b");
}

TEST(DeviceAllocator, MatchAttribute) {
  Bench bench;
  bench.Slice("s", kN1,
              Having({{"a", "'n': {'int': 1}"}, {"b", "'n': {'int': 2}"}, {"c", "'d/n': {'int': 2}"}, {"x", ""}}));
  const auto constraint = [](const std::string& more) {
    return ", 'constraints': [{'matchAttribute': 'd/n'" + more + "}]";
  };
  EXPECT_EQ(Bench(bench).Want(Requests(Exactly(2)) + constraint("")).OnN1(), "r:s/b r:s/c");
  EXPECT_EQ(Bench(bench).Want(Requests(Exactly(3)) + constraint("")).OnN1(), "none");
  EXPECT_EQ(Bench(bench).Want(Requests(Exactly(2)) + constraint(", 'requests': ['other']")).OnN1(), "r:s/a r:s/b");
  EXPECT_EQ(Bench(bench).Want(Requests(All()) + constraint("")).OnN1(),
            "error: claim default/claim0, request r: cannot add device d/s/b because a claim constraint would not be "
            "satisfied");
  EXPECT_EQ(Bench(bench).Want(Requests(Exactly(1)) + ", 'constraints': [{}]").OnN1(),
            "error: claim default/claim0, constraint #0: empty constraint (unsupported constraint type?)");
}

TEST(DeviceAllocator, MatchAttributeByKind) {
  const std::pair<const char*, const char*> cases[] = {
      {"{'string': 'v'}", "r:s/a r:s/b"},
      {"{'bool': true}", "r:s/a r:s/b"},
      {"{'version': '1.0.0'}", "r:s/a r:s/b"},
      {"{'ints': [1]}", "none"},  // lists are never equal
  };
  for (const auto& [value, want] : cases) {
    Bench bench;
    const std::string n = "'n': " + std::string(value);
    bench.Slice("s", kN1, Having({{"a", n}, {"b", n}}));
    EXPECT_EQ(bench.Want(Requests(Exactly(2)) + ", 'constraints': [{'matchAttribute': 'd/n'}]").OnN1(), want) << value;
  }
}

TEST(DeviceAllocator, DistinctAttribute) {
  Bench bench;
  bench.Slice("s", kN1, Having({{"a", "'n': {'int': 1}"}, {"b", "'n': {'int': 1}"}, {"c", "'n': {'int': 2}"}}));
  const std::string distinct = ", 'constraints': [{'distinctAttribute': 'd/n'}]";
  EXPECT_EQ(Bench(bench).Want(Requests(Exactly(2)) + distinct).OnN1(), "r:s/a r:s/c");
  EXPECT_EQ(Bench(bench).Want(Requests(Exactly(1) + "," + Exactly(1, "", "q")) + distinct).OnN1(), "r:s/a q:s/c");
  EXPECT_EQ(
      Bench(bench).Want(Requests(Exactly(1) + "," + Exactly(1, "", "q") + "," + Exactly(1, "", "t")) + distinct).OnN1(),
      "none");
  // Upstream's oddity: within a request a device is compared with the one before it alone.
  Bench odd;
  odd.Slice("s", kN1, Having({{"a", "'n': {'int': 1}"}, {"b", "'n': {'int': 2}"}, {"c", "'n': {'int': 1}"}}));
  EXPECT_EQ(odd.Want(Requests(Exactly(3)) + distinct).OnN1(), "r:s/a r:s/b r:s/c");
}

// What 1.36 does otherwise where the gates of 1.35 are on.
TEST(DeviceAllocator, OlderReleasesWithTheirGates) {
  const auto each = [](Bench bench, const std::string& in_135, const std::string& in_136) {
    bench.has_gates = true;
    EXPECT_EQ(Bench(bench).Release(35).OnN1(), in_135);
    EXPECT_EQ(Bench(bench).Release(36).OnN1(), in_136);
  };
  const std::string counters = ", 'consumesCounters': [{'counterSet': 'card', 'counters': {'slots': {'value': '1'}}}]";
  const std::string shared =
      ", 'allowMultipleAllocations': true, 'capacity': {'bw': {'value': '4', 'requestPolicy': {'default': '1'}}}";
  const std::string pool = "'pool': {'name': 's', 'generation': 1, 'resourceSliceCount': 2}";
  const auto device = [](const std::string& name, int n, const std::string& more) {
    return "{'name': '" + name + "', 'attributes': {'n': {'int': " + std::to_string(n) + "}}" + more + "}";
  };
  const auto partitioned = [&](const std::string& devices) {
    Bench bench;
    bench.Slice("sets", kN1, "",
                pool + ", 'sharedCounters': [{'name': 'card', 'counters': {'slots': {'value': '1'}}}]");
    bench.Slice("devices", kN1, devices, pool);
    return bench;
  };
  // A request has several shares of one device.
  each(Bench().Slice("s", kN1, device("a", 1, shared)).Want(Requests(Exactly(3))), "r:s/a* r:s/a* r:s/a*", "none");
  // The counters of a device that a constraint refuses are lost for the search.
  each(partitioned(device("x", 1, "") + "," + device("y", 2, counters) + "," + device("z", 1, counters))
           .Want(Requests(Exactly(1) + "," + Exactly(1, "", "q")) + ", 'constraints': [{'matchAttribute': 'd/n'}]"),
       "none", "r:s/x q:s/z");
  // Shares that are in use have not taken the device's counters.
  each(partitioned(device("a", 1, shared + counters) + "," + device("b", 2, counters))
           .Taken("x", Allocated("s", {"a"}, ", 'shareID': 'u', 'consumedCapacity': {'bw': '4'}"))
           .Want(Requests(Exactly(1))),
       "r:s/b", "none");
}

TEST(DeviceAllocator, SmallAllocatorSeesNoSharedDevices) {
  const std::string device = "{'name': 'a', 'allowMultipleAllocations': true}";
  Bench bench;
  bench.Slice("s", kN1, device).Want(Requests(Exactly(1, Cel("device.allowMultipleAllocations"))));
  EXPECT_EQ(Bench(bench).Release(34).OnN1(), "r:s/a");
  EXPECT_EQ(Bench(bench).Release(35).OnN1(), "none");
  EXPECT_EQ(Bench(bench).Release(36).OnN1(), "r:s/a*");
}

TEST(DeviceAllocator, OldDistinctAttributeNeverCompares) {
  Bench bench;
  bench.Slice("s", kN1, Having({{"a", "'n': {'int': 1}"}, {"b", "'n': {'int': 1}"}}));
  bench.Want(Requests(Exactly(1) + "," + Exactly(1, "", "q")) + ", 'constraints': [{'distinctAttribute': 'd/n'}]");
  EXPECT_EQ(Bench(bench).Release(34).OnN1(), "r:s/a q:s/b");
  EXPECT_EQ(Bench(bench).Release(36).OnN1(), "none");
}

TEST(DeviceAllocator, DistinctAttributeForgetsWhatWasTakenBack) {
  const auto device = [](const std::string& name, int n, const std::string& kind) {
    return std::pair(name, "'n': {'int': " + std::to_string(n) + "}, 'k': {'string': '" + kind + "'}");
  };
  const auto kind = [](const std::string& of) {
    return Cel(R"(device.attributes[\u0022d\u0022].k == \u0022)" + of + R"(\u0022)");
  };
  Bench bench;
  bench.Slice("s", kN1, Having({device("a", 1, "x"), device("b", 2, "x"), device("d", 4, "y"), device("e", 1, "z")}));
  bench.Want(Requests(Exactly(1, kind("x")) + "," + Exactly(1, Cel(R"(device.attributes[\u0022d\u0022].n > 1)"), "q") +
                      "," + Exactly(1, kind("z"), "t")) +
             ", 'constraints': [{'distinctAttribute': 'd/n'}]");
  EXPECT_EQ(bench.OnN1(), "r:s/b q:s/d t:s/e");
}

TEST(DeviceAllocator, Taints) {
  const auto tainted = [](const std::string& effect) {
    return "{'name': 'a', 'taints': [{'key': 'k', 'value': 'v', 'effect': '" + effect + "'}]}";
  };
  const auto with = [&](const std::string& effect, const std::string& tolerations) {
    Bench bench;
    bench.Slice("s", kN1, tainted(effect));
    return bench.Want(Requests(Exactly(1, "'tolerations': [" + tolerations + "]"))).OnN1();
  };
  const std::pair<std::pair<const char*, const char*>, const char*> cases[] = {
      {{"NoSchedule", ""}, "none"},
      {{"NoExecute", ""}, "none"},
      {{"None", ""}, "r:s/a"},
      {{"NoSchedule", "{'key': 'k', 'operator': 'Exists'}"}, "r:s/a"},
      {{"NoSchedule", "{'operator': 'Exists'}"}, "r:s/a"},
      {{"NoSchedule", "{'key': 'k', 'operator': 'Equal', 'value': 'v'}"}, "r:s/a"},
      {{"NoSchedule", "{'key': 'k', 'value': 'v'}"}, "r:s/a"},
      {{"NoSchedule", "{'key': 'k', 'operator': 'Equal', 'value': 'w'}"}, "none"},
      {{"NoSchedule", "{'key': 'k', 'operator': 'Exists', 'effect': 'NoExecute'}"}, "none"},
      {{"NoExecute", "{'key': 'k', 'operator': 'Exists', 'effect': 'NoExecute'}"}, "r:s/a"},
      {{"NoSchedule", "{'key': 'k', 'operator': 'Nope'}"}, "none"},
  };
  for (const auto& [taint, want] : cases) EXPECT_EQ(with(taint.first, taint.second), want) << taint.second;
}

TEST(DeviceAllocator, SharedCounters) {
  const auto part = [](const std::string& name, int slots) {
    return "{'name': '" + name + "', 'consumesCounters': [{'counterSet': 'card', 'counters': {'slots': {'value': '" +
           std::to_string(slots) + "'}}}]}";
  };
  const std::string pool = "'pool': {'name': 's', 'generation': 1, 'resourceSliceCount': 2}";
  const std::string sets = pool + ", 'sharedCounters': [{'name': 'card', 'counters': {'slots': {'value': '4'}}}]";
  Bench bench;
  bench.Slice("sets", kN1, "", sets);
  bench.Slice("parts", kN1, part("whole", 4) + "," + part("half", 2) + "," + part("other", 2), pool);
  EXPECT_EQ(Bench(bench).Want(Requests(Exactly(1))).OnN1(), "r:s/whole");
  EXPECT_EQ(Bench(bench).Want(Requests(Exactly(2))).OnN1(), "r:s/half r:s/other");
  EXPECT_EQ(Bench(bench).Want(Requests(Exactly(3))).OnN1(), "none");
  EXPECT_EQ(Bench(bench).Want(Requests(Exactly(1))).Want(Requests(Exactly(1))).OnN1(), "r:s/half | r:s/other");
  EXPECT_EQ(Bench(bench).Taken("x", Allocated("s", {"half"})).Want(Requests(Exactly(1))).OnN1(), "r:s/other");
  EXPECT_EQ(Bench(bench).Taken("x", Allocated("s", {"whole"})).Want(Requests(Exactly(1))).OnN1(), "none");
  // As upstream (kubernetes/kubernetes#140729): admin access takes counters while it is being allocated ...
  EXPECT_EQ(Bench(bench).Want(Requests(Exactly(2, "'adminAccess': true"))).OnN1(), "r:s/half! r:s/other!");
  EXPECT_EQ(Bench(bench).Want(Requests(Exactly(3, "'adminAccess': true"))).OnN1(), "none");
  const Bench used = Bench(bench).Taken("x", Allocated("s", {"whole"}));
  EXPECT_EQ(Bench(used).Want(Requests(Exactly(1, "'adminAccess': true"))).OnN1(), "none") << "not even its own again";
  // ... and none once it is allocated.
  const std::string admin = Allocated("s", {"half", "other"}, ", 'adminAccess': true");
  EXPECT_EQ(Bench(bench).Taken("x", admin).Want(Requests(Exactly(1))).OnN1(), "r:s/whole");
  // A device that consumes what is not there makes the pool invalid.
  Bench invalid;
  invalid.Slice("sets", kN1, "", sets);
  invalid.Slice("parts", kN1, "{'name': 'a', 'consumesCounters': [{'counterSet': 'no', 'counters': {}}]}", pool);
  EXPECT_EQ(invalid.Want(Requests(Exactly(1))).OnN1(), "failed: invalid resource pools were encountered");
}

TEST(DeviceAllocator, CountersOfSharedDevices) {
  const auto device = [](const std::string& name, int n, const std::string& more) {
    return "{'name': '" + name + "', 'attributes': {'n': {'int': " + std::to_string(n) +
           "}}, 'consumesCounters': [{'counterSet': 'card', 'counters': {'slots': {'value': '1'}}}]" + more + "}";
  };
  const std::string shared =
      ", 'allowMultipleAllocations': true, 'capacity': {'bw': {'value': '4', 'requestPolicy': "
      "{'default': '1'}}}";
  const std::string pool = "'pool': {'name': 's', 'generation': 1, 'resourceSliceCount': 2}";
  Bench bench;
  bench.Slice("sets", kN1, "", pool + ", 'sharedCounters': [{'name': 'card', 'counters': {'slots': {'value': '1'}}}]");
  bench.Slice("devices", kN1, device("a", 1, shared) + "," + device("b", 2, ""), pool);
  // The first share takes the counters for all.
  EXPECT_EQ(Bench(bench).Want(Requests(Exactly(1))).Want(Requests(Exactly(1))).OnN1(), "r:s/a* | r:s/a*");
  // A share that was taken back does not spare the next one its counters: "a" and "b" do not go together.
  const auto is = [](int n) { return Cel(R"(device.attributes[\u0022d\u0022].n == )" + std::to_string(n)); };
  const auto sub = [&](const std::string& name, int n) {
    return "{'name': '" + name + "', 'deviceClassName': 'c', 'allocationMode': 'ExactCount', 'count': 1, " + is(n) +
           "}";
  };
  EXPECT_EQ(Bench(bench)
                .Want(Requests("{'name': 'r', 'firstAvailable': [" + sub("p", 1) + "," + sub("q", 2) + "]}, " +
                               Exactly(1, is(1), "t")) +
                      ", 'constraints': [{'distinctAttribute': 'd/n'}]")
                .OnN1(),
            "none");
}

TEST(DeviceAllocator, AnOverdrawnPoolGivesNothing) {
  const std::string pool = "'pool': {'name': 's', 'generation': 1, 'resourceSliceCount': 2}";
  const auto part = [](const std::string& name, const std::string& counter, int amount) {
    return "{'name': '" + name + "', 'consumesCounters': [{'counterSet': 'card', 'counters': {'" + counter +
           "': {'value': '" + std::to_string(amount) + "'}}}]}";
  };
  Bench bench;
  bench.Slice("sets", kN1, "",
              pool + ", 'sharedCounters': [{'name': 'card', 'counters': {'x': {'value': '1'}, 'y': {'value': '5'}}}]");
  bench.Slice("parts", kN1, part("taken", "x", 2) + "," + part("free", "y", 1), pool);
  EXPECT_EQ(Bench(bench).Want(Requests(Exactly(1))).OnN1(), "r:s/free");
  EXPECT_EQ(Bench(bench).Taken("t", Allocated("s", {"taken"})).Want(Requests(Exactly(1))).OnN1(), "none");
}

TEST(DeviceAllocator, ConsumableCapacity) {
  const auto shared = [](const std::string& policy) {
    return "{'name': 'a', 'allowMultipleAllocations': true, 'capacity': {'bw': {'value': '10'" + policy + "}}}";
  };
  const auto ask = [](const std::string& amount) {
    return Requests(Exactly(1, "'capacity': {'requests': {'bw': '" + amount + "'}}"));
  };
  Bench bench;
  bench.Slice("s", kN1, shared(""));
  Bench two = Bench(bench).Want(ask("4")).Want(ask("6"));
  EXPECT_EQ(two.OnN1(), "r:s/a* | r:s/a*");
  EXPECT_NE(two.results[0].results[0].share_id, two.results[1].results[0].share_id);
  EXPECT_EQ(two.results[1].results[0].consumed_capacity.front().second.Value(), 6);
  EXPECT_EQ(Bench(bench).Want(ask("4")).Want(ask("7")).OnN1(), "none");
  // Who asks for no amount gets all.
  EXPECT_EQ(Bench(bench).Want(Requests(Exactly(1))).Want(ask("1")).OnN1(), "none");
  EXPECT_EQ(Bench(bench).Want(Requests(Exactly(1, "'capacity': {'requests': {'other': '1'}}"))).OnN1(), "none");
  const std::string share = ", 'shareID': 'u', 'consumedCapacity': {'bw': '7'}";
  EXPECT_EQ(Bench(bench).Taken("x", Allocated("s", {"a"}, share)).Want(ask("3")).OnN1(), "r:s/a*");
  EXPECT_EQ(Bench(bench).Taken("x", Allocated("s", {"a"}, share)).Want(ask("4")).OnN1(), "none");
  // Devices that cannot be shared have their capacity as well.
  Bench exclusive;
  exclusive.Slice("s", kN1, "{'name': 'a', 'capacity': {'bw': {'value': '10'}}}");
  EXPECT_EQ(Bench(exclusive).Want(ask("10")).OnN1(), "r:s/a");
  EXPECT_EQ(Bench(exclusive).Want(ask("11")).OnN1(), "none");
}

TEST(DeviceAllocator, RequestPolicies) {
  const auto consumed = [](const std::string& policy, const std::string& amount) -> std::string {
    Bench bench;
    bench.Slice("s", kN1,
                "{'name': 'a', 'allowMultipleAllocations': true, 'capacity': {'bw': {'value': '10', "
                "'requestPolicy': {" +
                    policy + "}}}}");
    bench.Want(Requests(Exactly(1, amount.empty() ? "" : "'capacity': {'requests': {'bw': '" + amount + "'}}")));
    if (bench.OnN1() != "r:s/a*") return "none";
    return std::to_string(bench.results[0].results[0].consumed_capacity.front().second.Value());
  };
  const std::string range = "'default': '2', 'validRange': {'min': '2', 'max': '8', 'step': '3'}";
  const std::string values = "'default': '1', 'validValues': ['1', '5']";
  const std::tuple<std::string, const char*, const char*> cases[] = {
      {"'default': '2'", "", "2"},
      {"'default': '2'", "7", "7"},
      {range, "", "2"},
      {range, "1", "2"},
      {range, "3", "5"},
      {range, "5", "5"},
      {range, "6", "8"},
      {range, "9", "none"},
      {values, "", "1"},
      {values, "2", "5"},
      {values, "5", "5"},
      {values, "6", "none"},
      {"'validRange': {'min': '1', 'step': '0'}", "2", "none"},
  };
  for (const auto& [policy, amount, want] : cases) EXPECT_EQ(consumed(policy, amount), want) << policy << amount;
}

TEST(DeviceAllocator, Pools) {
  const auto pool = [](int generation, int count) {
    return "'pool': {'name': 's', 'generation': " + std::to_string(generation) +
           ", 'resourceSliceCount': " + std::to_string(count) + "}";
  };
  const auto run = [&](const std::string& one, const std::string& two, const std::string& request) {
    Bench bench;
    bench.Slice("s1", kN1, Plain({"a"}), one).Slice("s2", kN1, Plain({"b"}), two);
    return bench.Want(Requests(request)).OnN1();
  };
  EXPECT_EQ(run(pool(1, 2), pool(1, 2), Exactly(2)), "r:s/a r:s/b");
  // Only the newest generation counts.
  EXPECT_EQ(run(pool(2, 1), pool(1, 1), Exactly(1)), "r:s/a");
  EXPECT_EQ(run(pool(1, 1), pool(2, 1), Exactly(1)), "r:s/b");
  EXPECT_EQ(run(pool(1, 1), pool(2, 2), Exactly(1)), "none");
  EXPECT_EQ(run(pool(1, 3), pool(1, 3), Exactly(1)), "none");
  EXPECT_EQ(run(pool(1, 3), pool(1, 3), All()),
            "error: claim default/claim0, request r: asks for all devices, but resource pool d/s is currently being "
            "updated");
  Bench twice;
  twice.Slice("s1", kN1, Plain({"a"}), pool(1, 2)).Slice("s2", kN1, Plain({"a"}), pool(1, 2));
  EXPECT_EQ(Bench(twice).Want(Requests(Exactly(1))).OnN1(), "failed: invalid resource pools were encountered");
  EXPECT_EQ(Bench(twice).Want(Requests(All())).OnN1(),
            "error: claim default/claim0, request r: asks for all devices, but resource pool d/s is currently invalid");
  // Slices of other nodes make a pool complete, or show that it is being replaced.
  Bench split;
  split.Slice("s1", kN1, Plain({"a"}), pool(1, 2)).Slice("s2", "'nodeName': 'n2'", Plain({"b"}), pool(1, 2));
  EXPECT_EQ(split.Want(Requests(Exactly(1))).OnN1(), "r:s/a");
  Bench replaced;
  replaced.Slice("s1", kN1, Plain({"a"}), pool(1, 2)).Slice("s2", "'nodeName': 'n2'", Plain({"b"}), pool(2, 1));
  EXPECT_EQ(replaced.Want(Requests(Exactly(1))).OnN1(), "none");
}

TEST(DeviceAllocator, PoolsGoByNameAndThoseToBePreparedLast) {
  Bench bench;
  bench.Slice("p", kN1, Plain({"x"})).Slice("a", kN1, "{'name': 'y', 'bindingConditions': ['ready']}");
  EXPECT_EQ(Bench(bench).Want(Requests(Exactly(1))).OnN1(), "r:p/x");
  EXPECT_EQ(Bench(bench).Want(Requests(Exactly(2))).OnN1(), "r:p/x r:a/y");
  // Within a pool, slices go by their names.
  const std::string pool = "'pool': {'name': 's', 'generation': 1, 'resourceSliceCount': 2}";
  Bench slices;
  slices.Slice("z", kN1, Plain({"a"}), pool).Slice("b", kN1, Plain({"c"}), pool);
  EXPECT_EQ(slices.Want(Requests(Exactly(1))).OnN1(), "r:s/c");
}

TEST(DeviceAllocator, NodesOfSlicesAndDevices) {
  const std::string zone =
      "{'nodeSelectorTerms': [{'matchExpressions': [{'key': 'zone', 'operator': 'In', 'values': ['a']}]}]}";
  const auto on = [&](const std::string& where) {
    return Bench().Slice("s", where, Plain({"a"})).Want(Requests(Exactly(1))).OnN1();
  };
  EXPECT_EQ(on("'allNodes': true"), "r:s/a");
  EXPECT_EQ(on("'nodeSelector': " + zone), "r:s/a");
  EXPECT_EQ(on("'x': 1"), "none");  // says nothing about nodes
  Bench elsewhere;
  elsewhere.Slice("s", "'nodeSelector': " + zone, Plain({"a"})).Want(Requests(Exactly(1)));
  EXPECT_EQ(elsewhere.On(MakeNode("n3").Label("zone", "b")), "none");
  Bench each;
  each.Slice(
      "s", "'perDeviceNodeSelection': true",
      "{'name': 'a', 'nodeName': 'n9'}, {'name': 'b', 'nodeSelector': " + zone + "}, {'name': 'c', 'allNodes': true}");
  EXPECT_EQ(Bench(each).Want(Requests(Exactly(2))).OnN1(), "r:s/b r:s/c");
  EXPECT_EQ(Bench(each).Want(Requests(Exactly(3))).OnN1(), "none");
  const std::string broken =
      on("'nodeSelector': {'nodeSelectorTerms': [{'matchExpressions': [{'key': 'zone', 'operator': 'In', 'values': "
         "[]}]}]}");
  EXPECT_TRUE(broken.starts_with("error: gather pool information: failed to perform node selection for slice s: "))
      << broken;
}

TEST(DeviceAllocator, NodeSelectorOfTheResult) {
  const std::string zone =
      "{'nodeSelectorTerms': [{'matchExpressions': [{'key': 'zone', 'operator': 'In', 'values': ['a']}]}]}";
  const auto selector = [&](const std::string& where, const std::string& device) {
    Bench bench;
    bench.Slice("s", where, device).Want(Requests(Exactly(1)));
    EXPECT_EQ(bench.OnN1(), "r:s/a");
    return bench.results.front().node_selector;
  };
  EXPECT_EQ(selector("'allNodes': true", Plain({"a"})), std::nullopt);
  api::NodeSelectorTerm n1;
  n1.match_fields = {{"metadata.name", api::SelectorOperator::kIn, {"n1"}, {}}};
  EXPECT_EQ(selector(kN1, Plain({"a"})), std::vector{n1});
  EXPECT_EQ(selector("'allNodes': true", "{'name': 'a', 'bindsToNode': true}"), std::vector{n1});
  api::NodeSelectorTerm in_zone;
  in_zone.match_expressions = {{"zone", api::SelectorOperator::kIn, {"a"}, {}}};
  EXPECT_EQ(selector("'nodeSelector': " + zone, Plain({"a"})), std::vector{in_zone});
  Bench both;
  both.Slice("s", "'nodeSelector': " + zone, Plain({"a"})).Slice("t", "'nodeSelector': " + zone, Plain({"b"}));
  EXPECT_EQ(both.Want(Requests(Exactly(2))).OnN1(), "r:s/a r:t/b");
  EXPECT_EQ(both.results.front().node_selector, std::vector{in_zone});  // equal requirements once
  Bench terms;
  terms.Slice("s",
              "'nodeSelector': {'nodeSelectorTerms': [{'matchExpressions': [{'key': 'zone', 'operator': 'Exists'}]},"
              "{'matchExpressions': [{'key': 'x', 'operator': 'Exists'}]}]}",
              Plain({"a"}));
  EXPECT_EQ(terms.Want(Requests(Exactly(1))).OnN1(),
            "error: create NodeSelector for claim claim0: unsupported ResourceSlice.NodeSelector with 2 terms");
}

TEST(DeviceAllocator, Configurations) {
  Bench bench;
  bench.Class("c", "'config': [{'opaque': {'driver': 'd', 'parameters': {'k': 1}}}]");
  bench.Slice("s", kN1, Plain({"a", "b", "c"}));
  bench.Want(
      Requests(Exactly(1) + "," + Exactly(1, "", "q")) +
      ", 'config': [{'opaque': {'driver': 'd', 'parameters': {}}}, {'requests': ['q'], 'opaque': {'driver': 'e', "
      "'parameters': {}}}, {'requests': ['other'], 'opaque': {'driver': 'f', 'parameters': {}}}]");
  EXPECT_EQ(bench.OnN1(), "r:s/a q:s/b");
  const auto& configs = bench.results.front().configs;
  ASSERT_EQ(configs.size(), 3U);
  EXPECT_EQ(configs[0].source, "FromClass");
  EXPECT_EQ(configs[0].requests, (std::vector<std::string>{"r", "q"}));
  EXPECT_EQ(configs[1].source, "FromClaim");
  EXPECT_TRUE(configs[1].requests.empty());
  EXPECT_EQ(configs[2].requests, std::vector<std::string>{"q"});
}

TEST(DeviceAllocator, TriesEachSetOfDevicesOnce) {
  Bench bench;
  bench.Slice("s", kN1, Plain({"a", "b", "c", "d", "e", "f", "g", "h"}));
  bench.steps_max = 3000;  // 2^8 sets, and 8! orders
  EXPECT_EQ(bench.Want(Requests(Exactly(9))).OnN1(), "none");
}

TEST(DeviceAllocator, GivesUpWhenSelectorsCostTooMuch) {
  const std::string list = "[0,1,2,3,4,5,6,7,8,9]";
  const std::string dear =
      list + ".all(a, " + list + ".all(b, " + list + ".all(c, " + list + ".all(d, a + b + c + d < 99))))";
  const auto devices = [](int kinds) {
    std::string text;
    for (int i = 0; i < 200; ++i) {
      text += std::string(i == 0 ? "" : ", ") + "{'name': 'd" + std::to_string(i) +
              "', 'attributes': {'n': {'int': " + std::to_string(i % kinds) + "}}}";
    }
    return text;
  };
  const std::string none = dear + R"( && device.attributes[\u0022d\u0022].n < 0)";
  Bench few;
  few.Slice("s", kN1, devices(3));
  EXPECT_EQ(few.Want(Requests(Exactly(1, Cel(none)))).OnN1(), "none")
      << "devices with the same attributes are asked once";
  Bench many;
  many.Slice("s", kN1, devices(200));
  EXPECT_EQ(many.Want(Requests(Exactly(1, Cel(none)))).OnN1(), "out of steps");
  Bench constant;
  constant.Slice("s", kN1, devices(200));
  EXPECT_EQ(constant.Want(Requests(Exactly(1, Cel("!(" + dear + ")")))).OnN1(), "none");
}

TEST(DeviceAllocator, GivesUpAfterSoManySteps) {
  // Only twenty devices of a kind, and one more is wanted: nobody lives to see the end of that search.
  std::vector<std::pair<std::string, std::string>> devices;
  for (int i = 0; i < 60; ++i)
    devices.push_back({"x" + std::to_string(i), "'n': {'int': " + std::to_string(i / 20) + "}"});
  Bench bench;
  bench.Slice("s", kN1, Having(devices));
  bench.Want(Requests(Exactly(21)) + ", 'constraints': [{'matchAttribute': 'd/n'}]");
  EXPECT_EQ(bench.OnN1(), "out of steps");
}

}  // namespace
}  // namespace berth::plugins
