// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/emicklei/go-restful/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/apis/vm/orphans"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/engine"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// orphanReport serves orphans.Path.
type orphanReport struct {
	Controllers
	// recordReaders returns the keeper of each vCenter by its host.
	recordReaders func() map[string]*recordReader
	// privileged reports whether a user may read objects of all namespaces.
	privileged func(user.Info) bool
}

// Reasons why a report does not cover a vCenter.
const (
	orphansElsewhere = "it is managed by another replica of the server, or not managed yet"
	orphansUnread    = "its inventory or the VirtualMachines have not been read yet"
)

// ServeHTTP implements http.Handler.
func (o *orphanReport) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !o.running() {
		serveRetryLater(w, notRunning)
		return
	}
	var report orphans.Report
	var known bool
	if r.URL.Query().Has(orphans.ParamRecords) {
		p, err := o.authorizePage(r)
		if err != nil {
			writeError(w, err)
			return
		}
		report, known = recordReport(o.recordReaders(), p)
	} else {
		report, known = orphansReport(o.OrphanFinders())
	}
	if !known {
		why := "no vCenter is configured, or the vCenters have not been read yet"
		if len(report.Unknown) > 0 {
			why = report.Unknown[0].VCenter + ": " + report.Unknown[0].Why
		}
		// Without this header kube-apiserver, which reuses connections for all users, would send the next request to
		// this replica again.
		w.Header().Set("Connection", "close")
		serveRetryLater(w, why)
		return
	}
	w.Header().Set("Content-Type", restful.MIME_JSON)
	if err := json.NewEncoder(w).Encode(report); err != nil {
		klog.FromContext(r.Context()).V(2).Info("Failed to send the report of orphans", "err", err)
	}
}

// orphansReport returns the orphans of each vCenter. known is false if no vCenter has been read.
func orphansReport(all map[string]engine.FindOrphans) (report orphans.Report, known bool) {
	report.Orphans = []orphans.Orphan{}
	known = addCovered(&report, maps.Keys(all), func(host string) (why string) {
		if all[host] == nil {
			return orphansElsewhere
		}
		found, known := all[host]()
		if !known {
			return orphansUnread
		}
		for _, f := range found {
			o := newOrphan(host, &f.Owned)
			o.CopyOf = f.CopyOf
			report.Orphans = append(report.Orphans, o)
		}
		return ""
	})
	return report, known
}

// addCovered calls look for each vCenter and records in the report which vCenters are covered, and why others are not. It
// returns false if none is covered.
func addCovered(report *orphans.Report, hosts iter.Seq[string], read func(host string) (why string)) bool {
	var covered []string
	for _, host := range slices.Sorted(hosts) {
		if why := read(host); why != "" {
			report.Unknown = append(report.Unknown, orphans.UncoveredVCenter{VCenter: host, Why: why})
			continue
		}
		covered = append(covered, host)
	}
	report.VCenter = strings.Join(covered, ", ")
	return len(covered) > 0
}

// authorizePage returns the page that a request asks for, or an error if the user may not read it.
func (o *orphanReport) authorizePage(r *http.Request) (page, error) {
	who, ok := request.UserFrom(r.Context())
	if !ok || !o.privileged(who) {
		return page{}, apierrors.NewForbidden(vmv1alpha1.Resource(orphans.Resource), "",
			errors.New("only privileged users may read records in VMs, because they contain objects of all namespaces"))
	}
	p, err := pageOf(r.URL.Query())
	if err != nil {
		return page{}, apierrors.NewBadRequest(err.Error())
	}
	return p, nil
}

// writeError answers with err as a Status.
func writeError(w http.ResponseWriter, err error) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer := status.Status()
	answer.Kind, answer.APIVersion = "Status", "v1" // clients require both to recognize a Status
	w.Header().Set("Content-Type", restful.MIME_JSON)
	w.WriteHeader(int(answer.Code))
	_ = json.NewEncoder(w).Encode(&answer)
}

func newOrphan(host string, o *driver.Owned) orphans.Orphan {
	return orphans.Orphan{Namespace: o.Key.Namespace, Name: o.Key.Name, UID: string(o.UID), VCenter: host, UniqueID: o.UniqueID, VSphereName: o.Name}
}
