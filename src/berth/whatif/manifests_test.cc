// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/manifests.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace berth::whatif {
namespace {

constexpr std::string_view kDeployment = R"(apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c, image: nginx, resources: {requests: {cpu: 500m}}}]
)";

TEST(ManifestsTest, DocumentsOfAllFilesInTheirOrder) {
  const std::string first = "# a comment\n\n---\n" + std::string(kDeployment) +
                            "---\n# nothing\n---\napiVersion: batch/v1\nkind: CronJob\nmetadata: {name: tidy}\n";
  const std::string second = R"({"apiVersion": "v1", "kind": "List", "items": [
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n9"}, "status": {"capacity": {"cpu": "4"}}},
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "shop"},
     "spec": {"containers": [{"name": "c", "image": "i"}]}}]})";
  const auto read = ReadManifests({{"a.yaml", first}, {"b.json", second}}, "own");
  ASSERT_TRUE(read.ok()) << read.error().message;
  std::vector<std::string> where;
  for (const Manifest& manifest : read->documents) where.push_back(manifest.where);
  EXPECT_EQ(where, (std::vector<std::string>{"a.yaml:4: Deployment own/web", "b.json:1: items[0]: Node n9",
                                             "b.json:1: items[1]: Pod shop/p"}));
  EXPECT_EQ(read->left_out, (std::vector<std::string>{"a.yaml:17: CronJob tidy: batch/v1 CronJob is not simulated"}));
  // The API server's defaults.
  EXPECT_EQ(read->documents[0].object.at("spec").at("template").at("spec").at("schedulerName"), "default-scheduler");
  EXPECT_EQ(read->documents[1].object.at("status").at("allocatable").at("cpu"), "4");
}

struct BadCase {
  const char* name;
  std::string text;
  std::string want;  // the whole message
};

TEST(ManifestsTest, BadInputNamesFileLineAndField) {
  const auto replaced = [](std::string from, const std::string& to) {
    std::string text(kDeployment);
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  const std::vector<BadCase> cases = {
      {"nothing", "# only a comment\n", "m.yaml: there is no document in it"},
      {"a scalar", "hello\n", "m.yaml:1: a manifest is an object with a kind"},
      {"no kind", "\n---\napiVersion: v1\n", "m.yaml:3: kind: Required value"},
      {"no version", "kind: Pod\n", "m.yaml:1: apiVersion: Required value"},
      {"unknown field", replaced("replicas: 3", "replicaz: 3"),
       "m.yaml:5: Deployment default/web: unknown field \"spec.replicaz\""},
      {"wrong type", replaced("replicas: 3", "replicas: many"),
       "m.yaml:5: Deployment default/web: spec.replicas: json: cannot unmarshal string into Go struct field "
       "DeploymentSpec.spec.replicas of type int32"},
      {"wrong value", replaced("replicas: 3", "replicas: -1"),
       "m.yaml:5: Deployment default/web: spec.replicas: Invalid value: -1: must be greater than or equal to 0"},
      {"a job without template", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {}\n",
       "m.yaml:4: Job default/j: spec.template: Required value"},
      {"a job that restarts",
       "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {parallelism: -1, template: {spec: {}}}\n",
       "m.yaml:4: Job default/j: [spec.parallelism: Invalid value: -1: must be a whole number, 0 or more, "
       "spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\"]"},
      {"no quantity", "---\n---\n" + replaced("cpu: 500m", "cpu: 1..5"),
       "m.yaml:12: Deployment default/web: spec.template.spec.containers[0].resources.requests[cpu]: \"1..5\" is no "
       "quantity: it must be a number and a suffix (such as 500m, 2, 1.5Gi or 1e3)"},
      {"no quantity in a job",
       "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec:\n  template:\n    spec:\n      restartPolicy: "
       "Never\n"
       "      containers:\n      - name: c\n        resources:\n          limits:\n            memory: lots\n",
       "m.yaml:12: Job default/j: spec.template.spec.containers[0].resources.limits[memory]: \"lots\" is no quantity: "
       "it must be a number and a suffix (such as 500m, 2, 1.5Gi or 1e3)"},
      {"no quantity in a list",
       "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Node\n  metadata: {name: node}\n  status:\n"
       "    allocatable:\n      cpu: 4\n      nvidia.com/gpu: 1 pc\n",
       "m.yaml:10: items[0]: Node node: status.allocatable[nvidia.com/gpu]: \"1 pc\" is no quantity: it must be a "
       "number "
       "and a suffix (such as 500m, 2, 1.5Gi or 1e3)"},
      {"an item without kind", "apiVersion: v1\nkind: List\nitems: [{}]\n", "m.yaml:1: items[0].kind: Required value"},
  };
  for (const BadCase& test : cases) {
    const auto read = ReadManifests({{"m.yaml", test.text}}, "default");
    ASSERT_FALSE(read.ok()) << test.name;
    EXPECT_EQ(read.error().message, test.want) << test.name;
  }
}

TEST(ManifestsTest, TextThatIsNoYamlNamesFileAndLine) {
  const auto read = ReadManifests({{"m.yaml", "a: b\nc: [\n"}}, "default");
  ASSERT_FALSE(read.ok());
  EXPECT_TRUE(read.error().message.starts_with("m.yaml: ")) << read.error().message;
  EXPECT_NE(read.error().message.find("line "), std::string::npos) << read.error().message;
}

}  // namespace
}  // namespace berth::whatif
