// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
)

func TestZones_QueueVMsWithoutAZone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		placed := stable(named("placed"), func(vm *vmv1alpha1.VirtualMachine) { vm.Status.Zone = "a" })
		unplaced := stable(named("unplaced"), func(vm *vmv1alpha1.VirtualMachine) {
			vm.Status.Zone, vm.Status.UniqueID = "", ""
			vm.Status.Conditions = []metav1.Condition{{
				Type: vmv1alpha1.ConditionCreated, Status: metav1.ConditionFalse, Reason: vmv1alpha1.ReasonWaitingForPrerequisites,
			}}
		})
		a := assemble(t, placed, unplaced)
		a.watch(t)
		a.drain()
		ctx, vm := t.Context(), a.api.VmV1alpha1()
		zone := &vmv1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "a", Generation: 1}}
		for _, step := range []struct {
			name string
			do   func() error
			want []string
		}{
			{"a zone", func() (err error) { zone, err = vm.Zones().Create(ctx, zone, metav1.CreateOptions{}); return err }, []string{"unplaced", "placed"}},
			{"its status", func() (err error) {
				zone.Status.Hosts = 3
				zone, err = vm.Zones().Update(ctx, zone, metav1.UpdateOptions{})
				return err
			}, nil},
			{"its spec", func() (err error) {
				zone.Generation = 2
				zone, err = vm.Zones().Update(ctx, zone, metav1.UpdateOptions{})
				return err
			}, []string{"unplaced"}},
			{"a VCenter", func() error {
				_, err := vm.VCenters().Create(ctx, &vmv1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: "b"}}, metav1.CreateOptions{})
				return err
			}, []string{"unplaced"}},
		} {
			if err := step.do(); err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
			synctest.Wait()
			var names []string
			for _, got := range a.drain() {
				names = append(names, got.Name)
			}
			if diff := cmp.Diff(step.want, names); diff != "" {
				t.Errorf("%s wakes (-want +got):\n%s", step.name, diff)
			}
		}
	})
}

// The zone determines which process reconciles its virtual machines. The informer may receive the zone after the
// virtual machines.
func TestZones_QueueTheVMsOfANewZone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := assemble(t, stable(named("placed"), func(vm *vmv1alpha1.VirtualMachine) { vm.Status.Zone = "a" }), stable(named("elsewhere"), func(vm *vmv1alpha1.VirtualMachine) { vm.Status.Zone = "b" }))
		known := a.deps.Informers.Vm().V1alpha1().Zones().Lister()
		a.enqueuer.IsOwned = func(vm *vmv1alpha1.VirtualMachine) bool {
			_, err := known.Get(vm.Status.Zone)
			return err == nil
		}
		a.watch(t)
		if got := a.drain(); len(got) > 0 {
			t.Errorf("%v are queued before their zone exists", got)
		}
		zone := &vmv1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "a", Generation: 1}}
		if _, err := a.api.VmV1alpha1().Zones().Create(t.Context(), zone, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if diff := cmp.Diff([]handedOut{{"placed", controller.PriorityDefaultCreate}}, a.drain()); diff != "" {
			t.Errorf("its zone wakes (-want +got):\n%s", diff)
		}
	})
}
