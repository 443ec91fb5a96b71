// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// A backup takes and removes a snapshot. This does not change config.changeVersion.
func TestSnapshotBackup_AllowsChangesAfterwards(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("web", templateImage())
	req.Effective.Volumes = []vmv1alpha1.VirtualMachineVolume{disk("data", "1Gi", "")}
	l.until("the VM runs", isRunning(req), req)
	st, vm := &req.VM.Status, objectOf(t, ready, req)
	v := &victim{t: t, ready: ready, p: p, l: l, req: req, vm: vm}
	setSize := func(size string) { req.Effective.Volumes = []vmv1alpha1.VirtualMachineVolume{disk("data", size, "")} }
	awaitSize := func(size string) {
		t.Helper()
		l.until("the VM runs with "+size, func() bool {
			return isRunning(req)() && len(st.Volumes) == 1 && st.Volumes[0].Capacity.String() == size && reason(st, vmv1alpha1.ConditionConfigurationSynced) == "True Succeeded"
		}, req)
	}

	snapshot(t, vm, "backup")
	const note = "all of it is read while there is a snapshot"
	v.reconfigure(types.VirtualMachineConfigSpec{Annotation: note})
	l.until("the change is observed", func() bool {
		return p.inventory.Get(vm.Reference()).Config.Annotation == note && len(st.Snapshots) == 1
	}, req)
	v.await(vm.RemoveAllSnapshot(t.Context(), nil))
	setSize("2Gi")
	awaitSize("2Gi")

	snapshot(t, vm, "backup")
	l.until("the snapshot is observed", func() bool { return len(st.Snapshots) == 1 }, req)
	setSize("3Gi")
	l.until("growing is refused", func() bool { return reason(st, vmv1alpha1.ConditionConfigurationSynced) == "False Invalid" }, req)
	v.powerOff()
	l.until("the VM runs again with its unchanged disk", func() bool {
		return st.PowerState == vmv1alpha1.PoweredOn && reason(st, vmv1alpha1.ConditionPowerStateSynced) == "True Succeeded" &&
			reason(st, vmv1alpha1.ConditionConfigurationSynced) == "False Invalid"
	}, req)
	v.await(vm.RemoveAllSnapshot(t.Context(), nil))
	awaitSize("3Gi")
	checkNoOperation(t, p, req)
	l.remove(req)
}

// A revert restores data that was removed from the VM after the snapshot.
func TestFirstBootData_IsRemovedAgainAfterAManualRevert(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("once", templateImage())
	req.Effective.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{CloudInit: &vmv1alpha1.CloudInitBootstrap{RawCloudConfig: &vmv1alpha1.SecretKeySelector{Name: "s"}}}
	req.Bootstrap = &provider.BootstrapData{CloudConfig: []byte("#cloud-config\n")}
	l.until("the VM runs", isRunning(req), req)
	req.Bootstrap = nil
	vm := objectOf(t, ready, req)
	v := &victim{t: t, ready: ready, p: p, l: l, req: req, vm: vm}
	snapshot(t, vm, "before")
	req.Effective.Bootstrap.RemoveAfterFirstBoot = true
	removed := func() bool {
		return reason(&req.VM.Status, vmv1alpha1.ConditionBootstrapDataRemoved) == "True Succeeded" && isRunning(req)()
	}
	l.until("the data is removed", removed, req)
	v.await(vm.RevertToSnapshot(t.Context(), "before", true))
	eventually(t, "the inventory has the restored data", func() bool {
		return observe.ExtraConfig(p.inventory.Get(vm.Reference()), "guestinfo.userdata") != ""
	})
	l.until("the data is removed again", removed, req)
	if extra := extraOf(t, ready, "team-a/once"); extra["guestinfo.userdata"] != "" || extra["guestinfo.metadata"] == "" {
		t.Errorf("vCenter has user data %q and metadata %q, want only the metadata", extra["guestinfo.userdata"], extra["guestinfo.metadata"])
	}
}

// A response of vCenter may lack single properties, each with a fault.
func TestPartialResponse_MakesAVMUnreadable(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	omit := func(req *provider.Request, paths ...string) {
		control(t, ready, http.MethodPut, "/vm/omitted?"+url.Values{"vm": {req.VM.Status.UniqueID}, "path": paths}.Encode())
	}
	for _, path := range []string{"config.extraConfig", "config.hardware", "config.changeVersion", "runtime.powerState", "snapshot"} {
		t.Run(path, func(t *testing.T) {
			req := newRequest("web-"+strings.ToLower(strings.ReplaceAll(path, ".", "-")), templateImage())
			req.Effective.Volumes = []vmv1alpha1.VirtualMachineVolume{disk("data", "1Gi", "")}
			l.until("the VM runs", isRunning(req), req)
			vm := objectOf(t, ready, req)
			v := &victim{t: t, ready: ready, p: p, l: l, req: req, vm: vm}
			if path == "snapshot" {
				snapshot(t, vm, "backup") // otherwise the property is empty
			}
			v.setKey(vmv1alpha1.ExtraConfigPausedKey, "TRUE")
			v.awaitInventory(observe.IsPaused)
			omit(req, path)
			req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
			hasFault := func() bool {
				return reason(&req.VM.Status, vmv1alpha1.ConditionConfigurationSynced) == "Unknown UnknownState" &&
					strings.Contains(message(&req.VM.Status, vmv1alpha1.ConditionConfigurationSynced), path+": A general system error occurred")
			}
			l.until("the stream omits the property and the status has the fault", hasFault, req)

			again, counted := startProvider(t, ready, nil) // reads the whole inventory
			eventually(t, "the inventory is read", again.driver.Synced)
			after := newLoop(t, again)
			req.VM.Status.Conditions = nil
			after.until("the first read omits the property and the status has the fault", hasFault, req)
			calls := counted.snapshot()
			changes := map[string]int{"ReconfigVM_Task": calls["ReconfigVM_Task"], "PowerOffVM_Task": calls["PowerOffVM_Task"]}
			if diff := cmp.Diff(map[string]int{"ReconfigVM_Task": 0, "PowerOffVM_Task": 0}, changes); diff != "" {
				t.Errorf("changes of a paused VM (-want +got):\n%s", diff)
			}
			omit(req)
			v.awaitInventory(observe.IsPaused)
			if ch, err := p.CreateOrUpdateVirtualMachineAsync(t.Context(), req); ch != nil || !errors.Is(err, provider.ErrPaused) {
				t.Errorf("reconcile = %v, want ErrPaused when the VM can be read", err)
			}
		})
	}
	t.Run("guest.net", func(t *testing.T) {
		req := newRequest("talks-not", templateImage())
		l.until("the VM runs", isRunning(req), req)
		omit(req, "guest.net", "summary.storage")
		req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
		l.until("the VM is managed", func() bool { return req.VM.Status.PowerState == vmv1alpha1.PoweredOff }, req)
	})
}
