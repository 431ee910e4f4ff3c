// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <gtest/gtest.h>

#include "berth/devcluster/objects/resource.h"

namespace berth::objects {
namespace {

json::object Parse(std::string_view text) { return json::parse(text).as_object(); }

// "field: message" of every error, the long explanations of name syntaxes cut off.
std::string ErrorText(const std::vector<FieldError>& errors) {
  struct Short {
    std::string_view begin;
    std::string_view name;
  };
  constexpr Short kShorts[] = {{"a lowercase RFC 1123 subdomain", "SUBDOMAIN"},
                               {"a lowercase RFC 1123 label", "LABEL"},
                               {"name part must consist", "NAME"},
                               {"a valid label must", "VALUE"}};
  std::string text;
  for (const FieldError& error : errors) {
    std::string line = error.field + ": " + error.message;
    for (const Short& each : kShorts) {
      if (const std::size_t at = line.find(each.begin); at != std::string::npos)
        line = line.substr(0, at) + std::string(each.name);
    }
    text += (text.empty() ? "" : "\n") + line;
  }
  return text;
}

struct Case {
  const char* name;
  const char* group;
  const char* plural;
  const char* spec;
  const char* want;
};

// Objects of one spec each, and what kube-apiserver 1.36.3 says of them.
const Case kCases[] = {
    {"fine", "", "pods", R"({"containers":[{"name":"c","image":"i"}]})", ""},
    {"no containers", "", "pods", "{}", "spec.containers: Required value"},
    {"no name, no image", "", "pods", R"({"containers":[{}]})",
     "spec.containers[0].name: Required value\nspec.containers[0].image: Required value"},
    {"bad name", "", "pods", R"({"containers":[{"name":"A","image":"i"}]})",
     "spec.containers[0].name: Invalid value: \"A\": LABEL"},
    {"dotted name", "", "pods", R"({"containers":[{"name":"a.b","image":"i"}]})",
     "spec.containers[0].name: Invalid value: \"a.b\": must not contain dots"},
    {"two of a name", "", "pods", R"({"containers":[{"name":"c","image":"i"},{"name":"c","image":"i"}]})",
     "spec.containers[1].name: Duplicate value: \"c\""},
    {"init container of the same name", "", "pods",
     R"({"containers":[{"name":"c","image":"i"}],"initContainers":[{"name":"c","image":"i"}]})",
     "spec.initContainers[0].name: Duplicate value: \"c\""},
    {"image with a blank", "", "pods", R"({"containers":[{"name":"c","image":" x"}]})",
     "spec.containers[0].image: Invalid value: \" x\": must not have leading or trailing whitespace"},
    {"negative request", "", "pods",
     R"({"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"-1"}}}]})",
     "spec.containers[0].resources.requests[cpu]: Invalid value: \"-1\": must be greater than or equal to 0"},
    {"request above limit", "", "pods",
     R"({"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"2","memory":"2Gi"},"limits":{"cpu":"1","memory":"1Gi"}}}]})",
     "spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1\n"
     "spec.containers[0].resources.requests: Invalid value: \"2Gi\": must be less than or equal to memory limit of "
     "1Gi"},
    {"extended resource without limit", "", "pods",
     R"({"containers":[{"name":"c","image":"i","resources":{"requests":{"a.b/c":"2"}}}]})",
     "spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources"},
    {"extended resource, other limit", "", "pods",
     R"({"containers":[{"name":"c","image":"i","resources":{"requests":{"a.b/c":"2"},"limits":{"a.b/c":"3"}}}]})",
     "spec.containers[0].resources.requests: Invalid value: \"2\": must be equal to a.b/c limit of 3"},
    {"resource of no kind", "", "pods",
     R"({"containers":[{"name":"c","image":"i","resources":{"requests":{"foo":"2"}}}]})",
     "spec.containers[0].resources.requests[foo]: Invalid value: \"foo\": must be a standard resource type or fully "
     "qualified\n"
     "spec.containers[0].resources.requests[foo]: Invalid value: \"foo\": must be a standard resource for containers"},
    {"part of a device", "", "pods",
     R"({"containers":[{"name":"c","image":"i","resources":{"requests":{"a.b/c":"1500m"},"limits":{"a.b/c":"1500m"}}}]})",
     "spec.containers[0].resources.limits[a.b/c]: Invalid value: \"1500m\": must be an integer\n"
     "spec.containers[0].resources.requests[a.b/c]: Invalid value: \"1500m\": must be an integer"},
    {"ports", "", "pods",
     R"({"containers":[{"name":"c","image":"i","ports":[{"containerPort":0},{"containerPort":70000},
        {"containerPort":80,"hostPort":-1},{"containerPort":80,"hostPort":70000,"protocol":"X"},
        {"containerPort":80,"name":"x"},{"containerPort":81,"name":"x"}]}]})",
     "spec.containers[0].ports[0].containerPort: Required value\n"
     "spec.containers[0].ports[1].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive\n"
     "spec.containers[0].ports[2].hostPort: Invalid value: -1: must be between 1 and 65535, inclusive\n"
     "spec.containers[0].ports[3].hostPort: Invalid value: 70000: must be between 1 and 65535, inclusive\n"
     "spec.containers[0].ports[3].protocol: Unsupported value: \"X\": supported values: \"SCTP\", \"TCP\", \"UDP\"\n"
     "spec.containers[0].ports[5].name: Duplicate value: \"x\""},
    {"host port twice", "", "pods",
     R"({"containers":[{"name":"c","image":"i","ports":[{"containerPort":80,"hostPort":80},{"containerPort":81,"hostPort":80}]}]})",
     "spec.containers[0].ports[1].hostPort: Duplicate value: \"TCP//80\""},
    {"host network", "", "pods",
     R"({"hostNetwork":true,"containers":[{"name":"c","image":"i","ports":[{"containerPort":80,"hostPort":81}]}]})",
     "spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true"},
    {"node selector", "", "pods", R"({"containers":[{"name":"c","image":"i"}],"nodeSelector":{"a b":"x","c":"x y"}})",
     "spec.nodeSelector: Invalid value: \"a b\": NAME\nspec.nodeSelector: Invalid value: \"x y\": VALUE"},
    {"node name", "", "pods", R"({"containers":[{"name":"c","image":"i"}],"nodeName":"A_B"})",
     "spec.nodeName: Invalid value: \"A_B\": SUBDOMAIN"},
    {"tolerations", "", "pods",
     R"({"containers":[{"name":"c","image":"i"}],"tolerations":[{"operator":"X"},{"key":"a","operator":"Exists","value":"b"},
        {"key":"a","effect":"X"},{"key":"a","effect":"NoSchedule","tolerationSeconds":5}]})",
     "spec.tolerations[0].operator: Invalid value: \"X\": operator must be Exists when `key` is empty, which means "
     "\"match all "
     "values and all keys\"\n"
     "spec.tolerations[0].operator: Unsupported value: \"X\": supported values: \"Equal\", \"Exists\"\n"
     "spec.tolerations[1].operator: Invalid value: \"b\": value must be empty when `operator` is 'Exists'\n"
     "spec.tolerations[2].effect: Unsupported value: \"X\": supported values: \"NoSchedule\", \"PreferNoSchedule\", "
     "\"NoExecute\"\n"
     "spec.tolerations[3].effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute' when `tolerationSeconds` "
     "is set"},
    {"node affinity without terms", "", "pods",
     R"({"containers":[{"name":"c","image":"i"}],"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[]}}}})",
     "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value: "
     "must have at "
     "least one node selector term"},
    {"preferred node affinity", "", "pods",
     R"({"containers":[{"name":"c","image":"i"}],"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[
        {"weight":0,"preference":{"matchExpressions":[{"key":"a","operator":"X"},{"key":"a","operator":"Gt","values":["1","2"]}]}}]}}})",
     "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 0: must be "
     "in the "
     "range 1-100\n"
     "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0]."
     "operator: "
     "Invalid value: \"X\": not a valid selector operator\n"
     "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[1]."
     "values: "
     "Required value: must be specified single value when `operator` is 'Lt' or 'Gt'"},
    {"pod affinity", "", "pods",
     R"({"containers":[{"name":"c","image":"i"}],"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[
        {"topologyKey":"a","labelSelector":{"matchExpressions":[{"key":"a","operator":"In"}]}},{"topologyKey":"a b"}]}}})",
     "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchExpressions[0]"
     ".values: "
     "Required value: must be specified when `operator` is 'In' or 'NotIn'\n"
     "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[1].topologyKey: Invalid value: \"a "
     "b\": NAME"},
    {"spreading", "", "pods",
     R"({"containers":[{"name":"c","image":"i"}],"topologySpreadConstraints":[{"maxSkew":0,"topologyKey":"","whenUnsatisfiable":"X"},
        {"maxSkew":1,"topologyKey":"a","whenUnsatisfiable":"ScheduleAnyway","minDomains":2},
        {"maxSkew":1,"topologyKey":"a","whenUnsatisfiable":"ScheduleAnyway"}]})",
     "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero\n"
     "spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty\n"
     "spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: \"X\": supported values: "
     "\"DoNotSchedule\", "
     "\"ScheduleAnyway\"\n"
     "spec.topologySpreadConstraints[1].minDomains: Invalid value: 2: can only use minDomains if "
     "whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway\n"
     "spec.topologySpreadConstraints[2].{topologyKey, whenUnsatisfiable}: Duplicate value: \"{a, ScheduleAnyway}\""},
    {"gates", "", "pods",
     R"({"containers":[{"name":"c","image":"i"}],"nodeName":"n","schedulingGates":[{"name":"a b"},{"name":"x"},{"name":"x"}]})",
     "spec.schedulingGates[0]: Invalid value: \"a b\": NAME\nspec.schedulingGates[2]: Duplicate value: \"x\"\n"
     "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"},
    {"volumes and mounts", "", "pods",
     R"({"containers":[{"name":"c","image":"i","volumeMounts":[{"name":"x","mountPath":"/a"}]}],
        "volumes":[{"name":"v","emptyDir":{}},{"name":"v","emptyDir":{}},{"name":"w","emptyDir":{},"hostPath":{"path":"/x"}},
                   {"name":"p","persistentVolumeClaim":{}}]})",
     "spec.volumes[1].name: Duplicate value: \"v\"\n"
     "spec.volumes[2].hostPath: Forbidden: may not specify more than 1 volume type\n"
     "spec.volumes[3].persistentVolumeClaim.claimName: Required value\n"
     "spec.containers[0].volumeMounts[0].name: Not found: \"x\""},
    {"policies", "", "pods",
     R"({"containers":[{"name":"c","image":"i","imagePullPolicy":"X"}],"restartPolicy":"X","dnsPolicy":"Y"})",
     "spec.containers[0].imagePullPolicy: Unsupported value: \"X\": supported values: \"Always\", \"IfNotPresent\", "
     "\"Never\"\n"
     "spec.restartPolicy: Unsupported value: \"X\": supported values: \"Always\", \"OnFailure\", \"Never\"\n"
     "spec.dnsPolicy: Unsupported value: \"Y\": supported values: \"ClusterFirstWithHostNet\", \"ClusterFirst\", "
     "\"Default\", "
     "\"None\""},
    {"resource claims", "", "pods",
     R"({"containers":[{"name":"c","image":"i","resources":{"claims":[{"name":"z"}]}}],
        "resourceClaims":[{"name":"a","resourceClaimName":"x"},{"name":"a","resourceClaimName":"x"}]})",
     "spec.resourceClaims[1].name: Duplicate value: \"a\"\n"
     "spec.containers[0].resources.claims[0]: Not found: \"z\": must be one of the names in pod.spec.resourceClaims: "
     "a"},
    {"deadline", "", "pods", R"({"containers":[{"name":"c","image":"i"}],"activeDeadlineSeconds":0})",
     "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"},
    {"empty deployment", "apps", "deployments", "{}",
     "spec.selector: Required value\n"
     "spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`\n"
     "spec.template.spec.containers: Required value"},
    {"selector of other labels", "apps", "deployments",
     R"({"selector":{"matchLabels":{"a":"x"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}})",
     "spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`"},
    {"empty selector", "apps", "deployments",
     R"({"selector":{},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}})",
     "spec.selector: Invalid value: {}: empty selector is invalid for deployment"},
    {"bad selector", "apps", "deployments",
     R"({"selector":{"matchExpressions":[{"key":"a","operator":"X"}]},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}})",
     "spec.selector.matchExpressions[0].operator: Invalid value: \"X\": not a valid selector operator\n"
     "spec.selector: Invalid value: {\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"X\"}]}: invalid label "
     "selector"},
    {"negative replicas", "apps", "deployments",
     R"({"replicas":-1,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}})",
     "spec.replicas: Invalid value: -1: must be greater than or equal to 0"},
    {"restart policy of a template", "apps", "deployments",
     R"({"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}})",
     "spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\""},
    {"rolling update of nothing", "apps", "deployments",
     R"({"strategy":{"rollingUpdate":{"maxSurge":0,"maxUnavailable":0}},"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}})",
     "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0"},
    {"more than all", "apps", "deployments",
     R"({"strategy":{"rollingUpdate":{"maxUnavailable":"200%"}},"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}})",
     "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"200%\": must not be greater than 100%"},
    {"recreate", "apps", "deployments",
     R"({"strategy":{"type":"Recreate","rollingUpdate":{}},"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}})",
     "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"},
    {"taints", "", "nodes",
     R"({"taints":[{"key":"a","effect":""},{"key":"a","effect":"X"},{"key":"a","effect":"NoSchedule"},{"key":"a","effect":"NoSchedule"}]})",
     "metadata.taints[0].effect: Required value\n"
     "metadata.taints[1].effect: Unsupported value: \"X\": supported values: \"NoSchedule\", \"PreferNoSchedule\", "
     "\"NoExecute\"\n"
     "metadata.taints[3]: Duplicate value: {\"key\":\"a\",\"effect\":\"NoSchedule\"}: taints must be unique by key and "
     "effect pair"},
    {"node port", "", "services", R"({"type":"NodePort","ports":[{"port":80,"nodePort":80}]})",
     "spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is "
     "30000-32767"},
    {"service without ports", "", "services", "{}", "spec.ports: Required value"},
    {"claim", "", "persistentvolumeclaims", "{}",
     "spec.accessModes: Required value: at least 1 access mode is required\nspec.resources[storage]: Required value"},
    {"volume", "", "persistentvolumes", R"({"capacity":{"storage":"1Gi"},"accessModes":["X"]})",
     "spec.accessModes: Unsupported value: \"X\": supported values: \"ReadOnlyMany\", \"ReadWriteMany\", "
     "\"ReadWriteOnce\", "
     "\"ReadWriteOncePod\"\nspec: Required value: must specify a volume type"},
    {"local volume without a place", "", "persistentvolumes",
     R"({"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce","ReadWriteOncePod"],"local":{"path":"/x"}})",
     "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes\n"
     "spec.nodeAffinity: Required value: Local volume requires node affinity"},
    {"volume's node affinity", "", "persistentvolumes",
     R"({"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"local":{"path":"/x"},
         "nodeAffinity":{"required":{"nodeSelectorTerms":[]}}})",
     "spec.nodeAffinity.required.nodeSelectorTerms: Required value: must have at least one node selector term"},
    {"disks without names", "", "pods",
     R"({"containers":[{"name":"c","image":"i"}],"volumes":[{"name":"a","gcePersistentDisk":{}},
        {"name":"b","awsElasticBlockStore":{}},{"name":"c","azureDisk":{}},{"name":"d","iscsi":{}},{"name":"e","rbd":{}},
        {"name":"f","csi":{}},{"name":"g","ephemeral":{}},{"name":"h","ephemeral":{"volumeClaimTemplate":{}}}]})",
     "spec.volumes[0].persistentDisk.pdName: Required value\n"
     "spec.volumes[1].awsElasticBlockStore.volumeID: Required value\n"
     "spec.volumes[2].azureDisk.diskName: Required value\nspec.volumes[2].azureDisk.diskURI: Required value\n"
     "spec.volumes[3].iscsi.targetPortal: Required value\nspec.volumes[3].iscsi.iqn: Required value\n"
     "spec.volumes[4].rbd.image: Required value\nspec.volumes[4].rbd.monitors: Required value\n"
     "spec.volumes[5].csi.driver: Required value\n"
     "spec.volumes[6].ephemeral.volumeClaimTemplate: Required value\n"
     "spec.volumes[7].ephemeral.volumeClaimTemplate.spec.accessModes: Required value: at least 1 access mode is "
     "required\n"
     "spec.volumes[7].ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value"},
    {"budget", "policy", "poddisruptionbudgets", R"({"minAvailable":"x"})",
     "spec.minAvailable: Invalid value: \"x\": a valid percent string must be a numeric string followed by an ending "
     "'%' (e.g. "
     "'1%',  or '93%', regex used for validation is '[0-9]+%')"},
    {"lease", "coordination.k8s.io", "leases", R"({"leaseDurationSeconds":0,"leaseTransitions":-1})",
     "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0\n"
     "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0"},
    {"slice", "resource.k8s.io", "resourceslices", "{}",
     "spec.driver: Required value\nspec.pool.name: Required value\n"
     "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero\n"
     "spec: Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is "
     "required"},
};

TEST(Validation, SpeaksAsTheRealServerDoes) {
  for (const Case& c : kCases) {
    const ResourceType* type = FindResource(c.group, "v1", c.plural);
    ASSERT_NE(type, nullptr) << c.name;
    json::object object;
    object["metadata"] = {{"name", "a"}, {"namespace", "default"}};
    object["spec"] = json::parse(c.spec);
    type->set_defaults(object);
    type->prepare_create(object);
    EXPECT_EQ(ErrorText(type->validate(object, nullptr)), c.want) << c.name;
  }
}

TEST(Validation, OfObjectsWithoutSpec) {
  struct ObjectCase {
    const char* name;
    const char* group;
    const char* plural;
    const char* object;
    const char* want;
  };
  const ObjectCase cases[] = {
      {"node amounts", "", "nodes",
       R"({"metadata":{"name":"n"},"status":{"capacity":{"cpu":"-1","pods":"1.5"},"allocatable":{"cpu":"1"}}})",
       "status.capacity.cpu: Invalid value: \"-1\": must be greater than or equal to 0\n"
       "status.capacity.pods: Invalid value: \"1500m\": must be an integer"},
      {"config map", "", "configmaps", R"({"data":{"x":"y"},"binaryData":{"x":"eA=="}})",
       "data[x]: Invalid value: \"x\": duplicate of key present in binaryData"},
      {"storage class", "storage.k8s.io", "storageclasses", "{}", "provisioner: Required value"},
      {"priority too high", "scheduling.k8s.io", "priorityclasses", R"({"metadata":{"name":"a"},"value":2000000000})",
       "value: Forbidden: maximum allowed value of a user defined priority is 1000000000"},
      {"a system's name", "scheduling.k8s.io", "priorityclasses", R"({"metadata":{"name":"system-x"},"value":1})",
       "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: "
       "system-x "
       "is not a known system priority class"},
      {"event elsewhere", "", "events",
       R"({"metadata":{"namespace":"default"},"involvedObject":{"namespace":"other"}})",
       "involvedObject.namespace: Invalid value: \"other\": does not match event.namespace"},
      {"event with a time", "", "events",
       R"({"metadata":{"namespace":"default"},"involvedObject":{},"eventTime":"2026-11-21T14:00:00.000000Z","reportingComponent":"a/b"})",
       "reportingInstance: Required value\naction: Required value\nreason: Required value"},
      {"event of the new API", "events.k8s.io", "events",
       R"({"apiVersion":"events.k8s.io/v1","metadata":{"namespace":"default"}})",
       "eventTime: Required value\ntype: Invalid value: \"\": has invalid value: "},
      {"dotted stateful set", "apps", "statefulsets",
       R"({"metadata":{"name":"a.b"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})",
       "metadata.name: Invalid value: \"a.b\": must not contain dots"},
  };
  for (const ObjectCase& c : cases) {
    const ResourceType* type = FindResource(c.group, "v1", c.plural);
    ASSERT_NE(type, nullptr) << c.name;
    json::object object = Parse(c.object);
    type->set_defaults(object);
    EXPECT_EQ(ErrorText(type->validate(object, nullptr)), c.want) << c.name;
  }
}

// Sets what stands at "/tolerations/1": a member, an element, or the element behind the last one.
void SetAt(json::value& document, std::string_view pointer, json::value value) {
  json::value* at = &document;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const std::size_t end = std::min(pointer.find('/'), pointer.size());
    const std::string key(pointer.substr(0, end));
    pointer.remove_prefix(end);
    if (at->is_array()) {
      const std::size_t index = std::stoul(key);
      if (index == at->get_array().size()) at->get_array().push_back(nullptr);
      at = &at->get_array().at(index);
    } else {
      at = &at->as_object()[key];
    }
  }
  *at = std::move(value);
}

constexpr std::string_view kMayNotChange = "spec: Forbidden: pod updates may not change fields other than";

TEST(Validation, OfPodUpdates) {
  const ResourceType& pods = *FindResource("", "v1", "pods");
  struct UpdateCase {
    const char* name;
    const char* old_spec;
    const char* pointer;  // what is replaced in the new spec
    const char* value;
    std::string want;  // the beginning of the error text
  };
  constexpr const char* kPlain =
      R"({"containers":[{"name":"c","image":"i"}],"tolerations":[{"key":"a","operator":"Exists","effect":"NoExecute"}]})";
  constexpr const char* kGated =
      R"({"containers":[{"name":"c","image":"i"}],"schedulingGates":[{"name":"g"}],"nodeSelector":{"a":"b"}})";
  constexpr const char* kBounded = R"({"containers":[{"name":"c","image":"i"}],"activeDeadlineSeconds":5})";
  constexpr const char* kGatedTerms =
      R"({"containers":[{"name":"c","image":"i"}],"schedulingGates":[{"name":"g"}],"affinity":{"nodeAffinity":
          {"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Exists"}]}]}}}})";
  const std::string terms = "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
  const UpdateCase cases[] = {
      {"longer deadline", kBounded, "/activeDeadlineSeconds", "9",
       "spec.activeDeadlineSeconds: Invalid value: 9: must be less than or equal to previous value"},
      {"shorter deadline", kBounded, "/activeDeadlineSeconds", "4", ""},
      {"gated, another term", kGatedTerms,
       "/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchExpressions/0/"
       "key",
       R"("b")",
       "spec." + terms +
           R"([0]: Invalid value: {"matchExpressions":[{"key":"b","operator":"Exists"}]}: only additions are allowed (no mutations or deletions))"},
      {"gated, more terms", kGatedTerms,
       "/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/1",
       R"({"matchExpressions":[{"key":"c","operator":"Exists"}]})",
       "spec." + terms +
           R"(: Invalid value: [{"matchExpressions":[{"key":"a","operator":"Exists"}]},{"matchExpressions":[{"key":"c","operator":"Exists"}]}]: no additions/deletions to non-empty NodeSelectorTerms list are allowed)"},
      {"image", kPlain, "/containers/0/image", R"("j")", ""},
      {"no image", kPlain, "/containers/0/image", R"("")", "spec.containers[0].image: Required value"},
      {"deadline", kPlain, "/activeDeadlineSeconds", "5", ""},
      {"node", kPlain, "/nodeName", R"("n")", std::string(kMayNotChange)},
      {"no host network", kPlain, "/hostNetwork", "false", ""},
      {"host network", kPlain, "/hostNetwork", "true", std::string(kMayNotChange)},
      {"empty node selector", kPlain, "/nodeSelector", "{}", ""},
      {"node selector", kPlain, "/nodeSelector", R"({"a":"b"})", std::string(kMayNotChange)},
      {"priority", kPlain, "/priority", "5", std::string(kMayNotChange)},
      {"container", kPlain, "/containers/1", R"({"name":"d","image":"i"})",
       "spec.containers: Forbidden: pod updates may not add or remove containers"},
      {"one more toleration", kPlain, "/tolerations/3", R"({"key":"b","operator":"Exists"})", ""},
      {"more seconds", kPlain, "/tolerations/0",
       R"({"key":"a","operator":"Exists","effect":"NoExecute","tolerationSeconds":9})", ""},
      {"another toleration", kPlain, "/tolerations/0", R"({"key":"b","operator":"Exists"})",
       "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"},
      {"new gate", kPlain, "/schedulingGates", R"([{"name":"x"}])",
       "spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'x'"},
      {"gate removed", kGated, "/schedulingGates", "[]", ""},
      {"gated, narrower", kGated, "/nodeSelector", R"({"a":"b","c":"d"})", ""},
      {"gated, other", kGated, "/nodeSelector", R"({"a":"x"})",
       "spec.nodeSelector: Invalid value: {\"a\":\"x\"}: only additions are allowed to spec.nodeSelector (no mutations "
       "or deletions)"},
      {"gated, affinity", kGated, "/affinity",
       R"({"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Exists"}]}]}}})",
       ""},
  };
  for (const UpdateCase& c : cases) {
    json::object old;
    old["metadata"] = {{"name", "a"}};
    old["spec"] = json::parse(c.old_spec);
    pods.set_defaults(old);
    pods.prepare_create(old);
    json::object changed = old;
    SetAt(changed["spec"], c.pointer, json::parse(c.value));
    const std::string text = ErrorText(pods.validate(changed, &old));
    if (c.want.empty()) {
      EXPECT_EQ(text, "") << c.name;
    } else {
      EXPECT_TRUE(text.starts_with(c.want)) << c.name << ": " << text;
    }
  }
}

TEST(Validation, OfOtherUpdates) {
  struct UpdateCase {
    const char* name;
    const char* group;
    const char* plural;
    const char* before;
    const char* after;
    const char* want;
  };
  const UpdateCase cases[] = {
      {"selector", "apps", "replicasets",
       R"({"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b","x":"y"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})",
       R"({"spec":{"selector":{"matchLabels":{"x":"y"}},"template":{"metadata":{"labels":{"a":"b","x":"y"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})",
       "spec.selector: Invalid value: {\"matchLabels\":{\"x\":\"y\"}}: field is immutable"},
      {"class value", "scheduling.k8s.io", "priorityclasses", R"({"metadata":{"name":"a"},"value":7})",
       R"({"metadata":{"name":"a"},"value":9})", "value: Forbidden: may not be changed in an update."},
      {"provisioner", "storage.k8s.io", "storageclasses", R"({"provisioner":"p"})", R"({"provisioner":"q"})",
       "provisioner: Invalid value: \"q\": field is immutable"},
      {"claim grows", "", "persistentvolumeclaims",
       R"({"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}},"status":{"phase":"Bound"}})",
       R"({"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"2Gi"}}},"status":{"phase":"Bound"}})",
       ""},
      {"claim shrinks", "", "persistentvolumeclaims",
       R"({"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"3Gi"}}},
           "status":{"phase":"Bound","capacity":{"storage":"2Gi"}}})",
       R"({"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}},
           "status":{"phase":"Bound","capacity":{"storage":"2Gi"}}})",
       "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"},
      {"claim gets its class", "", "persistentvolumeclaims",
       R"({"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}})",
       R"({"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}},"storageClassName":"s"}})",
       ""},
      {"volume of another disk", "", "persistentvolumes",
       R"({"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},"csi":{"driver":"d","volumeHandle":"a"}}})",
       R"({"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},"csi":{"driver":"d","volumeHandle":"b"}}})",
       "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation"},
      {"volume is claimed", "", "persistentvolumes",
       R"({"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},"csi":{"driver":"d","volumeHandle":"a"}}})",
       R"({"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},"claimRef":{"name":"c"},
           "csi":{"driver":"d","volumeHandle":"a","controllerExpandSecretRef":{"name":"s"}}}})",
       ""},
      {"CSI driver", "storage.k8s.io", "csidrivers", R"({"spec":{"attachRequired":true}})",
       R"({"spec":{"attachRequired":false}})", "spec.attachedRequired: Invalid value: false: field is immutable"},
      {"claim is bound", "", "persistentvolumeclaims",
       R"({"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}})",
       R"({"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}},"volumeName":"v"}})", ""},
      {"claim of other modes", "", "persistentvolumeclaims",
       R"({"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}})",
       R"({"spec":{"accessModes":["ReadOnlyMany"],"resources":{"requests":{"storage":"1Gi"}}}})",
       "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for "
       "bound "
       "claims"},
      {"cluster address", "", "services", R"({"spec":{"clusterIP":"10.0.0.1","ports":[{"port":80}]}})",
       R"({"spec":{"clusterIP":"10.0.0.2","ports":[{"port":80}]}})",
       "spec.clusterIPs[0]: Invalid value: [\"10.0.0.2\"]: may not change once set"},
      {"secret type", "", "secrets", R"({"type":"Opaque"})", R"({"type":"x"})",
       "type: Invalid value: \"x\": field is immutable"},
      {"immutable config map", "", "configmaps", R"({"immutable":true,"data":{"a":"b"}})",
       R"({"immutable":true,"data":{"a":"c"}})", "data: Forbidden: field is immutable when `immutable` is set"},
  };
  for (const UpdateCase& c : cases) {
    const ResourceType* type = FindResource(c.group, "v1", c.plural);
    ASSERT_NE(type, nullptr) << c.name;
    json::object before = Parse(c.before);
    json::object after = Parse(c.after);
    type->set_defaults(before);
    type->set_defaults(after);
    EXPECT_EQ(ErrorText(type->validate(after, &before)), c.want) << c.name;
  }
}

const Case kStoredKinds[] = {
    {"a job that never ends", "batch", "jobs", R"({"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}})",
     "spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\""},
    {"a job", "batch", "jobs",
     R"({"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}})", ""},
    {"a job with less than none", "batch", "jobs",
     R"({"parallelism":-1,"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}})",
     "spec.parallelism: Invalid value: -1: must be greater than or equal to 0"},
    {"a schedule of three fields", "batch", "cronjobs",
     R"({"schedule":"* * *","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never",
         "containers":[{"name":"c","image":"i"}]}}}}})",
     "spec.schedule: Invalid value: \"* * *\": expected exactly 5 fields, found 3: [* * *]"},
    {"an hourly cron job", "batch", "cronjobs",
     R"({"schedule":"@hourly","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never",
         "containers":[{"name":"c","image":"i"}]}}}}})",
     ""},
    {"a set whose pods mount its claims", "apps", "statefulsets",
     R"({"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[
        {"name":"c","image":"i","volumeMounts":[{"name":"data","mountPath":"/d"}]}]}},
        "volumeClaimTemplates":[{"metadata":{"name":"data"}}]})",
     ""},
    {"an ingress of nothing", "networking.k8s.io", "ingresses", "{}",
     "spec: Invalid value: {}: either `defaultBackend` or `rules` must be specified"},
    {"a path without type", "networking.k8s.io", "ingresses",
     R"({"rules":[{"http":{"paths":[{"path":"/","backend":{}}]}}]})",
     "spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified"},
};

TEST(Validate, KindsThatAreStored) {
  for (const Case& c : kStoredKinds) {
    const ResourceType* type = FindResource(c.group, "v1", c.plural);
    ASSERT_NE(type, nullptr) << c.name;
    json::object object = Parse(std::string(R"({"metadata":{"name":"x"},"spec":)") + c.spec + "}");
    type->set_defaults(object);
    EXPECT_EQ(ErrorText(type->validate(object, nullptr)), c.want) << c.name;
  }
}

TEST(Validate, RolesAndTheirBindings) {
  const ResourceType& roles = *FindResource("rbac.authorization.k8s.io", "v1", "roles");
  EXPECT_EQ(ErrorText(roles.validate(Parse(R"({"kind":"Role","rules":[{"resources":["pods"]}]})"), nullptr)),
            "rules[0].verbs: Required value: verbs must contain at least one value\n"
            "rules[0].apiGroups: Required value: resource rules must supply at least one api group");
  const ResourceType& bindings = *FindResource("rbac.authorization.k8s.io", "v1", "clusterrolebindings");
  json::object binding = Parse(R"({"kind":"ClusterRoleBinding","roleRef":{"kind":"Role","name":"r"},
                                   "subjects":[{"kind":"User","name":"u"},{"kind":"ServiceAccount","name":"s"}]})");
  bindings.set_defaults(binding);
  EXPECT_EQ(binding.at("roleRef").at("apiGroup"), "rbac.authorization.k8s.io");
  EXPECT_EQ(binding.at("subjects").at(0).at("apiGroup"), "rbac.authorization.k8s.io");
  EXPECT_EQ(ErrorText(bindings.validate(binding, nullptr)),
            "roleRef.kind: Unsupported value: \"Role\": supported values: \"ClusterRole\"\n"
            "subjects[1].namespace: Required value");
  json::object other = binding;
  other["roleRef"].as_object()["name"] = "s";
  EXPECT_NE(ErrorText(bindings.validate(other, &binding)).find("cannot change roleRef"), std::string::npos);
}

TEST(Validate, AnAutoscalerAndACustomResourceDefinition) {
  const ResourceType& autoscalers = *FindResource("autoscaling", "v2", "horizontalpodautoscalers");
  EXPECT_EQ(
      ErrorText(autoscalers.validate(
          Parse(R"({"spec":{"minReplicas":3,"maxReplicas":2,"scaleTargetRef":{"kind":"Deployment"}}})"), nullptr)),
      "spec.maxReplicas: Invalid value: 2: must be greater than or equal to `minReplicas`\n"
      "spec.scaleTargetRef.name: Required value");
  const ResourceType& definitions = *FindResource("apiextensions.k8s.io", "v1", "customresourcedefinitions");
  EXPECT_EQ(
      ErrorText(definitions.validate(Parse(R"({"metadata":{"name":"boats"},"spec":{"group":"x.org","scope":"Galaxy",
                "names":{"plural":"boats","kind":"Boat"},"versions":[{"name":"v1"}]}})"),
                                     nullptr)),
      "metadata.name: Invalid value: \"boats\": must be spec.names.plural+\".\"+spec.group\n"
      "spec.scope: Unsupported value: \"Galaxy\": supported values: \"Cluster\", \"Namespaced\"\n"
      "spec.versions: Invalid value: [{\"name\":\"v1\"}]: must have exactly one version marked as storage version\n"
      "spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required");
}

}  // namespace
}  // namespace berth::objects
