// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// parityDifference is something that kubectl shows otherwise at the embedded server than at a real one.
type parityDifference struct {
	shown    string   // for the page: by which commands
	reason   string   // for the page
	releases []string // the versions of Kubernetes, as in 1.37, that alone show it; none: each
	seen     []paritySighting
}

type paritySighting struct {
	commands string // a regular expression for the commands that show it
	lines    string // a regular expression for lines that only the embedded (+) or only the real (-) server has
	status   bool   // the exit statuses may differ, too
	seldom   bool   // not in each run
}

var parityDifferences = []parityDifference{
	{shown: "`version`", reason: "The embedded server is of Kubernetes 1.36 unless told otherwise, and says that it is berth's.", seen: []paritySighting{
		{commands: `^kubectl version$`, lines: `^[+-]Server Version: `},
	}},
	{shown: "`api-resources`, `api-versions`", reason: "It serves pod groups and Workloads, which a real server does only if its feature gates are on, and metrics.k8s.io, which needs a metrics-server. It has no ComponentStatuses, and Bindings as a part of pods alone.", seen: []paritySighting{
		{commands: `api-versions|api-resources`, lines: `^\+(scheduling\.k8s\.io/v1(beta1|alpha3)$|(compositepodgroups|podgroups|workloads) |metrics\.k8s\.io/v1beta1$|(nodes|pods)(\.metrics\.k8s\.io$| .*metrics\.k8s\.io/v1beta1))`},
		{commands: `api-resources`, lines: `^-(bindings|componentstatuses)\b`},
	}},
	{shown: "`api-resources`", releases: []string{"1.36"}, reason: "It serves DeviceTaintRules as 1.37 does.", seen: []paritySighting{
		{commands: `api-resources`, lines: `^\+devicetaintrules\b`},
	}},
	{shown: "`api-resources`, `explain`", releases: []string{"1.34", "1.35"}, reason: "It serves the kinds and fields of 1.36 and newer: MutatingAdmissionPolicies, DeviceTaintRules, the group of a pod.", seen: []paritySighting{
		{commands: `api-resources`, lines: `^\+(mutatingadmissionpolic(ies|ybindings)|devicetaintrules)\b`},
		{commands: `explain`, lines: `^\+(spec\t<(HorizontalPodAutoscaler|CronJob)Spec> -required-|schedulingGroup\t<PodSchedulingGroup>|podGroupName\t<string>)$`},
	}},
	{shown: "`version`, `explain`, `get serviceaccounts`", releases: []string{"1.34"}, reason: "It is two versions newer, of which kubectl warns, serves the fields that 1.35 added, and does not count the secrets of a ServiceAccount, which 1.35 ceased to show.", seen: []paritySighting{
		{commands: `^kubectl version$`, lines: `^\+Warning: version difference between client \(1\.34\) and server \(1\.36\)`},
		{commands: `explain`, lines: `^\+(status\t<string>|userAnnotations\t<map\[string\]string>)$`},
		{commands: `get configmap,secret,sa|every-kind.yaml$|-o wide`, lines: `^[+-](NAME  (SECRETS  )?AGE|serviceaccount/\S+  (0  )?AGE)$`},
	}},
	{shown: "`api-resources`, `api-versions`", releases: []string{"1.37"}, reason: "It lacks the kinds that became stable in 1.37 and do not matter to scheduling: ClusterTrustBundles, PodCertificateRequests, StorageVersionMigrations.", seen: []paritySighting{
		{commands: `api-versions|api-resources`, lines: `^-(storagemigration\.k8s\.io/v1$|(clustertrustbundles|podcertificaterequests|storageversionmigrations)\b)`},
	}},
	{shown: "`top`", reason: "It serves what simulated nodes and pods use. A real server needs a metrics-server for it.", seen: []paritySighting{
		{commands: `^kubectl top `, lines: `^\+(NAME|NODE|\S+) |^-error: Metrics API not available$`, status: true},
	}},
	{shown: "`auth can-i`, `auth whoami`", reason: "There are no rights and no users: the answer is always yes, and without `--token` everybody is anonymous.", seen: []paritySighting{
		{commands: `can-i delete nodes --as=jane`, lines: `^(\+yes|-no)$`, status: true},
		{commands: `can-i --list`, lines: `\[`},
		{commands: `auth whoami`, lines: `Username|Groups|Extra`},
	}},
	{shown: "`explain`", reason: "Its OpenAPI has the fields and types of Kubernetes' kinds, not their descriptions and enumerations. Those of custom resources are there.", seen: []paritySighting{
		{commands: `explain`, lines: `^\+(<empty>|<no description>|fieldsV1\t<Object>)$|^-`},
	}},
	{shown: "`create`, `autoscale`", reason: "A warning says of what is only kept that nothing comes of it.", seen: []paritySighting{
		{commands: `^kubectl (create|autoscale) `, lines: `^\+Warning: berth's embedded cluster stores this `},
	}},
	{shown: "`get`, `create`, `delete` of Endpoints", reason: "No warning says that they are deprecated.", seen: []paritySighting{
		{commands: `every-kind`, lines: `^-Warning: v1 Endpoints is deprecated`},
	}},
	{shown: "`get priorityclasses`", reason: "Pods may name system-node-critical and system-cluster-critical, but the two are no objects.", seen: []paritySighting{
		{commands: `priorityclass`, lines: `system-(node|cluster)-critical|^-NAME|^\+No resources found`},
	}},
	{shown: "`get endpointslices`, `describe ingress`", reason: "No controller makes EndpointSlices.", seen: []paritySighting{
		{commands: `endpointslices`, lines: `^-(NAME|endpointslice|$)`},
		{commands: `describe ingress`, lines: `^[+-]/  front:80`},
	}},
	{shown: "`get configmaps`, `describe pod`", reason: "No controller makes the authority's ConfigMap for a namespace, and no admission gives a ServiceAccount to pods.", seen: []paritySighting{
		{commands: `get configmap,secret,sa`, lines: `^-configmap/kube-root-ca.crt`},
		{commands: `-o yaml`, lines: `^-serviceAccount(Name)?: default$`},
		{commands: `describe pod`, lines: `^[+-](Mounts|Volumes):|^-(Service Account|/var/run/secrets|kube-api-access|Type:  Projected|TokenExpirationSeconds|ConfigMapName|Optional|DownwardAPI)`},
	}},
	{shown: "`create job --from=cronjob`", reason: "Such a Job counts among the active ones of its CronJob. A real controller complains of it in an event instead.", seen: []paritySighting{
		{commands: `get configmap,secret,sa`, lines: `^[+-]cronjob`},
		{commands: `describe cronjob`, lines: `^[+-](Active Jobs|Events):|^-(Type|----|Warning  UnexpectedJob)`},
	}},
	{shown: "`get -o yaml`", reason: "Finalizers that keep an object while it is in use are not set; volumes and classes go at once.", seen: []paritySighting{
		{commands: `every-kind.yaml -o yaml`, lines: `^[+-]spec:( \{\})?$|^-(finalizers:|- kubernetes$|- kubernetes.io/(pvc|pv|vac)-protection)`},
	}},
	{shown: "`get -o yaml`", reason: "Fields that a real server writes although they are empty are left out, and a few counts and annotations that controllers and schedulers do not read.", seen: []paritySighting{
		{commands: `-o yaml`, lines: `^-(.*: (null|\{\}|0)|lastPhaseTransitionTime: "TIME"|annotations:|deprecated.daemonset.template.generation: "1")$`},
		{commands: `get pods .*-o yaml`, lines: `^[+-]-? ?(lastProbeTime: null|lastTransitionTime: "TIME"|observedGeneration: 1)$`},
		{commands: `--dry-run=server -o yaml`, lines: `^\+resourceVersion: ""$`},
	}},
	{shown: "`get -o yaml`", reason: "A CertificateSigningRequest does not say who made it. APIServices and FlowSchemas get no status.", seen: []paritySighting{
		{commands: `every-kind.yaml`, lines: `^-(extra:|authentication.kubernetes.io/credential-id:|- X509SHA256|groups:|- system:(masters|authenticated)|username: admin)$`},
		{commands: `every-kind.yaml -o yaml`, lines: `^\+status: \{\}$|^-(status:|conditions:|- lastTransitionTime: "TIME"|message: .*|"global-default" and it exists|reason: .*|status: "False"|type: (Available|Dangling))$`},
		{commands: `every-kind.yaml$|-o wide`, lines: `^[+-](certificatesigningrequest|flowschema|apiservice)|^[+-]NAME  (AGE|SERVICE)`},
	}},
	{shown: "`get pods -o yaml`", releases: []string{"1.35", "1.36", "1.37"}, reason: "A pod does not get its node's zone and region as labels.", seen: []paritySighting{
		{commands: `get pods .*-o yaml|describe pod`, lines: `^-topology.kubernetes.io/(region|zone)[:=]`},
	}},
	{shown: "`get crd`, `get -o yaml`", releases: []string{"1.37"}, reason: "The columns of CustomResourceDefinitions, and the defaults and generations that 1.37 adds to StatefulSets, CSIDrivers and HorizontalPodAutoscalers, are those of 1.36.", seen: []paritySighting{
		{commands: `get crd`, lines: `^[+-](NAME|widgets.example.com)  `},
		{commands: `every-kind.yaml$|-o wide`, lines: `^[+-](NAME  (CREATED AT|SCOPE)|customresourcedefinition)`},
		{commands: `every-kind.yaml -o yaml`, lines: `^-(maxUnavailable: 1|preventPodSchedulingIfMissing: false)$`},
		{commands: `get hpa|every-kind.yaml -o yaml`, lines: `^-generation: 1$`},
	}},
	{shown: "`patch`, `apply`, `get -l`: what is wrong", reason: "Values of a wrong type and unknown fields in patches are refused with BadRequest and the field's name, where a real server says Invalid and repeats the patch. Of a JSON patch it says which operation fails, of a selector where it ends, and of a pod's fields which may not change.", seen: []paritySighting{
		{commands: `patch configmap|replicas: many|more: 1|app in \(web`, lines: `^\+(Error from server \(BadRequest\)|The request is invalid: : |\{"metadata"|to:$|Resource: |Name: |for: )|^-(The request is invalid: |Error from server \(BadRequest\): )`},
		{commands: `"command":\["no"\]`, lines: `.`},
	}},
	{shown: "`patch node`", reason: "Addresses of nodes are not checked.", seen: []paritySighting{
		{commands: `podCIDR`, lines: `.`, status: true},
	}},
	{shown: "`rollout history`, `rollout undo`", reason: "There are no ControllerRevisions of DaemonSets and StatefulSets.", seen: []paritySighting{
		{commands: `rollout (history|undo) (daemonset|statefulset)`, lines: `.`, status: true},
	}},
	{shown: "`patch --subresource=resize`", reason: "Pods cannot be resized in place.", seen: []paritySighting{
		{commands: `resize`, lines: `.`},
	}},
	{shown: "`logs`, `exec`, `attach`, `port-forward`, `cp`", reason: "It says that there are no containers. A real server says that it cannot reach the simulated nodes.", seen: []paritySighting{
		{commands: `^kubectl (logs|exec|attach|port-forward|cp) `, lines: `nodes of this server are simulated|dial tcp`},
	}},
	{shown: "`describe node`", reason: "The controllers write no labels beta.kubernetes.io and no event about a new node.", seen: []paritySighting{
		{commands: `describe node`, lines: `^[+-](Labels|Events):|^-(beta.kubernetes.io/|Type|----|Normal  RegisteredNode)|^-disk=ssd`},
	}},
}

const (
	parityPage  = "docs/embedded-server.md"
	parityBegin = "<!-- written by tests/e2e/kubectl_differences_test.go -->\n"
	parityEnd   = "<!-- end -->\n"
)

// The page lists the differences that TestKubectlParity knows. BERTH_WRITE_DOCS=1 writes them.
func TestKubectlDifferencesPage(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	table.WriteString("| kubectl | what is different, and why |\n|---|---|\n")
	for _, difference := range parityDifferences {
		releases := ""
		if len(difference.releases) > 0 {
			releases = fmt.Sprintf(" (%s)", strings.Join(difference.releases, ", "))
		}
		fmt.Fprintf(&table, "| %s%s | %s |\n", difference.shown, releases, difference.reason)
	}
	path := folderOf(t, parityPage)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	part := regexp.MustCompile("(?s)" + regexp.QuoteMeta(parityBegin) + ".*?" + regexp.QuoteMeta(parityEnd))
	wanted := part.ReplaceAllLiteralString(string(text), parityBegin+table.String()+parityEnd)
	if wanted == string(text) && part.Match(text) {
		return
	}
	if os.Getenv("BERTH_WRITE_DOCS") == "" || !part.Match(text) {
		t.Fatalf("%s does not list the differences of kubectl_differences_test.go: run this test with BERTH_WRITE_DOCS=1", parityPage)
	}
	if err := os.WriteFile(path, []byte(wanted), 0o644); err != nil {
		t.Fatal(err)
	}
}
