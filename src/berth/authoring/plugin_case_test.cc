// SPDX-License-Identifier: Apache-2.0
// The cases of `berth plugin test`: parsing, and the differences that they find.
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "berth/authoring/case_run.h"
#include "berth/framework/fast_path.h"
#include "berth/plugins/registry.h"

namespace berth::authoring {
namespace {

using framework::Cycle;
using framework::NodeInfo;
using framework::PodInfo;
using framework::Status;

// Answers for a node with the values of its labels `says` and `score`. With the label `lies` it answers differently in
// the column form, or when it is asked about a node again.
class Parrot final : public framework::PreEnqueuePlugin,
                     public framework::FastFilter,
                     public framework::ScorePlugin,
                     public framework::PermitPlugin {
 public:
  std::string_view Name() const override { return "Parrot"; }
  Status PreEnqueue(const PodInfo& pod) const override {
    return pod.labels().Find("hold") == nullptr ? Status() : Status::Unschedulable("on hold");
  }
  framework::Dependency FilterDependsOn() const override { return framework::Dependency::kNode; }
  Status Filter(const Cycle&, const PodInfo& pod, const NodeInfo& node) const override {
    const std::string* says = node.node().metadata.labels.Find("says");
    if (says == nullptr) return {};
    if (*says == "error") return Status::Error("oops");
    if (*says == "throw") throw std::runtime_error("oops");
    if (*says == "by-pod") return pod.name == "p" ? Status() : Status::Unschedulable("not p");
    return Status::Unschedulable(*says);
  }
  void FilterRows(const Cycle& cycle, const PodInfo& pod, std::span<const framework::NodeIndex> rows,
                  std::span<framework::VerdictId> verdicts, framework::StatusTable& statuses) const override {
    FastFilter::FilterRows(cycle, pod, rows, verdicts, statuses);
    for (const framework::NodeIndex row : rows) {
      if (cycle.nodes.Info(row).node().metadata.labels.Find("lies") != nullptr)
        verdicts[row] = statuses.Intern(Status::Unschedulable("a lie"));
    }
  }
  std::int64_t Score(const Cycle&, const PodInfo&, framework::NodeIndex, const NodeInfo& node, Status&) const override {
    const std::string* score = node.node().metadata.labels.Find("score");
    return score == nullptr ? 0 : std::stoll(*score);
  }
  framework::PermitResult Permit(const Cycle&, const PodInfo& pod, std::string_view) override {
    if (pod.labels().Find("wait") == nullptr) return {};
    return {Status::Wait(), std::chrono::minutes(1)};
  }
};

std::vector<config::KnownPlugin> Registry() {
  std::vector<config::KnownPlugin> registry = plugins::InTreePlugins();
  registry.push_back({"Parrot", [](const auto&, framework::Handle&) -> Expected<std::unique_ptr<framework::Plugin>> {
                        return std::unique_ptr<framework::Plugin>(std::make_unique<Parrot>());
                      }});
  return registry;
}

Expected<std::vector<PluginCase>> Parse(const std::string& text) {
  static const std::map<std::string, std::string> kFiles = {
      {"here/../profile.yaml",
       "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- schedulerName: own\n"
       "  plugins: {multiPoint: {enabled: [{name: Parrot, weight: 10}]}}\n"}};
  return ParsePluginCases(text, "here", "stem", [](const std::string& path) -> Expected<std::string> {
    const auto at = kFiles.find(path);
    if (at == kFiles.end()) return InvalidError(path + ": no such file or directory");
    return at->second;
  });
}

// One line for each check: "case | check | want | got | ok".
std::string Checks(const std::string& text) {
  const auto cases = Parse(text);
  if (!cases.ok()) return cases.error().message;
  const auto registry = Registry();
  std::string lines;
  for (const PluginCase& test : *cases) {
    const auto checks = RunPluginCase(test, registry);
    if (!checks.ok()) return checks.error().message;
    for (const PluginCheck& check : *checks) {
      lines += test.name + " | " + check.of + " | " + check.want + " | " + check.got + " | " +
               (check.is_ok ? "ok" : "FAIL") + "\n";
    }
  }
  return lines;
}

TEST(PluginTest, Cases) {
  const struct {
    const char* name;
    const char* text;
    const char* want;
  } cases[] = {
      {"verdicts and scores of one plugin",
       R"(
plugin: Parrot
nodes:
  - {name: a, labels: {score: "100"}}
  - {name: b, labels: {score: "7"}}
  - {name: c, labels: {says: "no-room"}}
pod: {name: p}
filter: {a: pass, b: refused, c: no-room}
score: {a: 100, b: 8, c: 0}
placed: a
)",
       "stem | filter a | pass | pass | ok\n"
       "stem | filter b | refused | pass | FAIL\n"
       "stem | filter c | no-room | no-room | ok\n"
       "stem | score a | 100 | 100 | ok\n"
       "stem | score b | 8 | 7 | FAIL\n"
       "stem | score c | 0 | not scored: the node is refused | FAIL\n"
       "stem | placed p | a | a | ok\n"},
      {"one plugin alone knows of no room",
       R"(
plugin: Parrot
nodes: [{name: a, allocatable: {cpu: 1}}]
pod: {name: p, requests: {cpu: 64}}
filter: {a: pass}
score: {a: 0}
placed: [b-is-not-here-so-a, a]
)",
       "placed[0]: Invalid value: \"b-is-not-here-so-a\": no node has this name"},
      {"the only node is not scored",
       R"(
plugin: Parrot
nodes: [{name: a}]
pod: {name: p, requests: {cpu: 64}}
score: {a: 0}
placed: [a, none]
)",
       "stem | score a | 0 | not scored: the only node that passes | FAIL\n"
       "stem | placed p | a or none | a | ok\n"},
      {"a whole profile, in order",
       R"(
config: {plugins: {multiPoint: {enabled: [{name: Parrot, weight: 100}]}}}
nodes:
  - {name: a, labels: {score: "50"}, allocatable: {cpu: 1}}
  - {name: b, allocatable: {cpu: 2}}
pods:
  - {name: there, node: b, requests: {cpu: 500m}}
cases:
  - pending: [{name: p, requests: {cpu: 1}}, {name: q, requests: {cpu: 1}}, {name: r, requests: {cpu: 1}}]
    placed: {p: a, q: b, r: none}
  - name: scores by plugin
    pod: {name: p}
    score: {Parrot: {a: 50, b: 0}, NodeResourcesFit: {a: 1}}
    filter: {a: pass}
  - name: its own nodes
    nodes: [{name: c}]
    pods: []
    pod: {name: p}
    placed: c
)",
       "stem[0] | placed p | a | a | ok\n"
       "stem[0] | placed q | b | b | ok\n"
       "stem[0] | placed r | none | none | ok\n"
       "scores by plugin | filter a | pass | pass | ok\n"
       "scores by plugin | score a of Parrot | 50 | 50 | ok\n"
       "scores by plugin | score b of Parrot | 0 | 0 | ok\n"
       "scores by plugin | score a of NodeResourcesFit | 1 | 94 | FAIL\n"
       "its own nodes | placed p | c | c | ok\n"},
      {"a configuration in a file",
       R"(
config: ../profile.yaml
nodes: [{name: a}, {name: b, labels: {score: "100"}}]
pending: [{name: p}, {name: q, namespace: other}, {name: r, schedulerName: nobody}]
placed: {p: b, other/q: a, r: none}
)",
       "stem | placed p | b | b | ok\n"
       "stem | placed q | a | b | FAIL\n"
       "stem | placed r | none | none | ok\n"},
      {"what the pod is told",
       R"(
plugin: Parrot
nodes: [{name: a, labels: {says: closed}}, {name: b, labels: {says: full}}]
cases:
  - {name: right, pod: {name: p}, placed: none, message: "0/2 nodes are available: 1 closed, 1 full."}
  - {name: wrong, pod: {name: p}, placed: a, message: never}
)",
       "right | placed p | none | none | ok\n"
       "right | message p | 0/2 nodes are available: 1 closed, 1 full. | 0/2 nodes are available: 1 closed, 1 full. | "
       "ok\n"
       "wrong | placed p | a | none: 0/2 nodes are available: 1 closed, 1 full. | FAIL\n"
       "wrong | message p | never | 0/2 nodes are available: 1 closed, 1 full. | FAIL\n"},
      {"errors",
       R"(
plugin: Parrot
nodes: [{name: a, labels: {says: throw}}]
pod: {name: p}
filter: {a: refused}
placed: none
message: 'running "Parrot" filter plugin: panic: oops'
)",
       "stem | filter a | refused | running \"Parrot\" filter plugin: panic: oops | FAIL\n"
       "stem | placed p | none | none | ok\n"
       "stem | message p | running \"Parrot\" filter plugin: panic: oops | running \"Parrot\" filter plugin: panic: "
       "oops | "
       "ok\n"},
      {"a pod that is held back",
       R"(
plugin: Parrot
nodes: [{name: a}]
pod: {name: p, labels: {hold: "yes"}}
filter: {a: pass}
placed: none
message: "Parrot: on hold"
)",
       "stem | filter a | pass | held back by Parrot: on hold | FAIL\n"
       "stem | placed p | none | none | ok\n"
       "stem | message p | Parrot: on hold | Parrot: on hold | ok\n"},
      {"a pod that waits at Permit until its time is over",
       R"(
plugin: Parrot
nodes: [{name: a}]
pod: {name: p, labels: {wait: "yes"}}
placed: none
message: "0/1 nodes are available: 1 rejected due to timeout after waiting 1m0s at plugin Parrot."
)",
       "stem | placed p | none | none | ok\n"
       "stem | message p | 0/1 nodes are available: 1 rejected due to timeout after waiting 1m0s at plugin Parrot. | "
       "0/1 "
       "nodes are available: 1 rejected due to timeout after waiting 1m0s at plugin Parrot. | ok\n"},
      {"a column form that says something else",
       R"(
plugin: Parrot
nodes: [{name: a, labels: {lies: "yes"}}, {name: b}]
pod: {name: p}
filter: {a: pass}
)",
       "stem | forms | the same in the column form | filter a: a lie | FAIL\n"
       "stem | forms | the same when answers are kept | filter a: a lie | FAIL\n"
       "stem | forms | the same for a second pod | filter a: a lie | FAIL\n"
       "stem | filter a | pass | pass | ok\n"},
      {"preemption",
       R"(
config: {}
nodes: [{name: a, allocatable: {cpu: 1}}]
pods: [{name: small, node: a, requests: {cpu: 1}}]
pending: [{name: great, priority: 100, requests: {cpu: 1}}]
placed: {great: a}
)",
       "stem | placed great | a | a | ok\n"},
      {"whole manifests",
       R"(
config: {}
nodes:
  - apiVersion: v1
    kind: Node
    metadata: {name: a, labels: {zone: x}}
    status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
  - {name: b, taints: [{key: gpu, effect: NoSchedule}], unschedulable: false, images: [], conditions: []}
pod:
  apiVersion: v1
  kind: Pod
  metadata: {name: p}
  spec: {containers: [{name: c, image: nginx}], nodeSelector: {zone: x}}
objects:
  - {apiVersion: v1, kind: Namespace, metadata: {name: default}}
placed: a
)",
       "stem | placed p | a | a | ok\n"},
      {"a plugin that sorts or binds by itself",
       R"(
plugin: PrioritySort
nodes: [{name: a}]
pending: [{name: p}, {name: q, priority: 10}]
placed: {p: a, q: a}
)",
       "stem | placed p | a | a | ok\nstem | placed q | a | a | ok\n"},
      {"arguments, also of one case",
       R"(
plugin: NodeResourcesFit
args: {scoringStrategy: {type: MostAllocated}}
nodes: [{name: a, allocatable: {cpu: 2}}, {name: b, allocatable: {cpu: 8}}]
cases:
  - {name: packs, pod: {name: p, requests: {cpu: 1}}, placed: a}
  - {name: spreads, args: {scoringStrategy: {type: LeastAllocated}}, pod: {name: p, requests: {cpu: 1}}, placed: b}
)",
       "packs | placed p | a | a | ok\nspreads | placed p | b | b | ok\n"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    EXPECT_EQ(Checks(test.text), test.want);
  }
}

TEST(PluginTest, BrokenFiles) {
  const std::string head = "plugin: Parrot\nnodes: [{name: a}]\n";
  const struct {
    const char* name;
    std::string text;
    const char* want;
  } cases[] = {
      {"nothing", "", "the text is empty: expected one YAML or JSON document"},
      {"nothing to test", "{}", "plugin: Required value: the plugin to be tested, or a config with it"},
      {"no YAML", "{", nullptr},
      {"a list", "[]", nullptr},
      {"nothing expected", head + "pod: {name: p}\n",
       "filter: Required value: filter, score, placed or message: something should be expected"},
      {"no pod", head + "placed: a\n", "pod: Required value: the pod to be scheduled, or a list of pending ones"},
      {"an unknown field", head + "pod: {name: p}\nplaced: a\nplaces: b\n", nullptr},
      {"an unknown field of a pod", head + "pod: {name: p, cpu: 1}\nplaced: a\n", nullptr},
      {"a label that is no text", head + "pod: {name: p, labels: {on: yes}}\nplaced: a\n", nullptr},
      {"an amount that is none", head + "pod: {name: p, requests: {cpu: much}}\nplaced: a\n", nullptr},
      {"amounts that are none", head + "pod: {name: p, requests: [1]}\nplaced: a\n",
       "pod.requests: must be an object, not a list"},
      {"no name", head + "pod: {labels: {a: b}}\nplaced: a\n", "pod.name: Required value"},
      {"an unknown node", head + "pod: {name: p}\nfilter: {b: pass}\n",
       "filter.b: Invalid value: \"b\": no node has this name"},
      {"a verdict that is none", head + "pod: {name: p}\nfilter: {a: [1]}\n",
       "filter.a: must be pass, refused or the reason, in quotes where it looks like a number"},
      {"a score that is none", head + "pod: {name: p}\nscore: {a: high}\n",
       "score.a: must be a whole number, not a string"},
      {"a score of whom?", "config: {}\nnodes: [{name: a}]\npod: {name: p}\nscore: {a: 1}\n",
       "score.a: must be scores by node, under the plugin's name: config has several plugins"},
      {"verdicts of several pods", head + "pending: [{name: p}]\nfilter: {a: pass}\n",
       "filter: Forbidden: is about one pod: say pod instead of pending"},
      {"a placement of an unknown pod", head + "pending: [{name: p}]\nplaced: {q: a}\n",
       "placed.q: Invalid value: \"q\": no pending pod has this name"},
      {"plugin and config", head + "config: {}\npod: {name: p}\nplaced: a\n",
       "config: Forbidden: may not be beside plugin: one of the two says what is tested"},
      {"a configuration that is not there", "config: x.yaml\npod: {name: p}\nplaced: none\n",
       "config: here/x.yaml: no such file or directory"},
      {"a configuration with a slip", "config: {plugin: x}\npod: {name: p}\nplaced: none\n", nullptr},
      {"an existing pod without a node", head + "pods: [{name: q}]\npod: {name: p}\nplaced: a\n",
       "pods[0].node: Required value: pods without a node are pending"},
      {"two nodes of a name", "plugin: Parrot\nnodes: [{name: a}, {name: a}]\npod: {name: p}\nplaced: a\n",
       "nodes[1].name: Duplicate value: \"a\""},
      {"a node with a slip", "plugin: Parrot\nnodes: [{name: a, image: x}]\npod: {name: p}\nfilter: {a: pass}\n",
       "nodes[0].image: unknown field; known here: allocatable, annotations, conditions, images, labels, name, taints, "
       "unschedulable; the nearest is images"},
      {"an amount that is none",
       "plugin: Parrot\nnodes: [{name: a, allocatable: {cpu: four}}]\npod: {name: p}\nfilter: {a: pass}\n",
       "nodes[0].allocatable.cpu: \"four\" is no quantity: it must be a number and a suffix (such as 500m, 2, 1.5Gi or "
       "1e3)"},
      {"an object of an unknown kind", head + "objects: [{kind: Ingress}]\npod: {name: p}\nplaced: a\n",
       "objects[0].kind: Invalid value: \"Ingress\": no plugin reads objects of this kind; nodes and pods have lists "
       "of "
       "their own"},
      {"in the second case", head + "cases:\n- {pod: {name: p}, placed: a}\n- {pod: {name: p}, placed: c}\n",
       "cases[1].placed: Invalid value: \"c\": no node has this name"},
      {"an unknown plugin", "plugin: Parot\nnodes: [{name: a}]\npod: {name: p}\nplaced: a\n", nullptr},
      {"wrong arguments",
       "plugin: NodeResourcesFit\nargs: {ignored: 1}\nnodes: [{name: a}]\npod: {name: p}\nplaced: a\n", nullptr},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    const std::string got = Checks(test.text);
    if (test.want != nullptr) {
      EXPECT_EQ(got, test.want);
    }
    EXPECT_EQ(got.find(" | "), std::string::npos) << "it should not run: " << got;
    EXPECT_EQ(got.find('\n'), std::string::npos) << got;
    EXPECT_FALSE(got.empty());
  }
}

}  // namespace
}  // namespace berth::authoring
