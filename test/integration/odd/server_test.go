// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package odd

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/slipway-dev/slipway/test/integration/framework"
	"github.com/slipway-dev/slipway/test/schema"
)

const (
	// maxCost is the processor time that a refusal may take.
	maxCost = 100 * time.Millisecond
	// repeats is the number of times that a request is repeated if it seemed to cost too much. Other work of the
	// process, mainly garbage collection, is included in the measurement, so the minimum of many is closest to the
	// real cost.
	repeats = 5
)

// allowed returns maxCost, and ten times as much in short mode, which must pass on every machine. Unbounded requests
// took seconds and more.
func allowed() time.Duration {
	if *long {
		return maxCost
	}
	return 10 * maxCost
}

// server sends requests to the server and checks the responses.
type server struct {
	t       *testing.T
	client  *http.Client
	address string
	// tried counts requests, codes counts response codes, and most is the most expensive rejection.
	tried int
	codes map[int]int
	most  time.Duration
	worst string
	spent time.Duration
}

type request struct {
	method, path, format, body string
	query                      url.Values
	// place is the path of the odd value, empty if the whole request is odd. what describes the request.
	place, what string
}

type answer struct {
	code int
	body []byte
}

func start(t *testing.T) *server {
	t.Helper()
	config := framework.StartStandalone(t).Config()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return &server{t: t, client: client, address: config.Host, codes: map[int]int{}}
}

// schemas reads the schemas of a group from the server.
func (s *server) schemas(group string) schema.Schemas {
	s.t.Helper()
	all, err := schema.Parse(s.ask(request{method: http.MethodGet, path: "/openapi/v3/apis/" + group + "/v1alpha1"}).body)
	if err != nil {
		s.t.Fatalf("the schema of %s: %v", group, err)
	}
	return all
}

// within returns the same server for a subtest, with separate counts.
func (s *server) within(t *testing.T) *server {
	return &server{t: t, client: s.client, address: s.address, codes: map[int]int{}}
}

// ask sends r and reads the response. It does not read the events of a watch.
func (s *server) ask(r request) answer {
	s.t.Helper()
	target := s.address + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	asked, err := http.NewRequestWithContext(s.t.Context(), r.method, target, strings.NewReader(r.body))
	if err != nil {
		s.t.Fatal(err)
	}
	if r.format != "" {
		asked.Header.Set("Content-Type", r.format)
	}
	response, err := s.client.Do(asked)
	if err != nil {
		s.t.Fatalf("%s: no answer: %v", r, err)
	}
	defer func() { _ = response.Body.Close() }()
	if r.query.Has("watch") && response.StatusCode == http.StatusOK {
		return answer{code: response.StatusCode}
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatalf("%s: the answer ends early: %v", r, err)
	}
	return answer{response.StatusCode, body}
}

// try sends a request and checks the response.
func (s *server) try(r request) answer {
	s.t.Helper()
	before := processorTime(s.t)
	a := s.ask(r)
	cost := processorTime(s.t) - before
	s.tried++
	s.codes[a.code]++
	s.spent += cost
	if a.code < 400 {
		return a
	}
	for n := 0; cost > allowed() && n < repeats; n++ {
		before = processorTime(s.t)
		s.ask(r)
		cost = min(cost, processorTime(s.t)-before)
	}
	if cost > s.most {
		s.most, s.worst = cost, r.String()
	}
	if cost > allowed() {
		s.t.Errorf("%s: the answer %d took %s of processor time, may take %s", r, a.code, cost, allowed())
	}
	if wrong := judge(r, a); wrong != "" {
		s.t.Errorf("%s: %s: answer %d: %.400q", r, wrong, a.code, a.body)
	}
	return a
}

// judge returns the problem with a rejection, or an empty string.
func judge(r request, a answer) string {
	// The server has no vCenter, which these requests need.
	if a.code == http.StatusServiceUnavailable && (strings.HasSuffix(r.path, "/console") || strings.HasSuffix(r.path, "/screenshot")) {
		return ""
	}
	if a.code >= http.StatusInternalServerError {
		return "the server reports an internal error"
	}
	// The value is in the message and in its cause, escaped.
	if len(a.body) > 64<<10+20*len(r.body) {
		return "the answer is long"
	}
	if r.method == http.MethodHead {
		return "" // has no body
	}
	var status metav1.Status
	if err := json.Unmarshal(a.body, &status); err != nil || status.Kind != "Status" || status.Message == "" {
		return "the answer is no Status with a message"
	}
	if r.place == "" {
		return ""
	}
	if a.code == http.StatusUnprocessableEntity {
		if status.Details == nil || len(status.Details.Causes) == 0 || len(status.Details.Causes) > 64 {
			return "no causes, or too many"
		}
		if slices.ContainsFunc(status.Details.Causes, func(c metav1.StatusCause) bool { return c.Field == "" || c.Field == "<nil>" }) {
			return "a cause names no field"
		}
	}
	if a.code == http.StatusBadRequest && !schema.Named(status.Message, r.place) && !strings.Contains(status.Message, "does not contain declared merge key") && !unreadable(r) {
		return "the message does not name the field"
	}
	return ""
}

// unreadable are values that a decoder rejects before it knows the fields: a number out of range, half of a character
// in YAML, and unlimited nesting.
func unreadable(r request) bool {
	return r.what == "1e400" || r.what == `"\ud800"` && strings.HasSuffix(r.format, "yaml") || strings.HasPrefix(r.what, "[[[[")
}

func (r request) String() string {
	text := r.method + " " + r.path
	if len(r.query) > 0 {
		text += "?" + r.query.Encode()
	}
	return text[:min(len(text), 200)] + " " + r.format + " " + r.place + " " + r.what
}

// report logs the tested request.
func (s *server) report() {
	s.t.Helper()
	s.t.Logf("%d requests, answers by code %v, %s of processor time each; the most expensive rejection %s: %s", s.tried, s.codes, s.spent/time.Duration(max(s.tried, 1)), s.most, s.worst)
}

// processorTime returns the CPU time of this process, which includes the server.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
