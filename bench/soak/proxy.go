// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// What lies between the scheduler and the API server. Of a thousand requests three are refused with 503, one with 429,
// one is carried out and its answer lost, two come late by up to half a second: fewer than one in a hundred, so that the
// p99 is of those that nothing happened to. Watches end after 20 s to two minutes.
type proxy struct {
	address string
	count   atomic.Int64
}

func startProxy(server string) (*proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{address: listener.Addr().String()}
	forward := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: server})
	forward.FlushInterval = -1
	forward.Transport = &http.Transport{MaxIdleConnsPerHost: 256}
	forward.ErrorLog = log.New(io.Discard, "", 0)
	forward.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	forward.ModifyResponse = func(answer *http.Response) error {
		if answer.Request.Context().Value(loseAnswer{}) != nil {
			answer.Body.Close()
			return errors.New("lost")
		}
		return nil
	}
	go func() {
		_ = http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p.handle(forward, w, r)
		}))
	}()
	return p, nil
}

type loseAnswer struct{}

func (p *proxy) handle(forward http.Handler, w http.ResponseWriter, r *http.Request) {
	if strings.Contains(r.URL.RawQuery, "watch=true") {
		ctx, cancel := context.WithTimeout(r.Context(), 20*time.Second+rand.N(100*time.Second))
		defer cancel()
		forward.ServeHTTP(w, r.WithContext(ctx))
		p.count.Add(1)
		return
	}
	switch n := rand.IntN(1000); {
	case n < 3:
		p.count.Add(1)
		refuse(w, http.StatusServiceUnavailable, "ServiceUnavailable")
		return
	case n < 4:
		p.count.Add(1)
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusTooManyRequests, "TooManyRequests")
		return
	case n < 5:
		p.count.Add(1)
		r = r.WithContext(context.WithValue(r.Context(), loseAnswer{}, true))
	case n < 7:
		p.count.Add(1)
		time.Sleep(rand.N(500 * time.Millisecond))
	}
	forward.ServeHTTP(w, r)
}

func refuse(w http.ResponseWriter, status int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"` + reason + `","message":"soak"}`))
}
