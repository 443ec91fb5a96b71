// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reports serves information that is not stored as objects: orphans, records, queues and backups of the
// store.
//
// Guarantee: each path is authorized as a resource of the group vm.slipway.dev.
package reports

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/emicklei/go-restful/v3"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/slipway-dev/slipway/pkg/apis/vm/backup"
	"github.com/slipway-dev/slipway/pkg/apis/vm/orphans"
	"github.com/slipway-dev/slipway/pkg/apis/vm/queues"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/priorityqueue"
	"github.com/slipway-dev/slipway/pkg/provider/engine"
	"github.com/slipway-dev/slipway/pkg/store/maintenance"
)

// Controllers provides the data of reports from the controllers of a server. Running is nil if the server has no
// controllers.
type Controllers struct {
	// Running reports whether the controllers run in this replica.
	Running func() bool
	// Orphans returns a function for each vCenter, by its host, that finds its orphans. Engines returns the engine of
	// each vCenter. Both have nil for a vCenter that another replica manages.
	Orphans func() map[string]engine.FindOrphans
	Engines func() map[string]*engine.Engine
	// Informers provides the virtual machines.
	Informers externalversions.SharedInformerFactory
	// Queues are the work queues of all controllers.
	Queues []priorityqueue.Snapshotter
}

// running reports whether the controllers run in this replica.
func (c *Controllers) running() bool { return c.Running != nil && c.Running() }

// notRunning is the response while the controllers do not run.
const notRunning = "the controllers have not started in this replica of the server"

// Install adds the reports to server. privileged reports whether a user may read the records of all namespaces.
func Install(server *genericapiserver.GenericAPIServer, c Controllers, etcd *maintenance.Store, privileged func(user.Info) bool) error {
	return errors.Join(
		addPath(server, orphans.Path, func(ws *restful.WebService) *restful.RouteBuilder {
			return ws.GET("/" + orphans.Resource).Operation("listVmV1alpha1Orphans").
				Doc("list the vSphere VMs whose VirtualMachine does not exist").Produces(restful.MIME_JSON)
		}, &orphanReport{Controllers: c, recordReaders: c.recordReaders, privileged: privileged}),
		addPath(server, queues.Path, func(ws *restful.WebService) *restful.RouteBuilder {
			return ws.GET("/" + queues.Resource).Operation("listVmV1alpha1Queues").
				Doc("list the items in the work queues of one replica of the server").Produces(restful.MIME_JSON)
		}, &queueReport{c}),
		addPath(server, backup.Path, func(ws *restful.WebService) *restful.RouteBuilder {
			return ws.POST("/" + backup.Resource).Operation("createVmV1alpha1Backup").
				Doc("save a snapshot of the store").Produces(backup.MediaType)
		}, &backups{etcd}),
	)
}

// addPath adds a path to the web service of the group vm.slipway.dev, because kube-apiserver forwards the paths of
// API groups.
func addPath(server *genericapiserver.GenericAPIServer, path string, route func(*restful.WebService) *restful.RouteBuilder, h http.Handler) error {
	all := server.Handler.GoRestfulContainer.RegisteredWebServices()
	i := slices.IndexFunc(all, func(ws *restful.WebService) bool { return ws.RootPath() == orphans.Root })
	if i < 0 {
		return fmt.Errorf("adding %s: nothing is served at %s", path, orphans.Root)
	}
	all[i].Route(route(all[i]).To(func(r *restful.Request, w *restful.Response) { h.ServeHTTP(w.ResponseWriter, r.Request) }))
	return nil
}

// serveRetryLater answers with status 503 and Retry-After. Kubernetes clients retry the request.
func serveRetryLater(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, why, http.StatusServiceUnavailable)
}
