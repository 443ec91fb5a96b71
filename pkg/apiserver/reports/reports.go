// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reports answers requests for what is not stored as objects: orphans, records, queues and
// backups of the store.
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

// Controllers are what reports read from the controllers of a server. Without Running, there are none.
type Controllers struct {
	// Running reports whether the controllers run in this replica.
	Running func() bool
	// Orphans returns what finds the orphans of each vCenter, by its host, and Engines the engine of each:
	// nil for a vCenter that another replica manages.
	Orphans func() map[string]engine.FindOrphans
	Engines func() map[string]*engine.Engine
	// Informers have the virtual machines.
	Informers externalversions.SharedInformerFactory
	// Queues are those of all controllers.
	Queues []priorityqueue.Snapshotter
}

// running reports whether the controllers run in this replica.
func (c *Controllers) running() bool { return c.Running != nil && c.Running() }

// notRunning is the answer while they do not.
const notRunning = "the controllers do not run in this replica of the server yet"

// Install serves the reports. privileged reports whether a user may read the records of all namespaces.
func Install(server *genericapiserver.GenericAPIServer, c Controllers, etcd *maintenance.Store, privileged func(user.Info) bool) error {
	return errors.Join(
		addPath(server, orphans.Path, func(ws *restful.WebService) *restful.RouteBuilder {
			return ws.GET("/" + orphans.Resource).Operation("listVmV1alpha1Orphans").
				Doc("list the VMs of vSphere whose VirtualMachine does not exist").Produces(restful.MIME_JSON)
		}, &orphanReport{Controllers: c, keepers: c.keepers, privileged: privileged}),
		addPath(server, queues.Path, func(ws *restful.WebService) *restful.RouteBuilder {
			return ws.GET("/" + queues.Resource).Operation("listVmV1alpha1Queues").
				Doc("list what waits in the work queues of a replica of the server").Produces(restful.MIME_JSON)
		}, &queueReport{c}),
		addPath(server, backup.Path, func(ws *restful.WebService) *restful.RouteBuilder {
			return ws.POST("/" + backup.Resource).Operation("createVmV1alpha1Backup").
				Doc("save the store of the server").Produces(backup.MediaType)
		}, &backups{etcd}),
	)
}

// addPath adds a path to the group vm.slipway.dev, because kube-apiserver passes on the paths of groups.
func addPath(server *genericapiserver.GenericAPIServer, path string, route func(*restful.WebService) *restful.RouteBuilder, h http.Handler) error {
	all := server.Handler.GoRestfulContainer.RegisteredWebServices()
	i := slices.IndexFunc(all, func(ws *restful.WebService) bool { return ws.RootPath() == orphans.Root })
	if i < 0 {
		return fmt.Errorf("adding %s: nothing is served at %s", path, orphans.Root)
	}
	all[i].Route(route(all[i]).To(func(r *restful.Request, w *restful.Response) { h.ServeHTTP(w.ResponseWriter, r.Request) }))
	return nil
}

// later refuses a request for now. Clients of Kubernetes repeat it.
func later(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, why, http.StatusServiceUnavailable)
}
