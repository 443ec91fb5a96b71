// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/emicklei/go-restful/v3"
	"k8s.io/apimachinery/pkg/types"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/apis/vm/orphans"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/provider/engine"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// orphanReport answers at orphans.Path. It can as soon as the controllers run here.
type orphanReport struct {
	// find tells how to find those of each vCenter, by its host; nil stands for one that
	// another replica takes care of.
	find atomic.Pointer[func() map[string]engine.FindOrphans]
}

// Why a report does not cover a vCenter.
const (
	orphansElsewhere = "another replica of the server takes care of it, or none does yet"
	orphansUnread    = "its inventory, or the virtual machines of the API, are not read yet"
)

// install adds the path to the group, for it is the groups that kube-apiserver passes
// on. As that of a list its authorization is to list orphans.
func (o *orphanReport) install(server *genericapiserver.GenericAPIServer) error {
	all := server.Handler.GoRestfulContainer.RegisteredWebServices()
	i := slices.IndexFunc(all, func(ws *restful.WebService) bool { return ws.RootPath() == orphans.Root })
	if i < 0 {
		return fmt.Errorf("adding %s: nothing is served at %s", orphans.Path, orphans.Root)
	}
	all[i].Route(all[i].GET("/" + orphans.Resource).Operation("listVmV1alpha1Orphans").
		Doc("list the VMs of vSphere whose VirtualMachine does not exist").Produces(restful.MIME_JSON).
		To(func(r *restful.Request, w *restful.Response) { o.ServeHTTP(w.ResponseWriter, r.Request) }))
	return nil
}

// ServeHTTP implements http.Handler.
func (o *orphanReport) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	find := o.find.Load()
	if find == nil {
		later(w, "the controllers do not run in this replica of the server yet")
		return
	}
	report, known := reportOf((*find)())
	if !known {
		why := "there is no vCenter, or which there are is not known yet"
		if len(report.Unknown) > 0 {
			why = report.Unknown[0].VCenter + ": " + report.Unknown[0].Why
		}
		later(w, why)
		return
	}
	w.Header().Set("Content-Type", restful.MIME_JSON)
	if err := json.NewEncoder(w).Encode(report); err != nil {
		klog.FromContext(r.Context()).V(2).Info("The report of orphans was not sent", "err", err)
	}
}

// reportOf asks for the orphans of each vCenter. It is not known without any answer.
func reportOf(all map[string]engine.FindOrphans) (report orphans.Report, known bool) {
	report.Orphans = []orphans.Orphan{}
	var covered []string
	for _, host := range slices.Sorted(maps.Keys(all)) {
		if all[host] == nil {
			report.Unknown = append(report.Unknown, orphans.Unknown{VCenter: host, Why: orphansElsewhere})
			continue
		}
		found, known := all[host]()
		if !known {
			report.Unknown = append(report.Unknown, orphans.Unknown{VCenter: host, Why: orphansUnread})
			continue
		}
		covered = append(covered, host)
		for _, f := range found {
			report.Orphans = append(report.Orphans, orphans.Orphan{
				Namespace: f.Key.Namespace, Name: f.Key.Name, UID: string(f.UID), VCenter: host, UniqueID: f.UniqueID, VSphereName: f.Name,
			})
		}
	}
	report.VCenter = strings.Join(covered, ", ")
	return report, len(covered) > 0
}

// later refuses for the moment; clients of Kubernetes come again by themselves.
func later(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, why, http.StatusServiceUnavailable)
}

// findOrphans looks for those of e among the objects that the informers have.
func findOrphans(e *engine.Engine, f externalversions.SharedInformerFactory) engine.FindOrphans {
	machines := f.Vm().V1alpha1().VirtualMachines()
	lister, synced := machines.Lister(), machines.Informer().HasSynced
	return func() ([]driver.Owned, bool) {
		if !synced() {
			return nil, false
		}
		return e.Orphans(func(key types.NamespacedName, uid types.UID) bool {
			vm, err := lister.VirtualMachines(key.Namespace).Get(key.Name)
			return err == nil && vm.UID == uid
		})
	}
}
