// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// F158: a refresh races with a switch to another instance type. The switch carries the resource version that it is
// based on. If the switch is applied before the refresh, the refresh uses the new instance type. Otherwise the switch
// is refused and the refresh uses the old one.
func TestRefresh_DuringASwitchHasOneWinner(t *testing.T) {
	const rounds = 20
	c := startWithHost(t)
	vms := c.VmV1alpha1().VirtualMachines(namespace)
	small := createClusterInstancetype(t, c, "small", 2, "2Gi")
	createClusterInstancetype(t, c, "big", 8, "8Gi")
	var before []*vmv1alpha1.VirtualMachine
	for i := range rounds {
		before = append(before, capture(t, c, createVM(t, c, typedVM(fmt.Sprintf("vm-%d", i), "small")), small))
	}
	grow(t, c, small)

	for _, vm := range before {
		t.Run(vm.Name, func(t *testing.T) {
			var (
				both                  sync.WaitGroup
				result                *vmv1alpha1.RefreshResult
				refreshErr, switchErr error
			)
			both.Go(func() {
				result, refreshErr = vms.RefreshInstancetype(t.Context(), vm.Name, &vmv1alpha1.RefreshOptions{}, metav1.CreateOptions{})
			})
			both.Go(func() {
				switched := vm.DeepCopy()
				switched.Spec.Instancetype.Name = "big"
				_, switchErr = vms.Update(t.Context(), switched, metav1.UpdateOptions{})
			})
			both.Wait()
			if refreshErr != nil {
				t.Fatalf("the refresh failed: %v", refreshErr)
			}
			winner, generation := "big", int64(1)
			if apierrors.IsConflict(switchErr) {
				winner, generation = "small", 2
			} else if switchErr != nil {
				t.Fatalf("the switch failed: %v", switchErr)
			}
			after := getVM(t, c, vm.Name)
			if after.Spec.Instancetype.Name != winner || result.SourceName != winner || result.NewGeneration != generation || !result.Changed {
				t.Errorf("spec names %q, the refresh was %+v; want %s of generation %d", after.Spec.Instancetype.Name, result, winner, generation)
			}
			old := vm.Status.InstancetypeRef.ControllerRevisionRef.Name
			if result.OldRevision != old || after.Status.InstancetypeRef.ControllerRevisionRef != nil {
				t.Errorf("the refresh released %q, status names %+v; want %q and none", result.OldRevision, after.Status.InstancetypeRef, old)
			}
			// The previous revision must exist until the next one is pinned in the status.
			if _, err := c.InstancetypeV1alpha1().ControllerRevisions(namespace).Get(t.Context(), old, metav1.GetOptions{}); err != nil {
				t.Errorf("the old revision: %v", err)
			}
		})
	}
}

// F158: a status that was computed before a refresh cannot bring the old revision back.
func TestRefresh_RejectsAnEarlierStatus(t *testing.T) {
	c := startWithHost(t)
	vms := c.VmV1alpha1().VirtualMachines(namespace)
	small := createClusterInstancetype(t, c, "small", 2, "2Gi")
	stale := capture(t, c, createVM(t, c, typedVM("web", "small")), small)
	grow(t, c, small)
	if _, err := vms.RefreshInstancetype(t.Context(), "web", &vmv1alpha1.RefreshOptions{}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	stale.Status.PowerState = vmv1alpha1.PoweredOn
	if _, err := vms.UpdateStatus(t.Context(), stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("writing the previous status: %v, want a conflict", err)
	}
	if ref := getVM(t, c, "web").Status.InstancetypeRef; ref.ControllerRevisionRef != nil {
		t.Errorf("status names revision %s again", ref.ControllerRevisionRef.Name)
	}
}
