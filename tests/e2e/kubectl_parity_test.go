// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"berth-e2e/harness"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const paritySession = "testdata/kubectl" // commands.txt, and the manifests that it names

// paritySteps are the commands of the session, one a step.
func paritySteps(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(paritySession, "commands.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var steps []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			steps = append(steps, line)
		}
	}
	return steps
}

// parityAnswer is what somebody sees of a command.
type parityAnswer struct {
	status int
	lines  []string // of its output and then of its complaints, without what no two clusters have in common
}

// parityNoise is what no two clusters have in common.
var parityNoise = []struct {
	found *regexp.Regexp
	put   string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| [+-]\d{4})`), "TIME"},
	{regexp.MustCompile(`(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}`), "TIME"},
	{regexp.MustCompile(`(^|\s|\()(\d+[smhd]|\d+m\d+s)( ago|\)|\s|$)`), "${1}AGE$3"},
	{regexp.MustCompile(`\b(api|every|web|agents|db)-[0-9a-f]{7,10}(-[a-z0-9]{5})?\b`), "$1-HASH"},
	{regexp.MustCompile(`\b(once|by-hand|agents|front|door|balancer|debugger-\S+)-[a-z0-9]{5}\b`), "$1-RANDOM"},
	{regexp.MustCompile(`(pod-template-hash|controller-revision-hash)([:=] ?)\S+`), "$1${2}HASH"},
	{regexp.MustCompile(`(resourceVersion: "|Resource Version: +)\d+`), "${1}N"},
	{regexp.MustCompile(`containerd://[0-9a-f]{64}`), "CONTAINER"},
	{regexp.MustCompile(`\bkube-api-access-[a-z0-9]{5}\b`), "kube-api-access-RANDOM"},
	{regexp.MustCompile(`nodePort: 3\d{4}\b|\b80:3\d{4}/TCP`), "NODEPORT"},
	{regexp.MustCompile(`X509SHA256=[0-9a-f]{64}`), "X509SHA256"},
	{regexp.MustCompile(`\bnode-[12]\b`), "NODE"},
	{regexp.MustCompile(`/tmp\S*/(LIVE|MERGED)-\d+`), "$1"},
	{regexp.MustCompile(`https?://127\.0\.0\.1:\d+`), "SERVER"},
	{regexp.MustCompile(`\b(10|172)(\.\d+){3}\b`), "IP"},
	{regexp.MustCompile(` {2,}`), "  "},
	{regexp.MustCompile(` +$`), ""},
}

func parityLines(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		line = strings.TrimLeft(line, " ") // describe aligns by the longest name
		for _, noise := range parityNoise {
			line = noise.found.ReplaceAllString(line, noise.put)
		}
		lines = append(lines, line)
	}
	return lines
}

// paritySubject is one cluster that the session is typed at.
type paritySubject struct {
	kubeconfig, home, path, folder, node string
}

func (s paritySubject) types(t *testing.T, command string) parityAnswer {
	ctx, cancel := context.WithTimeout(t.Context(), 70*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", command)
	c.Dir = s.folder
	c.Env = []string{"HOME=" + s.home, "KUBECONFIG=" + s.kubeconfig, "PATH=" + s.path, "NODE=" + s.node, "EXAMPLES=../../../../examples"}
	var out, complaints bytes.Buffer
	c.Stdout, c.Stderr = &out, &complaints
	if err := harness.Fork(c); err != nil {
		t.Error(err)
		return parityAnswer{status: -1}
	}
	err := c.Wait()
	answer := parityAnswer{lines: parityLines(out.String() + complaints.String())}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		answer.status = exit.ExitCode()
	} else if err != nil {
		t.Errorf("%s: %v", command, err)
	}
	return answer
}

// kubectl at the embedded cluster and at a real one: the same commands have the same outputs and exit statuses, but for
// what parityDifferences lists.
func TestKubectlParity(t *testing.T) {
	harness.NeedsBerth(t)
	t.Parallel()
	steps := paritySteps(t)
	seen := map[paritySighting]bool{}
	embedded, real := typeSession(t, steps)
	found := parityFindings(t, steps, embedded, real, seen)
	if len(found) > 0 || len(parityUnseen(t, seen)) > 0 {
		// On a machine that is busy, a command may see what a controller is about to change. Nothing is listed as a
		// difference, and nothing is one, that the same commands do not show again.
		for n, finding := range found {
			t.Logf("%s\n%s\ntyped once more", steps[n], finding)
		}
		embedded, real = typeSession(t, steps)
		again := parityFindings(t, steps, embedded, real, seen)
		maps.DeleteFunc(found, func(n int, _ string) bool { return again[n] == "" })
	}
	for n, step := range steps {
		t.Run(fmt.Sprintf("%03d %s", n, strings.ReplaceAll(step, "/", " ")), func(t *testing.T) {
			if found[n] != "" {
				t.Error(found[n])
			}
		})
	}
	for _, sighting := range parityUnseen(t, seen) {
		t.Errorf("listed as a difference, and not seen: %+v", sighting)
	}
}

func parityUnseen(t *testing.T, seen map[paritySighting]bool) []paritySighting {
	t.Helper()
	return slices.DeleteFunc(parityKnown(t, ""), func(s paritySighting) bool { return seen[s] || s.seldom })
}

// typeSession types the steps at a new embedded cluster and at a new real one: the answers of each, one a step.
func typeSession(t *testing.T, steps []string) (embedded, real []parityAnswer) {
	t.Helper()
	c := harness.StartCluster(t, harness.Options{ControllerManager: true, Controllers: []string{"daemonset-controller", "statefulset-controller",
		"job-controller", "cronjob-controller", "disruption-controller", "endpointslice-controller", "clusterrole-aggregation-controller"}})
	admin := c.Kubeconfig(t, "admin", "system:masters")
	harness.StartKubelets(t, 2, admin, c.Dir)
	harness.StartScheduler(t, harness.Scheduler{Kubeconfig: c.Kubeconfig(t, harness.SchedulerUser), Dir: c.Dir})
	dir := harness.TempDir(t)
	server := harness.StartEmbedded(t, 2, dir)
	harness.StartScheduler(t, harness.Scheduler{Master: server, Dir: dir})
	folder := filepath.Join(folderOf(t, "tests/e2e"), paritySession)
	path := filepath.Dir(harness.ControlPlane(t, "kubectl")) + ":" + os.Getenv("PATH")
	subjects := []paritySubject{
		{kubeconfig: harness.WriteKubeconfig(t, dir, clientcmdapi.Cluster{Server: server}, clientcmdapi.AuthInfo{}), home: dir, path: path, folder: folder},
		{kubeconfig: admin, home: c.Dir, path: path, folder: folder},
	}
	for i := range subjects {
		k := kubectl{dir: subjects[i].home, server: []string{"--kubeconfig", subjects[i].kubeconfig}}
		harness.Eventually(t, 60*time.Second, "the nodes are ready", func() (bool, string) {
			out, errors, _ := k.run(t, "", "get", "nodes", "--no-headers")
			return len(regexp.MustCompile(`(?m)^\S+ +Ready `).FindAllString(out, -1)) == 2, out + errors
		})
		subjects[i].node = strings.TrimPrefix(lines(k.ok(t, "get", "nodes", "-o", "name"))[0], "node/")
	}

	answers := make([][]parityAnswer, len(subjects))
	var both sync.WaitGroup
	for i, subject := range subjects {
		both.Go(func() {
			for _, step := range steps {
				answers[i] = append(answers[i], subject.types(t, step))
			}
		})
	}
	both.Wait()
	for i, subject := range subjects { // kept after a failure
		var text strings.Builder
		for n, answer := range answers[i] {
			fmt.Fprintf(&text, "$ %s\n%s\n[%d]\n", steps[n], strings.Join(answer.lines, "\n"), answer.status)
		}
		if err := os.WriteFile(filepath.Join(subject.home, "kubectl-session.log"), []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return answers[0], answers[1]
}

// parityFindings are the differences of the answers that parityDifferences does not list, by the step; those that it
// lists are added to seen.
func parityFindings(t *testing.T, steps []string, embedded, real []parityAnswer, seen map[paritySighting]bool) map[int]string {
	t.Helper()
	found := map[int]string{}
	for n, step := range steps {
		known := parityKnown(t, step)
		var unknown []string
		note := func(text string, isListed func(paritySighting) bool) {
			if i := slices.IndexFunc(known, isListed); i >= 0 {
				seen[known[i]] = true
			} else {
				unknown = append(unknown, text)
			}
		}
		if embedded[n].status != real[n].status {
			note(fmt.Sprintf("exit statuses: embedded %d, real %d", embedded[n].status, real[n].status),
				func(s paritySighting) bool { return s.status })
		}
		for _, line := range parityCompare(embedded[n].lines, real[n].lines) {
			note(line, func(s paritySighting) bool { return regexp.MustCompile(s.lines).MatchString(line) })
		}
		if len(unknown) > 0 {
			found[n] = "the answers differ (lines with + are the embedded server's alone, with - the real one's):\n" + strings.Join(unknown, "\n")
		}
	}
	return found
}

// parityKnown are the listed differences that a command may show with this version of Kubernetes; all for "".
func parityKnown(t *testing.T, step string) []paritySighting {
	t.Helper()
	var known []paritySighting
	for _, difference := range parityDifferences {
		shows := func(release string) bool { return strings.HasPrefix(harness.KubernetesVersion(t), "v"+release+".") }
		if len(difference.releases) > 0 && !slices.ContainsFunc(difference.releases, shows) {
			continue
		}
		for _, sighting := range difference.seen {
			if step == "" || regexp.MustCompile(sighting.commands).MatchString(step) {
				known = append(known, sighting)
			}
		}
	}
	return known
}

// parityCompare lists the lines that only one of them has, by the longest common subsequence: "+" those of the first.
func parityCompare(first, second []string) []string {
	common := make([][]int, len(first)+1)
	for i := range common {
		common[i] = make([]int, len(second)+1)
	}
	for i := len(first) - 1; i >= 0; i-- {
		for j := len(second) - 1; j >= 0; j-- {
			if first[i] == second[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var differ []string
	for i, j := 0, 0; i < len(first) || j < len(second); {
		switch {
		case i < len(first) && j < len(second) && first[i] == second[j]:
			i, j = i+1, j+1
		case j == len(second) || i < len(first) && common[i+1][j] >= common[i][j+1]:
			differ, i = append(differ, "+"+first[i]), i+1
		default:
			differ, j = append(differ, "-"+second[j]), j+1
		}
	}
	return differ
}
