// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/apis/vm/orphans"
	"github.com/slipway-dev/slipway/pkg/provider/engine"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

func TestOrphanReport_ListsUnknownVCenters(t *testing.T) {
	has := func() ([]engine.Orphan, bool) {
		return []engine.Orphan{{CopyOf: "vm-0", Owned: driver.Owned{Key: types.NamespacedName{Namespace: "ns", Name: "vm"}, UID: "u", UniqueID: "vm-1", Name: "VM"}}}, true
	}
	none := func() ([]engine.Orphan, bool) { return nil, true }
	unread := func() ([]engine.Orphan, bool) { return nil, false }
	one := []orphans.Orphan{{Namespace: "ns", Name: "vm", UID: "u", VCenter: "a", UniqueID: "vm-1", CopyOf: "vm-0", VSphereName: "VM"}}
	elsewhere := []orphans.Unknown{{VCenter: "b", Why: orphansElsewhere}}
	for name, tc := range map[string]struct {
		all     map[string]engine.FindOrphans
		want    orphans.Report
		unknown bool
	}{
		"all vCenters are known":      {all: map[string]engine.FindOrphans{"a": has, "b": none}, want: orphans.Report{VCenter: "a, b", Orphans: one}},
		"another replica manages one": {all: map[string]engine.FindOrphans{"a": has, "b": nil}, want: orphans.Report{VCenter: "a", Orphans: one, Unknown: elsewhere}},
		"another replica manages all": {all: map[string]engine.FindOrphans{"b": nil}, want: orphans.Report{Orphans: []orphans.Orphan{}, Unknown: elsewhere}, unknown: true},
		"one has not been read":       {all: map[string]engine.FindOrphans{"a": has, "b": unread}, want: orphans.Report{VCenter: "a", Orphans: one, Unknown: []orphans.Unknown{{VCenter: "b", Why: orphansUnread}}}},
		"no vCenter":                  {want: orphans.Report{Orphans: []orphans.Orphan{}}, unknown: true},
		"no orphans":                  {all: map[string]engine.FindOrphans{"a": none}, want: orphans.Report{VCenter: "a", Orphans: []orphans.Orphan{}}},
	} {
		got, known := orphansReport(tc.all)
		if diff := cmp.Diff(tc.want, got); diff != "" || known == tc.unknown {
			t.Errorf("%s: known %t (-want +got):\n%s", name, known, diff)
		}
	}
}

// kube-apiserver uses one connection for all requests, so a retry on it would reach the same replica.
func TestOrphanReport_ClosesTheConnectionIfUnknown(t *testing.T) {
	for name, tc := range map[string]struct {
		all  map[string]engine.FindOrphans
		code int
		ends bool
	}{
		"another replica manages all": {map[string]engine.FindOrphans{"a": nil}, http.StatusServiceUnavailable, true},
		"known":                       {map[string]engine.FindOrphans{"a": func() ([]engine.Orphan, bool) { return nil, true }}, http.StatusOK, false},
	} {
		o := orphanReport{Controllers: Controllers{Running: func() bool { return true }, Orphans: func() map[string]engine.FindOrphans { return tc.all }}}
		w := httptest.NewRecorder()
		o.ServeHTTP(w, httptest.NewRequest(http.MethodGet, orphans.Path, nil))
		if ends := w.Header().Get("Connection") == "close"; w.Code != tc.code || ends != tc.ends {
			t.Errorf("%s: got status %d and closed connection %t, want %d and %t", name, w.Code, ends, tc.code, tc.ends)
		}
	}
}
