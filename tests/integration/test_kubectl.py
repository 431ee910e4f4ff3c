# SPDX-License-Identifier: Apache-2.0
"""kubectl against the embedded cluster of berth demo --serve. Needs a kubectl on the machine; without one it says so and
passes, since ./dev e2e runs the same with a kubectl that it builds."""

import json
import os
import re
import shutil
import subprocess
import sys
import unittest

from support import ROOT, Api, BerthTest, Process, clean_environment, free_port, wait_until

KUBECTL = shutil.which("kubectl")
TIMEOUT_S = 60

POD = """apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  schedulerName: berth
  containers: [{name: c, image: "registry/c:1", resources: {requests: {cpu: 100m}}}]
"""
WIDGETS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, shortNames: [wd]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [color]
            properties:
              color: {type: string, enum: [red, blue]}
              size: {type: integer, default: 1, description: How large it is.}
          status: {type: object, properties: {size: {type: integer}}}
"""
KINDS = """
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec:
  completions: 2
  template:
    metadata: {annotations: {berth.dev/run-seconds: "1"}}
    spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: "0 3 * * *"
  jobTemplate:
    spec:
      template:
        spec: {restartPolicy: OnFailure, containers: [{name: c, image: busybox}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: each}
spec:
  selector: {matchLabels: {app: each}}
  template:
    metadata: {labels: {app: each}}
    spec: {containers: [{name: c, image: busybox}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: numbered}
spec:
  replicas: 2
  serviceName: numbered
  selector: {matchLabels: {app: numbered}}
  template:
    metadata: {labels: {app: numbered}}
    spec: {containers: [{name: c, image: busybox, volumeMounts: [{name: data, mountPath: /data}]}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: robot-1}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [pods], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: ServiceAccount, name: robot-1}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "team:reader"}
rules: [{nonResourceURLs: [/metrics], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "team:reader"}
subjects: [{kind: Group, name: team, apiGroup: rbac.authorization.k8s.io}]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: door}
spec: {rules: [{host: a.example.org, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: closed}
spec: {podSelector: {}, ingress: [{from: [{podSelector: {matchLabels: {app: a}}}], ports: [{port: 80}]}]}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: elastic}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: nginx}, minReplicas: 2, maxReplicas: 5}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {plural: boats, kind: Boat}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {berth: {type: integer, default: 5}, crew: {type: array, items: {type: string}}}}}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: quota-1}
spec: {hard: {pods: "20"}}
---
apiVersion: v1
kind: LimitRange
metadata: {name: limits}
spec: {limits: [{type: Container, defaultRequest: {cpu: 10m}}]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: hook}
webhooks:
- {name: hook.example.org, admissionReviewVersions: [v1], sideEffects: None, clientConfig: {url: "https://127.0.0.1:1/"},
   rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: some}
spec: {minAvailable: 1, selector: {matchLabels: {app: numbered}}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: slice}
addressType: IPv4
endpoints: [{addresses: [10.0.0.1]}]
"""
CONFIG_MAP = """apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {color: %s}
"""


@unittest.skipUnless(KUBECTL, "no kubectl here")
class Kubectl(BerthTest):
    @classmethod
    def setUpClass(cls):
        cls._helper = unittest.TestCase()
        cls.addClassCleanup(cls._helper.doCleanups)
        address = f"127.0.0.1:{free_port()}"
        cls.demo = Process(cls._helper, "demo", "--serve", "--listen", address)
        cls.demo.wait_for("out", re.escape(f"http://{address}"))
        cls.api = Api(address)
        cls.home = f"/tmp/berth-kubectl-{os.getpid()}"
        os.makedirs(cls.home, exist_ok=True)
        cls.addClassCleanup(shutil.rmtree, cls.home, True)

    def kubectl(self, *arguments: str, stdin: str = "", status: int = 0) -> str:
        environment = {**clean_environment(), "HOME": self.home, "KUBECONFIG": os.devnull}
        done = subprocess.run([KUBECTL, "--server", self.api.url, *arguments], input=stdin, capture_output=True, text=True,
                              timeout=TIMEOUT_S, env=environment)
        self.assertEqual(done.returncode, status, f"kubectl {' '.join(arguments)}: {done.stdout}{done.stderr}")
        return done.stdout + (done.stderr if status else "")

    def test_get(self):
        wide = self.kubectl("get", "nodes,pods", "-o", "wide")
        self.assertRegex(wide, r"(?m)^NAME +STATUS +ROLES +AGE +VERSION +INTERNAL-IP")
        self.assertEqual(len(re.findall(r"(?m)^node/node-\d+ +Ready", wide)), 5, wide)
        self.assertRegex(wide, r"(?m)^pod/nginx-\S+ +1/1 +Running +0 +\S+ +10\.\d+\.\d+\.\d+ +node-\d")
        self.assertRegex(self.kubectl("get", "deployments"), r"(?m)^nginx +\d+/\d+")
        names = self.kubectl("get", "nodes", "-o", "name").split()
        self.assertEqual(sorted(names), [f"node/node-{n}" for n in range(1, 6)])
        self.assertEqual(self.kubectl("get", "node", "node-1", "-o", "jsonpath={.metadata.name}"), "node-1")
        self.assertIn("NotFound", self.kubectl("get", "pod", "absent", status=1))

    def test_create_describe_label_annotate_delete(self):
        manifest = self.file("pod.yaml", POD)
        self.assertIn("pod/web created", self.kubectl("create", "-f", str(manifest)))
        self.assertIn("AlreadyExists", self.kubectl("create", "-f", str(manifest), status=1))
        self.assertIn("condition met", self.kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=30s"))
        wait_until("the event is there", lambda: "Scheduled" in self.kubectl("describe", "pod", "web"))
        output = self.kubectl("describe", "pod", "web")
        self.assertRegex(output, r"(?m)^Node: +node-\d")
        self.assertRegex(output, r"Successfully assigned default/web to node-\d")
        self.assertIn("pod/web labeled", self.kubectl("label", "pod", "web", "tier=front"))
        self.assertIn("pod/web annotated", self.kubectl("annotate", "pod", "web", "note=hello"))
        metadata = json.loads(self.kubectl("get", "pod", "web", "-o", "json"))["metadata"]
        self.assertEqual((metadata["labels"]["tier"], metadata["annotations"]["note"]), ("front", "hello"))
        self.assertIn("web", self.kubectl("get", "pods", "-l", "tier=front", "-o", "name"))
        self.kubectl("label", "pod", "web", "tier-")
        self.assertEqual(self.kubectl("get", "pods", "-l", "tier=front", "-o", "name"), "")
        self.assertIn('pod "web" deleted', self.kubectl("delete", "pod", "web"))
        self.kubectl("get", "pod", "web", status=1)

    def test_apply_twice(self):
        manifest = self.file("settings.yaml", CONFIG_MAP % "red")
        self.assertIn("created", self.kubectl("apply", "-f", str(manifest)))
        self.assertIn("unchanged", self.kubectl("apply", "-f", str(manifest)))
        manifest.write_text(CONFIG_MAP % "blue")
        self.assertIn("configured", self.kubectl("apply", "-f", str(manifest)))
        self.assertEqual(self.kubectl("get", "configmap", "settings", "-o", "jsonpath={.data.color}"), "blue")

    def test_apply_a_pod_twice(self):
        text = POD.replace("name: web,", "name: applied,")
        self.assertIn("created", self.kubectl("apply", "-f", "-", stdin=text))
        self.assertIn("unchanged", self.kubectl("apply", "-f", "-", stdin=text))
        self.kubectl("delete", "pod", "applied", "--wait=false")

    def test_refused_manifest(self):
        text = POD.replace("containers:", "containres:")
        self.assertRegex(self.kubectl("create", "-f", "-", stdin=text, status=1), "containres")

    def test_scale_and_rollout(self):
        self.assertIn("scaled", self.kubectl("scale", "deployment", "nginx", "--replicas", "12"))
        self.assertIn("successfully rolled out", self.kubectl("rollout", "status", "deployment/nginx", "--timeout=50s"))
        self.assertRegex(self.kubectl("get", "deployment", "nginx"), r"(?m)^nginx +12/12 +12 +12")
        pods = [p for p in self.api.pods() if p["metadata"]["name"].startswith("nginx-")]
        self.assertEqual({p["spec"].get("schedulerName") for p in pods}, {"berth"})
        self.kubectl("set", "image", "deployment/nginx", "nginx=nginx:1.28")
        self.assertIn("successfully rolled out", self.kubectl("rollout", "status", "deployment/nginx", "--timeout=50s"))
        images = self.kubectl("get", "pods", "-l", "app=nginx", "--field-selector=status.phase=Running", "-o",
                              "jsonpath={.items[*].spec.containers[0].image}")
        self.assertIn("nginx:1.28", images)
        self.kubectl("scale", "deployment", "nginx", "--replicas", "3")
        self.assertIn("successfully rolled out", self.kubectl("rollout", "status", "deployment/nginx", "--timeout=50s"))
        wait_until("three pods are left", lambda: len([p for p in self.api.pods() if p["metadata"]["name"].startswith("nginx-")]) == 3)

    def test_delete_a_pod_of_the_deployment(self):
        names = self.kubectl("get", "pods", "-l", "app=nginx", "-o", "name").split()
        self.kubectl("delete", names[0])
        wait_until("it is replaced", lambda: "successfully rolled out" in
                   self.kubectl("rollout", "status", "deployment/nginx", "--timeout=50s"))
        self.assertNotIn(names[0], self.kubectl("get", "pods", "-l", "app=nginx", "-o", "name").split())

    def test_cordon(self):
        self.assertIn("node/node-5 cordoned", self.kubectl("cordon", "node-5"))
        self.assertRegex(self.kubectl("get", "node", "node-5"), r"Ready,SchedulingDisabled")
        text = POD.replace("name: web,", "name: pinned,").replace("schedulerName: berth",
                                                                "schedulerName: berth\n  nodeSelector: {kubernetes.io/hostname: node-5}")
        self.kubectl("create", "-f", "-", stdin=text)
        wait_until("the pod waits, and it is said why", lambda: "were unschedulable" in self.kubectl("describe", "pod", "pinned"))
        self.assertIn("node/node-5 uncordoned", self.kubectl("uncordon", "node-5"))
        self.assertIn("condition met", self.kubectl("wait", "--for=condition=PodScheduled", "pod/pinned", "--timeout=50s"))
        self.assertEqual(self.kubectl("get", "pod", "pinned", "-o", "jsonpath={.spec.nodeName}"), "node-5")
        self.kubectl("delete", "pod", "pinned")

    def test_deployment_of_the_default_scheduler(self):
        self.assertIn("created", self.kubectl("create", "deployment", "plain", "--image", "nginx", "--replicas", "2"))
        self.assertIn("successfully rolled out", self.kubectl("rollout", "status", "deployment/plain", "--timeout=50s"))
        pods = [p for p in self.api.pods() if p["metadata"]["name"].startswith("plain-")]
        self.assertEqual({p["spec"]["schedulerName"] for p in pods}, {"default-scheduler"})
        self.kubectl("delete", "deployment", "plain")

    def test_every_kind_can_be_applied(self):
        manifest = self.file("kinds.yaml", KINDS)
        applied = self.kubectl("apply", "-f", str(manifest))
        names = re.findall(r"(?m)^(\S+) created$", applied)
        self.assertEqual(len(names), KINDS.count("\nkind:"), applied)
        again = self.kubectl("apply", "-f", str(manifest))
        # Lists that are replaced as a whole differ by the server's defaults: kubectl sends them again with any server.
        for name in names:
            want = "configured" if name.split("/")[1] in ("numbered", "closed", "hook", "slice") else "unchanged"
            self.assertIn(f"{name} {want}", again)
        for name in names:
            with self.subTest(name):
                shown = self.kubectl("get", name)
                self.assertRegex(shown, r"^NAME ")
                self.assertIn(name.split("/")[1], shown)
        wait_until("the Job has ended", lambda: "Complete" in self.kubectl("get", "job", "once"))
        self.assertIn("successfully rolled out", self.kubectl("rollout", "status", "daemonset/each", "--timeout=50s"))
        self.assertIn("condition met", self.kubectl("wait", "--for=condition=complete", "job/once", "--timeout=50s"))
        wait_until("the StatefulSet is ready", lambda: "2/2" in self.kubectl("get", "statefulset", "numbered"))
        wait_until("its claims are bound", lambda: self.kubectl("get", "pvc", "-o", "jsonpath={.items[*].status.phase}").split() ==
                   ["Bound"] * 2)
        self.kubectl("delete", "-f", str(manifest), "--wait=false")

    def test_says_what_nothing_comes_of(self):
        done = subprocess.run([KUBECTL, "--server", self.api.url, "create", "quota", "warned", "--hard=pods=10"],
                              capture_output=True, text=True, timeout=TIMEOUT_S,
                              env={**clean_environment(), "HOME": self.home, "KUBECONFIG": os.devnull})
        self.assertIn("Warning: berth's embedded cluster stores this ResourceQuota, but nothing enforces it", done.stderr)
        self.kubectl("delete", "quota", "warned")

    def test_server_side_apply(self):
        text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: owned}\ndata: {a: '1', b: '2'}\n"
        changed = text.replace("'1'", "'9'")
        self.assertEqual(self.kubectl("apply", "--server-side", "-f", "-", stdin=text), "configmap/owned serverside-applied\n")
        self.assertEqual(self.kubectl("diff", "--server-side", "-f", "-", stdin=text), "")
        self.assertIn("+  a: \"9\"", self.kubectl("diff", "--server-side", "-f", "-", stdin=changed, status=1))
        conflict = self.kubectl("apply", "--server-side", "--field-manager", "other", "-f", "-", stdin=changed, status=1)
        self.assertIn('Apply failed with 1 conflict: conflict with "kubectl": .data.a', conflict)
        self.kubectl("apply", "--server-side", "--field-manager", "other", "--force-conflicts", "-f", "-", stdin=changed)
        self.assertEqual(self.kubectl("get", "configmap", "owned", "-o", "jsonpath={.data.a}"), "9")
        # kubectl takes over fields owned by client-side apply; fields that it no longer applies are removed.
        plain = text.replace("owned", "taken")
        self.kubectl("apply", "-f", "-", stdin=plain)
        self.kubectl("apply", "--server-side", "-f", "-", stdin=plain.replace("a: '1', b: '2'", "a: '3'"))
        self.assertEqual(json.loads(self.kubectl("get", "configmap", "taken", "-o", "json"))["data"], {"a": "3"})
        self.kubectl("delete", "configmap", "owned", "taken")

    def test_access_reviews_and_tokens(self):
        self.assertEqual(self.kubectl("auth", "can-i", "delete", "nodes"), "yes\n")
        self.assertIn("*.*", self.kubectl("auth", "can-i", "--list"))
        self.assertIn("system:anonymous", self.kubectl("auth", "whoami"))
        self.kubectl("create", "serviceaccount", "teller")
        self.assertEqual(self.kubectl("create", "token", "teller").count("."), 2)
        self.kubectl("delete", "serviceaccount", "teller")

    def test_custom_resources(self):
        self.kubectl("apply", "-f", "-", stdin=WIDGETS)
        self.kubectl("wait", "--for=condition=Established", "crd/widgets.example.com", "--timeout=10s")
        self.assertRegex(self.kubectl("api-resources", "--api-group=example.com"), r"widgets +wd +example.com/v1 +true +Widget")
        self.assertIn("How large it is.", self.kubectl("explain", "widget.spec.size"))
        widget = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: one}\nspec: {color: red}\n"
        self.assertEqual(self.kubectl("apply", "-f", "-", stdin=widget), "widget.example.com/one created\n")
        self.assertEqual(self.kubectl("apply", "-f", "-", stdin=widget), "widget.example.com/one unchanged\n")
        self.assertRegex(self.kubectl("get", "wd"), r"NAME +SIZE\none +1\n")
        self.assertIn('Unsupported value: "green": supported values: "red", "blue"',
                      self.kubectl("apply", "-f", "-", stdin=widget.replace("red", "green"), status=1))
        self.assertIn('unknown field "spec.more"',
                      self.kubectl("apply", "-f", "-", stdin=widget.replace("red", "red, more: 1"), status=1))
        self.kubectl("scale", "widget", "one", "--replicas=4")
        self.assertEqual(self.kubectl("get", "widget", "one", "-o", "jsonpath={.spec.size}"), "4")
        self.kubectl("delete", "crd", "widgets.example.com")

    def test_a_kind_that_is_not_served(self):
        text = "apiVersion: example.org/v1\nkind: Boat\nmetadata: {name: b}\n"
        output = self.kubectl("apply", "-f", "-", stdin=text, status=1)
        self.assertIn('no matches for kind "Boat" in version "example.org/v1"', output)

    def test_create_commands(self):
        for arguments in (("role", "r", "--verb=get", "--resource=pods"), ("rolebinding", "rb", "--role=r", "--user=u"),
                          ("clusterrole", "cr", "--verb=get", "--resource=nodes"), ("serviceaccount", "robot"),
                          ("clusterrolebinding", "crb", "--clusterrole=cr", "--serviceaccount=default:robot"),
                          ("job", "quick", "--image=busybox", "--", "true"), ("quota", "q", "--hard=pods=10"),
                          ("ingress", "i", "--rule=example.org/=web:80"), ("namespace", "team"), ("priorityclass", "high", "--value=9"),
                          ("poddisruptionbudget", "b", "--selector=app=x", "--min-available=1")):
            with self.subTest(arguments[0]):
                self.assertIn("created", self.kubectl("create", *arguments))
        self.assertIn("Role/r", self.kubectl("get", "rolebinding", "rb"))
        self.assertIn("autoscaled", self.kubectl("autoscale", "deployment", "nginx", "--max", "5", "--cpu", "50%")
                      if "--cpu=" in self.kubectl("autoscale", "--help")
                      else self.kubectl("autoscale", "deployment", "nginx", "--max", "5", "--cpu-percent", "50"))
        self.assertRegex(self.kubectl("get", "hpa", "nginx"), r"Deployment/nginx +cpu: <unknown>/50% +1 +5")
        self.assertIn("condition met", self.kubectl("wait", "--for=condition=complete", "job/quick", "--timeout=50s"))

    def test_nodes_of_ones_own(self):
        text = "apiVersion: v1\nkind: Node\nmetadata: {name: mine, labels: {own: 'yes'}}\n"
        self.kubectl("create", "-f", "-", stdin=text)
        self.assertIn("condition met", self.kubectl("wait", "--for=condition=Ready", "node/mine", "--timeout=30s"))
        self.kubectl("run", "pinned-here", "--image=i", "--overrides",
                     '{"apiVersion":"v1","spec":{"nodeSelector":{"own":"yes"}}}')
        self.assertIn("condition met", self.kubectl("wait", "--for=condition=Ready", "pod/pinned-here", "--timeout=30s"))
        self.kubectl("delete", "pod", "pinned-here")
        self.kubectl("delete", "node", "mine")

    def test_a_slip_in_the_schedulers_name(self):
        self.kubectl("create", "-f", "-", stdin=POD.replace("name: web,", "name: slip,").replace("schedulerName: berth", "schedulerName: my-berth"))
        self.kubectl("create", "-f", "-", stdin=POD.replace("name: web,", "name: slipped,").replace("schedulerName: berth", "schedulerName: bert"))
        wait_until("it is told", lambda: "UnknownScheduler" in self.kubectl("describe", "pod", "slipped"))
        self.assertRegex(self.kubectl("describe", "pod", "slipped"), r'schedulerName is "bert", the nearest that berth takes is "berth"')
        self.assertNotIn("UnknownScheduler", self.kubectl("describe", "pod", "slip"))
        self.kubectl("delete", "pod", "slip", "slipped")

    def test_help_of_the_server(self):
        page = (ROOT / "docs" / "embedded-server.md").read_text()
        for name in self.kubectl("api-resources", "-o", "name").split():
            self.assertRegex(page, rf"\b{name.split('.')[0]}\b")
        self.assertIn("events.k8s.io/v1", self.kubectl("api-versions"))
        self.assertRegex(self.kubectl("get", "events"), r"Scheduled")
        self.assertRegex(self.kubectl("version"), r"Server Version: v1\.\d+")


if __name__ == "__main__":
    if not KUBECTL:
        print("no kubectl on this machine: nothing was tested here; ./dev e2e runs the same with a kubectl of its own")
        sys.exit(0)
    unittest.main()
