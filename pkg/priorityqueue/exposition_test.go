// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/slipway-dev/slipway/pkg/priorityqueue"
	"github.com/slipway-dev/slipway/pkg/priorityqueue/exposition"
)

func want(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// gather returns the metrics of a registry by name and labels; histograms give
// their count and sum.
func gather(t *testing.T, r prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatalf("gathering: %v", err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			name := strings.TrimPrefix(f.GetName(), "workqueue_") + "{" + strings.Join(labels, ",") + "}"
			switch f.GetType() {
			case dto.MetricType_HISTOGRAM:
				got[name+" count"] = float64(m.GetHistogram().GetSampleCount())
				got[name+" sum"] = m.GetHistogram().GetSampleSum()
			case dto.MetricType_GAUGE:
				got[name] = m.GetGauge().GetValue()
			default:
				got[name] = m.GetCounter().GetValue()
			}
		}
	}
	return got
}

func TestCollector_ExportsTheWorkqueueMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := priorityqueue.New[string]("vm")
		registry := prometheus.NewRegistry()
		registry.MustRegister(exposition.Collector(q))
		q.AddWithOpts(priorityqueue.AddOpts{Priority: 100}, "a", "b")
		q.AddWithOpts(priorityqueue.AddOpts{Priority: -1}, "c")
		q.AddAfter("d", time.Hour)
		<-time.After(2 * time.Second)
		q.Get()
		q.Get()
		<-time.After(3 * time.Second)
		q.Done("a")
		q.Add("b")
		want(t, "metrics", gather(t, registry), map[string]float64{
			"adds_total{name=vm}":                                4,
			"retries_total{name=vm}":                             1,
			"depth{name=vm,priority=-1}":                         1,
			"depth{name=vm,priority=0}":                          1,
			"depth{name=vm,priority=100}":                        0,
			"queue_duration_seconds{name=vm,priority=-1} count":  0,
			"queue_duration_seconds{name=vm,priority=-1} sum":    0,
			"queue_duration_seconds{name=vm,priority=0} count":   0,
			"queue_duration_seconds{name=vm,priority=0} sum":     0,
			"queue_duration_seconds{name=vm,priority=100} count": 2,
			"queue_duration_seconds{name=vm,priority=100} sum":   4,
			"work_duration_seconds{name=vm} count":               1,
			"work_duration_seconds{name=vm} sum":                 3,
			"unfinished_work_seconds{name=vm}":                   3,
			"longest_running_processor_seconds{name=vm}":         3,
		})
	})
}

// The metrics of client-go's queues, as Kubernetes' servers register them, have
// the same names and texts but no priority.
func TestCollector_SharesARegistryWithClientGoMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	theirs := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "workqueue_depth", Help: "[BETA] Current depth of workqueue"}, []string{"name"})
	theirs.WithLabelValues("informer").Set(4)
	registry.MustRegister(theirs)
	for _, name := range []string{"vm", "group"} {
		q := priorityqueue.New[string](name)
		q.Add("a")
		registry.MustRegister(exposition.Collector(q))
	}
	got := gather(t, registry)
	for name, depth := range map[string]float64{
		"depth{name=informer}": 4, "depth{name=vm,priority=0}": 1, "depth{name=group,priority=0}": 1,
	} {
		want(t, name, got[name], depth)
	}
}

// exampleQueue has two priorities, delayed keys and keys in process.
func exampleQueue() *priorityqueue.Queue[string] {
	q := priorityqueue.New("vm", priorityqueue.WithAging[string](priorityqueue.Aging{After: time.Second, Below: 101}))
	q.AddWithOpts(priorityqueue.AddOpts{Priority: 100}, "ns/held", "ns/new")
	q.AddWithOpts(priorityqueue.AddOpts{Priority: -1}, "ns/<old>", "ns/older")
	q.AddAfter("ns/late", time.Hour)
	<-time.After(time.Second)
	q.Get()
	q.AddWithOpts(priorityqueue.AddOpts{Priority: -4}, "ns/held")
	<-time.After(time.Second)
	return q
}

func TestHandler_ServesJSONAndHTML(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := exposition.Handler(exampleQueue(), priorityqueue.New[int]("empty"))
		get := func(method, accept string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(method, "/debug/queue", nil)
			r.Header.Set("Accept", accept)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			return w
		}
		for accept, mediaType := range map[string]string{
			"":                                  "application/json",
			"*/*":                               "application/json",
			"application/json, text/html":       "application/json",
			"text/html,application/xml;q=0.9":   "text/html; charset=utf-8",
			"text/html;q=1.0, application/json": "text/html; charset=utf-8",
		} {
			want(t, "type for "+accept, get("GET", accept).Header().Get("Content-Type"), mediaType)
		}
		var snapshots []priorityqueue.Snapshot
		if err := json.Unmarshal(get("GET", "").Body.Bytes(), &snapshots); err != nil {
			t.Fatal(err)
		}
		want(t, "ready keys of the queues", []int{snapshots[0].Ready, snapshots[1].Ready}, []int{4, 0})
		page := get("GET", "text/html").Body.String()
		for _, text := range []string{"<h2>vm</h2>", "<h2>empty</h2>", "ns/new", "ns/&lt;old&gt;", "starving", "queued again"} {
			if !strings.Contains(page, text) {
				t.Errorf("the page does not contain %q:\n%s", text, page)
			}
		}
		want(t, "status of POST", get("POST", "").Code, http.StatusMethodNotAllowed)
	})
}
