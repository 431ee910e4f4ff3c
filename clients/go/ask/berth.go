// SPDX-License-Identifier: Apache-2.0

// Package ask asks a berth serve what would fit: a hundred lines around the client that oapi-codegen makes from
// docs/reference/ask-api.yaml (api.gen.go).
//
//	berth, err := ask.New("https://berth-serve.kube-system.svc", ask.Options{Token: token, CA: pem})
//	reply, err := berth.Simulate(ctx, ask.SimulateQuestion{Manifests: ask.Ptr(manifests)})
//	if err == nil && !reply.IsYes() { ... reply.Pending() ... }
package ask

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

const (
	triesMax = 5
	waitMax  = 30 * time.Second
)

// Options of a Berth. Without CA the system's authorities count; Insecure trusts anybody.
type Options struct {
	Token    string
	CA       []byte
	Insecure bool
	Timeout  time.Duration
}

// Reply is the verdict, the warnings, and the document that the command prints with -o json.
type Reply struct {
	Verdict  string
	Warnings []string
	Document Answer
}

// IsYes says whether everything asked about fits, can be drained, survives, ...
func (r Reply) IsYes() bool { return r.Verdict == "yes" }

// Pending returns, of Simulate, the new or displaced pods that would stay pending, as they are in the document.
func (r Reply) Pending() []map[string]any {
	var pending []map[string]any
	pods, _ := r.Document["pods"].([]any)
	for _, each := range pods {
		if pod, _ := each.(map[string]any); pod["node"] == nil && pod["origin"] != "pending" {
			pending = append(pending, pod)
		}
	}
	return pending
}

// StatusError is the server's refusal.
type StatusError struct {
	Code    int
	Message string
}

func (e *StatusError) Error() string { return fmt.Sprintf("%d: %s", e.Code, e.Message) }

// Berth is a berth serve. Safe for concurrent use.
type Berth struct{ client *ClientWithResponses }

// New returns the server at this URL; nothing is sent yet.
func New(url string, options Options) (*Berth, error) {
	trust := &tls.Config{InsecureSkipVerify: options.Insecure}
	if len(options.CA) > 0 {
		trust.RootCAs = x509.NewCertPool()
		if !trust.RootCAs.AppendCertsFromPEM(options.CA) {
			return nil, errors.New("ask: the CA has no certificate in PEM")
		}
	}
	if options.Timeout == 0 {
		options.Timeout = time.Minute
	}
	transport := &http.Transport{TLSClientConfig: trust, ForceAttemptHTTP2: true}
	client, err := NewClientWithResponses(url, WithHTTPClient(&http.Client{Transport: transport, Timeout: options.Timeout}),
		WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
			if options.Token != "" {
				request.Header.Set("Authorization", "Bearer "+options.Token)
			}
			return nil
		}))
	return &Berth{client}, err
}

// Ptr returns a pointer to a copy of the value, for the questions' fields.
func Ptr[T any](value T) *T { return &value }

// Simulate asks where pods would go.
func (b *Berth) Simulate(ctx context.Context, question SimulateQuestion) (Reply, error) {
	return again(ctx, func() (*http.Response, *Answer, *Failure, error) {
		r, err := b.client.SimulateWithResponse(ctx, question)
		if err != nil {
			return nil, nil, nil, err
		}
		return r.HTTPResponse, r.JSON200, r.JSONDefault, nil
	})
}

// Capacity asks how many more pods of a shape fit.
func (b *Berth) Capacity(ctx context.Context, question CapacityQuestion) (Reply, error) {
	return again(ctx, func() (*http.Response, *Answer, *Failure, error) {
		r, err := b.client.CapacityWithResponse(ctx, question)
		if err != nil {
			return nil, nil, nil, err
		}
		return r.HTTPResponse, r.JSON200, r.JSONDefault, nil
	})
}

// CanDrain asks what a drain of nodes would do.
func (b *Berth) CanDrain(ctx context.Context, question DrainQuestion) (Reply, error) {
	return again(ctx, func() (*http.Response, *Answer, *Failure, error) {
		r, err := b.client.CanDrainWithResponse(ctx, question)
		if err != nil {
			return nil, nil, nil, err
		}
		return r.HTTPResponse, r.JSON200, r.JSONDefault, nil
	})
}

// Headroom asks how many node losses each workload survives.
func (b *Berth) Headroom(ctx context.Context, question HeadroomQuestion) (Reply, error) {
	return again(ctx, func() (*http.Response, *Answer, *Failure, error) {
		r, err := b.client.HeadroomWithResponse(ctx, question)
		if err != nil {
			return nil, nil, nil, err
		}
		return r.HTTPResponse, r.JSON200, r.JSONDefault, nil
	})
}

// Buy asks which nodes to add at the least price.
func (b *Berth) Buy(ctx context.Context, question BuyQuestion) (Reply, error) {
	return again(ctx, func() (*http.Response, *Answer, *Failure, error) {
		r, err := b.client.BuyWithResponse(ctx, question)
		if err != nil {
			return nil, nil, nil, err
		}
		return r.HTTPResponse, r.JSON200, r.JSONDefault, nil
	})
}

// again asks until there is an answer, a refusal that will not change, or too many tries.
func again(ctx context.Context, ask func() (*http.Response, *Answer, *Failure, error)) (Reply, error) {
	for try := 1; ; try++ {
		response, answer, failure, err := ask()
		if err != nil {
			return Reply{}, err
		}
		if answer != nil {
			return Reply{response.Header.Get("Berth-Verdict"), response.Header.Values("Warning"), *answer}, nil
		}
		refused := &StatusError{response.StatusCode, response.Status}
		if failure != nil {
			refused.Message = failure.Message
		}
		isBusy := response.StatusCode == http.StatusTooManyRequests || response.StatusCode == http.StatusServiceUnavailable
		if !isBusy || try == triesMax {
			return Reply{}, refused
		}
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
		select {
		case <-ctx.Done():
			return Reply{}, ctx.Err()
		case <-time.After(min(max(time.Duration(seconds)*time.Second, time.Second), waitMax)):
		}
	}
}
