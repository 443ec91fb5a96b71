// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/vm/synchronizer"
)

// stableHarness returns a harness with the real synchronizers and a running virtual machine that needs no changes.
func stableHarness(t testing.TB, sized bool) *harness {
	t.Helper()
	vm := running()
	size := &itv1alpha1.VirtualMachineInstancetype{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "small", UID: "s", Generation: 1}}
	size.Spec.CPU.Guest, size.Spec.Memory.Guest = 2, resource.MustParse("4Gi")
	if sized {
		vm.Spec.CPU, vm.Spec.Memory = nil, nil
		vm.Spec.Instancetype = &vmv1alpha1.InstancetypeMatcher{Name: "small", Kind: "VirtualMachineInstancetype"}
	}
	h := newHarness(t, vm, photon(), size)
	if err := h.sizes.Add(size); err != nil {
		t.Fatal(err)
	}
	h.chain = synchronizer.New(synchronizer.Options{Reader: h.reader, Revisions: h.revisions, Policy: synchronizer.PolicyReference})
	for range 3 {
		h.mustReconcile()
	}
	revisions, err := h.api.InstancetypeV1alpha1().ControllerRevisions("ns").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range revisions.Items {
		if err := h.revisionCache.Add(&revisions.Items[i]); err != nil {
			t.Fatal(err)
		}
	}
	h.provider.update = nil
	h.refresh()
	h.behind = true
	return h
}

// reconcile runs one reconcile without the additional work of the harness.
func (h *harness) reconcile(t testing.TB) {
	t.Helper()
	if _, err := h.Reconcile(context.Background(), testKey); err != nil {
		t.Fatal(err)
	}
	h.provider.requests = nil
}

// The limits are a third of the allocations before synchronizers shared one copy and one effective spec. Most of the
// remaining allocations compare the object with the stored one.
func TestReconcile_AllocatesLittleForAStableVM(t *testing.T) {
	for name, tc := range map[string]struct {
		sized bool
		limit float64
	}{
		"own size":      {false, 341},
		"instance type": {true, 400},
	} {
		t.Run(name, func(t *testing.T) {
			h := stableHarness(t, tc.sized)
			if got := testing.AllocsPerRun(100, func() { h.reconcile(t) }); got > tc.limit {
				t.Errorf("%.0f allocations, want at most %.0f", got, tc.limit)
			}
		})
	}
}

func BenchmarkStablePass(b *testing.B) {
	for name, sized := range map[string]bool{"inline": false, "instancetype": true} {
		b.Run(name, func(b *testing.B) {
			h := stableHarness(b, sized)
			writes := h.api.writes()
			b.ReportAllocs()
			for b.Loop() {
				h.reconcile(b)
			}
			if h.api.writes() != writes {
				b.Errorf("%d writes, want none", h.api.writes()-writes)
			}
		})
	}
}
