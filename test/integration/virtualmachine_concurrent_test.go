// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/simulated"
)

// F158: refreshes and switches while the controller pins revisions. At the end every virtual machine has the instance
// type of its spec, and only that revision exists.
func TestRefresh_DuringSwitchesEndsWithTheRevisionOfTheSpec(t *testing.T) {
	const count = 4
	w := newVMWorld(t)
	w.image()
	w.size(1, "1Gi")
	large := &itv1alpha1.VirtualMachineClusterInstancetype{ObjectMeta: metav1.ObjectMeta{Name: "large"}}
	large.Spec.CPU.Guest, large.Spec.Memory.Guest = 2, resource.MustParse("2Gi")
	large, err := w.InstancetypeV1alpha1().VirtualMachineClusterInstancetypes().Create(t.Context(), large, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("vm-%d", i)
		w.create(names[i])
	}
	for _, name := range names {
		w.until(name, "is ready", isVMReady)
	}
	w.size(1, "1028Mi")

	vms := w.VmV1alpha1().VirtualMachines(vmNamespace)
	var all sync.WaitGroup
	for _, name := range names {
		all.Go(func() {
			if _, err := vms.RefreshInstancetype(t.Context(), name, &vmv1alpha1.RefreshOptions{}, metav1.CreateOptions{}); err != nil {
				t.Errorf("refreshing %s: %v", name, err)
			}
		})
		all.Go(func() {
			patch := []byte(`{"spec":{"instancetype":{"name":"large"}}}`)
			if _, err := vms.Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
				t.Errorf("switching %s: %v", name, err)
			}
		})
	}
	all.Wait()
	var want []string
	for _, name := range names {
		vm := w.until(name, "has the revision of large", func(vm *vmv1alpha1.VirtualMachine) bool {
			ref := vm.Status.InstancetypeRef
			return isVMReady(vm) && ref != nil && ref.Name == "large" && ref.ControllerRevisionRef != nil && ref.SourceUID == string(large.UID)
		})
		want = append(want, vm.Status.InstancetypeRef.ControllerRevisionRef.Name)
	}
	for i, name := range names {
		simulated.Eventually(t, name+": the instance has the new size", func() bool {
			vmi := w.vmi(name)
			return vmi != nil && vmi.Spec.Instancetype.RevisionName == want[i] && vmi.Spec.Memory.Guest.String() == "2Gi"
		})
	}
	slices.Sort(want)
	want = slices.Compact(want)
	simulated.Eventually(t, "only the revisions in use are left", func() bool { return slices.Equal(want, slices.Sorted(slices.Values(w.revisions()))) })
}
