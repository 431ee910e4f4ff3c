// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"berth-e2e/harness"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const podsPath = "/api/v1/pods"

// The API server comes back with a certificate of another authority, and the file with the authority has been replaced.
func rotationAttack(r *run) {
	authority := r.file("authority.crt", r.c.Authority().PEM)
	pair := r.c.Authority().Client(r, harness.SchedulerUser, nil, 24*time.Hour)
	r.begin(options{kubeconfig: harness.WriteKubeconfig(r, r.dir, clientcmdapi.Cluster{Server: r.c.Server(), CertificateAuthority: authority},
		clientcmdapi.AuthInfo{ClientCertificateData: pair.Cert, ClientKeyData: pair.Key})})
	r.under(func(context.Context) {
		for turn := range r.strength {
			// There and back again, for twice the strength.
			next := []*harness.Authority{r.trusted, r.c.Authority()}[turn%2]
			writeAtOnce(r, authority, next.PEM)
			r.c.ServeWith(r, next.Server(r, "127.0.0.1", "localhost", serverName))
			time.Sleep(5 * time.Second)
		}
	})
}

// writeAtOnce replaces a file in one step, as a mounted volume does.
func writeAtOnce(r *run, path string, content []byte) {
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		r.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		r.Fatal(err)
	}
}

// swallower listens on an address and never takes a connection: its backlog is full, and what else is sent is dropped.
func swallower(r *run, address string, port int) {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = syscall.Close(socket) })
	where := &syscall.SockaddrInet4{Port: port, Addr: [4]byte(net.ParseIP(address).To4())}
	_ = syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	if err := syscall.Bind(socket, where); err != nil {
		r.Fatal(err)
	}
	if err := syscall.Listen(socket, 0); err != nil {
		r.Fatal(err)
	}
	for range 8 {
		connection, err := net.DialTimeout("tcp", fmt.Sprintf("%s:%d", address, port), 300*time.Millisecond)
		if err != nil {
			return // full
		}
		r.Cleanup(func() { _ = connection.Close() })
	}
	r.Fatalf("%s:%d goes on taking connections", address, port)
}

// The server's name has addresses that swallow packets before the one that answers. The scheduler gets a hosts file of
// its own, in a mount namespace of its own.
func firstAddressAttack(r *run) {
	// In the order in which getaddrinfo gives them: 127.0.0.1 first, which is nearest to itself.
	var hosts strings.Builder
	port := harness.FreePort(r)
	for i := range r.strength {
		address := fmt.Sprintf("127.0.0.%d", 1+i)
		swallower(r, address, port)
		fmt.Fprintf(&hosts, "%s %s\n", address, serverName)
	}
	last := fmt.Sprintf("127.0.0.%d", 1+r.strength)
	startRelay(r, fmt.Sprintf("%s:%d", last, port), fmt.Sprintf("127.0.0.1:%d", r.c.Port()))
	fmt.Fprintf(&hosts, "%s %s\n", last, serverName)
	file := r.file("hosts", []byte(hosts.String()))
	pair := r.c.Authority().Client(r, harness.SchedulerUser, nil, 24*time.Hour)
	kubeconfig := harness.WriteKubeconfig(r, r.dir, clientcmdapi.Cluster{
		Server: fmt.Sprintf("https://%s:%d", serverName, port), CertificateAuthorityData: r.c.Authority().PEM,
	}, clientcmdapi.AuthInfo{ClientCertificateData: pair.Cert, ClientKeyData: pair.Key})
	r.beginStream()
	r.beginScheduler(options{kubeconfig: kubeconfig, prefix: []string{
		"unshare", "--mount", "sh", "-c", `mount --bind "$0" /etc/hosts && exec "$@"`, file,
	}})
	r.under(func(context.Context) {})
	// There is no before.
	r.result.BeforeMiB = r.result.AfterMiB
}

// The credential plugin hangs when it is asked again, and writes to standard error all the time.
func pluginAttack(r *run) {
	calls := filepath.Join(r.dir, "calls")
	// Whoever is not ended ends after two minutes by itself.
	plugin := r.file("plugin.sh", fmt.Appendf(nil, `#!/bin/bash
echo call >>%[1]s
call=$(wc -l <%[1]s)
if ((call > 1 && call <= 1 + %[2]d)); then
  while ((SECONDS < 120)); do
    echo waiting >&2
    sleep 0.02
  done
  exit 1
fi
expiry=$(date -u -d "+$([[ $call == 1 ]] && echo 8 || echo 3600) seconds" +%%Y-%%m-%%dT%%H:%%M:%%SZ)
echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%[3]s","expirationTimestamp":"'"$expiry"'"}}'
`, calls, r.strength, firstToken))
	if err := os.Chmod(plugin, 0o700); err != nil {
		r.Fatal(err)
	}
	r.begin(options{kubeconfig: harness.WriteKubeconfig(r, r.dir, clientcmdapi.Cluster{Server: r.c.Server(), CertificateAuthorityData: r.c.Authority().PEM},
		clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{
			APIVersion: "client.authentication.k8s.io/v1", Command: plugin, InteractiveMode: clientcmdapi.NeverExecInteractiveMode}})})
	r.under(func(context.Context) {})
	b, _ := os.ReadFile(calls)
	r.note("the plugin was called %d times", bytes.Count(b, []byte("\n")))
}

// Watches break, and the next ones of pods, as many as the strength says, bring newlines and nothing else.
func newlinesAttack(r *run) {
	proxy := r.c.StartProxy(r, harness.ProxyOptions{Upstream: r.c.RESTConfig(r, harness.SchedulerUser)}, nil)
	r.begin(options{kubeconfig: r.c.KubeconfigVia(r, proxy), json: true})
	r.under(func(context.Context) {
		var bad atomic.Int32
		proxy.SetRule(func(x *harness.Exchange) {
			if x.IsWatch() && x.Path == podsPath && bad.Add(1) <= int32(r.strength) {
				x.Trickle("application/json", "\n", time.Second)
				return
			}
			x.Forward()
		})
		proxy.BreakStreams()
	})
}

// The token is refused for lists and watches, and the file has another one some seconds later.
func unauthorizedAttack(r *run) {
	upstream := &rest.Config{Host: r.c.Server(), TLSClientConfig: rest.TLSClientConfig{CAData: r.c.Authority().PEM}}
	proxy := r.c.StartProxy(r, harness.ProxyOptions{Upstream: upstream}, nil)
	token := r.file("token", []byte(firstToken))
	r.begin(options{kubeconfig: harness.WriteKubeconfig(r, r.dir, clientcmdapi.Cluster{Server: proxy.URL, CertificateAuthorityData: r.c.Authority().PEM},
		clientcmdapi.AuthInfo{TokenFile: token})})
	r.under(func(context.Context) {
		proxy.SetRule(func(x *harness.Exchange) {
			if x.Method == http.MethodGet && x.Header.Get("Authorization") == "Bearer "+firstToken {
				x.AnswerFailure(http.StatusUnauthorized, "Unauthorized", "Unauthorized", nil)
				return
			}
			x.Forward()
		})
		proxy.BreakStreams()
		time.Sleep(time.Duration(r.strength) * 5 * time.Second)
		writeAtOnce(r, token, []byte(secondToken))
	})
}

// relay passes bytes on between a scheduler and the API server, until it is told to fall silent: then the connections
// that there are stay open and bring nothing, either way, and new ones work.
type relay struct {
	address string
	mu      sync.Mutex
	silent  []*atomic.Bool // one for each connection
}

func startRelay(r *run, at, to string) *relay {
	listener, err := net.Listen("tcp", at)
	if err != nil {
		r.Fatal(err)
	}
	ended := make(chan struct{})
	r.Cleanup(func() {
		close(ended)
		_ = listener.Close()
	})
	l := &relay{address: listener.Addr().String()}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				_ = client.Close()
				continue
			}
			silent := &atomic.Bool{}
			l.mu.Lock()
			l.silent = append(l.silent, silent)
			l.mu.Unlock()
			pass := func(from, to net.Conn) {
				buffer := make([]byte, 64<<10)
				for {
					n, err := from.Read(buffer)
					if silent.Load() {
						<-ended // not even the end is told
					}
					if n > 0 {
						if _, failed := to.Write(buffer[:n]); failed != nil {
							err = io.EOF
						}
					}
					if err != nil {
						_ = from.Close()
						_ = to.Close()
						return
					}
				}
			}
			go pass(client, server)
			go pass(server, client)
		}
	}()
	return l
}

func (l *relay) fallSilent() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, silent := range l.silent {
		silent.Store(true)
	}
	return len(l.silent)
}

// Connections bring nothing any more and are not closed, as behind a firewall that has forgotten them.
func silenceAttack(r *run) {
	l := startRelay(r, "127.0.0.1:0", fmt.Sprintf("127.0.0.1:%d", r.c.Port()))
	pair := r.c.Authority().Client(r, harness.SchedulerUser, nil, 24*time.Hour)
	r.begin(options{kubeconfig: harness.WriteKubeconfig(r, r.dir, clientcmdapi.Cluster{Server: "https://" + l.address, CertificateAuthorityData: r.c.Authority().PEM},
		clientcmdapi.AuthInfo{ClientCertificateData: pair.Cert, ClientKeyData: pair.Key})})
	r.under(func(context.Context) {
		for turn := range r.strength {
			if turn > 0 {
				time.Sleep(5 * time.Second)
			}
			r.note("%d connections fell silent", l.fallSilent())
		}
	})
}
