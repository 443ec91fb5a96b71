// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"net/http"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// An administrator extends a disk, and another volume is refused. The VM must still be powered on after a
// shutdown, and the other changes must be applied.
func TestRefusal_DoesNotBlockPowerOnOrOtherFields(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("web", templateImage())
	req.Effective.Volumes = []vmv1alpha1.VirtualMachineVolume{disk("data", "1Gi", "")}
	l.until("the VM runs", isRunning(req), req)
	st, vm := &req.VM.Status, objectOf(t, ready, req)
	v := &victim{t: t, ready: ready, p: p, l: l, req: req, vm: vm}

	grown := *observe.Volumes(p.inventory.Get(vm.Reference()))["data"]
	grown.CapacityInBytes, grown.CapacityInKB = 2<<30, 2<<20
	v.reconfigure(types.VirtualMachineConfigSpec{DeviceChange: []types.BaseVirtualDeviceConfigSpec{
		&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: &grown}}})
	const larger = "not applied: volumes[data].disk.size 1Gi (the disk has 2Gi, and vSphere cannot shrink disks)"
	l.until("the larger disk satisfies the request", func() bool {
		return reason(st, vmv1alpha1.ConditionConfigurationSynced) == "True Succeeded" && message(st, vmv1alpha1.ConditionConfigurationSynced) == larger
	}, req)
	v.powerOff()
	l.until("the VM is reported as powered off", func() bool { return st.PowerState == vmv1alpha1.PoweredOff }, req)
	l.until("the VM runs again", isRunning(req), req)

	conflicting := disk("log", "1Gi", "")
	conflicting.ControllerBusNumber, conflicting.UnitNumber = ptr(int32(0)), ptr(int32(0))
	req.Effective.Volumes = append(req.Effective.Volumes, conflicting)
	req.Effective.CPU.Shares = &vmv1alpha1.Shares{Level: vmv1alpha1.SharesHigh}
	refused := func(power string) func() bool {
		return func() bool {
			return reason(st, vmv1alpha1.ConditionConfigurationSynced) == "False Invalid" && reason(st, vmv1alpha1.ConditionPowerStateSynced) == power
		}
	}
	l.until("the volume is refused", refused("True Succeeded"), req)
	if got := p.inventory.Get(vm.Reference()).Config.CpuAllocation.Shares.Level; got != types.SharesLevelHigh {
		t.Errorf("the CPU has shares %s, want the other change applied", got)
	}
	req.VM.Spec.PowerState, req.VM.Spec.SuspendMode = vmv1alpha1.Suspended, vmv1alpha1.PowerOpModeHard
	l.until("the VM is suspended", func() bool { return st.PowerState == vmv1alpha1.Suspended && refused("True Succeeded")() }, req)
	req.VM.Spec.PowerState = vmv1alpha1.PoweredOn
	l.until("the VM is resumed", func() bool { return st.PowerState == vmv1alpha1.PoweredOn && refused("True Succeeded")() }, req)
	req.VM.Spec.PowerState, req.VM.Spec.PowerOffMode = vmv1alpha1.PoweredOff, vmv1alpha1.PowerOpModeHard
	l.until("the VM is off", func() bool { return st.PowerState == vmv1alpha1.PoweredOff && refused("True Succeeded")() }, req)
	req.VM.Spec.PowerState = vmv1alpha1.PoweredOn
	l.until("the VM is on", func() bool { return st.PowerState == vmv1alpha1.PoweredOn && refused("True Succeeded")() }, req)
}

// vSphere reports whether the last shutdown was clean.
func TestPowerPolicy_OnFailureDistinguishesACrashFromAShutdown(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("job", templateImage())
	req.VM.Spec.PowerPolicy = ptr(vmv1alpha1.PowerPolicyOnFailure)
	l.until("the VM runs", isRunning(req), req)
	st := &req.VM.Status
	v := &victim{t: t, ready: ready, p: p, l: l, req: req, vm: objectOf(t, ready, req)}

	control(t, ready, http.MethodPut, "/vm/guest?crash=true&vm="+st.UniqueID)
	eventually(t, "the crash is observed", func() bool { return observe.PowerStateOf(p.inventory.Get(v.vm.Reference())) == vmv1alpha1.PoweredOff })
	l.until("the VM runs again", isRunning(req), req)

	v.powerOff()
	l.until("the VM stays off", func() bool {
		return st.PowerState == vmv1alpha1.PoweredOff && reason(st, vmv1alpha1.ConditionPowerStateSynced) == "False GuestShutdown"
	}, req)
	checkNoOperation(t, p, req)
	req.VM.Annotations = map[string]string{vmv1alpha1.AnnotationStartRequested: time.Now().Add(time.Second).UTC().Format(time.RFC3339)}
	l.until("the VM is powered on", isRunning(req), req)
}
