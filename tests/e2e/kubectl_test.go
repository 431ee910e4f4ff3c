// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"berth-e2e/harness"
)

// kubectl is kubectl as a user types it, against one server.
type kubectl struct {
	dir    string // HOME, where it keeps its discovery cache, and the manifests
	server []string
}

// ok runs kubectl, which has to succeed, and returns what it prints.
func (k kubectl) ok(t *testing.T, args ...string) string {
	t.Helper()
	out, errors, err := k.run(t, "", args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s%s", strings.Join(args, " "), err, out, errors)
	}
	return out
}

// fails runs kubectl, which has to fail, and returns what it complains about.
func (k kubectl) fails(t *testing.T, args ...string) string {
	t.Helper()
	out, errors, err := k.run(t, "", args...)
	if err == nil {
		t.Fatalf("kubectl %s succeeded:\n%s", strings.Join(args, " "), out)
	}
	return errors
}

// apply gives a manifest to kubectl's standard input, as in kubectl apply -f -.
func (k kubectl) apply(t *testing.T, verb, manifest string) string {
	t.Helper()
	out, errors, err := k.run(t, manifest, verb, "-f", "-")
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s%s\n%s", verb, err, out, errors, manifest)
	}
	return out
}

func (k kubectl) command(t *testing.T, ctx context.Context, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(ctx, harness.ControlPlane(t, "kubectl"), append(append([]string{}, k.server...), args...)...)
	c.Env = []string{"HOME=" + k.dir, "PATH=" + os.Getenv("PATH")}
	return c
}

func (k kubectl) run(t *testing.T, stdin string, args ...string) (string, string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	defer cancel()
	c := k.command(t, ctx, args...)
	var out, errors bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &out, &errors
	if err := harness.Fork(c); err != nil {
		return "", "", err
	}
	err := c.Wait()
	return out.String(), errors.String(), err
}

// matches checks every line of want, a regular expression, against some line of got.
func matches(t *testing.T, got string, want ...string) {
	t.Helper()
	for _, expression := range want {
		if !regexp.MustCompile(`(?m)` + expression).MatchString(got) {
			t.Errorf("nothing matches\n  %s\nin\n%s", expression, got)
		}
	}
}

// lines are the lines of a table without its head.
func lines(out string) []string {
	out = strings.TrimSpace(out)
	if out == "" {
		return nil
	}
	return strings.Split(out, "\n")
}

const nginx = `apiVersion: apps/v1
kind: Deployment
metadata: {name: nginx, labels: {app: nginx}}
spec:
  replicas: 3
  selector: {matchLabels: {app: nginx}}
  template:
    metadata: {labels: {app: nginx}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - {name: nginx, image: "nginx:1.27", resources: {requests: {cpu: 100m, memory: 64Mi}}}
`

func onePod(name, more string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s, labels: {run: %s}}\nspec:\n  terminationGracePeriodSeconds: 1\n"+
		"  containers: [{name: main, image: \"busybox:1\", resources: {requests: {cpu: 50m}}}]\n%s", name, name, more)
}

// A user's session with kubectl against the embedded API server with five simulated nodes, scheduled by berth. When the
// suite proves itself, the server is a real control plane: what is expected here is what a real cluster does.
func TestKubectl(t *testing.T) {
	t.Parallel()
	var k kubectl
	if harness.Reference() {
		c := harness.StartCluster(t, harness.Options{ControllerManager: true})
		harness.StartKubelets(t, 5, c.Kubeconfig(t, "admin", "system:masters"), c.Dir)
		harness.StartScheduler(t, harness.Scheduler{Kubeconfig: c.Kubeconfig(t, harness.SchedulerUser), Dir: c.Dir})
		k = kubectl{dir: c.Dir, server: []string{"--kubeconfig", c.Kubeconfig(t, "admin", "system:masters")}}
	} else {
		dir := harness.TempDir(t)
		server := harness.StartEmbedded(t, 5, dir)
		harness.StartScheduler(t, harness.Scheduler{Master: server, Dir: dir})
		k = kubectl{dir: dir, server: []string{"--server", server}}
	}
	harness.Eventually(t, 30*time.Second, "five nodes are ready", func() (bool, string) {
		out, errors, _ := k.run(t, "", "get", "nodes", "--no-headers")
		return len(regexp.MustCompile(`(?m)^\S+ +Ready `).FindAllString(out, -1)) == 5, out + errors
	})

	// Each step builds on those before it; when one fails, the others still tell something.
	var nodes []string
	t.Run("nodes", func(t *testing.T) {
		matches(t, k.ok(t, "get", "nodes"), `^NAME +STATUS +ROLES +AGE +VERSION$`, `^\S+ +Ready +\S+ +\d+\S* +v\S+$`)
		matches(t, k.ok(t, "get", "nodes", "-o", "wide"), `^NAME +STATUS +ROLES +AGE +VERSION +INTERNAL-IP +EXTERNAL-IP +OS-IMAGE +KERNEL-VERSION +CONTAINER-RUNTIME$`)
		for _, line := range lines(k.ok(t, "get", "nodes", "-o", "name")) {
			nodes = append(nodes, strings.TrimPrefix(line, "node/"))
		}
		if len(nodes) != 5 {
			t.Fatalf("nodes are %q", nodes)
		}
		matches(t, k.ok(t, "describe", "node", nodes[0]), `^Name: +`+nodes[0]+`$`, `^Conditions:$`, `^  Ready +True`, `^Capacity:$`, `^Allocatable:$`, `^  cpu: +\d+`, `^  pods: +\d+`,
			`^Non-terminated Pods: `, `^Allocated resources:$`, `^Unschedulable: +false$`)
		matches(t, k.ok(t, "version"), `^Server Version: v1\.36\.`)
		matches(t, k.ok(t, "api-resources"), `^pods +po +v1 +true +Pod$`, `^nodes +no +v1 +false +Node$`, `^deployments +deploy +apps/v1 +true +Deployment$`)
	})
	t.Run("apply", func(t *testing.T) {
		matches(t, k.apply(t, "apply", nginx), `^deployment.apps/nginx created$`)
		matches(t, k.apply(t, "apply", nginx), `^deployment.apps/nginx unchanged$`)
		matches(t, k.ok(t, "rollout", "status", "deployment", "nginx", "--timeout=60s"), `deployment "nginx" successfully rolled out`)
		matches(t, k.ok(t, "get", "deployments"), `^NAME +READY +UP-TO-DATE +AVAILABLE +AGE$`, `^nginx +3/3 +3 +3 +\d+`)
		matches(t, k.ok(t, "get", "replicasets"), `^NAME +DESIRED +CURRENT +READY +AGE$`, `^nginx-\S+ +3 +3 +3 +\d+`)
	})
	var pod string
	t.Run("pods", func(t *testing.T) {
		matches(t, k.ok(t, "get", "pods"), `^NAME +READY +STATUS +RESTARTS +AGE$`, `^nginx-\S+ +1/1 +Running +0 +\d+\S*$`)
		wide := k.ok(t, "get", "pods", "-o", "wide")
		matches(t, wide, `^NAME +READY +STATUS +RESTARTS +AGE +IP +NODE +NOMINATED NODE +READINESS GATES$`,
			`^nginx-\S+ +1/1 +Running +0 +\d+\S* +\d+\.\d+\.\d+\.\d+ +(`+strings.Join(nodes, "|")+`) +<none> +<none>$`)
		both := k.ok(t, "get", "nodes,pods", "-o", "wide")
		matches(t, both, `^NAME +STATUS .* CONTAINER-RUNTIME$`, `^node/`+nodes[0], `^NAME +READY .* READINESS GATES$`, `^pod/nginx-`)
		names := lines(k.ok(t, "get", "pods", "-l", "app=nginx", "-o", "jsonpath={range .items[*]}{.metadata.name}{\"\\n\"}{end}"))
		if len(names) != 3 {
			t.Fatalf("pods are %q", names)
		}
		pod = names[0]
		node := k.ok(t, "get", "pod", pod, "-o", "jsonpath={.spec.nodeName}")
		matches(t, k.ok(t, "describe", "pod", pod), `^Name: +`+pod+`$`, `^Node: +`+node+`(/\S+)?$`, `^Status: +Running$`, `^Controlled By: +ReplicaSet/nginx-`, `^  Ready +True`,
			`^QoS Class: +Burstable$`, `^  Normal +Scheduled +\S+ +default-scheduler +Successfully assigned default/`+pod+` to `+node+`$`)
		matches(t, k.ok(t, "describe", "node", node), `^  default +`+pod+` +100m \(\d+%\)`)
		matches(t, k.ok(t, "get", "pods", "--field-selector", "spec.nodeName="+node, "-o", "name"), `^pod/`+pod+`$`)
		matches(t, k.ok(t, "get", "events"), `^LAST SEEN +TYPE +REASON +OBJECT +MESSAGE$`, `Normal +Scheduled +pod/`+pod+` +Successfully assigned default/`+pod+` to `+node)
		matches(t, k.ok(t, "get", "pod", pod, "-o", "yaml"), `^kind: Pod$`, `^  nodeName: `+node+`$`, `^  resourceVersion: "\d+"$`, `^  phase: Running$`)
		matches(t, k.fails(t, "get", "pod", "nobody"), `^Error from server \(NotFound\): pods "nobody" not found$`)
	})
	t.Run("scale", func(t *testing.T) {
		matches(t, k.ok(t, "scale", "deployment", "nginx", "--replicas", "50"), `^deployment.apps/nginx scaled$`)
		matches(t, k.ok(t, "rollout", "status", "deployment/nginx", "--timeout=80s"), `successfully rolled out`)
		matches(t, k.ok(t, "get", "deployment", "nginx", "--no-headers"), `^nginx +50/50 +50 +50 `)
		running := k.ok(t, "get", "pods", "--no-headers", "--field-selector", "status.phase=Running")
		if n := len(lines(running)); n != 50 {
			t.Errorf("%d pods run", n)
		}
		for _, node := range nodes { // about ten each, a few more where a node has a zone for itself: spread by default
			if n := len(lines(k.ok(t, "get", "pods", "-o", "name", "--field-selector", "spec.nodeName="+node))); n < 8 || n > 14 {
				t.Errorf("%d pods on %s", n, node)
			}
		}
		k.ok(t, "scale", "deployment", "nginx", "--replicas=3")
		harness.Eventually(t, 30*time.Second, "three pods are left", func() (bool, string) {
			out := k.ok(t, "get", "pods", "-o", "name")
			return len(lines(out)) == 3, out
		})
		pod = strings.TrimPrefix(lines(k.ok(t, "get", "pods", "-o", "name"))[0], "pod/")
	})
	t.Run("label and annotate", func(t *testing.T) {
		matches(t, k.ok(t, "label", "pod", pod, "team=blue"), `^pod/`+pod+` labeled$`)
		matches(t, k.ok(t, "get", "pods", "-l", "team=blue", "-o", "name"), `^pod/`+pod+`$`)
		matches(t, k.ok(t, "get", "pods", "-l", "team in (blue,red),app!=other", "--show-labels"), pod+` .*team=blue`)
		matches(t, k.fails(t, "label", "pod", pod, "team=red"), `'team' already has a value \(blue\), and --overwrite is false`)
		matches(t, k.ok(t, "label", "pod", pod, "team-"), `^pod/`+pod+` unlabeled$`)
		if out := k.ok(t, "get", "pods", "-l", "team", "-o", "name"); out != "" {
			t.Errorf("the label is still there: %s", out)
		}
		matches(t, k.ok(t, "annotate", "node", nodes[0], "note=hello"), `^node/`+nodes[0]+` annotated$`)
		matches(t, k.ok(t, "get", "node", nodes[0], "-o", "jsonpath={.metadata.annotations.note}"), `^hello$`)
		matches(t, k.ok(t, "label", "node", nodes[1], "disk=ssd"), `^node/`+nodes[1]+` labeled$`)
		matches(t, k.apply(t, "create", onePod("on-ssd", "  nodeSelector: {disk: ssd}\n")), `^pod/on-ssd created$`)
		matches(t, k.ok(t, "wait", "--for=condition=Ready", "pod/on-ssd", "--timeout=30s"), `^pod/on-ssd condition met$`)
		matches(t, k.ok(t, "get", "pod", "on-ssd", "-o", "custom-columns=NODE:.spec.nodeName"), `^`+nodes[1]+`$`)
		matches(t, k.fails(t, "create", "-f", write(t, k.dir, onePod("on-ssd", ""))), `Error from server \(AlreadyExists\): .*pods "on-ssd" already exists`)
	})
	t.Run("cordon", func(t *testing.T) {
		for _, node := range nodes {
			matches(t, k.ok(t, "cordon", node), `^node/`+node+` cordoned$`)
		}
		matches(t, k.ok(t, "cordon", nodes[0]), `already cordoned`)
		matches(t, k.ok(t, "get", "node", nodes[0]), `^`+nodes[0]+` +Ready,SchedulingDisabled `)
		matches(t, k.ok(t, "describe", "node", nodes[0]), `^Unschedulable: +true$`)
		k.apply(t, "create", onePod("waits", ""))
		harness.Eventually(t, 20*time.Second, "describe says why the pod waits", func() (bool, string) {
			out := k.ok(t, "describe", "pod", "waits")
			return strings.Contains(out, "FailedScheduling"), out
		})
		matches(t, k.ok(t, "get", "pod", "waits"), `^waits +0/1 +Pending +0 +\d+`)
		matches(t, k.ok(t, "describe", "pod", "waits"), `^Status: +Pending$`, `^Node: +<none>$`, `^  PodScheduled +False`,
			`^  Warning +FailedScheduling +\S+ +default-scheduler +0/5 nodes are available: 5 node\(s\) were unschedulable\. no new claims to deallocate, `+
				`preemption: 0/5 nodes are available: 5 Preemption is not helpful for scheduling\.$`)
		for _, node := range nodes {
			matches(t, k.ok(t, "uncordon", node), `^node/`+node+` uncordoned$`)
		}
		k.ok(t, "wait", "--for=condition=Ready", "pod/waits", "--timeout=30s")
	})
	t.Run("watch", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		watching := k.command(t, ctx, "get", "pods", "-w", "-l", "run=watched")
		out := &harness.LockedBuffer{}
		watching.Stdout, watching.Stderr = out, out
		if err := harness.Fork(watching); err != nil {
			t.Fatal(err)
		}
		defer func() { cancel(); _ = watching.Wait() }() // it never ends by itself
		time.Sleep(500 * time.Millisecond)               // what comes before the watch shows in its first list only
		k.apply(t, "create", onePod("watched", ""))
		harness.Eventually(t, 20*time.Second, "the watch shows the pod's way", func() (bool, string) {
			return regexp.MustCompile(`(?ms)^watched +0/1 +(Pending|ContainerCreating) .*^watched +1/1 +Running `).MatchString(out.String()), out.String()
		})
		matches(t, k.ok(t, "delete", "pod", "watched"), `^pod "watched" deleted`)
		harness.Eventually(t, 20*time.Second, "the watch shows its end", func() (bool, string) {
			return strings.Contains(out.String(), "Terminating"), out.String()
		})
	})
	t.Run("delete a pod", func(t *testing.T) {
		matches(t, k.ok(t, "delete", "pod", pod), `^pod "`+pod+`" deleted`)
		matches(t, k.fails(t, "get", "pod", pod), `NotFound`)
		harness.Eventually(t, 30*time.Second, "another pod takes its place", func() (bool, string) {
			out := k.ok(t, "get", "deployment", "nginx", "--no-headers")
			return regexp.MustCompile(`^nginx +3/3 +3 +3 `).MatchString(out), out
		})
		k.ok(t, "delete", "pod", "waits", "--wait=false")
		matches(t, k.ok(t, "wait", "--for=delete", "pod/waits", "--timeout=30s"), ``)
		matches(t, k.ok(t, "delete", "pod", "on-ssd", "--grace-period=0", "--force"), `^pod "on-ssd" force deleted`)
	})
	t.Run("patch and roll out", func(t *testing.T) {
		matches(t, k.apply(t, "apply", strings.Replace(nginx, "nginx:1.27", "nginx:1.28", 1)), `^deployment.apps/nginx configured$`)
		matches(t, k.ok(t, "rollout", "status", "deployment", "nginx", "--timeout=60s"), `successfully rolled out`)
		harness.Eventually(t, 30*time.Second, "only pods of the new image are left", func() (bool, string) {
			out := k.ok(t, "get", "pods", "-l", "app=nginx", "-o", "jsonpath={.items[*].spec.containers[*].image}")
			return out == "nginx:1.28 nginx:1.28 nginx:1.28", out
		})
		matches(t, k.ok(t, "set", "image", "deployment/nginx", "nginx=nginx:1.29"), `^deployment.apps/nginx image updated$`) // a strategic merge patch
		matches(t, k.ok(t, "patch", "deployment", "nginx", "--type=json", "-p", `[{"op":"replace","path":"/spec/replicas","value":2}]`), `^deployment.apps/nginx patched$`)
		matches(t, k.ok(t, "patch", "deployment", "nginx", "--type=merge", "-p", `{"metadata":{"labels":{"tier":"web"}}}`), `^deployment.apps/nginx patched$`)
		k.ok(t, "rollout", "status", "deployment", "nginx", "--timeout=60s")
		matches(t, k.ok(t, "get", "deployment", "nginx", "-o", "wide", "--show-labels"), `^nginx +2/2 +2 +2 +\S+ +nginx +nginx:1\.29 +app=nginx .*tier=web`)
	})
	t.Run("drain", func(t *testing.T) {
		node := k.ok(t, "get", "pods", "-l", "app=nginx", "-o", "jsonpath={.items[0].spec.nodeName}")
		matches(t, k.ok(t, "drain", node, "--timeout=30s"), `^node/`+node+` cordoned$`, `^node/`+node+` drained$`)
		k.ok(t, "rollout", "status", "deployment", "nginx", "--timeout=60s")
		if out := k.ok(t, "get", "pods", "-o", "name", "--field-selector", "spec.nodeName="+node); out != "" {
			t.Errorf("still on the drained node: %s", out)
		}
		k.ok(t, "uncordon", node)
	})
	t.Run("create and delete", func(t *testing.T) {
		matches(t, k.ok(t, "create", "namespace", "team-a"), `^namespace/team-a created$`)
		matches(t, k.ok(t, "get", "namespaces"), `^default +Active `, `^team-a +Active `)
		matches(t, k.ok(t, "create", "deployment", "web", "--image=web:1", "--replicas=2", "-n", "team-a"), `^deployment.apps/web created$`)
		k.ok(t, "rollout", "status", "deployment", "web", "-n", "team-a", "--timeout=60s")
		matches(t, k.ok(t, "get", "pods", "-A"), `^NAMESPACE +NAME +READY +STATUS +RESTARTS +AGE$`, `^team-a +web-\S+ +1/1 +Running `, `^default +nginx-`)
		matches(t, k.ok(t, "delete", "deployment", "web", "-n", "team-a"), `^deployment.apps "web" deleted`)
		matches(t, k.ok(t, "delete", "deployment", "nginx"), `^deployment.apps "nginx" deleted`)
		k.ok(t, "delete", "pods", "--all", "-n", "team-a", "--grace-period=1", "--wait=false") // theirs is 30 s
		harness.Eventually(t, 60*time.Second, "what belonged to the Deployments is gone", func() (bool, string) {
			out := k.ok(t, "get", "deployments,replicasets,pods", "-A", "-o", "name")
			return out == "", out
		})
	})
}

// berth reaches a real control plane through kubectl proxy, which lends it kubectl's credentials.
func TestKubectlProxy(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, harness.Options{})
	c.CreateNodes(t, harness.Node("node-000"))
	proxy := harness.Start(t, harness.Command{Name: "kubectl-proxy", Dir: c.Dir, Args: []string{
		harness.ControlPlane(t, "kubectl"), "proxy", "--port=0", "--kubeconfig", c.Kubeconfig(t, harness.SchedulerUser)}})
	var address string
	harness.Eventually(t, 20*time.Second, "kubectl proxy serves", func() (bool, string) {
		_, address, _ = strings.Cut(proxy.Output(), "Starting to serve on ")
		return address != "", proxy.Output()
	})
	harness.StartScheduler(t, harness.Scheduler{Master: "http://" + strings.Fields(address)[0], Dir: c.Dir})
	c.CreatePods(t, 0, harness.Pod("pod", "", "1", ""))
	c.WaitBound(t, 20*time.Second, "pod")
}

// The embedded API server is a Kubernetes API server to the real kube-scheduler, too.
func TestKubeSchedulerOnEmbeddedServer(t *testing.T) {
	harness.NeedsBerth(t)
	dir := harness.TempDir(t)
	server := harness.StartEmbedded(t, 5, dir)
	harness.StartKubeScheduler(t, harness.Scheduler{Master: server, Dir: dir, JSON: true})
	k := kubectl{dir: dir, server: []string{"--server", server}}
	harness.Eventually(t, 30*time.Second, "the server answers", func() (bool, string) {
		_, errors, err := k.run(t, "", "get", "nodes")
		return err == nil, errors
	})
	k.apply(t, "apply", nginx)
	matches(t, k.ok(t, "rollout", "status", "deployment", "nginx", "--timeout=60s"), `successfully rolled out`)
	pods := lines(k.ok(t, "get", "pods", "-o", "name"))
	matches(t, k.ok(t, "describe", pods[0]), `Successfully assigned default/nginx-\S+ to `)
}

func write(t *testing.T, dir, content string) string {
	t.Helper()
	file, err := os.CreateTemp(dir, "*.manifest")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString(content); err != nil {
		t.Fatal(err)
	}
	return file.Name()
}
