// SPDX-License-Identifier: Apache-2.0
// Cases beyond upstream's answers: other environments, limits, functions that are not implemented, sharing between
// threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "berth/languages/cel/device.h"
#include "berth/languages/cel/program.h"

namespace berth::cel {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Repeat(std::string_view text, int times) {
  std::string repeated;
  for (int i = 0; i < times; ++i) repeated += text;
  return repeated;
}

// The environment of a policy: a pod's labels and a number.
Environment PolicyEnvironment() {
  Environment environment;
  environment.AddStruct("berth.Pod", {{"name", StringType()}, {"labels", MapType(StringType(), StringType())}});
  environment.AddVariable("pod", StructType("berth.Pod"));
  environment.AddVariable("priority", IntType());
  return environment;
}

Activation PolicyInput() {
  auto labels = std::make_shared<Map>();
  labels->Put(Value::String("app"), Value::String("web"));
  auto pod = std::make_shared<Map>();
  pod->Put(Value::String("name"), Value::String("web-1"));
  pod->Put(Value::String("labels"), Value::Of(std::move(labels)));
  Activation activation;
  activation.Set("pod", Value::Of(std::move(pod)));
  activation.Set("priority", Value::Int(7));
  return activation;
}

std::string Evaluate(std::string_view text, std::uint64_t limit = kSelectorCostMax) {
  const auto program = Program::Compile(PolicyEnvironment(), text);
  if (!program.ok()) return program.error().message;
  const EvaluationResult result = program->Evaluate(PolicyInput(), limit);
  return result.value.ok() ? GoString(*result.value) : result.value.error().message;
}

struct ProgramCase {
  const char* name;
  std::string expression;
  const char* want;
};

class ProgramTest : public ::testing::TestWithParam<ProgramCase> {};

TEST_P(ProgramTest, Evaluates) { EXPECT_EQ(Evaluate(GetParam().expression), GetParam().want); }

INSTANTIATE_TEST_SUITE_P(
    Policies, ProgramTest,
    ::testing::Values(
        ProgramCase{"Variables", "pod.name + string(priority)", "web-17"},
        ProgramCase{"ListResult", "[1, priority]", "[1, 7]"}, ProgramCase{"MapResult", "{'a': priority}", "{a: 7}"},
        ProgramCase{"MissingLabel", "pod.labels.tier", "no such key: tier"},
        ProgramCase{"OptionalLabel", "pod.labels.?tier.orValue('none')", "none"},
        ProgramCase{"NoOtherVariables", "device.driver",
                    "compilation failed: ERROR: <input>:1:1: undeclared reference to 'device' (in container "
                    "'')\n | device.driver\n | ^"},
        ProgramCase{"UndefinedField", "pod.spec",
                    "compilation failed: ERROR: <input>:1:4: undefined field 'spec'\n | pod.spec\n | ...^"},
        ProgramCase{"MultilineError", "priority ==\n\tunknown",
                    "compilation failed: ERROR: <input>:2:2: undeclared reference to 'unknown' (in container "
                    "'')\n |  unknown\n | .^"},
        ProgramCase{"NotBuilt", "'%d'.format([1])",
                    "compilation failed: ERROR: <input>:1:12: function 'format' is not supported by berth\n | "
                    "'%d'.format([1])\n | ...........^"},
        ProgramCase{"NotBuiltNamespace", "format.dns1123Label()",
                    "compilation failed: ERROR: <input>:1:20: function 'format.dns1123Label' is not supported "
                    "by berth\n | format.dns1123Label()\n | ...................^"},
        // Upstream panics here.
        ProgramCase{"BytesAsMapKey", "{b'a': 1} == {}",
                    "program instantiation failed: internal error: runtime error: hash of unhashable type "
                    "types.Bytes"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Bounds, ExpressionLength) {
  EXPECT_EQ(Evaluate("'" + std::string(kExpressionBytesMax - 12, 'a') + "' == pod.name"),
            "compilation failed: the expression has 10242 bytes, more than 10240");
}

TEST(Bounds, Nesting) {
  for (const char* open :
       {"(", "[", "{1:", "!", "-", "size(", "[1].map(x, ", "true ? ", "cel.bind(a, 1, ", "a.", "a("}) {
    const int times = static_cast<int>(kExpressionBytesMax / std::string_view(open).size());
    EXPECT_THAT(Evaluate(Repeat(open, times)), StartsWith("compilation failed: ERROR:")) << open;
  }
  EXPECT_THAT(Evaluate(Repeat("[", 2000) + Repeat("]", 2000)), HasSubstr("expression recursion limit exceeded: 250"));
  EXPECT_THAT(Evaluate("1" + Repeat("+1", 2000)), HasSubstr("max recursion depth exceeded"));
  EXPECT_THAT(Evaluate("pod" + Repeat(".a", 2000)), HasSubstr("max recursion depth exceeded"));
}

// Each bind doubles the value by using the previous one twice.
std::string Doubled(std::string_view first, std::string_view next, int times, std::string_view last) {
  std::string text = "cel.bind(x0, " + std::string(first) + ", ";
  std::string close = ")";
  for (int i = 1; i <= times; ++i) {
    std::string step(next);
    for (std::size_t at = 0; (at = step.find('X')) != std::string::npos;)
      step.replace(at, 1, "x" + std::to_string(i - 1));
    text += "cel.bind(x" + std::to_string(i) + ", " + step + ", ";
    close += ")";
  }
  std::string end(last);
  for (std::size_t at = 0; (at = end.find('X')) != std::string::npos;) end.replace(at, 1, "x" + std::to_string(times));
  return text + end + close;
}

TEST(Bounds, EnormousValues) {
  // Concatenated lists are not copied: a list of 10^9 elements costs little.
  EXPECT_EQ(Evaluate(Doubled("[1]", "X + X", 30, "X.size()")), "1073741824");
  EXPECT_EQ(Evaluate(Doubled("[1]", "X + X", 60, "X.size()")), "list is too large");
  EXPECT_EQ(Evaluate(Doubled("[1]", "X + X", 30, "X == X")), "operation cancelled: the values are too large");
  EXPECT_EQ(Evaluate(Doubled("[1]", "X + X", 30, "2 in X")), "operation cancelled: the values are too large");
  EXPECT_EQ(Evaluate(Doubled("[1]", "[X, X]", 40, "X == X")), "operation cancelled: the values are too large");
  EXPECT_THAT(Evaluate(Doubled("{1: 1}", "{X: X}", 40, "X == X")), HasSubstr("type is too large"));
}

TEST(Bounds, SelfReference) {
  EXPECT_EQ(Evaluate("cel.bind(x, [], (dyn(x) + [x]).size())"), "operation cancelled: the values are too large");
  EXPECT_EQ(Evaluate("cel.bind(x, [], (x + x).size())"), "0");
}

TEST(Bounds, StringsGrowByCost) {
  EXPECT_EQ(Evaluate(Doubled("'0123456789'", "X + X", 40, "X.size()")),
            "operation cancelled: actual cost limit exceeded");
  EXPECT_EQ(Evaluate(Doubled("'0123456789'", "X + X", 14, "X.replace('', X).size()")),
            "operation cancelled: the values are too large");
}

TEST(Bounds, SearchesAreLinear) {
  // 2.5 million characters, and a million near matches at every position: the cost is not known in advance.
  const std::string a = Repeat("a", 1600);
  const std::string text = "'" + a + "'.replace('', '" + a + "')";
  const std::string k = Repeat("a", 1000);
  const std::string tail = "('" + k + "b'.replace('a', '" + k + "')";
  const std::string head = "('b" + k + "'.replace('a', '" + k + "')";
  EXPECT_EQ(Evaluate(text + ".indexOf" + tail + ")"), "-1");
  EXPECT_EQ(Evaluate(text + ".indexOf" + tail + ", 7)"), "-1");
  EXPECT_EQ(Evaluate(text + ".lastIndexOf" + head + ")"), "-1");
  EXPECT_EQ(Evaluate(text + ".lastIndexOf" + head + ", 2000000)"), "-1");
  EXPECT_EQ(Evaluate(text + ".contains" + tail + ")"), "operation cancelled: actual cost limit exceeded");
  EXPECT_EQ(Evaluate(text + ".replace" + tail + ", '').size()"), std::to_string(1600 * 1601 + 1600));
  EXPECT_EQ(Evaluate(text + ".split" + tail + ").size()"), "1");
}

TEST(Cost, StopsAtTheLimit) {
  const auto program = Program::Compile(PolicyEnvironment(), "[1, 2, 3].all(x, x < priority)");
  ASSERT_TRUE(program.ok());
  const std::uint64_t cost = program->Evaluate(PolicyInput(), kSelectorCostMax).cost;
  EXPECT_GT(cost, 10U);
  EXPECT_TRUE(program->Evaluate(PolicyInput(), cost).value.ok());
  const EvaluationResult stopped = program->Evaluate(PolicyInput(), cost - 1);
  ASSERT_FALSE(stopped.value.ok());
  EXPECT_EQ(stopped.value.error().message, "operation cancelled: actual cost limit exceeded");
  EXPECT_EQ(stopped.cost, cost);
}

TEST(DeviceSelector, AttributesOfTheDriverAndOthers) {
  const Device device{"gpu.example.com",
                      true,
                      {{"model", std::string("a100")}, {"other.example.com/model", std::string("b200")}},
                      {{"memory", *api::Quantity::Parse("40Gi")}}};
  const auto input = DeviceInput::Make(device);
  ASSERT_TRUE(input.ok());
  const auto matches = [&](const char* expression) {
    const auto selector = DeviceSelector::Compile(expression);
    return selector.ok() && selector->Matches(*input).matches.ok() && *selector->Matches(*input).matches;
  };
  EXPECT_TRUE(matches(R"(device.attributes["gpu.example.com"].model == "a100")"));
  EXPECT_TRUE(matches(R"(device.attributes["other.example.com"].model == "b200")"));
  EXPECT_TRUE(matches(R"(device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) == 0)"));
  EXPECT_TRUE(matches("device.allowMultipleAllocations"));
  EXPECT_FALSE(matches(R"(device.attributes["gpu.example.com"].model == "b200")"));
}

TEST(DeviceSelector, WithoutSharedDevicesNoneIsShared) {
  const DeviceFeatures features{.shared_devices = false};
  const auto input = DeviceInput::Make({"d", true, {}, {}}, features);
  ASSERT_TRUE(input.ok());
  const auto selector = DeviceSelector::Compile("device.allowMultipleAllocations", features);
  ASSERT_TRUE(selector.ok()) << "it can be named all the same";
  EXPECT_FALSE(*selector->Matches(*input).matches);
}

TEST(DeviceSelector, NewerErrorsNameNoContainer) {
  for (const bool names_container : {true, false}) {
    const auto selector = DeviceSelector::Compile("gpu == 1", {.names_container = names_container});
    ASSERT_FALSE(selector.ok());
    EXPECT_EQ(selector.error().message, "compilation failed: ERROR: <input>:1:1: undeclared reference to 'gpu'" +
                                            std::string(names_container ? " (in container '')" : "") +
                                            "\n | gpu == 1\n | ^");
  }
}

TEST(DeviceSelector, AttributesThatCannotBeUsed) {
  const auto error_of = [](DeviceAttribute attribute) {
    const auto input = DeviceInput::Make({"d", false, {{"bad", std::move(attribute)}}, {}});
    return input.ok() ? std::string() : input.error().message;
  };
  EXPECT_EQ(error_of({}), "attribute bad: unsupported attribute value");
  EXPECT_EQ(error_of(std::vector<bool>{true}), "attribute bad: unsupported attribute value");
  EXPECT_EQ(error_of(DeviceVersion{"1.2"}),
            "attribute bad: parse semantic version: No Major.Minor.Patch elements found");
}

TEST(DeviceSelector, IsSharedBetweenThreads) {
  const auto selector = DeviceSelector::Compile(
      R"(device.attributes["d"].name.matches("^a+$") && [1, 2].map(x, x * device.attributes["d"].count).sum() == 9)");
  ASSERT_TRUE(selector.ok());
  const auto input = DeviceInput::Make({"d", false, {{"name", std::string("aaa")}, {"count", std::int64_t{3}}}, {}});
  ASSERT_TRUE(input.ok());
  std::vector<int> matches(4);
  std::vector<std::thread> threads;
  for (int& count : matches) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) count += *selector->Matches(*input).matches ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(matches, ::testing::Each(200));
}

}  // namespace
}  // namespace berth::cel
