// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/test/vcenter"
)

// cloneRequest returns a request for a clone of another request's virtual machine.
func cloneRequest(name string, of *provider.Request, snapshot string) *provider.Request {
	req := newRequest(name, of.VM.AsImage())
	req.CloneOf = &provider.CloneSource{NamespacedName: keyOf(of), UID: of.VM.UID, InstanceUUID: of.VM.Status.InstanceUUID, Snapshot: snapshot}
	return req
}

// createPoweredOff creates a virtual machine and waits until it is powered off.
func createPoweredOff(l *loop, req *provider.Request) {
	l.t.Helper()
	req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
	l.until("the VM is off", func() bool {
		st := &req.VM.Status
		return st.PowerState == vmv1alpha1.PoweredOff && isTrue(st, vmv1alpha1.ConditionPowerStateSynced) && isTrue(st, vmv1alpha1.ConditionConfigurationSynced)
	}, req)
}

func objectOf(t *testing.T, ready vcenter.Ready, req *provider.Request) *object.VirtualMachine {
	t.Helper()
	return object.NewVirtualMachine(admin(t, ready).Client, types.ManagedObjectReference{Type: "VirtualMachine", Value: req.VM.Status.UniqueID})
}

// ownSettings returns the settings and devices of a VM that a clone must not have.
func ownSettings(vm mo.VirtualMachine) map[string]string {
	out := map[string]string{"instance": vm.Config.InstanceUuid, "bios": vm.Config.Uuid}
	for _, d := range vm.Config.Hardware.Device {
		switch d := d.(type) {
		case types.BaseVirtualEthernetCard:
			out["mac"] = d.GetVirtualEthernetCard().MacAddress
		case *types.VirtualCdrom:
			out["drive"] = "present"
		case *types.VirtualSerialPort:
			out["serial port"] = "present"
		case *types.VirtualDisk:
			if d.VDiskId != nil {
				out["claim"] = d.VDiskId.Id
			}
		}
	}
	for _, o := range vm.Config.ExtraConfig {
		option := o.GetOptionValue()
		value, _ := option.Value.(string)
		if value != "" && (observe.IsSlipwayKey(option.Key) || strings.HasPrefix(option.Key, "guestinfo.")) {
			out[option.Key] = value
		}
	}
	if v := vm.Config.VAppConfig; v != nil {
		for _, p := range v.GetVmConfigInfo().Property {
			if p.Value != "" {
				out["property "+p.Id] = p.Value
			}
		}
	}
	return out
}

func disksOf(vm mo.VirtualMachine) int {
	n := 0
	for _, d := range vm.Config.Hardware.Device {
		if _, ok := d.(*types.VirtualDisk); ok {
			n++
		}
	}
	return n
}

// newFullSource creates a VM with all settings and devices that a clone must not have.
func newFullSource(t *testing.T, ready vcenter.Ready, l *loop) *provider.Request {
	t.Helper()
	req := newRequest("source", libraryImage())
	req.Image.Spec.ContentLibrary.Item = "ubuntu-24.04-appliance"
	req.Effective.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{VAppConfig: &vmv1alpha1.VAppConfigBootstrap{RawProperties: "secret"}}
	req.Bootstrap = &provider.BootstrapData{VAppProperties: map[string]string{"user-data": "a secret"}}
	req.Effective.Devices = &vmv1alpha1.VirtualMachineDevices{AutoattachSerialConsole: ptr(true)}
	req.Effective.Volumes = []vmv1alpha1.VirtualMachineVolume{
		{Name: "data", Disk: &vmv1alpha1.DiskVolumeSource{Capacity: ptr(resource.MustParse("1Gi"))}},
		{Name: "drive", CDROM: &vmv1alpha1.CDROMVolumeSource{}},
	}
	addClaim(req, "claimed", provider.Claim{VolumeID: newFirstClassDisk(t, ready), Size: 10 << 20})
	createPoweredOff(l, req)
	reconfigure(t, objectOf(t, ready, req), types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{
		&types.OptionValue{Key: "guestinfo.userdata", Value: "another secret"}, &types.OptionValue{Key: "svga.vramSize", Value: "8388608"},
	}})
	return req
}

func TestClone_HasTheDisksOfItsSourceButNotItsOwnSettings(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	source := newFullSource(t, ready, l)
	before := inVCenter(t, ready)["team-a/source"]
	settings := ownSettings(before)
	for _, key := range []string{"claim", "drive", "serial port", "mac", "property user-data", "guestinfo.userdata", observe.OwnerKey, observe.VolumeKey("data"), observe.ClaimKey("claimed")} {
		if settings[key] == "" {
			t.Fatalf("the source has no %s: %v", key, settings)
		}
	}
	clone := cloneRequest("clone", source, "")
	l.until("the clone runs", isRunning(clone), clone)
	checkNoOperation(t, p, clone)

	vms := inVCenter(t, ready)
	vm := vms["team-a/clone"]
	for key, value := range ownSettings(vm) {
		if settings[key] == value && key != observe.BootDiskKey && key != observe.AdaptersKey { // the clone uses the same slots
			t.Errorf("the clone has its source's %s", key)
		}
		if _, ok := settings[key]; ok && (strings.HasPrefix(key, "property ") || strings.HasPrefix(key, "guestinfo.") || key == "claim" || key == "drive" || key == "serial port") {
			t.Errorf("the clone has the %s %q", key, value)
		}
	}
	if owner, _ := observe.OwnerOf(&vm); owner.UID != string(clone.VM.UID) || vm.Config.InstanceUuid != string(clone.VM.UID) {
		t.Errorf("the clone is owned by %+v", owner)
	}
	if got := disksOf(vm); got != 2 {
		t.Errorf("the clone has %d disks, want 2: boot disk and data disk", got)
	}
	if got := observe.ExtraConfig(&vm, "svga.vramSize"); got != "8388608" {
		t.Errorf("a general setting was not cloned: %q", got)
	}
	if diff := cmp.Diff(settings, ownSettings(vms["team-a/source"])); diff != "" || vms["team-a/source"].Config.ChangeVersion != before.Config.ChangeVersion {
		t.Errorf("the source was changed (-before +after):\n%s", diff)
	}
	if at := attachedVMs(t, ready, settings["claim"]); len(at) != 1 || at[0] != "source" {
		t.Errorf("the disk of the claim is attached to %v, want the source only", at)
	}
	checkNoOperation(t, p, source)
}

func snapshot(t *testing.T, vm *object.VirtualMachine, name string) {
	t.Helper()
	task, err := vm.CreateSnapshot(t.Context(), name, "", false, false)
	if err == nil {
		err = task.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestCloneOfASnapshot_HasTheStateOfTheSnapshot(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	source := newRequest("source", templateImage())
	createPoweredOff(l, source)
	vm := objectOf(t, ready, source)
	mark := func(value string) {
		reconfigure(t, vm, types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "release", Value: value}}})
	}
	mark("old")
	snapshot(t, vm, "before the update")
	mark("new")
	source.VM.Spec.PowerState = vmv1alpha1.PoweredOn
	l.until("the source runs", isRunning(source), source)

	clone := cloneRequest("clone", source, "before the update")
	l.until("the clone runs", isRunning(clone), clone)
	got := inVCenter(t, ready)["team-a/clone"]
	if release := observe.ExtraConfig(&got, "release"); release != "old" {
		t.Errorf("the clone is of the %q release, want old", release)
	}
	checkNoOperation(t, p, clone)
}

func TestClone_ReportsAnInvalidSource(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	source, running := newRequest("source", templateImage()), newRequest("runs", templateImage())
	createPoweredOff(l, source)
	l.until("the VM runs", isRunning(running), running)
	vm := objectOf(t, ready, source)
	for _, name := range []string{"once", "twice", "twice"} {
		snapshot(t, vm, name)
	}
	for name, tc := range map[string]struct {
		from        *provider.CloneSource
		status      string
		wantMessage string
	}{
		"a-running-vm":               {cloneRequest("x", running, "").CloneOf, "False Invalid", "power it off or clone a snapshot"},
		"a-vm-without-snapshots":     {cloneRequest("x", running, "once").CloneOf, "False NotFound", "has no snapshots"},
		"a-missing-snapshot":         {cloneRequest("x", source, "never").CloneOf, "False NotFound", `existing snapshots: "once", "twice", "twice"`},
		"a-snapshot-in-another-case": {cloneRequest("x", source, "Once").CloneOf, "False NotFound", `snapshot "Once" of the virtual machine to clone does not exist`},
		"an-ambiguous-snapshot":      {cloneRequest("x", source, "twice").CloneOf, "False Invalid", "rename all but one"},
		"a-recreated-object":         {&provider.CloneSource{NamespacedName: keyOf(source), UID: "another", InstanceUUID: source.VM.Status.InstanceUUID}, "False NotFound", "not in this vCenter"},
		"another-namespace":          {&provider.CloneSource{NamespacedName: keyOf(newRequest("other", nil)), UID: source.VM.UID, InstanceUUID: running.VM.Status.InstanceUUID}, "False NotFound", "not in this vCenter"},
		"another-vcenter":            {&provider.CloneSource{NamespacedName: keyOf(source), UID: source.VM.UID, InstanceUUID: "4c4c4544-0000-0000-0000-000000000000"}, "False NotFound", "not in this vCenter"},
	} {
		req := newRequest(name, source.VM.AsImage())
		req.CloneOf = tc.from
		st := &req.VM.Status
		l.until(name+" is refused", func() bool { return reason(st, vmv1alpha1.ConditionImageReady) == tc.status }, req)
		if c := meta.FindStatusCondition(st.Conditions, vmv1alpha1.ConditionImageReady); !strings.Contains(c.Message, tc.wantMessage) {
			t.Errorf("%s: ImageReady: %q, want %q", name, c.Message, tc.wantMessage)
		}
	}
	if n := served(t, ready, "CloneVM_Task"); n != 2 {
		t.Errorf("%d clones were created, want the two of the template", n)
	}
	// A zone of another vCenter cannot be used.
	elsewhere := cloneRequest("elsewhere", source, "")
	elsewhere.CloneOf.InstanceUUID = "4c4c4544-0000-0000-0000-000000000000"
	if o := p.CheckZone(t.Context(), elsewhere, vmv1alpha1.DefaultZone); o.Refusal == nil || o.CheckErr != nil || !strings.Contains(o.Refusal.Error(), "clones across vCenters are not supported") {
		t.Errorf("a zone of another vCenter: Refusal %v, CheckErr %v; want a refusal", o.Refusal, o.CheckErr)
	}
	if o := p.CheckZone(t.Context(), cloneRequest("here", source, ""), vmv1alpha1.DefaultZone); o.Refusal != nil || o.CheckErr != nil {
		t.Errorf("a zone of the source's vCenter: Refusal %v, CheckErr %v", o.Refusal, o.CheckErr)
	}
}

// A killed process sends no further calls. The operations that it has started continue.
func TestClone_IsCreatedOnceWhenTheProcessIsKilled(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"FindAllByUuid", "CloneVM_Task", "ReconfigVM_Task", "PowerOnVM_Task"} {
		t.Run(method, func(t *testing.T) {
			ready := startVCenter(t)
			setup, _ := startProvider(t, ready, nil)
			source := newRequest("source", templateImage())
			createPoweredOff(newLoop(t, setup), source)

			killer := &killAfterCall{method: method, released: make(chan struct{})}
			first, _ := startProvider(t, ready, func(s *settings) { s.OnCall = killer.call })
			t.Cleanup(func() { close(killer.released) })
			clone := cloneRequest("clone", source, "")
			before := served(t, ready, method)
			eventually(t, "the process is stopped at the call", func() bool {
				clone.Now = time.Now()
				_, _ = first.CreateOrUpdateVirtualMachineAsync(t.Context(), clone)
				killer.mu.Lock()
				defer killer.mu.Unlock()
				return killer.killed && served(t, ready, method) > before
			})

			// The source is powered on. A VM that is already cloned is completed without it.
			second, _ := startProvider(t, ready, nil)
			l := newLoop(t, second)
			if method != "FindAllByUuid" {
				eventually(t, "vSphere has completed the clone", func() bool { return inVCenter(t, ready)["team-a/clone"].Config != nil })
				control(t, ready, http.MethodGet, "/vms")
				source.VM.Spec.PowerState = vmv1alpha1.PoweredOn
				l.until("the source runs", isRunning(source), source)
				clone.PrerequisitesReady, clone.CompletionReady, clone.CloneOf = false, true, nil
			}
			l.until("the clone runs", isRunning(clone), clone)
			if n := served(t, ready, "CloneVM_Task"); n != 2 {
				t.Errorf("vCenter has cloned %d times, want 2: the template and the source, once each", n)
			}
			if vms := vmsOf(t, ready); len(vms) != 2 {
				t.Errorf("vCenter has %d VMs, want 2: source and clone: %+v", len(vms), vms)
			}
		})
	}
}
