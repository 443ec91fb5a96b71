// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"encoding/json"
	"net/http"
	"os"

	"github.com/emicklei/go-restful/v3"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/priorityqueue"
)

// queueReport serves the content of /debug/queue at queues.Path, for users that reach the server through
// kube-apiserver.
type queueReport struct{ Controllers }

// queuesResponse is the response.
type queuesResponse struct {
	// Replica is the host name of the replica that answers.
	Replica string `json:"replica"`
	// Queues are the work queues of its controllers.
	Queues []priorityqueue.Snapshot `json:"queues"`
}

// ServeHTTP implements http.Handler.
func (q *queueReport) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !q.running() {
		serveRetryLater(w, notRunning)
		return
	}
	report := queuesResponse{Queues: []priorityqueue.Snapshot{}}
	report.Replica, _ = os.Hostname() // the report is useful without a name
	for _, queue := range q.Queues {
		report.Queues = append(report.Queues, queue.Snapshot())
	}
	w.Header().Set("Content-Type", restful.MIME_JSON)
	w.Header().Set("Cache-Control", "no-store")
	if err := json.NewEncoder(w).Encode(report); err != nil {
		klog.FromContext(r.Context()).V(2).Info("Failed to send the report of queues", "err", err)
	}
}
