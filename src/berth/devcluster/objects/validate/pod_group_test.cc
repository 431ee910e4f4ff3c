// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/validate/pod_group.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "berth/devcluster/objects/priority.h"
#include "berth/devcluster/objects/resource.h"

namespace berth::objects {
namespace {

json::object Parse(std::string text) {
  for (char& c : text) c = c == '\'' ? '"' : c;
  return json::parse(text).as_object();
}

const ResourceType& Type(std::string_view plural) {
  for (const ResourceType& type : ResourceTypes()) {
    if (type.plural == plural) return type;
  }
  ADD_FAILURE() << plural;
  return ResourceTypes().front();
}

// What is wrong with an object of this spec, or with the change of its spec; a line each.
std::string ErrorText(std::string_view plural, const std::string& spec, const std::optional<std::string>& before = {}) {
  const ResourceType& type = Type(plural);
  const auto make = [&](const std::string& text) {
    json::object object = Parse("{'metadata': {'name': 'g', 'namespace': 'default'}, 'spec': " + text + "}");
    type.set_defaults(object);
    return object;
  };
  const std::optional<json::object> old = before ? std::optional(make(*before)) : std::nullopt;
  std::string text;
  for (const FieldError& error : type.validate(make(spec), old ? &*old : nullptr))
    text += (text.empty() ? "" : "\n") + error.field + ": " + error.message;
  return text;
}

TEST(PodGroup, Creation) {
  const std::pair<const char*, const char*> cases[] = {
      {"{'schedulingPolicy': {'basic': {}}}", ""},
      {"{'schedulingPolicy': {'gang': {'minCount': 3}}, 'disruptionMode': {'all': {}}, 'priority': 5, "
       "'preemptionPolicy': 'Never', 'schedulingConstraints': {'topology': [{'key': 'example.com/rack'}]}, "
       "'workloadRef': {'workloadName': 'w.x', 'templateName': 't'}, 'parentCompositePodGroupName': 'p', "
       "'resourceClaims': [{'name': 'c', 'resourceClaimName': 'x'}, {'name': 'd', 'resourceClaimTemplateName': 'y'}]}",
       ""},
      {"{}", "spec.schedulingPolicy: Invalid value: \"\": must specify one of: basic, gang"},
      {"{'schedulingPolicy': {'basic': {}, 'gang': {'minCount': 1}}}",
       "spec.schedulingPolicy: Invalid value: \"{basic, gang}\": must specify exactly one of: basic, gang"},
      {"{'schedulingPolicy': {'gang': {}}}", "spec.schedulingPolicy.gang.minCount: Required value"},
      {"{'schedulingPolicy': {'gang': {'minCount': -1}}}",
       "spec.schedulingPolicy.gang.minCount: Invalid value: -1: must be greater than or equal to 1"},
      {"{'schedulingPolicy': {'basic': {}}, 'schedulingConstraints': {'topology': [{'key': 'a'}, {'key': 'b'}]}}",
       "spec.schedulingConstraints.topology: Too many: 2: must have at most 1 items"},
      {"{'schedulingPolicy': {'basic': {}}, 'schedulingConstraints': {'topology': [{}]}}",
       "spec.schedulingConstraints.topology[0].key: Required value"},
      {"{'schedulingPolicy': {'basic': {}}, 'disruptionMode': {'single': {}, 'all': {}}}",
       "spec.disruptionMode: Invalid value: \"{single, all}\": must specify exactly one of: single, all"},
      {"{'schedulingPolicy': {'basic': {}}, 'priority': 1000000001}",
       "spec.priority: Invalid value: 1000000001: must be less than or equal to 1000000000"},
      {"{'schedulingPolicy': {'basic': {}}, 'preemptionPolicy': 'Maybe'}",
       "spec.preemptionPolicy: Unsupported value: \"Maybe\": supported values: \"Never\", \"PreemptLowerPriority\""},
      {"{'schedulingPolicy': {'basic': {}}, 'parentCompositePodGroupName': 'p'}",
       "spec.workloadRef: Required value: must be set when parentCompositePodGroupName is set"},
      {"{'schedulingPolicy': {'basic': {}}, 'workloadRef': {'templateName': 't'}}",
       "spec.workloadRef.workloadName: Required value"},
      {"{'schedulingPolicy': {'basic': {}}, 'resourceClaims': [{'name': 'c'}, {'name': 'c', 'resourceClaimName': "
       "'x'}]}",
       "spec.resourceClaims[1]: Duplicate value: {\"name\":\"c\",\"resourceClaimName\":\"x\"}\n"
       "spec.resourceClaims[0]: Invalid value: \"\": must specify one of: resourceClaimName, "
       "resourceClaimTemplateName"},
      {"{'schedulingPolicy': {'basic': {}}, 'resourceClaims': [{}, {}, {}, {}, {}]}",
       "spec.resourceClaims: Too many: 5: must have at most 4 items"},
  };
  for (const auto& [spec, want] : cases) EXPECT_EQ(ErrorText("podgroups", spec), want) << spec;
}

TEST(PodGroup, OnlyTheMinimumChanges) {
  const std::string gang = "{'schedulingPolicy': {'gang': {'minCount': 3}}, 'priority': 0}";
  EXPECT_EQ(ErrorText("podgroups", "{'schedulingPolicy': {'gang': {'minCount': 2}}, 'priority': 0}", gang), "");
  EXPECT_EQ(ErrorText("podgroups", "{'schedulingPolicy': {'basic': {}}, 'priority': 0}", gang),
            "spec.schedulingPolicy.basic: Invalid value: null: field is immutable\n"
            "spec.schedulingPolicy.gang: Invalid value: null: field cannot be cleared once set");
  EXPECT_EQ(ErrorText("podgroups", "{'schedulingPolicy': {'gang': {'minCount': 3}}, 'priority': 1}", gang),
            "spec.priority: Invalid value: null: field is immutable");
  EXPECT_EQ(
      ErrorText("podgroups",
                "{'schedulingPolicy': {'gang': {'minCount': 3}}, 'priority': 0, 'disruptionMode': {'all': {}}}", gang),
      "spec.disruptionMode: Invalid value: null: field is immutable");
  EXPECT_EQ(
      ErrorText("podgroups",
                "{'schedulingPolicy': {'gang': {'minCount': 3}}, 'priority': 0, 'schedulingConstraints': {}}", gang),
      "spec.schedulingConstraints: Invalid value: null: field is immutable");
}

TEST(PodGroup, Defaults) {
  json::object group = Parse("{'spec': {'schedulingPolicy': {'basic': {}}}}");
  Type("podgroups").set_defaults(group);
  EXPECT_EQ(group, Parse("{'spec': {'schedulingPolicy': {'basic': {}}, 'disruptionMode': {'single': {}}, "
                         "'preemptionPolicy': 'PreemptLowerPriority'}}"));
}

TEST(CompositePodGroup, NeedsItsWorkload) {
  EXPECT_EQ(ErrorText("compositepodgroups",
                      "{'schedulingPolicy': {'gang': {'minGroupCount': 1}}, 'workloadRef': "
                      "{'workloadName': 'w', 'templateName': 't'}}"),
            "");
  EXPECT_EQ(ErrorText("compositepodgroups", "{'schedulingPolicy': {'gang': {'minCount': 1}}}"),
            "spec.workloadRef: Required value\nspec.schedulingPolicy.gang.minGroupCount: Required value");
}

std::string Template(const std::string& name, const std::string& more = "") {
  return "{'name': '" + name + "', 'schedulingPolicy': {'basic': {}}" + (more.empty() ? "" : ", " + more) + "}";
}
std::string Templates(const std::string& list) { return "'podGroupTemplates': [" + list + "]"; }
std::string Composites(const std::string& list) { return "'compositePodGroupTemplates': [" + list + "]"; }

TEST(Workload, Templates) {
  std::string nine;
  for (int i = 0; i < 9; ++i) nine += (i == 0 ? "" : ", ") + Template("t" + std::to_string(i));
  const std::string leaf = Templates(Template("leaf"));
  const std::string three = Composites(Template("a", Composites(Template("b", Composites(Template("c", leaf))))));
  const std::string four =
      Composites(Template("a", Composites(Template("b", Composites(Template("c", Composites(Template("d", leaf))))))));
  const std::pair<std::string, std::string> cases[] = {
      {Templates(Template("t")), ""},
      {three, ""},
      {"", "spec: Invalid value: \"\": must specify one of: podGroupTemplates, compositePodGroupTemplates"},
      {Templates(Template("t")) + ", " + Composites(Template("c", leaf)),
       "spec: Invalid value: \"{podGroupTemplates, compositePodGroupTemplates}\": must specify exactly one of: "
       "podGroupTemplates, compositePodGroupTemplates"},
      {Templates(nine), "spec.podGroupTemplates: Too many: 9: must have at most 8 items"},
      {Templates(Template("t") + ", " + Template("t")),
       "spec.podGroupTemplates[1]: Duplicate value: {\"name\":\"t\",\"schedulingPolicy\":{\"basic\":{}}}"},
      {Composites(Template("a", Templates(Template("a")))),
       "spec.compositePodGroupTemplates[0].podGroupTemplates[0].name: Duplicate value: \"a\""},
      {Composites(Template("a")),
       "spec.compositePodGroupTemplates[0]: Invalid value: \"a\": must have at least one child PodGroupTemplate or "
       "CompositePodGroupTemplate"},
      {Templates(Template("t", "'priority': 1") + ", " + Template("u", "'priority': 2")),
       "spec: Invalid value: null: detected multiple priority configurations"},
      {Composites(Template("a", "'priority': 1, " + leaf)),
       "spec: Invalid value: null: all priority and priorityClassName values must be identical, detected multiple "
       "values"},
      {Templates("{'schedulingPolicy': {'basic': {}}}"), "spec.podGroupTemplates[0].name: Required value"},
      {Templates(Template("t")) + ", 'controllerRef': {'kind': 'a/b', 'name': '..'}",
       "spec.controllerRef.kind: Invalid value: \"a/b\": may not contain '/'\n"
       "spec.controllerRef.name: Invalid value: \"..\": may not be '..'"},
  };
  for (const auto& [spec, want] : cases) EXPECT_EQ(ErrorText("workloads", "{" + spec + "}"), want) << spec;
  const std::string text = ErrorText("workloads", "{" + four + "}");
  EXPECT_TRUE(text.ends_with(": maximum template hierarchy depth is 4")) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

TEST(Workload, KeepsItsTemplates) {
  const std::string before = "{" + Templates(Template("t", "'priority': 1")) + "}";
  EXPECT_EQ(ErrorText("workloads", before, before), "");
  EXPECT_EQ(ErrorText("workloads", "{" + Templates(Template("t", "'priority': 2")) + "}", before),
            "spec.podGroupTemplates[0].priority: Invalid value: null: field is immutable");
  EXPECT_EQ(ErrorText("workloads", "{" + Templates(Template("u", "'priority': 1")) + "}", before),
            "spec.podGroupTemplates[0]: Forbidden: item may not be added\n"
            "spec.podGroupTemplates: Forbidden: item may not be removed");
}

TEST(PodGroup, Rows) {
  const auto row = [](std::string_view plural, const std::string& text) {
    return json::serialize(Type(plural).row(Parse(text), 0));
  };
  const std::string head =
      "{'metadata': {'name': 'g'}, 'spec': {'schedulingPolicy': {'gang': {}}, 'workloadRef': "
      "{'workloadName': 'w'}}, 'status': {'conditions': [";
  const std::string initially = "{'type': 'PodGroupInitiallyScheduled', 'status': '";
  EXPECT_EQ(row("podgroups", "{'metadata': {'name': 'g'}, 'spec': {'schedulingPolicy': {'basic': {}}}}"),
            R"(["g","Basic","<none>","Pending","<unknown>"])");
  EXPECT_EQ(row("podgroups", head + initially + "True'}]}}"), R"(["g","Gang","w","Scheduled","<unknown>"])");
  EXPECT_EQ(row("podgroups", head + initially + "False'}]}}"), R"(["g","Gang","w","Unschedulable","<unknown>"])");
  EXPECT_EQ(row("podgroups",
                head + "{'type': 'DisruptionTarget', 'reason': 'PreemptionByScheduler'}, " + initially + "True'}]}}"),
            R"(["g","Gang","w","PreemptionByScheduler","<unknown>"])");
  EXPECT_EQ(row("compositepodgroups", head + "]}}"), R"(["g","Gang","w","<unknown>"])");
}

TEST(PodGroup, PriorityFollowsTheClass) {
  const json::object high = Parse("{'metadata': {'name': 'high'}, 'value': 100, 'preemptionPolicy': 'Never'}");
  const json::object common = Parse("{'metadata': {'name': 'common'}, 'value': 7, 'globalDefault': true}");
  const auto resolve = [&](const std::string& spec, const std::vector<const json::object*>& classes) {
    json::object group = Parse("{'spec': " + spec + "}");
    const auto why = ResolvePodGroupPriority(group, "pod group", classes);
    return why ? *why : json::serialize(group["spec"]);
  };
  EXPECT_EQ(resolve("{}", {}), R"({"priority":0})");
  EXPECT_EQ(resolve("{}", {&high, &common}), R"({"priorityClassName":"common","priority":7})");
  EXPECT_EQ(resolve("{'priorityClassName': 'high'}", {&high, &common}),
            R"({"priorityClassName":"high","priority":100,"preemptionPolicy":"Never"})");
  EXPECT_EQ(resolve("{'priorityClassName': 'none'}", {&high}), "no PriorityClass with name none was found");
  EXPECT_EQ(
      resolve("{'priorityClassName': 'high', 'priority': 5}", {&high}),
      "priority set in the pod group (5) must match the priority computed (100) based on the priority class set in "
      "the spec");
}

TEST(DeviceTaintRule, Creation) {
  EXPECT_EQ(ErrorText("devicetaintrules",
                      "{'deviceSelector': {'driver': 'd.example', 'pool': 'p', 'device': 'gpu-0'}, "
                      "'taint': {'key': 'k', 'effect': 'NoExecute'}}"),
            "");
  EXPECT_EQ(ErrorText("devicetaintrules", "{'deviceSelector': {}, 'taint': {'key': 'k', 'effect': 'Sometimes'}}"),
            "spec.taint.effect: Unsupported value: \"Sometimes\": supported values: \"NoExecute\", \"NoSchedule\", "
            "\"None\"");
}

}  // namespace
}  // namespace berth::objects
