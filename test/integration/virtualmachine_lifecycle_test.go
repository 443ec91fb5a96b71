// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/simulated"
)

const vmNamespace = "team-a"

func (w *vmWorld) image() {
	w.t.Helper()
	image := &vmv1alpha1.VirtualMachineImage{
		ObjectMeta: metav1.ObjectMeta{Name: "photon"},
		Spec:       vmv1alpha1.VirtualMachineImageSpec{ContentLibrary: &vmv1alpha1.ContentLibraryImageSource{Library: "slipway", Item: "photon-5"}},
	}
	if _, err := w.VmV1alpha1().VirtualMachineImages(vmNamespace).Create(w.t.Context(), image, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// size creates or changes the cluster-wide instance type "small".
func (w *vmWorld) size(cpus int32, memory string) {
	w.t.Helper()
	types := w.InstancetypeV1alpha1().VirtualMachineClusterInstancetypes()
	spec := itv1alpha1.VirtualMachineInstancetypeSpec{
		CPU:    itv1alpha1.CPUInstancetype{Guest: cpus},
		Memory: itv1alpha1.MemoryInstancetype{Guest: resource.MustParse(memory)},
	}
	_, err := types.Create(w.t.Context(), &itv1alpha1.VirtualMachineClusterInstancetype{ObjectMeta: metav1.ObjectMeta{Name: "small"}, Spec: spec}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		var small *itv1alpha1.VirtualMachineClusterInstancetype
		if small, err = types.Get(w.t.Context(), "small", metav1.GetOptions{}); err == nil {
			small.Spec = spec
			_, err = types.Update(w.t.Context(), small, metav1.UpdateOptions{})
		}
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *vmWorld) create(name string, change ...func(*vmv1alpha1.VirtualMachine)) {
	w.t.Helper()
	vm := &vmv1alpha1.VirtualMachine{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: vmv1alpha1.VirtualMachineSpec{
			Instancetype: &vmv1alpha1.InstancetypeMatcher{Name: "small"},
			Image:        &vmv1alpha1.VirtualMachineImageRef{Name: "photon"},
			PowerOffMode: vmv1alpha1.PowerOpModeHard,
			RestartMode:  vmv1alpha1.PowerOpModeHard,
		},
	}
	for _, f := range change {
		f(vm)
	}
	if _, err := w.VmV1alpha1().VirtualMachines(vmNamespace).Create(w.t.Context(), vm, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// vm returns the virtual machine, or nil if it does not exist.
func (w *vmWorld) vm(name string) *vmv1alpha1.VirtualMachine {
	w.t.Helper()
	vm, err := w.VmV1alpha1().VirtualMachines(vmNamespace).Get(w.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return vm
}

// vmi returns the instance, or nil if it does not exist.
func (w *vmWorld) vmi(name string) *vmv1alpha1.VirtualMachineInstance {
	w.t.Helper()
	vmi, err := w.VmV1alpha1().VirtualMachineInstances(vmNamespace).Get(w.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return vmi
}

// until waits until cond accepts the virtual machine. It prints the virtual machine if that fails.
func (w *vmWorld) until(name, what string, cond func(*vmv1alpha1.VirtualMachine) bool) *vmv1alpha1.VirtualMachine {
	w.t.Helper()
	var vm *vmv1alpha1.VirtualMachine
	defer func() {
		if w.t.Failed() && vm != nil {
			w.t.Logf("virtual machine: %s\ninstance: %s", vmAsJSON(vm), vmAsJSON(w.vmi(name)))
		}
	}()
	simulated.Eventually(w.t, name+": "+what, func() bool {
		vm = w.vm(name)
		return vm != nil && cond(vm)
	})
	return vm
}

func vmAsJSON(object any) string {
	text, err := json.MarshalIndent(object, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func isVMReady(vm *vmv1alpha1.VirtualMachine) bool {
	c := meta.FindStatusCondition(vm.Status.Conditions, vmv1alpha1.ConditionReady)
	return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == vm.Generation
}

func poweredOff(vm *vmv1alpha1.VirtualMachine) bool {
	return isVMReady(vm) && vm.Status.PowerState == vmv1alpha1.PoweredOff
}

func (w *vmWorld) revisions() []string {
	w.t.Helper()
	list, err := w.InstancetypeV1alpha1().ControllerRevisions(vmNamespace).List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for _, r := range list.Items {
		names = append(names, r.Name)
	}
	return names
}

func TestVM_IsCreatedChangedAndDeleted(t *testing.T) {
	w := newVMWorld(t)
	w.size(2, "1Gi")
	w.image()
	w.create("web")
	vm := w.until("web", "is ready", isVMReady)
	if vm.Status.Phase != vmv1alpha1.PhaseRunning || vm.Status.Network.PrimaryIP4 == "" || vm.Status.NodeName == "" || vm.Status.UniqueID == "" {
		t.Errorf("status %+v, want a running one with address, host and ID", vm.Status)
	}
	if made := vm.Status.CreationTime; made == nil || made.Before(&vm.CreationTimestamp) {
		t.Errorf("created in vSphere at %v, want a time that is not before that of the object, %v", made, vm.CreationTimestamp)
	}
	simulated.Eventually(t, "the instance shows the address", func() bool {
		vmi := w.vmi("web")
		return vmi != nil && vmi.Status.Network != nil && vmi.Status.Network.PrimaryIP4 == vm.Status.Network.PrimaryIP4 && vmi.Spec.CPU.Sockets*vmi.Spec.CPU.Cores == 2
	})
	if got := w.apiWrites.total("virtualmachines/web"); got == 0 || got > 5 {
		t.Errorf("%d writes of the virtual machine, want 1 to 5", got)
	}

	vms := w.VmV1alpha1().VirtualMachines(vmNamespace)
	if _, err := vms.Stop(t.Context(), "web", &vmv1alpha1.PowerOptions{}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.until("web", "is powered off", poweredOff)
	simulated.Eventually(t, "the instance is deleted", func() bool { return w.vmi("web") == nil })

	if err := vms.Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	simulated.Eventually(t, "the virtual machine is deleted", func() bool { return w.vm("web") == nil })
	want := []string{"Created", "PoweredOn", "PoweredOff", "Deleted"}
	simulated.Eventually(t, "the deletion is reported", func() bool { return len(w.events.of("web")) >= len(want) })
	if diff := cmp.Diff(want, w.events.of("web")); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// refresh changes the instance type of a running VM, refreshes it, and returns the
// revisions before and after.
func (w *vmWorld) refresh(name string, cpus int32, memory string) (before, after string) {
	w.t.Helper()
	before = w.until(name, "is ready", isVMReady).Status.InstancetypeRef.ControllerRevisionRef.Name
	simulated.Eventually(w.t, "there is an instance", func() bool { return w.vmi(name) != nil })
	w.size(cpus, memory)
	w.until(name, "is outdated", func(vm *vmv1alpha1.VirtualMachine) bool { return vm.Status.InstancetypeRef.Outdated })
	_, err := w.VmV1alpha1().VirtualMachines(vmNamespace).RefreshInstancetype(w.t.Context(), name, &vmv1alpha1.RefreshOptions{}, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	vm := w.until(name, "has captured the new revision", func(vm *vmv1alpha1.VirtualMachine) bool {
		ref := vm.Status.InstancetypeRef.ControllerRevisionRef
		return ref != nil && ref.Name != before
	})
	return before, vm.Status.InstancetypeRef.ControllerRevisionRef.Name
}

// runsWith waits until the instance has a size and a revision, and no other revision exists.
func (w *vmWorld) runsWith(name string, cpus int32, memory, revision string) {
	w.t.Helper()
	simulated.Eventually(w.t, name+": the instance has the new size", func() bool {
		vmi := w.vmi(name)
		return vmi != nil && vmi.Spec.Instancetype.RevisionName == revision &&
			vmi.Spec.CPU.Sockets == cpus && vmi.Spec.Memory.Guest.String() == memory
	})
	simulated.Eventually(w.t, "only the new revision is left", func() bool { return cmp.Equal([]string{revision}, w.revisions()) })
}

// F48 F137 F142 F150: the VM grows while it runs, and the previous revision is deleted.
func TestRefresh_GrowsARunningVM(t *testing.T) {
	w := newVMWorld(t)
	w.size(1, "1Gi")
	w.image()
	w.create("web")
	_, after := w.refresh("web", 2, "2Gi")
	w.runsWith("web", 2, "2Gi", after)
	if vm := w.until("web", "is ready", isVMReady); len(vm.Status.RestartRequired) != 0 {
		t.Errorf("restartRequired %v after a live change, want none", vm.Status.RestartRequired)
	}
}

// F138 F139 F141 F142 F159
func TestRefresh_ThatCannotBeLiveTakesEffectAtTheRestart(t *testing.T) {
	w := newVMWorld(t)
	w.size(2, "2Gi")
	w.image()
	w.create("web")
	before, after := w.refresh("web", 1, "1Gi")
	w.until("web", "lists the changes that wait for a restart", func(vm *vmv1alpha1.VirtualMachine) bool {
		return len(vm.Status.RestartRequired) > 0 && vm.Status.PrintableStatus == "RestartRequired"
	})
	if got := w.vmi("web").Spec.Instancetype.RevisionName; got != before {
		t.Errorf("the instance names revision %s, want %s, which it still runs with", got, before)
	}
	_, err := w.VmV1alpha1().VirtualMachines(vmNamespace).Restart(t.Context(), "web", &vmv1alpha1.PowerOptions{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.until("web", "has restarted", func(vm *vmv1alpha1.VirtualMachine) bool {
		return vm.Status.LastRestartTime != nil && len(vm.Status.RestartRequired) == 0 && isVMReady(vm)
	})
	w.runsWith("web", 1, "1Gi", after)
}

// F139: no restart is required if the change is reverted.
func TestRestartRequired_IsRemovedWhenTheChangeIsReverted(t *testing.T) {
	w := newVMWorld(t)
	w.size(2, "2Gi")
	w.image()
	w.create("web")
	w.refresh("web", 1, "1Gi")
	w.until("web", "lists the changes that wait for a restart", func(vm *vmv1alpha1.VirtualMachine) bool {
		return len(vm.Status.RestartRequired) > 0 && vm.Status.PrintableStatus == "RestartRequired"
	})
	_, after := w.refresh("web", 2, "2Gi")
	vm := w.until("web", "needs no restart", func(vm *vmv1alpha1.VirtualMachine) bool {
		return len(vm.Status.RestartRequired) == 0 && isVMReady(vm)
	})
	if vm.Status.LastRestartTime != nil {
		t.Errorf("it was restarted at %s", vm.Status.LastRestartTime)
	}
	w.runsWith("web", 2, "2Gi", after)
}

// F56
func TestPrerequisites_CreatedLaterAreFound(t *testing.T) {
	w := newVMWorld(t)
	w.create("early")
	w.until("early", "reports the missing prerequisites", func(vm *vmv1alpha1.VirtualMachine) bool {
		for _, missing := range []string{vmv1alpha1.ConditionInstancetypeReady, vmv1alpha1.ConditionImageReady} {
			c := meta.FindStatusCondition(vm.Status.Conditions, missing)
			if c == nil || c.Status != metav1.ConditionFalse || c.Reason != vmv1alpha1.ReasonNotFound {
				return false
			}
		}
		return vm.Status.Phase == vmv1alpha1.PhasePending
	})
	w.size(1, "1Gi")
	w.image()
	w.until("early", "is ready", isVMReady)
}

func TestControllerRestart_DuringCreatesCreatesNoVMTwice(t *testing.T) {
	const count = 20
	w := newVMWorld(t)
	w.size(1, "1Gi")
	w.image()
	for i := range count {
		w.create(fmt.Sprintf("web-%02d", i))
	}
	simulated.Eventually(t, "the first is created", func() bool {
		list, err := w.VmV1alpha1().VirtualMachines(vmNamespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			if meta.IsStatusConditionTrue(list.Items[i].Status.Conditions, vmv1alpha1.ConditionCreated) {
				return true
			}
		}
		return false
	})
	w.stop()
	w.start()
	ids := map[string]string{}
	for i := range count {
		vm := w.until(fmt.Sprintf("web-%02d", i), "is ready", isVMReady)
		if other, twice := ids[vm.Status.UniqueID]; twice {
			t.Errorf("%s and %s are both %s", other, vm.Name, vm.Status.UniqueID)
		}
		ids[vm.Status.UniqueID] = vm.Name
	}
	if got := w.inVCenter(); len(got) != count {
		t.Errorf("vCenter has %d virtual machines, want %d: %v", len(got), count, got)
	}
}
