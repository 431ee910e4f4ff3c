// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Proxy stands between a scheduler and the API server, keeps a record of every request and lets a test meddle with each.
type Proxy struct {
	URL string

	reverse *httputil.ReverseProxy
	mu      sync.Mutex
	rule    func(*Exchange)
	record  []*Exchange
	streams map[int]context.CancelFunc
	next    int
}

// ProxyOptions of a proxy; the zero value speaks TLS with a certificate of the cluster's authority for 127.0.0.1.
type ProxyOptions struct {
	// Upstream is where the requests go and as whom. Without a client certificate in it, the scheduler's own
	// Authorization header decides.
	Upstream *rest.Config
	Serving  Pair
	Plain    bool // http instead of https
}

// Exchange is one request and what became of it.
type Exchange struct {
	At     time.Time
	Method string
	Path   string
	Query  url.Values
	Header http.Header
	Body   []byte
	Status int // what the API server answered; 0 while it has not been asked

	proxy   *Proxy
	request *http.Request
	writer  http.ResponseWriter
}

// StartProxy starts a proxy in front of the cluster. rule is called for every request and must end it in one of the
// Exchange's ways; nil forwards everything.
func (c *Cluster) StartProxy(t testing.TB, options ProxyOptions, rule func(*Exchange)) *Proxy {
	t.Helper()
	target := must(url.Parse(options.Upstream.Host))(t)
	tlsConfig := must(rest.TLSConfigFor(options.Upstream))(t)
	logFile := must(os.OpenFile(filepath.Join(c.Dir, "proxy.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644))(t)
	logger := log.New(logFile, "", log.Ltime|log.Lmicroseconds)
	p := &Proxy{rule: rule, streams: map[int]context.CancelFunc{}}
	p.reverse = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header["X-Forwarded-For"] = nil
		},
		Transport:     &http.Transport{TLSClientConfig: tlsConfig, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 100},
		FlushInterval: -1, // a watch must not wait in a buffer
		ErrorLog:      logger,
		// An API server out of reach looks from behind a proxy as it does directly: a broken connection.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	listener := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	scheme := "http"
	if !options.Plain {
		scheme = "https"
		serving := options.Serving
		if serving.Cert == nil {
			serving = c.serving
		}
		// HTTP/1.1 only: to drop one answer is to drop one connection. Any client certificate is taken, because the
		// request goes on with the upstream's.
		listener = tls.NewListener(listener, &tls.Config{
			Certificates: []tls.Certificate{serving.TLS(t)}, NextProtos: []string{"http/1.1"}, ClientAuth: tls.RequestClientCert,
		})
	}
	p.URL = fmt.Sprintf("%s://%s", scheme, listener.Addr())
	server := &http.Server{Handler: p, ErrorLog: logger}
	go server.Serve(listener)
	t.Cleanup(func() {
		server.Close()
		logFile.Close()
	})
	return p
}

// KubeconfigVia is the kubeconfig of a scheduler that reaches the cluster through the proxy.
func (c *Cluster) KubeconfigVia(t testing.TB, p *Proxy) string {
	t.Helper()
	return c.KubeconfigAt(t, p.URL)
}

// KubeconfigAt is the kubeconfig of a scheduler that finds the API server at this URL.
func (c *Cluster) KubeconfigAt(t testing.TB, server string) string {
	t.Helper()
	pair := c.authority.Client(t, SchedulerUser, nil, 24*time.Hour)
	return WriteKubeconfig(t, c.Dir, clientcmdapi.Cluster{Server: server, CertificateAuthorityData: c.authority.PEM},
		clientcmdapi.AuthInfo{ClientCertificateData: pair.Cert, ClientKeyData: pair.Key})
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &Exchange{At: time.Now(), Method: r.Method, Path: r.URL.Path, Query: r.URL.Query(), Header: r.Header.Clone(), proxy: p, request: r, writer: w}
	if r.Method != http.MethodGet {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		x.Body = body
	}
	p.mu.Lock()
	p.record = append(p.record, x)
	rule := p.rule
	p.mu.Unlock()
	if rule == nil {
		x.Forward()
		return
	}
	rule(x)
}

// SetRule replaces the rule.
func (p *Proxy) SetRule(rule func(*Exchange)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rule = rule
}

// Requests is a copy of the record so far: the requests for which keep says true.
func (p *Proxy) Requests(keep func(*Exchange) bool) []Exchange {
	p.mu.Lock()
	defer p.mu.Unlock()
	var kept []Exchange
	for _, x := range p.record {
		if keep(x) {
			kept = append(kept, *x)
		}
	}
	return kept
}

// BreakStreams cuts every request under way, watches above all, as a load balancer does now and then.
func (p *Proxy) BreakStreams() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, cut := range p.streams {
		cut()
	}
}

// IsBinding says whether this request binds a pod.
func (x *Exchange) IsBinding() bool {
	return x.Method == http.MethodPost && strings.HasSuffix(x.Path, "/binding")
}

// IsWatch says whether this request opens a watch.
func (x *Exchange) IsWatch() bool {
	return x.Method == http.MethodGet && (x.Query.Get("watch") == "true" || x.Query.Get("watch") == "1")
}

// Mentions says whether a pod's name is in the path, or its UID in the body.
func (x *Exchange) Mentions(name, uid string) bool {
	return strings.Contains(x.Path+"/", "/pods/"+name+"/") || bytes.Contains(x.Body, []byte(uid))
}

// Forward passes the request on and the answer back.
func (x *Exchange) Forward() { x.forwardTo(x.writer, x.request.Context()) }

func (x *Exchange) forwardTo(w http.ResponseWriter, ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	x.proxy.mu.Lock()
	id := x.proxy.next
	x.proxy.next++
	if x.IsWatch() {
		x.proxy.streams[id] = cancel
	}
	x.proxy.mu.Unlock()
	defer func() {
		x.proxy.mu.Lock()
		delete(x.proxy.streams, id)
		x.proxy.mu.Unlock()
	}()
	request := x.request.WithContext(ctx)
	if x.Body != nil {
		request.Body = io.NopCloser(bytes.NewReader(x.Body))
	}
	x.proxy.reverse.ServeHTTP(&statusKeeper{ResponseWriter: w, x: x}, request)
}

// ForwardLate passes the request on at once and every piece of the answer back after a delay, in order: a watch that lags.
func (x *Exchange) ForwardLate(delay time.Duration) {
	x.ForwardLateBy(func() time.Duration { return delay })
}

// ForwardLateBy is ForwardLate with a delay of its own for each piece; none overtakes another.
func (x *Exchange) ForwardLateBy(delay func() time.Duration) {
	type piece struct {
		due   time.Time
		bytes []byte
	}
	late := &lateWriter{ResponseWriter: x.writer}
	pieces := make(chan piece, 100_000)
	late.write = func(b []byte) { pieces <- piece{time.Now().Add(delay()), bytes.Clone(b)} }
	var sender sync.WaitGroup
	sender.Go(func() {
		flusher := http.NewResponseController(x.writer)
		for p := range pieces {
			time.Sleep(time.Until(p.due))
			if _, err := x.writer.Write(p.bytes); err == nil {
				_ = flusher.Flush() // a client that hung up is the next write's matter
			}
		}
	})
	// Also when the forwarding panics, as it does to break the connection: the writer must not outlive the handler.
	defer sender.Wait()
	defer close(pieces)
	x.forwardTo(late, x.request.Context())
}

// Swallow passes the request on and keeps the answer to itself, even if the scheduler hangs up meanwhile.
func (x *Exchange) Swallow() (status int, body []byte) {
	answer := &memoryWriter{header: http.Header{}}
	x.forwardTo(answer, context.WithoutCancel(x.request.Context()))
	return answer.status, answer.body.Bytes()
}

// Drop closes the connection without an answer.
func (x *Exchange) Drop() { panic(http.ErrAbortHandler) }

// Answer answers in the API server's place.
func (x *Exchange) Answer(status int, header http.Header, body []byte) {
	for name, values := range header {
		x.writer.Header()[name] = values
	}
	x.writer.Header().Set("Content-Type", "application/json")
	x.writer.WriteHeader(status)
	_, _ = x.writer.Write(body) // a client that hung up wants no answer
}

// AnswerFailure answers with a Status object of Kubernetes.
func (x *Exchange) AnswerFailure(status int, reason, message string, header http.Header) {
	x.Answer(status, header, fmt.Appendf(nil,
		`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":%q,"code":%d}`, message, reason, status))
}

// Trickle answers 200 and then nothing but the same piece again and again, until the client hangs up.
func (x *Exchange) Trickle(contentType, piece string, every time.Duration) {
	x.writer.Header().Set("Content-Type", contentType)
	x.writer.WriteHeader(http.StatusOK)
	flusher := http.NewResponseController(x.writer)
	for {
		if _, err := io.WriteString(x.writer, piece); err != nil || flusher.Flush() != nil {
			return
		}
		select {
		case <-x.request.Context().Done():
			return
		case <-time.After(every):
		}
	}
}

// AnswerRaw writes bytes to the connection, be they HTTP or not, and closes it.
func (x *Exchange) AnswerRaw(raw string) {
	connection, buffer, err := x.writer.(http.Hijacker).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer connection.Close()
	_, _ = buffer.WriteString(raw)
	_ = buffer.Flush()
}

// statusKeeper notes the API server's status code in the record.
type statusKeeper struct {
	http.ResponseWriter
	x *Exchange
}

func (k *statusKeeper) WriteHeader(status int) {
	k.x.proxy.mu.Lock()
	k.x.Status = status
	k.x.proxy.mu.Unlock()
	k.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController find the Flusher below.
func (k *statusKeeper) Unwrap() http.ResponseWriter { return k.ResponseWriter }

// lateWriter hands the body to somebody who writes it later.
type lateWriter struct {
	http.ResponseWriter
	write func([]byte)
}

func (l *lateWriter) Write(b []byte) (int, error) {
	l.write(b)
	return len(b), nil
}

// Flush does nothing: whoever writes also flushes.
func (l *lateWriter) Flush() {}

// memoryWriter takes an answer that nobody is to see.
type memoryWriter struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (m *memoryWriter) Header() http.Header         { return m.header }
func (m *memoryWriter) WriteHeader(status int)      { m.status = status }
func (m *memoryWriter) Write(b []byte) (int, error) { return m.body.Write(b) }
