// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	versionedfake "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/fake"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
)

func TestMissingMetrics_CountPerVCenter(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(missingCollectors("one.example.com", func() (int, bool) { return 7, true })...)
	registry.MustRegister(missingCollectors("two.example.com", func() (int, bool) { return 1, false })...)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			got[f.GetName()+" "+m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
		}
	}
	want := map[string]float64{
		"slipway_provider_missing_virtual_machines one.example.com": 7, "slipway_provider_many_missing one.example.com": 1,
		"slipway_provider_missing_virtual_machines two.example.com": 1, "slipway_provider_many_missing two.example.com": 0,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

// For example, if an object and the flags describe the same vCenter, or with another account.
func TestMetrics_DistinguishTwoVCentersWithOneHost(t *testing.T) {
	r := newReplica(t)
	two := r.one.DeepCopy()
	two.Name, two.UID = "two", "two"
	for _, vc := range []*vmv1alpha1.VCenter{r.one, two} {
		r.must(r.Use(t.Context(), vc.Name, vc))
		t.Cleanup(func() { r.must(r.Use(context.Background(), vc.Name, nil)) })
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(&fleetCollector{r.Manager})
	families, err := registry.Gather()
	r.must(err)
	var got []string
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "slipway_provider_many_missing" {
				got = append(got, m.GetLabel()[0].GetValue())
			}
		}
	}
	host := hostOf(r.one.Spec.URL)
	if diff := cmp.Diff([]string{host, host + " (two)"}, got); diff != "" {
		t.Errorf("vCenters (-want +got):\n%s", diff)
	}
}

func TestVCenters_IncludeObjectsAndFlags(t *testing.T) {
	informers := externalversions.NewSharedInformerFactory(versionedfake.NewSimpleClientset(), 0)
	s := newZoneSet(informers, false)
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
