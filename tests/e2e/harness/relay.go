// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// Relay passes TCP connections on to the API server and counts their bytes. TLS and HTTP/2 are between the two ends, so
// that a scheduler behind it talks as it does without it.
type Relay struct {
	URL string

	sent, received, connections atomic.Int64
	mu                          sync.Mutex
	open                        map[net.Conn]bool // nil once the relay has ended
}

// StartRelay starts a relay, which ends with the test.
func (c *Cluster) StartRelay(t testing.TB) *Relay {
	t.Helper()
	listener := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	r := &Relay{URL: fmt.Sprintf("https://%s", listener.Addr()), open: map[net.Conn]bool{}}
	target := fmt.Sprintf("127.0.0.1:%d", c.port)
	var tasks sync.WaitGroup
	tasks.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			tasks.Go(func() { r.serve(client, target) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		r.mu.Lock()
		for connection := range r.open {
			connection.Close()
		}
		r.open = nil
		r.mu.Unlock()
		tasks.Wait()
	})
	return r
}

// Sent are the bytes that came from the scheduler.
func (r *Relay) Sent() int64 { return r.sent.Load() }

// Received are the bytes that went to the scheduler.
func (r *Relay) Received() int64 { return r.received.Load() }

// Connections is how many the scheduler has opened.
func (r *Relay) Connections() int64 { return r.connections.Load() }

func (r *Relay) serve(client net.Conn, target string) {
	defer client.Close()
	r.connections.Add(1)
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer server.Close()
	if !r.keep(client, server) {
		return
	}
	defer r.forget(client, server)
	var directions sync.WaitGroup
	pass := func(to, from net.Conn, count *atomic.Int64) {
		_, _ = io.Copy(countingWriter{to, count}, from) // a broken connection ends both directions
		to.Close()
		from.Close()
	}
	directions.Go(func() { pass(server, client, &r.sent) })
	directions.Go(func() { pass(client, server, &r.received) })
	directions.Wait()
}

func (r *Relay) keep(connections ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == nil {
		return false
	}
	for _, connection := range connections {
		r.open[connection] = true
	}
	return true
}

func (r *Relay) forget(connections ...net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, connection := range connections {
		delete(r.open, connection)
	}
}

// countingWriter also keeps the kernel from copying by itself, which would tell the bytes only at the connection's end.
type countingWriter struct {
	to    io.Writer
	count *atomic.Int64
}

func (w countingWriter) Write(b []byte) (int, error) {
	n, err := w.to.Write(b)
	w.count.Add(int64(n))
	return n, err
}
