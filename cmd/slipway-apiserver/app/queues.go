// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"encoding/json"
	"net/http"
	"os"
	"sync/atomic"

	"github.com/emicklei/go-restful/v3"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/apis/vm/queues"
	"github.com/slipway-dev/slipway/pkg/priorityqueue"
)

// queueReport answers at queues.Path with what /debug/queue says, to who reaches the server
// through kube-apiserver. It can as soon as the controllers run here.
type queueReport struct {
	all atomic.Pointer[[]priorityqueue.Snapshotter]
}

// queuesOf is the answer.
type queuesOf struct {
	// Replica is the host name of the replica that answers.
	Replica string `json:"replica"`
	// Queues are those of its controllers.
	Queues []priorityqueue.Snapshot `json:"queues"`
}

// install adds the path to the group. As that of a list its authorization is to list queues.
func (q *queueReport) install(server *genericapiserver.GenericAPIServer) error {
	return addPath(server, queues.Path, func(ws *restful.WebService) *restful.RouteBuilder {
		return ws.GET("/" + queues.Resource).Operation("listVmV1alpha1Queues").
			Doc("list what waits in the work queues of a replica of the server").Produces(restful.MIME_JSON)
	}, q)
}

// ServeHTTP implements http.Handler.
func (q *queueReport) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	all := q.all.Load()
	if all == nil {
		later(w, "the controllers do not run in this replica of the server yet")
		return
	}
	report := queuesOf{Queues: []priorityqueue.Snapshot{}}
	report.Replica, _ = os.Hostname() // without a name there are numbers all the same
	for _, queue := range *all {
		report.Queues = append(report.Queues, queue.Snapshot())
	}
	w.Header().Set("Content-Type", restful.MIME_JSON)
	w.Header().Set("Cache-Control", "no-store")
	if err := json.NewEncoder(w).Encode(report); err != nil {
		klog.FromContext(r.Context()).V(2).Info("The report of queues was not sent", "err", err)
	}
}
