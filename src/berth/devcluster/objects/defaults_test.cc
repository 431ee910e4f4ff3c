// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "berth/devcluster/objects/resource.h"

namespace berth::objects {
namespace {

json::object Parse(std::string_view text) { return json::parse(text).as_object(); }

// What a create makes of `text`, without the server's own metadata.
json::object Created(const ResourceType& type, std::string_view text) {
  json::object object = Parse(text);
  type.set_defaults(object);
  type.prepare_create(object);
  return object;
}

struct Case {
  const char* name;
  const char* group;
  const char* plural;
  const char* in;
  const char* want;
};

// The answers of kube-apiserver 1.36.3 to the same documents.
const Case kCases[] = {
    {"pod", "", "pods",
     R"({"metadata":{"name":"p"},"spec":{"containers":[
        {"name":"c","image":"nginx","ports":[{"containerPort":80}],"resources":{"limits":{"cpu":"1"}},
         "livenessProbe":{"httpGet":{"port":80}},
         "env":[{"name":"X","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}]},
        {"name":"d","image":"nginx:1.2"}],
        "volumes":[{"name":"w"},{"name":"s","secret":{"secretName":"s"}},{"name":"h","hostPath":{"path":"/x"}}]}})",
     R"({"metadata":{"name":"p","generation":1},"spec":{"containers":[
        {"name":"c","image":"nginx","imagePullPolicy":"Always","ports":[{"containerPort":80,"protocol":"TCP"}],
         "resources":{"limits":{"cpu":"1"},"requests":{"cpu":"1"}},
         "livenessProbe":{"httpGet":{"port":80,"path":"/","scheme":"HTTP"},"failureThreshold":3,"periodSeconds":10,
                          "successThreshold":1,"timeoutSeconds":1},
         "env":[{"name":"X","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.name"}}}],
         "terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"},
        {"name":"d","image":"nginx:1.2","imagePullPolicy":"IfNotPresent","resources":{},
         "terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}],
        "volumes":[{"name":"w","emptyDir":{}},{"name":"s","secret":{"secretName":"s","defaultMode":420}},
                   {"name":"h","hostPath":{"path":"/x","type":""}}],
        "dnsPolicy":"ClusterFirst","enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority","priority":0,
        "restartPolicy":"Always","schedulerName":"default-scheduler","securityContext":{},
        "terminationGracePeriodSeconds":30,"tolerations":[
          {"effect":"NoExecute","key":"node.kubernetes.io/not-ready","operator":"Exists","tolerationSeconds":300},
          {"effect":"NoExecute","key":"node.kubernetes.io/unreachable","operator":"Exists","tolerationSeconds":300}]},
        "status":{"phase":"Pending","qosClass":"Burstable"}})"},
    {"deployment", "apps", "deployments",
     R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
        "spec":{"containers":[{"name":"c","image":"nginx"}]}}}})",
     R"({"metadata":{"name":"d","generation":1},"spec":{"progressDeadlineSeconds":600,"replicas":1,"revisionHistoryLimit":10,
        "selector":{"matchLabels":{"a":"b"}},
        "strategy":{"rollingUpdate":{"maxSurge":"25%","maxUnavailable":"25%"},"type":"RollingUpdate"},
        "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"image":"nginx","imagePullPolicy":"Always",
          "name":"c","resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}],
          "dnsPolicy":"ClusterFirst","restartPolicy":"Always","schedulerName":"default-scheduler","securityContext":{},
          "terminationGracePeriodSeconds":30}}},"status":{}})"},
    {"stateful set", "apps", "statefulsets",
     R"({"spec":{"template":{"spec":{"containers":[]}},"volumeClaimTemplates":[{"metadata":{"name":"d"},"spec":{}}]}})",
     R"({"metadata":{"generation":1},"spec":{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Retain",
        "whenScaled":"Retain"},"podManagementPolicy":"OrderedReady","replicas":1,"revisionHistoryLimit":10,
        "template":{"spec":{"containers":[],"dnsPolicy":"ClusterFirst","restartPolicy":"Always",
          "schedulerName":"default-scheduler","securityContext":{},"terminationGracePeriodSeconds":30}},
        "updateStrategy":{"rollingUpdate":{"partition":0},"type":"RollingUpdate"},
        "volumeClaimTemplates":[{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"d"},
          "spec":{"volumeMode":"Filesystem"},"status":{"phase":"Pending"}}]},
        "status":{"availableReplicas":0,"replicas":0}})"},
    {"daemon set", "apps", "daemonsets", R"({"spec":{"template":{"spec":{"dnsPolicy":"None","restartPolicy":"Never",
        "schedulerName":"s","securityContext":{},"terminationGracePeriodSeconds":0}}}})",
     R"({"metadata":{"generation":1},"spec":{"revisionHistoryLimit":10,"updateStrategy":{"type":"RollingUpdate",
        "rollingUpdate":{"maxSurge":0,"maxUnavailable":1}},"template":{"spec":{"dnsPolicy":"None","restartPolicy":"Never",
        "schedulerName":"s","securityContext":{},"terminationGracePeriodSeconds":0}}},
        "status":{"currentNumberScheduled":0,"desiredNumberScheduled":0,"numberMisscheduled":0,"numberReady":0}})"},
    {"node", "", "nodes", R"({"metadata":{"name":"n"},"status":{"capacity":{"cpu":4}}})",
     R"({"metadata":{"name":"n"},"spec":{},"status":{"capacity":{"cpu":"4"},"allocatable":{"cpu":"4"}}})"},
    {"namespace", "", "namespaces", R"({"metadata":{"name":"ns"}})",
     R"({"metadata":{"name":"ns","labels":{"kubernetes.io/metadata.name":"ns"}},"spec":{},"status":{"phase":"Active"}})"},
    {"headless service", "", "services",
     R"({"metadata":{"name":"s"},"spec":{"clusterIP":"None","ports":[{"port":80}]}})",
     R"({"metadata":{"name":"s"},"spec":{"clusterIP":"None","clusterIPs":["None"],"internalTrafficPolicy":"Cluster",
        "ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack","sessionAffinity":"None","type":"ClusterIP",
        "ports":[{"port":80,"protocol":"TCP","targetPort":80}]},"status":{"loadBalancer":{}}})"},
    {"claim", "", "persistentvolumeclaims", R"({"spec":{"resources":{"requests":{"storage":"1024Mi"}}}})",
     R"({"spec":{"resources":{"requests":{"storage":"1Gi"}},"volumeMode":"Filesystem"},"status":{"phase":"Pending"}})"},
    {"storage class", "storage.k8s.io", "storageclasses", R"({"provisioner":"x.y/z"})",
     R"({"provisioner":"x.y/z","reclaimPolicy":"Delete","volumeBindingMode":"Immediate"})"},
    {"CSI driver", "storage.k8s.io", "csidrivers", R"({})",
     R"({"spec":{"attachRequired":true,"fsGroupPolicy":"ReadWriteOnceWithFSType","podInfoOnMount":false,
        "requiresRepublish":false,"seLinuxMount":false,"storageCapacity":false,"volumeLifecycleModes":["Persistent"]}})"},
    {"priority class", "scheduling.k8s.io", "priorityclasses", R"({"value":7})",
     R"({"metadata":{"generation":1},"value":7,"preemptionPolicy":"PreemptLowerPriority"})"},
    {"secret from plain text", "", "secrets", R"({"data":{"x":"eA=="},"stringData":{"a":"b","long":"four"}})",
     R"({"type":"Opaque","data":{"x":"eA==","a":"Yg==","long":"Zm91cg=="}})"},
    {"resource claim", "resource.k8s.io", "resourceclaims",
     R"({"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"dc1"}}]}}})",
     R"({"spec":{"devices":{"requests":[{"name":"r","exactly":{"allocationMode":"ExactCount","count":1,
        "deviceClassName":"dc1"}}]}},"status":{}})"},
    {"replication controller", "", "replicationcontrollers",
     R"({"metadata":{"name":"r"},"spec":{"template":{"metadata":{"labels":{"a":"b"}},"spec":{"dnsPolicy":"Default",
        "restartPolicy":"Always","schedulerName":"s","securityContext":{},"terminationGracePeriodSeconds":1}}}})",
     R"({"metadata":{"name":"r","generation":1,"labels":{"a":"b"}},"spec":{"replicas":1,"selector":{"a":"b"},
        "template":{"metadata":{"labels":{"a":"b"}},"spec":{"dnsPolicy":"Default","restartPolicy":"Always",
        "schedulerName":"s","securityContext":{},"terminationGracePeriodSeconds":1}}},"status":{"replicas":0}})"},
};

TEST(Defaults, AreTheRealServers) {
  for (const Case& c : kCases) {
    const ResourceType* type = FindResource(c.group, "v1", c.plural);
    ASSERT_NE(type, nullptr) << c.name;
    const json::object got = Created(*type, c.in);
    EXPECT_EQ(got, Parse(c.want)) << c.name << "\n got " << got << "\nwant " << c.want;
  }
}

TEST(Defaults, AreStable) {
  for (const Case& c : kCases) {
    const ResourceType* type = FindResource(c.group, "v1", c.plural);
    json::object once = Created(*type, c.in);
    json::object twice = once;
    type->set_defaults(twice);
    EXPECT_EQ(once, twice) << c.name;
  }
}

TEST(Defaults, OfPodsInParticular) {
  const ResourceType& pods = *FindResource("", "v1", "pods");
  struct PodCase {
    const char* name;
    const char* spec;
    const char* pointer;
    const char* want;
  };
  const PodCase cases[] = {
      {"digest without tag", R"({"containers":[{"image":"nginx@sha256:00"}]})", "/spec/containers/0/imagePullPolicy",
       R"("IfNotPresent")"},
      {"latest", R"({"containers":[{"image":"r:5000/nginx:latest"}]})", "/spec/containers/0/imagePullPolicy",
       R"("Always")"},
      {"registry port is no tag", R"({"containers":[{"image":"r:5000/nginx"}]})", "/spec/containers/0/imagePullPolicy",
       R"("Always")"},
      {"host ports", R"({"hostNetwork":true,"containers":[{"image":"i","ports":[{"containerPort":80}]}]})",
       "/spec/containers/0/ports/0/hostPort", "80"},
      {"tolerates everything", R"({"tolerations":[{"operator":"Exists"}]})", "/spec/tolerations",
       R"([{"operator":"Exists"}])"},
      {"own grace", R"({"tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute",
        "tolerationSeconds":5}]})",
       "/spec/tolerations/1/key", R"("node.kubernetes.io/unreachable")"},
      {"system class", R"({"priorityClassName":"system-cluster-critical"})", "/spec/priority", "2000000000"},
      {"gates", R"({"schedulingGates":[{"name":"a.b/c"}]})", "/status/conditions/0",
       R"({"lastProbeTime":null,"lastTransitionTime":"2026-01-01T00:00:00Z","status":"False","type":"PodScheduled",
          "message":"Scheduling is blocked due to non-empty scheduling gates","reason":"SchedulingGated"})"},
      {"guaranteed", R"({"containers":[{"resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]})", "/status/qosClass",
       R"("Guaranteed")"},
      {"best effort", R"({"containers":[{}]})", "/status/qosClass", R"("BestEffort")"},
      {"one of two", R"({"containers":[{"resources":{"limits":{"cpu":"1","memory":"1Gi"}}},{}]})", "/status/qosClass",
       R"("Burstable")"},
      {"extended resources do not count", R"({"containers":[{"resources":{"limits":{"a.b/c":"1"}}}]})",
       "/status/qosClass", R"("BestEffort")"},
      {"label keys of affinity",
       R"({"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[
          {"topologyKey":"z","labelSelector":{},"matchLabelKeys":["app","none"],"mismatchLabelKeys":["app"]}]}}})",
       "/spec/affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/0/labelSelector",
       R"({"matchExpressions":[{"key":"app","operator":"In","values":["x"]},{"key":"app","operator":"NotIn","values":["x"]}]})"},
      {"label keys of spreading",
       R"({"topologySpreadConstraints":[{"labelSelector":{"matchLabels":{"a":"b"}},"matchLabelKeys":["app"]}]})",
       "/spec/topologySpreadConstraints/0/labelSelector/matchExpressions/0/values", R"(["x"])"},
      {"account under both names", R"({"serviceAccountName":"a"})", "/spec/serviceAccount", R"("a")"},
  };
  for (const PodCase& c : cases) {
    json::object pod =
        Parse(R"({"metadata":{"name":"p","creationTimestamp":"2026-01-01T00:00:00Z","labels":{"app":"x"}}})");
    pod["spec"] = json::parse(c.spec);
    pods.set_defaults(pod);
    pods.prepare_create(pod);
    EXPECT_EQ(json::value(pod).at_pointer(c.pointer), json::parse(c.want)) << c.name;
  }
}

TEST(PrepareCreate, GivesServicesAddresses) {
  const ResourceType& services = *FindResource("", "v1", "services");
  const json::object one = Created(
      services, R"({"metadata":{"namespace":"d","name":"a"},"spec":{"type":"NodePort","ports":[{"port":80}]}})");
  const std::string address(one.at("spec").at("clusterIP").as_string());
  EXPECT_TRUE(address.starts_with("10.96.")) << address;
  EXPECT_EQ(one.at("spec").at("clusterIPs"), json::value(json::array{json::string(address)}));
  const std::int64_t port = one.at("spec").at("ports").at(0).at("nodePort").as_int64();
  EXPECT_GE(port, 30000);
  EXPECT_LE(port, 32767);
  const json::object other =
      Created(services, R"({"metadata":{"namespace":"d","name":"b"},"spec":{"ports":[{"port":80}]}})");
  EXPECT_NE(other.at("spec").at("clusterIP"), one.at("spec").at("clusterIP"));
}

TEST(PrepareUpdate, KeepsStatusAndCountsGenerations) {
  const ResourceType& deployments = *FindResource("apps", "v1", "deployments");
  const json::object old =
      Parse(R"({"metadata":{"name":"d","generation":3},"spec":{"replicas":1},"status":{"replicas":1}})");
  struct UpdateCase {
    const char* name;
    const char* change;
    std::int64_t want_generation;
  };
  const UpdateCase cases[] = {
      {"nothing", R"({"metadata":{"name":"d"},"spec":{"replicas":1},"status":{"replicas":9}})", 3},
      {"label", R"({"metadata":{"name":"d","labels":{"a":"b"}},"spec":{"replicas":1}})", 3},
      {"annotation", R"({"metadata":{"name":"d","annotations":{"a":"b"}},"spec":{"replicas":1}})", 4},
      {"spec", R"({"metadata":{"name":"d"},"spec":{"replicas":2}})", 4}};
  for (const UpdateCase& c : cases) {
    json::object object = Parse(c.change);
    deployments.prepare_update(object, old);
    EXPECT_EQ(object["metadata"].at("generation"), c.want_generation) << c.name;
    EXPECT_EQ(object["status"], old.at("status")) << c.name;
  }
}

TEST(Defaults, AJobSelectsItsPodsByItsUid) {
  const ResourceType& jobs = *FindResource("batch", "v1", "jobs");
  const json::object job = Created(jobs, R"({"metadata":{"name":"j","uid":"u"},"spec":{"template":{"spec":{}}}})");
  const json::object labels = Parse(R"({"controller-uid":"u","job-name":"j","batch.kubernetes.io/controller-uid":"u",
                                        "batch.kubernetes.io/job-name":"j"})");
  EXPECT_EQ(job.at("spec").at("template").at("metadata").at("labels"), labels);
  EXPECT_EQ(job.at("spec").at("selector"), Parse(R"({"matchLabels":{"batch.kubernetes.io/controller-uid":"u"}})"));
  EXPECT_EQ(job.at("spec").at("completions"), 1);
  EXPECT_EQ(job.at("spec").at("backoffLimit"), 6);
  const json::object own = Created(jobs, R"({"metadata":{"name":"j","uid":"u"},"spec":{"manualSelector":true,
      "parallelism":2,"selector":{"matchLabels":{"a":"b"}},"template":{"spec":{}}}})");
  EXPECT_EQ(own.at("spec").at("selector"), Parse(R"({"matchLabels":{"a":"b"}})"));
  EXPECT_FALSE(own.at("spec").as_object().contains("completions"));
}

TEST(Defaults, AJobWithoutLabelsHasThoseOfItsPods) {
  const ResourceType& jobs = *FindResource("batch", "v1", "jobs");
  const json::object job = Created(jobs, R"({"metadata":{"name":"j","uid":"u"},"spec":{"template":{"spec":{}}}})");
  EXPECT_EQ(job.at("metadata").at("labels"), job.at("spec").at("template").at("metadata").at("labels"));
  const json::object own =
      Created(jobs, R"({"metadata":{"name":"j","uid":"u","labels":{"a":"b"}},"spec":{"template":{"spec":{}}}})");
  EXPECT_EQ(own.at("metadata").at("labels"), Parse(R"({"a":"b"})"));
}

TEST(Defaults, OfAdmission) {
  constexpr const char* kGroup = "admissionregistration.k8s.io";
  const json::object webhooks = Created(*FindResource(kGroup, "v1", "mutatingwebhookconfigurations"),
                                        R"({"metadata":{"name":"w"},"webhooks":[{"name":"a.b.c","rules":[{}],
      "clientConfig":{"service":{"name":"s"}}}]})");
  EXPECT_EQ(webhooks.at("metadata").at("generation"), 1);
  EXPECT_EQ(
      webhooks.at("webhooks").at(0),
      json::value(Parse(R"({"name":"a.b.c","rules":[{"scope":"*"}],"clientConfig":{"service":{"name":"s","port":443}},
      "failurePolicy":"Fail","matchPolicy":"Equivalent","namespaceSelector":{},"objectSelector":{},"timeoutSeconds":10,
      "reinvocationPolicy":"Never"})")));
  const json::object policy = Created(*FindResource(kGroup, "v1", "validatingadmissionpolicies"),
                                      R"({"metadata":{"name":"p"},"spec":{"matchConstraints":{}}})");
  EXPECT_EQ(policy.at("spec"), json::value(Parse(R"({"failurePolicy":"Fail","matchConstraints":{
      "matchPolicy":"Equivalent","namespaceSelector":{},"objectSelector":{}}})")));
}

TEST(Defaults, OfAnEndpointSlice) {
  const json::object slice = Created(*FindResource("discovery.k8s.io", "v1", "endpointslices"),
                                     R"({"metadata":{"name":"s"},"ports":[{"port":80}],"endpoints":[{}]})");
  EXPECT_EQ(slice.at("ports"), json::value(json::parse(R"([{"port":80,"name":"","protocol":"TCP"}])")));
  EXPECT_EQ(slice.at("endpoints"), json::value(json::parse(R"([{"conditions":{}}])")));
}

TEST(Defaults, NoGenerationWhereUpstreamCountsNone) {
  for (const auto& [group, plural] :
       {std::pair("autoscaling", "horizontalpodautoscalers"), std::pair("networking.k8s.io", "ipaddresses"),
        std::pair("networking.k8s.io", "servicecidrs"), std::pair("apiregistration.k8s.io", "apiservices"),
        std::pair("certificates.k8s.io", "certificatesigningrequests")}) {
    const char* version = group == std::string_view("autoscaling") ? "v2" : "v1";
    const json::object made = Created(*FindResource(group, version, plural), R"({"metadata":{"name":"x"}})");
    EXPECT_FALSE(made.at("metadata").as_object().contains("generation")) << plural;
  }
}

TEST(Defaults, NamesOfACustomResourceDefinition) {
  const ResourceType& definitions = *FindResource("apiextensions.k8s.io", "v1", "customresourcedefinitions");
  const json::object made = Created(definitions, R"({"metadata":{"name":"boats.x.org"},"spec":{"group":"x.org",
      "names":{"plural":"boats","kind":"Boat"},"versions":[{"name":"v1","storage":true},{"name":"v2"}]}})");
  EXPECT_EQ(made.at("spec").at("names").at("singular"), "boat");
  EXPECT_EQ(made.at("spec").at("names").at("listKind"), "BoatList");
}

TEST(Defaults, ANetworkPolicyNamesItsDirections) {
  const ResourceType& policies = *FindResource("networking.k8s.io", "v1", "networkpolicies");
  const json::object made = Created(policies, R"({"spec":{"podSelector":{},"egress":[{"ports":[{"port":53}]}]}})");
  EXPECT_EQ(made.at("spec").at("policyTypes"), json::parse(R"(["Ingress","Egress"])"));
  EXPECT_EQ(made.at("spec").at("egress").at(0).at("ports").at(0).at("protocol"), "TCP");
}

}  // namespace
}  // namespace berth::objects
