// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/outside/extender_json.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/codec/json_reader.h"

namespace berth::outside {
namespace {

using scheduler::ExtenderAnswer;

// What Go's encoding/json makes of a v1.Pod and a v1.Node as an API server serves them, and of extenderv1's types with
// the same objects in them, as kube-scheduler 1.36.3 has them.
constexpr const char* kServedPod =
    R"json({"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","namespace":"default","uid":"u-1","re)json"
    R"json(sourceVersion":"7","creationTimestamp":"2026-01-02T03:04:05Z","labels":{"app":"web"},"annota)json"
    R"json(tions":{"note":"a\u003cb \u0026\u0026 c\u003ed \u2028\u2029 \"q\" \\ é"},"managedFields":[{")json"
    R"json(manager":"kubectl","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":)json"
    R"json({"f:spec":{}}}]},"spec":{"containers":[{"name":"c","image":"i:1","command":["sh","-c","x \u0)json"
    R"json(03e y"],"env":[{"name":"A","value":"1"}],"resources":{"limits":{"example.com/gpu":"1"},"requ)json"
    R"json(ests":{"cpu":"100m","example.com/gpu":"1"}}}],"schedulerName":"default-scheduler"},"status":)json"
    R"json({"phase":"Pending"}})json";
constexpr const char* kServedNode =
    R"json({"kind":"Node","apiVersion":"v1","metadata":{"name":"n1","uid":"u-2","resourceVersion":"8",")json"
    R"json(creationTimestamp":"2026-01-02T03:04:05Z","labels":{"zone":"a"},"managedFields":[{"manager":)json"
    R"json("kubectl","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec")json"
    R"json(:{}}}]},"spec":{"providerID":"aws:///i-1","taints":[{"key":"k","value":"v","effect":"NoSched)json"
    R"json(ule"}]},"status":{"capacity":{"cpu":"4"},"allocatable":{"cpu":"3920m"},"conditions":[{"type")json"
    R"json(:"Ready","status":"True","lastHeartbeatTime":"2026-01-02T03:04:05Z","lastTransitionTime":nul)json"
    R"json(l,"reason":"KubeletReady"}],"daemonEndpoints":{"kubeletEndpoint":{"Port":0}},"nodeInfo":{"ma)json"
    R"json(chineID":"","systemUUID":"","bootID":"","kernelVersion":"","osImage":"","containerRuntimeVer)json"
    R"json(sion":"","kubeletVersion":"","kubeProxyVersion":"","operatingSystem":"","architecture":""}}})json";
constexpr const char* kWhole =
    R"json({"Pod":{"metadata":{"name":"p","namespace":"default","uid":"u-1","resourceVersion":"7","crea)json"
    R"json(tionTimestamp":"2026-01-02T03:04:05Z","labels":{"app":"web"},"annotations":{"note":"a\u003cb)json"
    R"json( \u0026\u0026 c\u003ed \u2028\u2029 \"q\" \\ é"}},"spec":{"containers":[{"name":"c","image":)json"
    R"json("i:1","command":["sh","-c","x \u003e y"],"env":[{"name":"A","value":"1"}],"resources":{"limi)json"
    R"json(ts":{"example.com/gpu":"1"},"requests":{"cpu":"100m","example.com/gpu":"1"}}}],"schedulerNam)json"
    R"json(e":"default-scheduler"},"status":{"phase":"Pending"}},"Nodes":{"metadata":{},"items":[{"meta)json"
    R"json(data":{"name":"n1","uid":"u-2","resourceVersion":"8","creationTimestamp":"2026-01-02T03:04:0)json"
    R"json(5Z","labels":{"zone":"a"}},"spec":{"providerID":"aws:///i-1","taints":[{"key":"k","value":"v)json"
    R"json(","effect":"NoSchedule"}]},"status":{"capacity":{"cpu":"4"},"allocatable":{"cpu":"3920m"},"c)json"
    R"json(onditions":[{"type":"Ready","status":"True","lastHeartbeatTime":"2026-01-02T03:04:05Z","last)json"
    R"json(TransitionTime":null,"reason":"KubeletReady"}],"daemonEndpoints":{"kubeletEndpoint":{"Port":)json"
    R"json(0}},"nodeInfo":{"machineID":"","systemUUID":"","bootID":"","kernelVersion":"","osImage":"",")json"
    R"json(containerRuntimeVersion":"","kubeletVersion":"","kubeProxyVersion":"","operatingSystem":"",")json"
    R"json(architecture":""}}}]},"NodeNames":null})json";
constexpr const char* kNone =
    R"json({"Pod":{"metadata":{"name":"p","namespace":"default","uid":"u-1","resourceVersion":"7","crea)json"
    R"json(tionTimestamp":"2026-01-02T03:04:05Z","labels":{"app":"web"},"annotations":{"note":"a\u003cb)json"
    R"json( \u0026\u0026 c\u003ed \u2028\u2029 \"q\" \\ é"}},"spec":{"containers":[{"name":"c","image":)json"
    R"json("i:1","command":["sh","-c","x \u003e y"],"env":[{"name":"A","value":"1"}],"resources":{"limi)json"
    R"json(ts":{"example.com/gpu":"1"},"requests":{"cpu":"100m","example.com/gpu":"1"}}}],"schedulerNam)json"
    R"json(e":"default-scheduler"},"status":{"phase":"Pending"}},"Nodes":{"metadata":{},"items":null},")json"
    R"json(NodeNames":null})json";
constexpr const char* kNames =
    R"json({"Pod":{"metadata":{"name":"p","namespace":"default","uid":"u-1","resourceVersion":"7","crea)json"
    R"json(tionTimestamp":"2026-01-02T03:04:05Z","labels":{"app":"web"},"annotations":{"note":"a\u003cb)json"
    R"json( \u0026\u0026 c\u003ed \u2028\u2029 \"q\" \\ é"}},"spec":{"containers":[{"name":"c","image":)json"
    R"json("i:1","command":["sh","-c","x \u003e y"],"env":[{"name":"A","value":"1"}],"resources":{"limi)json"
    R"json(ts":{"example.com/gpu":"1"},"requests":{"cpu":"100m","example.com/gpu":"1"}}}],"schedulerNam)json"
    R"json(e":"default-scheduler"},"status":{"phase":"Pending"}},"Nodes":null,"NodeNames":["n1","n2"]})json";
constexpr const char* kBind = R"json({"PodName":"p","PodNamespace":"default","PodUID":"u-1","Node":"n1"})json";

std::string Sent(const std::string& served) {
  codec::JsonReader reader;
  const auto object = reader.Parse(served);
  EXPECT_TRUE(object.ok());
  return ObjectForExtender(*object);
}

TEST(ExtenderJsonTest, BodiesAreThoseOfUpstream) {
  const std::string pod = Sent(kServedPod);
  const std::vector<std::shared_ptr<const std::string>> nodes = {
      std::make_shared<const std::string>(Sent(kServedNode))};
  EXPECT_EQ(ExtenderArgs(pod, nodes), kWhole);
  EXPECT_EQ(ExtenderArgs(pod, {}), kNone);
  const std::vector<std::string> names = {"n1", "n2"};
  EXPECT_EQ(ExtenderArgsOfNames(pod, names), kNames);
  EXPECT_EQ(ExtenderBindingArgs({"default", "p", "u-1", "7"}, "n1"), kBind);
}

// As Go's encoder writes ExtenderPreemptionArgs: maps by key, fields that are not set as null.
TEST(ExtenderJsonTest, PreemptionBodiesAreThoseOfUpstream) {
  const std::vector<scheduler::VictimsOnNode> victims = {{"n2", {"u-3"}, 1}, {"n1", {"u-1", "u-2"}}};
  EXPECT_EQ(ExtenderPreemptionArgsOfUids("{}", victims),
            R"({"Pod":{},"NodeNameToVictims":null,"NodeNameToMetaVictims":{)"
            R"("n1":{"Pods":[{"UID":"u-1"},{"UID":"u-2"}],"NumPDBViolations":0},)"
            R"("n2":{"Pods":[{"UID":"u-3"}],"NumPDBViolations":1}}})");
  const auto pod_json = [](const std::string& uid) {
    return uid == "u-2" ? nullptr : std::make_shared<const std::string>(R"({"metadata":{"uid":")" + uid + R"("}})");
  };
  EXPECT_EQ(ExtenderPreemptionArgs("{}", victims, pod_json),
            R"({"Pod":{},"NodeNameToVictims":{"n1":{"Pods":[{"metadata":{"uid":"u-1"}}],"NumPDBViolations":0},)"
            R"("n2":{"Pods":[{"metadata":{"uid":"u-3"}}],"NumPDBViolations":1}},"NodeNameToMetaVictims":null})")
      << "u-2 has gone meanwhile";
  EXPECT_EQ(ExtenderPreemptionArgsOfUids("{}", {}),
            R"({"Pod":{},"NodeNameToVictims":null,"NodeNameToMetaVictims":{}})");
}

TEST(ExtenderJsonTest, ObjectsThatAreNone) {
  EXPECT_EQ(Sent("[]"), "{}");
  EXPECT_EQ(Sent("5"), "{}");
  EXPECT_EQ(Sent(R"({"metadata":7,"kind":[],"x":{"kind":"kept","managedFields":1}})"),
            R"({"metadata":7,"x":{"kind":"kept","managedFields":1}})");
}

std::string Show(const Expected<ExtenderAnswer>& answer) {
  if (!answer.ok()) return "error: " + answer.error().message;
  std::string text;
  for (const std::string& name : answer->node_names) text += name + " ";
  for (const auto& [name, reason] : answer->failed_nodes) text += "failed " + name + "=" + reason + " ";
  for (const auto& [name, reason] : answer->failed_and_unresolvable_nodes) text += "never " + name + "=" + reason + " ";
  for (const auto& [name, score] : answer->scores) text += name + "=" + std::to_string(score) + " ";
  for (const scheduler::VictimsOnNode& each : answer->victims) {
    text += each.node_name + "[";
    for (const std::string& uid : each.pod_uids) text += (text.back() == '[' ? "" : " ") + uid;
    text += "]" + std::to_string(each.pdb_violations) + " ";
  }
  return text;
}

TEST(ExtenderJsonTest, FilterAnswers) {
  const struct {
    const char* name;
    const char* body;
    const char* with_cache;
    const char* without;  // null: the same
  } cases[] = {
      {"names", R"({"NodeNames":["b","a"]})", "b a ", ""},
      {"nodes", R"({"Nodes":{"items":[{"metadata":{"name":"a"},"spec":{}}]}})", "a ", nullptr},
      {"both", R"({"NodeNames":["a"],"Nodes":{"items":[{"metadata":{"name":"b"}}]}})", "a ", "b "},
      {"names are null", R"({"NodeNames":null,"Nodes":{"items":[{"metadata":{"name":"b"}}]}})", "b ", nullptr},
      {"any case", R"({"nodenames":["a"],"nodes":{"Items":[{"Metadata":{"NAME":"a"}}]},"failednodes":{"b":"x"}})",
       "a failed b=x ", nullptr},
      {"the last of two", R"({"NodeNames":["a"],"nodeNames":["b"]})", "b ", ""},
      {"no items", R"({"Nodes":{}})", "", nullptr},
      {"items are null", R"({"Nodes":{"items":null}})", "", nullptr},
      {"twice the same", R"({"NodeNames":["a","a"]})", "a a ", ""},
      {"reasons", R"({"FailedNodes":{"a":"one","b":null},"FailedAndUnresolvableNodes":{"a":"two"}})",
       "failed a=one failed b= never a=two ", nullptr},
      {"null", "null", "", nullptr},
      {"nothing", "{}", "", nullptr},
      {"unknown fields", R"({"Node":5,"NodeNames":[]})", "", nullptr},
      {"its own error", R"({"NodeNames":["a"],"Error":"no"})", "error: no", nullptr},
      {"an empty error", R"({"Error":"","FailedNodes":{"a":"x"}})", "failed a=x ", nullptr},
      {"a node that is not known", R"({"NodeNames":["x"],"Nodes":{"items":[{"metadata":{"name":"x"}}]}})",
       R"(error: extender "http://x" claims a filtered node "x" which is not found in the input node list)", nullptr},
      {"nothing for a node", R"({"NodeNames":[null],"Nodes":{"items":[null]}})",
       R"(error: extender "http://x" claims a filtered node "" which is not found in the input node list)", nullptr},
      {"a node without a name", R"({"NodeNames":[null],"Nodes":{"items":[{}]}})",
       R"(error: extender "http://x" claims a filtered node "" which is not found in the input node list)", nullptr},
      {"a list", "[]", "error: the answer must be an object", nullptr},
      {"names of the wrong type", R"({"NodeNames":[5]})", "error: the answer's NodeNames must be a list of strings",
       ""},
      {"nodes of the wrong type", R"({"Nodes":[]})", "error: the answer's Nodes must be an object", nullptr},
      {"items of the wrong type", R"({"Nodes":{"items":{}}})", "error: the answer's Nodes.items must be a list",
       nullptr},
      {"a node of the wrong type", R"({"Nodes":{"items":[5]}})",
       "error: the answer's Nodes.items must be a list of nodes", nullptr},
      {"metadata of the wrong type", R"({"Nodes":{"items":[{"metadata":[]}]}})",
       "error: the answer's Nodes.items must be a list of nodes with metadata", nullptr},
      {"a name of the wrong type", R"({"Nodes":{"items":[{"metadata":{"name":1}}]}})",
       "error: the answer's Nodes.items must be a list of nodes with names", nullptr},
      {"reasons of the wrong type", R"({"FailedNodes":["a"]})",
       "error: the answer's FailedNodes must be an object of strings", nullptr},
      {"a reason of the wrong type", R"({"FailedAndUnresolvableNodes":{"a":1}})",
       "error: the answer's FailedAndUnresolvableNodes must be an object of strings", nullptr},
      {"an error of the wrong type", R"({"Error":1})", "error: the answer's Error must be a string", nullptr},
  };
  const std::vector<std::string> asked = {"a", "b"};
  for (const auto& c : cases) {
    EXPECT_EQ(Show(ParseExtenderFilterResult(c.body, {"http://x", true, asked})), c.with_cache) << c.name;
    EXPECT_EQ(Show(ParseExtenderFilterResult(c.body, {"http://x", false, asked})),
              c.without == nullptr ? c.with_cache : c.without)
        << c.name;
  }
}

TEST(ExtenderJsonTest, PriorityAnswers) {
  const struct {
    const char* body;
    const char* want;
  } cases[] = {
      {R"([{"Host":"a","Score":3},{"host":"b","SCORE":-1}])", "a=3 b=-1 "},
      {R"([{"Host":"a"}])", "a=0 "},
      {"null", ""},
      {"[]", ""},
      {R"([{"Host":"a","Score":3.0}])", "error: the answer's Score must be a whole number of 64 bits"},
      {R"([{"Host":"a","Score":"3"}])", "error: the answer's Score must be a whole number of 64 bits"},
      {R"([{"Host":"a","Score":9223372036854775808}])", "error: the answer's Score must be a whole number of 64 bits"},
      {R"([{"Host":5}])", "error: the answer's Host must be a string"},
      {"[null]", "=0 "},
      {"[5]", "error: the answer must be a list of {Host, Score}"},
      {"{}", "error: the answer must be a list of {Host, Score}"},
  };
  for (const auto& c : cases) EXPECT_EQ(Show(ParseHostPriorityList(c.body)), c.want) << c.body;
}

TEST(ExtenderJsonTest, PreemptionAnswers) {
  const struct {
    const char* body;
    const char* want;
  } cases[] = {
      {R"({"NodeNameToMetaVictims":{"b":{"Pods":[{"UID":"u-1"},{"uid":"u-2"}]},"a":{"pods":[{"UID":"u-3"}],"numpdbviolations":2}}})",
       "a[u-3]2 b[u-1 u-2]0 "},
      {R"({"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":"u-1"}]},"a":{"Pods":[{"UID":"u-2"}]}}})", "a[u-2]0 "},
      {R"({"NodeNameToMetaVictims":{"a":{"Pods":null},"b":null,"c":{}}})", "a[]0 b[]0 c[]0 "},
      {R"({"NodeNameToMetaVictims":null})", ""},
      {"{}", ""},
      {"null", ""},
      {"[]", "error: the answer must be an object"},
      {R"({"NodeNameToMetaVictims":[]})", "error: the answer's NodeNameToMetaVictims must be an object"},
      {R"({"NodeNameToMetaVictims":{"a":5}})",
       "error: the answer's NodeNameToMetaVictims must be an object of objects"},
      {R"({"NodeNameToMetaVictims":{"a":{"Pods":{}}}})", "error: the answer's Pods must be a list of {UID}"},
      {R"({"NodeNameToMetaVictims":{"a":{"Pods":[null]}}})", "error: the answer's Pods must be a list of {UID}"},
      {R"({"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":1}]}}})", "error: the answer's UID must be a string"},
      {R"({"NodeNameToMetaVictims":{"a":{"NumPDBViolations":"1"}}})",
       "error: the answer's NumPDBViolations must be a whole number of 64 bits"},
  };
  for (const auto& c : cases) EXPECT_EQ(Show(ParseExtenderPreemptionResult(c.body)), c.want) << c.body;
}

TEST(ExtenderJsonTest, BindingAnswers) {
  EXPECT_EQ(Show(ParseExtenderBindingResult("{}")), "");
  EXPECT_EQ(Show(ParseExtenderBindingResult("null")), "");
  EXPECT_EQ(Show(ParseExtenderBindingResult(R"({"error":"no"})")), "error: no");
  EXPECT_EQ(Show(ParseExtenderBindingResult("[]")), "error: the answer must be an object");
  EXPECT_TRUE(Show(ParseExtenderBindingResult("")).starts_with("error: ")) << "an answer has to be there";
}

TEST(ExtenderJsonTest, LongReasonsAreCut) {
  std::string reason(kReasonBytesMax - 1, 'x');
  reason += "\xc3\xa9 and more";  // a letter of two bytes, half of it within the bound
  const auto answer = ParseExtenderFilterResult(R"({"FailedNodes":{"a":")" + reason + "\"}}", {"http://x", true, {}});
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->failed_nodes[0].second, std::string(kReasonBytesMax - 1, 'x') + "...");
}

TEST(ExtenderJsonTest, DeepAnswersAreRefused) {
  const std::string deep = R"({"x":)" + std::string(100, '[') + std::string(100, ']') + "}";
  EXPECT_TRUE(Show(ParseExtenderBindingResult(deep)).starts_with("error: "));
}

}  // namespace
}  // namespace berth::outside
