// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/slipway-dev/slipway/pkg/apis/vm/queues"
	"github.com/slipway-dev/slipway/pkg/priorityqueue"
)

func TestQueueReport_ListsWaitingItems(t *testing.T) {
	runs := false
	queue := priorityqueue.New[string]("virtualmachine")
	defer queue.ShutDown()
	report := &queueReport{Controllers{Running: func() bool { return runs }, Queues: []priorityqueue.Snapshotter{queue}}}
	read := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		report.ServeHTTP(w, httptest.NewRequest(http.MethodGet, queues.Path, nil))
		return w
	}
	if w := read(); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("before the controllers run: %d %v", w.Code, w.Header())
	}
	queue.AddWithOpts(priorityqueue.AddOpts{Priority: 100}, "shop/web")
	runs = true
	var got queuesResponse
	w := read()
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK || w.Header().Get("Cache-Control") != "no-store" {
		t.Fatalf("got status %d %v %s (%v)", w.Code, w.Header(), w.Body, err)
	}
	if len(got.Queues) != 1 || got.Queues[0].Name != "virtualmachine" || len(got.Queues[0].Levels) != 1 ||
		got.Queues[0].Levels[0].Priority != 100 || got.Queues[0].Levels[0].Oldest != "shop/web" {
		t.Errorf("got report %s", w.Body)
	}
}
