// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"berth-e2e/harness"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// A service account's token ends while berth runs; the file that berth was given has the next one by then, as kubelets
// see to in a pod.
func TestTokenFile(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := harness.StartCluster(t, harness.Options{})
	c.CreateNodes(t, harness.Node("node-000"))

	// Tokens are bound to secrets here because a token ends with what it is bound to, when the test wants it to.
	const system = metav1.NamespaceSystem
	if _, err := c.Admin.CoreV1().ServiceAccounts(system).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "berth"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// What the user system:kube-scheduler may do, it may do by these two.
	for _, role := range []string{"system:kube-scheduler", "system:volume-scheduler"} {
		if _, err := c.Admin.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "berth:" + role}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: system, Name: "berth"}}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	token := func(secret string) string {
		s, err := c.Admin.CoreV1().Secrets(system).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: secret}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		request, err := c.Admin.CoreV1().ServiceAccounts(system).CreateToken(ctx, "berth", &authenticationv1.TokenRequest{
			Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Secret", APIVersion: "v1", Name: secret, UID: s.UID}}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return request.Status.Token
	}

	// The file is reached through a symbolic link that is switched in one step, as in a pod's token volume.
	file := filepath.Join(c.Dir, "token")
	put := func(name, token string) {
		if err := os.WriteFile(filepath.Join(c.Dir, name), []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(name, file+".new"); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	put("token-1", token("first"))
	config := harness.WriteKubeconfig(t, c.Dir, clientcmdapi.Cluster{Server: c.Server(), CertificateAuthorityData: c.Authority().PEM}, clientcmdapi.AuthInfo{TokenFile: file})
	harness.StartScheduler(t, harness.Scheduler{Kubeconfig: config, Dir: c.Dir})
	c.CreatePods(t, 0, harness.Pod("before", "", "1", ""))
	c.WaitBound(t, 20*time.Second, "before")

	put("token-2", token("second"))
	if err := c.Admin.CoreV1().Secrets(system).Delete(ctx, "first", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(11 * time.Second) // kube-apiserver goes on believing a token for ten seconds
	c.CreatePods(t, 0, harness.Pod("after", "", "1", ""))
	// client-go reads the file again every minute, and at once when it is told 401.
	c.WaitBound(t, 75*time.Second, "after")
}

// A credential plugin gives the token or the certificate, and is asked again when what it gave expires.
func TestExecCredentials(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, harness.Options{Tokens: map[string]string{"the-first": harness.SchedulerUser, "the-second": harness.SchedulerUser}})
	c.CreateNodes(t, harness.Node("node-000"))
	pair := c.Authority().Client(t, harness.SchedulerUser, nil, time.Hour)
	for _, test := range []struct {
		name   string
		status string // a shell expression's text; $1 is the number of the call
		calls  int
	}{
		{"token that expires", `{"token":"$([ "$1" = 1 ] && echo the-first || echo the-second)","expirationTimestamp":"$(date -u -d '+5 seconds' +%Y-%m-%dT%H:%M:%SZ)"}`, 2},
		{"certificate", fmt.Sprintf(`{"clientCertificateData":%q,"clientKeyData":%q}`, pair.Cert, pair.Key), 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := harness.TempDir(t)
			calls := filepath.Join(dir, "calls")
			plugin := filepath.Join(dir, "plugin.sh")
			script := fmt.Sprintf(`#!/bin/bash
# Notes what it is told, one line a call, and gives the credential.
echo "${KUBERNETES_EXEC_INFO//$'\n'/} $EXTRA $*" >>%[1]s
set -- "$(wc -l <%[1]s)"
cat <<CREDENTIAL
{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":%[2]s}
CREDENTIAL
`, calls, strings.ReplaceAll(test.status, `\n`, `\\n`))
			if err := os.WriteFile(plugin, []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			config := harness.WriteKubeconfig(t, dir, clientcmdapi.Cluster{Server: c.Server(), CertificateAuthorityData: c.Authority().PEM},
				clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{
					APIVersion: "client.authentication.k8s.io/v1", Command: plugin, Args: []string{"an argument"},
					Env: []clientcmdapi.ExecEnvVar{{Name: "EXTRA", Value: "extra"}}, InteractiveMode: clientcmdapi.NeverExecInteractiveMode}})
			name := strings.ReplaceAll(test.name, " ", "-")
			harness.StartScheduler(t, harness.Scheduler{Name: name, Kubeconfig: config, Dir: dir})
			c.CreatePods(t, 0, harness.Pod(name, name, "100m", ""))
			c.WaitBound(t, 20*time.Second, name)
			if test.calls > 1 {
				time.Sleep(6 * time.Second) // until the credential has expired
				c.CreatePods(t, 0, harness.Pod(name+"-later", name, "100m", ""))
				c.WaitBound(t, 20*time.Second, name+"-later")
			}
			b, err := os.ReadFile(calls)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSpace(string(b)), "\n")
			// Some ask again a while before the expiry; what does not expire is asked for once.
			if len(lines) < test.calls || test.calls == 1 && len(lines) > 1 {
				t.Errorf("the plugin was called %d times, wanted %d", len(lines), test.calls)
			}
			for _, want := range []string{`"ExecCredential"`, `"client.authentication.k8s.io/v1"`, `"interactive":false`, "extra an argument"} {
				if !strings.Contains(lines[0], want) {
					t.Errorf("the plugin was told %q, which lacks %q", lines[0], want)
				}
			}
		})
	}
}

// berth speaks only to the server that it was told to trust.
func TestServerCertificate(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, harness.Options{Tokens: map[string]string{"secret-token": harness.SchedulerUser}})
	c.CreateNodes(t, harness.Node("node-000"))
	upstream := c.RESTConfig(t, harness.SchedulerUser)
	upstream.CertData, upstream.KeyData = nil, nil // the Authorization header decides
	stranger := harness.NewAuthority(t, "stranger")
	for _, test := range []struct {
		name    string
		serving harness.Pair
		cluster clientcmdapi.Cluster
		bound   bool
	}{
		{"of another authority", stranger.Server(t, "127.0.0.1"), clientcmdapi.Cluster{CertificateAuthorityData: c.Authority().PEM}, false},
		{"of another server", c.Authority().Server(t, "apiserver.test"), clientcmdapi.Cluster{CertificateAuthorityData: c.Authority().PEM}, false},
		{"of another server but the one named", c.Authority().Server(t, "apiserver.test"),
			clientcmdapi.Cluster{CertificateAuthorityData: c.Authority().PEM, TLSServerName: "apiserver.test"}, true},
		{"of anybody", stranger.Server(t, "elsewhere.test"), clientcmdapi.Cluster{InsecureSkipTLSVerify: true}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			proxy := c.StartProxy(t, harness.ProxyOptions{Upstream: upstream, Serving: test.serving}, nil)
			dir, name := harness.TempDir(t), strings.ReplaceAll(test.name, " ", "-")
			test.cluster.Server = proxy.URL
			config := harness.WriteKubeconfig(t, dir, test.cluster, clientcmdapi.AuthInfo{Token: "secret-token"})
			scheduler := harness.StartScheduler(t, harness.Scheduler{Name: name, Kubeconfig: config, Dir: dir, MayEnd: true})
			c.CreatePods(t, 0, harness.Pod(name, name, "100m", ""))
			if test.bound {
				c.WaitBound(t, 20*time.Second, name)
				return
			}
			harness.Eventually(t, 20*time.Second, "the scheduler says that it does not trust the server", func() (bool, string) {
				return strings.Contains(strings.ToLower(scheduler.Output()), "certificate"), scheduler.Output()
			})
			if got := proxy.Requests(func(*harness.Exchange) bool { return true }); len(got) > 0 {
				t.Errorf("it has sent %d requests, with its token", len(got))
			}
		})
	}
}

// A start that cannot work ends at once, with one line that says what is wrong, where, and a code other than 0.
func TestBadStart(t *testing.T) {
	harness.NeedsBerth(t)
	dir := harness.TempDir(t)
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	noContext := write("no-context.kubeconfig", "apiVersion: v1\nkind: Config\nclusters: []\nusers: []\ncontexts: []\ncurrent-context: nowhere\n")
	garbage := write("garbage.kubeconfig", "\x00: [")
	badCert := write("bad-certificate.kubeconfig", `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {client-certificate: missing.crt, client-key: missing.key}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`)
	for _, test := range []struct {
		name string
		args []string
		want []string
	}{
		{"no such file", []string{"--kubeconfig", filepath.Join(dir, "missing")}, []string{filepath.Join(dir, "missing")}},
		{"unknown context", []string{"--kubeconfig", noContext}, []string{"nowhere"}},
		{"not a kubeconfig", []string{"--kubeconfig", garbage}, []string{garbage}},
		{"certificate file missing", []string{"--kubeconfig", badCert}, []string{"missing.crt"}},
		{"unknown flag", []string{"--no-such-flag"}, []string{"no-such-flag"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := harness.Start(t, harness.Command{Name: "berth-" + strings.ReplaceAll(test.name, " ", "-"), Dir: dir,
				Args: append([]string{harness.Berth(t), "run"}, test.args...), MayEnd: true})
			code, ended := p.Wait(10 * time.Second)
			if !ended || code == 0 {
				t.Errorf("ended %v, with %d", ended, code)
			}
			for _, want := range test.want {
				if !strings.Contains(p.Output(), want) {
					t.Errorf("%q does not say %q", p.Output(), want)
				}
			}
			if lines := strings.Count(p.Output(), "\n") + 1; lines > 2 {
				t.Errorf("one clear line was wanted, not %d:\n%s", lines, p.Output())
			}
		})
	}
}

// A client certificate that has expired is refused by the API server, and berth says so.
func TestExpiredCertificate(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, harness.Options{})
	pair := c.Authority().Client(t, harness.SchedulerUser, nil, -time.Minute)
	config := harness.WriteKubeconfig(t, c.Dir, clientcmdapi.Cluster{Server: c.Server(), CertificateAuthorityData: c.Authority().PEM},
		clientcmdapi.AuthInfo{ClientCertificateData: pair.Cert, ClientKeyData: pair.Key})
	scheduler := harness.StartScheduler(t, harness.Scheduler{Kubeconfig: config, Dir: c.Dir, MayEnd: true})
	harness.Eventually(t, 20*time.Second, "the scheduler says that it was refused", func() (bool, string) {
		out := strings.ToLower(scheduler.Output())
		return strings.Contains(out, "expired") || strings.Contains(out, "unauthorized") || strings.Contains(out, "401"), out
	})
	if scheduler.Exited() {
		if code, _ := scheduler.Wait(0); code == 0 {
			t.Error("ended with 0")
		}
	}
}
