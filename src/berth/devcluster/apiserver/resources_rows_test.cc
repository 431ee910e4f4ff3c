// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "berth/devcluster/apiserver/resource.h"

namespace berth::apiserver {
namespace {

constexpr std::int64_t kNow = 1767225600 + 3600;  // 2026-01-01T01:00:00Z

struct Case {
  const char* name;
  const char* group;
  const char* plural;
  const char* object;
  const char* want;
};

// The cells that kube-apiserver 1.36.3 prints.
const Case kCases[] = {
    {"job at work", "batch", "jobs",
     R"({"metadata":{"name":"j"},"spec":{"completions":3,"selector":{"matchLabels":{"a":"b"}},"template":{"spec":{"containers":[
        {"name":"c","image":"i"}]}}},"status":{"succeeded":1,"startTime":"2026-01-01T00:59:00Z"}})",
     R"(["j","Running","1/3","60s","<unknown>","c","i","a=b"])"},
    {"job at its end", "batch", "jobs",
     R"({"metadata":{"name":"j"},"spec":{"parallelism":2},"status":{"succeeded":1,"startTime":"2026-01-01T00:59:00Z",
        "completionTime":"2026-01-01T00:59:07Z","conditions":[{"type":"Complete","status":"True"}]}})",
     R"(["j","Complete","1/1 of 2","7s","<unknown>","","","<none>"])"},
    {"cron job", "batch", "cronjobs",
     R"({"metadata":{"name":"j"},"spec":{"schedule":"* * * * *","suspend":true},"status":{}})",
     R"(["j","* * * * *","<none>","True",0,"<none>","<unknown>","","","<none>"])"},
    {"ingress", "networking.k8s.io", "ingresses",
     R"({"metadata":{"name":"i"},"spec":{"ingressClassName":"x","rules":[{"host":"a"},{"host":"b"}],"tls":[{}]}})",
     R"(["i","x","a,b","","80, 443","<unknown>"])"},
    {"role binding", "rbac.authorization.k8s.io", "rolebindings",
     R"({"metadata":{"name":"b"},"roleRef":{"kind":"Role","name":"r"},"subjects":[{"kind":"User","name":"u"},
        {"kind":"ServiceAccount","name":"s","namespace":"n"}]})",
     R"(["b","Role/r","<unknown>","u","","n/s"])"},
    {"network policy", "networking.k8s.io", "networkpolicies", R"({"metadata":{"name":"p"},"spec":{"podSelector":{}}})",
     R"(["p","<none>","<unknown>"])"},
    {"new pod", "", "pods",
     R"({"metadata":{"name":"p","creationTimestamp":"2026-01-01T00:59:55Z"},"spec":{"containers":[{},{}]},"status":{"phase":"Pending"}})",
     R"(["p","0/2","Pending","0","5s","<none>","<none>","<none>","<none>"])"},
    {"gated pod", "", "pods",
     R"({"metadata":{"name":"p"},"spec":{"containers":[{}]},"status":{"phase":"Pending","conditions":[
        {"type":"PodScheduled","status":"False","reason":"SchedulingGated"}]}})",
     R"(["p","0/1","SchedulingGated","0","<unknown>","<none>","<none>","<none>","<none>"])"},
    {"creating", "", "pods",
     R"({"metadata":{"name":"p"},"spec":{"nodeName":"n","containers":[{}]},"status":{"phase":"Pending",
        "containerStatuses":[{"state":{"waiting":{"reason":"ContainerCreating"}}}]}})",
     R"(["p","0/1","ContainerCreating","0","<unknown>","<none>","n","<none>","<none>"])"},
    {"running", "", "pods",
     R"({"metadata":{"name":"p"},"spec":{"nodeName":"n","containers":[{}],"readinessGates":[{"conditionType":"a/b"},{"conditionType":"c/d"}]},
        "status":{"phase":"Running","podIPs":[{"ip":"10.0.0.7"}],"nominatedNodeName":"m",
        "conditions":[{"type":"Ready","status":"True"},{"type":"a/b","status":"True"}],
        "containerStatuses":[{"ready":true,"restartCount":3,"state":{"running":{}},
          "lastState":{"terminated":{"finishedAt":"2026-01-01T00:56:48Z"}}}]}})",
     R"j(["p","1/1","Running","3 (3m12s ago)","<unknown>","10.0.0.7","n","m","1/2"])j"},
    {"crashing", "", "pods",
     R"({"metadata":{"name":"p"},"spec":{"containers":[{},{}]},"status":{"phase":"Running","containerStatuses":[
        {"state":{"waiting":{"reason":"CrashLoopBackOff"}},"restartCount":1},{"ready":true,"state":{"running":{}}}]}})",
     R"(["p","1/2","CrashLoopBackOff","1","<unknown>","<none>","<none>","<none>","<none>"])"},
    {"completed", "", "pods",
     R"({"metadata":{"name":"p"},"spec":{"containers":[{}]},"status":{"phase":"Succeeded","containerStatuses":[
        {"state":{"terminated":{"exitCode":0,"reason":"Completed"}}}]}})",
     R"(["p","0/1","Completed","0","<unknown>","<none>","<none>","<none>","<none>"])"},
    {"failed without reason", "", "pods",
     R"({"metadata":{"name":"p"},"spec":{"containers":[{}]},"status":{"phase":"Failed","containerStatuses":[
        {"state":{"terminated":{"exitCode":3}}}]}})",
     R"(["p","0/1","ExitCode:3","0","<unknown>","<none>","<none>","<none>","<none>"])"},
    {"one completed, one runs", "", "pods",
     R"({"metadata":{"name":"p"},"spec":{"containers":[{},{}]},"status":{"phase":"Running",
        "conditions":[{"type":"Ready","status":"False"}],"containerStatuses":[
        {"state":{"terminated":{"exitCode":0,"reason":"Completed"}}},{"ready":true,"state":{"running":{}}}]}})",
     R"(["p","1/2","NotReady","0","<unknown>","<none>","<none>","<none>","<none>"])"},
    {"initializing", "", "pods",
     R"({"metadata":{"name":"p"},"spec":{"containers":[{}],"initContainers":[{"name":"i"},{"name":"j"}]},"status":{"phase":"Pending",
        "initContainerStatuses":[{"name":"i","state":{"terminated":{"exitCode":0}}},{"name":"j","state":{"running":{}}}]}})",
     R"(["p","0/1","Init:1/2","0","<unknown>","<none>","<none>","<none>","<none>"])"},
    {"init failed", "", "pods",
     R"({"metadata":{"name":"p"},"spec":{"containers":[{}],"initContainers":[{"name":"i"}]},"status":{"phase":"Pending",
        "initContainerStatuses":[{"name":"i","restartCount":2,"state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}})",
     R"(["p","0/1","Init:CrashLoopBackOff","2","<unknown>","<none>","<none>","<none>","<none>"])"},
    {"sidecar counts", "", "pods",
     R"({"metadata":{"name":"p"},"spec":{"containers":[{}],"initContainers":[{"name":"i","restartPolicy":"Always"}]},
        "status":{"phase":"Running","initContainerStatuses":[{"name":"i","started":true,"ready":true,"state":{"running":{}}}],
        "containerStatuses":[{"ready":true,"state":{"running":{}}}]}})",
     R"(["p","2/2","Running","0","<unknown>","<none>","<none>","<none>","<none>"])"},
    {"terminating", "", "pods",
     R"({"metadata":{"name":"p","deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":{"containers":[{}]},"status":{"phase":"Running"}})",
     R"(["p","0/1","Terminating","0","<unknown>","<none>","<none>","<none>","<none>"])"},
    {"node", "", "nodes",
     R"({"metadata":{"name":"n","labels":{"node-role.kubernetes.io/worker":"","node-role.kubernetes.io/control-plane":"","kubernetes.io/role":"x"}},
        "spec":{"unschedulable":true},"status":{"conditions":[{"type":"Ready","status":"True"}],
        "addresses":[{"type":"InternalIP","address":"10.0.0.1"}],"nodeInfo":{"kubeletVersion":"v1.36.0","osImage":"Debian",
        "kernelVersion":"6.1","architecture":"amd64","containerRuntimeVersion":"c://1"}}})",
     R"j(["n","Ready,SchedulingDisabled","control-plane,worker,x","<unknown>","v1.36.0","10.0.0.1","<none>","Debian","6.1 (amd64)","c://1"])j"},
    {"bare node", "", "nodes", R"({"metadata":{"name":"n"}})",
     R"(["n","Unknown","<none>","<unknown>","","<none>","<none>","<unknown>","<unknown>","<unknown>"])"},
    {"not ready", "", "nodes",
     R"({"metadata":{"name":"n"},"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}})",
     R"(["n","NotReady","<none>","<unknown>","","<none>","<none>","<unknown>","<unknown>","<unknown>"])"},
    {"deployment", "apps", "deployments",
     R"({"metadata":{"name":"d"},"spec":{"replicas":3,"selector":{"matchLabels":{"b":"c","a":"b"},"matchExpressions":[
        {"key":"e","operator":"NotIn","values":["z","y"]},{"key":"f","operator":"Exists"},{"key":"g","operator":"DoesNotExist"}]},
        "template":{"spec":{"containers":[{"name":"c","image":"i"},{"name":"d","image":"j"}]}}},
        "status":{"readyReplicas":1,"updatedReplicas":3,"availableReplicas":1}})",
     R"j(["d","1/3",3,1,"<unknown>","c,d","i,j","a=b,b=c,e notin (y,z),f,!g"])j"},
    {"replica set", "apps", "replicasets",
     R"({"metadata":{"name":"r"},"spec":{"replicas":3},"status":{"replicas":2,"readyReplicas":1}})",
     R"(["r",3,2,1,"<unknown>","","","<none>"])"},
    {"event", "", "events",
     R"({"metadata":{"name":"e"},"involvedObject":{"kind":"Pod","name":"p","fieldPath":"spec"},"reason":"R","message":" m\n","type":"Normal",
        "source":{"component":"kubelet","host":"n"},"firstTimestamp":"2026-01-01T00:30:00Z","lastTimestamp":"2026-01-01T00:59:00Z","count":4})",
     R"(["60s","Normal","R","pod/p","spec","kubelet, n","m","30m",4,"e"])"},
    {"new event", "events.k8s.io", "events",
     R"({"metadata":{"name":"e"},"regarding":{"kind":"Pod","name":"p"},"reason":"R","note":"m","type":"Warning",
        "reportingController":"c","reportingInstance":"i","eventTime":"2026-01-01T00:30:00.000000Z"})",
     R"(["30m","Warning","R","pod/p","","c, i","m","30m",1,"e"])"},
    {"series", "", "events",
     R"({"metadata":{"name":"e"},"involvedObject":{"kind":"Node"},"eventTime":"2026-01-01T00:30:00.000000Z",
        "series":{"count":7,"lastObservedTime":"2026-01-01T00:59:30.000000Z"}})",
     R"(["30s","","","node","","","","30m",7,"e"])"},
    {"service", "", "services",
     R"({"metadata":{"name":"s"},"spec":{"type":"NodePort","clusterIP":"10.96.0.5","clusterIPs":["10.96.0.5"],"selector":{"a":"b"},
        "ports":[{"port":80,"nodePort":31330,"protocol":"TCP"},{"port":443,"protocol":"UDP"}]}})",
     R"(["s","NodePort","10.96.0.5","<none>","80:31330/TCP,443/UDP","<unknown>","a=b"])"},
    {"balanced service", "", "services",
     R"({"metadata":{"name":"s"},"spec":{"type":"LoadBalancer"},"status":{"loadBalancer":{}}})",
     R"(["s","LoadBalancer","<none>","<pending>","<none>","<unknown>","<none>"])"},
    {"namespace", "", "namespaces", R"({"metadata":{"name":"x"},"status":{"phase":"Active"}})",
     R"(["x","Active","<unknown>"])"},
    {"volume", "", "persistentvolumes",
     R"({"metadata":{"name":"v"},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadOnlyMany","ReadWriteOnce"],
        "persistentVolumeReclaimPolicy":"Retain","volumeMode":"Filesystem","claimRef":{"namespace":"n","name":"c"}},"status":{"phase":"Bound"}})",
     R"(["v","1Gi","RWO,ROX","Retain","Bound","n/c","","<unset>","","<unknown>","Filesystem"])"},
    {"claim", "", "persistentvolumeclaims",
     R"({"metadata":{"name":"c"},"spec":{"volumeName":"v","storageClassName":"s"},"status":{"phase":"Bound","capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"]}})",
     R"(["c","Bound","v","1Gi","RWO","s","<unset>","<unknown>","<unset>"])"},
    {"endpoints", "", "endpoints",
     R"({"metadata":{"name":"e"},"subsets":[{"addresses":[{"ip":"1.1.1.1"},{"ip":"::1"}],"ports":[{"port":80},{"port":443}]}]})",
     R"(["e","1.1.1.1:80,[::1]:80,1.1.1.1:443 + 1 more...","<unknown>"])"},
    {"lease", "coordination.k8s.io", "leases", R"({"metadata":{"name":"l"},"spec":{"holderIdentity":"x"}})",
     R"(["l","x","<unknown>"])"},
    {"budget", "policy", "poddisruptionbudgets",
     R"({"metadata":{"name":"b"},"spec":{"minAvailable":1},"status":{"disruptionsAllowed":2}})",
     R"(["b","1","N/A",2,"<unknown>"])"},
    {"default class", "storage.k8s.io", "storageclasses",
     R"({"metadata":{"name":"s","annotations":{"storageclass.kubernetes.io/is-default-class":"true"}},"provisioner":"p","reclaimPolicy":"Delete","volumeBindingMode":"Immediate"})",
     R"j(["s (default)","p","Delete","Immediate",false,"<unknown>"])j"},
    {"priority class", "scheduling.k8s.io", "priorityclasses",
     R"({"metadata":{"name":"p"},"value":7,"preemptionPolicy":"Never"})", R"(["p",7,false,"<unknown>","Never"])"},
    {"resource claim", "resource.k8s.io", "resourceclaims",
     R"({"metadata":{"name":"c"},"status":{"allocation":{},"reservedFor":[{"name":"p"}]}})",
     R"(["c","allocated,reserved","<unknown>"])"},
    {"no columns of its own", "", "serviceaccounts", R"({"metadata":{"name":"a"}})", R"(["a","<unknown>"])"},
};

TEST(Rows, AreTheRealServers) {
  for (const Case& c : kCases) {
    const ResourceType* type = FindResource(c.group, "v1", c.plural);
    ASSERT_NE(type, nullptr) << c.name;
    const json::array got = type->row(json::parse(c.object).as_object(), kNow);
    EXPECT_EQ(got, json::parse(c.want).as_array()) << c.name << "\n got " << got;
    EXPECT_EQ(got.size(), type->columns.size()) << c.name;
  }
}

}  // namespace
}  // namespace berth::apiserver
