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

// orphanReport answers at orphans.Path.
type orphanReport struct {
	Controllers
	// keepers returns the keeper of each vCenter, by its host.
	keepers func() map[string]*keeper
	// privileged reports whether a user may read what objects of all namespaces contain.
	privileged func(user.Info) bool
}

// Why a report does not cover a vCenter.
const (
	orphansElsewhere = "another replica of the server takes care of it, or none does yet"
	orphansUnread    = "its inventory, or the virtual machines of the API, are not read yet"
)

// ServeHTTP implements http.Handler.
func (o *orphanReport) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !o.running() {
		later(w, notRunning)
		return
	}
	var report orphans.Report
	var known bool
	if r.URL.Query().Has(orphans.ParamRecords) {
		p, err := o.allowed(r)
		if err != nil {
			refuseWith(w, err)
			return
		}
		report, known = keptReport(o.keepers(), p)
	} else {
		report, known = reportOf(o.Orphans())
	}
	if !known {
		why := "there is no vCenter, or which there are is not known yet"
		if len(report.Unknown) > 0 {
			why = report.Unknown[0].VCenter + ": " + report.Unknown[0].Why
		}
		// Who comes again by the connection of before, as kube-apiserver does for all, would be
		// answered by this replica again.
		w.Header().Set("Connection", "close")
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
	known = cover(&report, maps.Keys(all), func(host string) (why string) {
		if all[host] == nil {
			return orphansElsewhere
		}
		found, known := all[host]()
		if !known {
			return orphansUnread
		}
		for _, f := range found {
			o := orphanOf(host, &f.Owned)
			o.CopyOf = f.CopyOf
			report.Orphans = append(report.Orphans, o)
		}
		return ""
	})
	return report, known
}

// cover looks at vCenters, says in the report which are in it and why others are not, and is
// false if none is.
func cover(report *orphans.Report, hosts iter.Seq[string], look func(host string) (why string)) bool {
	var covered []string
	for _, host := range slices.Sorted(hosts) {
		if why := look(host); why != "" {
			report.Unknown = append(report.Unknown, orphans.Unknown{VCenter: host, Why: why})
			continue
		}
		covered = append(covered, host)
	}
	report.VCenter = strings.Join(covered, ", ")
	return len(covered) > 0
}

// allowed is the page that a request asks for, if who asks may have any.
func (o *orphanReport) allowed(r *http.Request) (page, error) {
	who, ok := request.UserFrom(r.Context())
	if !ok || !o.privileged(who) {
		return page{}, apierrors.NewForbidden(vmv1alpha1.Resource(orphans.Resource), "",
			errors.New("only privileged users may read what VMs keep of objects, for these are of all namespaces"))
	}
	p, err := pageOf(r.URL.Query())
	if err != nil {
		return page{}, apierrors.NewBadRequest(err.Error())
	}
	return p, nil
}

// refuseWith answers with an error of the API.
func refuseWith(w http.ResponseWriter, err error) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer := status.Status()
	answer.Kind, answer.APIVersion = "Status", "v1" // else clients do not take it for one
	w.Header().Set("Content-Type", restful.MIME_JSON)
	w.WriteHeader(int(answer.Code))
	_ = json.NewEncoder(w).Encode(&answer)
}

func orphanOf(host string, o *driver.Owned) orphans.Orphan {
	return orphans.Orphan{Namespace: o.Key.Namespace, Name: o.Key.Name, UID: string(o.UID), VCenter: host, UniqueID: o.UniqueID, VSphereName: o.Name}
}
