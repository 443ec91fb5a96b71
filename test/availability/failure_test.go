// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package availability

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// failure is the kind of a request that failed.
type failure string

const (
	// asksAgain is a 429 or 503 response with Retry-After.
	asksAgain failure = "asked to retry"
	// connectionEnded is a request whose connection was closed before a response.
	connectionEnded failure = "connection ended"
	// unreachable is the 503 response of kube-apiserver if it cannot reach the server. It has no Retry-After
	// (kubernetes/kubernetes#135285).
	unreachable failure = "kube-apiserver did not reach a server"
	// etcdFailed is an etcd error that the API server library returns unchanged.
	etcdFailed failure = "error of etcd"
	// cancelled is the 504 response to a request that was running when etcd did not answer. It may have taken effect.
	cancelled failure = "cancelled"
	// otherFailure is any other failure, including a request without a response within loadTimeout.
	otherFailure failure = "other"
)

// answer contains the parts of an answer that the client library drops.
type answer struct {
	code       int
	retryAfter bool
}

type answerKey struct{}

// withAnswer returns a context for one request, and the answer that it fills.
func withAnswer(ctx context.Context) (context.Context, *answer) {
	a := &answer{}
	return context.WithValue(ctx, answerKey{}, a), a
}

// recordAnswers also prevents automatic retries by the client. If a request took effect but its answer was lost, a
// retry would look like a conflict with another client.
func recordAnswers(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err != nil {
			return resp, err
		}
		if a, ok := r.Context().Value(answerKey{}).(*answer); ok {
			*a = answer{code: resp.StatusCode, retryAfter: resp.Header.Get("Retry-After") != ""}
		}
		resp.Header.Del("Retry-After")
		return resp, nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// textOf returns the message of an error, and the body of a response that is not a Status.
func textOf(err error) string {
	text := err.Error()
	if status := apierrors.APIStatus(nil); errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			text += ": " + cause.Message
		}
	}
	return text
}

// failureOf returns the kind of a failure.
func failureOf(err error, a answer) failure {
	text := textOf(err)
	switch {
	case a.code == 0 && !errors.Is(err, context.DeadlineExceeded) && !strings.Contains(text, "Client.Timeout exceeded"):
		return connectionEnded
	case (a.code == http.StatusTooManyRequests || a.code == http.StatusServiceUnavailable) && a.retryAfter:
		return asksAgain
	case a.code == http.StatusServiceUnavailable && (strings.Contains(text, "error trying to reach service") || strings.Contains(text, "service unavailable")):
		return unreachable
	case (a.code == http.StatusInternalServerError || a.code == http.StatusGatewayTimeout) && (strings.Contains(text, "etcdserver:") || strings.Contains(text, "rpc error:")):
		return etcdFailed
	case a.code == http.StatusGatewayTimeout && strings.Contains(text, "request did not complete within the allotted timeout"):
		return cancelled
	default:
		return otherFailure
	}
}

func TestFailure_IsOfTheKindThatAClientSees(t *testing.T) {
	t.Parallel()
	said := func(code int32, cause string) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Message: cause}}}}}
	}
	for name, tc := range map[string]struct {
		err  error
		a    answer
		want failure
	}{
		"503, Retry-After":      {said(503, ""), answer{503, true}, asksAgain},
		"429, Retry-After":      {said(429, ""), answer{429, true}, asksAgain},
		"429":                   {said(429, ""), answer{429, false}, otherFailure},
		"503":                   {said(503, ""), answer{503, false}, otherFailure},
		"503 of kube-apiserver": {said(503, "error trying to reach service: EOF"), answer{503, false}, unreachable},
		"500 of etcd":           {said(500, "etcdserver: leader changed"), answer{500, false}, etcdFailed},
		"500 of etcd's client":  {said(500, "rpc error: code = Unavailable desc = error reading from server: EOF"), answer{500, false}, etcdFailed},
		"500":                   {said(500, "nil pointer"), answer{500, false}, otherFailure},
		"504 of the server":     {said(504, "Timeout: request did not complete within the allotted timeout"), answer{504, false}, cancelled},
		"504":                   {said(504, "another"), answer{504, false}, otherFailure},
		"404":                   {said(404, "etcdserver: not found"), answer{404, false}, otherFailure},
		"no answer":             {errors.New("EOF"), answer{}, connectionEnded},
		"no answer in time":     {fmt.Errorf("reading: %w", context.DeadlineExceeded), answer{}, otherFailure},
	} {
		if got := failureOf(tc.err, tc.a); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
