// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/apis/vm/orphans"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	versionedfake "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/fake"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/provider/engine"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

func TestAReportOfOrphansSaysOfWhichVCentersItKnowsNothing(t *testing.T) {
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
		"all are known":            {all: map[string]engine.FindOrphans{"a": has, "b": none}, want: orphans.Report{VCenter: "a, b", Orphans: one}},
		"another replica has one":  {all: map[string]engine.FindOrphans{"a": has, "b": nil}, want: orphans.Report{VCenter: "a", Orphans: one, Unknown: elsewhere}},
		"another replica has all":  {all: map[string]engine.FindOrphans{"b": nil}, want: orphans.Report{Orphans: []orphans.Orphan{}, Unknown: elsewhere}, unknown: true},
		"one is not read":          {all: map[string]engine.FindOrphans{"a": has, "b": unread}, want: orphans.Report{VCenter: "a", Orphans: one, Unknown: []orphans.Unknown{{VCenter: "b", Why: orphansUnread}}}},
		"there is none":            {want: orphans.Report{Orphans: []orphans.Orphan{}}, unknown: true},
		"the only one has nothing": {all: map[string]engine.FindOrphans{"a": none}, want: orphans.Report{VCenter: "a", Orphans: []orphans.Orphan{}}},
	} {
		got, known := reportOf(tc.all)
		if diff := cmp.Diff(tc.want, got); diff != "" || known == tc.unknown {
			t.Errorf("%s: known %t (-want +got):\n%s", name, known, diff)
		}
	}
}

// kube-apiserver has one connection for all requests, so that asking again on it asks the same
// replica again.
func TestAReplicaThatCannotTellOfOrphansEndsTheConnectionSoThatAnotherIsAskedNext(t *testing.T) {
	for name, tc := range map[string]struct {
		all  map[string]engine.FindOrphans
		code int
		ends bool
	}{
		"another replica has all": {map[string]engine.FindOrphans{"a": nil}, http.StatusServiceUnavailable, true},
		"it knows":                {map[string]engine.FindOrphans{"a": func() ([]engine.Orphan, bool) { return nil, true }}, http.StatusOK, false},
	} {
		var o orphanReport
		find := func() map[string]engine.FindOrphans { return tc.all }
		o.find.Store(&find)
		w := httptest.NewRecorder()
		o.ServeHTTP(w, httptest.NewRequest(http.MethodGet, orphans.Path, nil))
		if ends := w.Header().Get("Connection") == "close"; w.Code != tc.code || ends != tc.ends {
			t.Errorf("%s: %d, ends the connection: %t; want %d, %t", name, w.Code, ends, tc.code, tc.ends)
		}
	}
}

func TestAllVCentersAreThoseOfObjectsAndFlags(t *testing.T) {
	informers := externalversions.NewSharedInformerFactory(versionedfake.NewSimpleClientset(), 0)
	s := newZoneSet(informers, &VCenterOptions{})
	add := func(name, url string) {
		t.Helper()
		vc := &vmv1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: vmv1alpha1.VCenterSpec{URL: url}}
		if err := informers.Vm().V1alpha1().VCenters().Informer().GetIndexer().Add(vc); err != nil {
			t.Fatal(err)
		}
	}
	want := func(flags string, want ...string) {
		t.Helper()
		got := s.hosts(flags)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("hosts (-want +got):\n%s", diff)
		}
	}
	want("")
	add("second", "https://b/sdk")
	want("https://flags/sdk", "b", "flags")
	add("default", "https://a/sdk")
	want("https://flags/sdk", "a", "b")
}
