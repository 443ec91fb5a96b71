// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/resource"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// streamBlocker blocks the stream of changes of a provider until the provider calls a method. Its inventory is
// outdated in the meantime.
type streamBlocker struct {
	until string

	mu      sync.Mutex
	unblock chan struct{} // not nil while changes are blocked
	blocked chan struct{} // not nil until the first change is blocked
}

func (b *streamBlocker) call(method string) {
	b.mu.Lock()
	unblock := b.unblock
	if method != "WaitForUpdatesEx" {
		if unblock != nil && b.blocked == nil && method == b.until {
			close(unblock)
			b.unblock = nil
		}
		b.mu.Unlock()
		return
	}
	if unblock != nil && b.blocked != nil {
		close(b.blocked)
		b.blocked = nil
	}
	b.mu.Unlock()
	if unblock != nil {
		<-unblock
	}
}

// begin blocks the stream and returns when the provider no longer receives changes.
func (b *streamBlocker) begin(t *testing.T) {
	t.Helper()
	blocked := make(chan struct{})
	b.mu.Lock()
	b.blocked, b.unblock = blocked, make(chan struct{})
	b.mu.Unlock()
	t.Cleanup(func() { b.call(b.until) })
	select {
	case <-blocked: // The wait that was running has ended without a change.
	case <-time.After(testTimeout):
		t.Fatal("the provider does not wait for changes")
	}
}

// startOutdated returns a loop, the request of a powered-off VM, and the VM in an administrator's session. The
// inventory of the loop's provider is outdated until the provider calls the method until.
func startOutdated(t *testing.T, until string) (*loop, *provider.Request, *object.VirtualMachine) {
	t.Helper()
	ready := startVCenter(t)
	b := &streamBlocker{until: until}
	p, _ := startProvider(t, ready, func(c *settings) { c.OnCall, c.MaxWait = b.call, 1 })
	l := newLoop(t, p)
	req := newRequest("web", libraryImage())
	req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
	l.until("the VM is off", func() bool {
		return isTrue(&req.VM.Status, vmv1alpha1.ConditionPowerStateSynced) && isTrue(&req.VM.Status, vmv1alpha1.ConditionConfigurationSynced)
	}, req)
	vm := object.NewVirtualMachine(admin(t, ready).Client, types.ManagedObjectReference{Type: "VirtualMachine", Value: req.VM.Status.UniqueID})
	eventually(t, "the inventory is up to date", func() bool {
		var now mo.VirtualMachine
		if err := vm.Properties(t.Context(), vm.Reference(), []string{"config.changeVersion", "runtime.powerState"}, &now); err != nil {
			t.Fatal(err)
		}
		record := p.inventory.Get(vm.Reference())
		return record.Config.ChangeVersion == now.Config.ChangeVersion && record.Runtime.PowerState == now.Runtime.PowerState
	})
	b.begin(t)
	return l, req, vm
}

func reconfigure(t *testing.T, vm *object.VirtualMachine, spec types.VirtualMachineConfigSpec) {
	t.Helper()
	task, err := vm.Reconfigure(t.Context(), spec)
	if err == nil {
		err = task.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func adapters(t *testing.T, vm *object.VirtualMachine) object.VirtualDeviceList {
	t.Helper()
	devices, err := vm.Device(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return devices.SelectByType((*types.VirtualEthernetCard)(nil))
}

func TestReconfiguration_FromAnOutdatedInventoryAddsNoDevice(t *testing.T) {
	t.Parallel()
	l, req, vm := startOutdated(t, "RetrieveProperties")
	first := adapters(t, vm)[0].(*types.VirtualVmxnet3)
	if err := vm.AddDevice(t.Context(), &types.VirtualVmxnet3{VirtualVmxnet: types.VirtualVmxnet{VirtualEthernetCard: types.VirtualEthernetCard{
		VirtualDevice: types.VirtualDevice{Key: -1, Backing: first.Backing},
	}}}); err != nil {
		t.Fatal(err)
	}
	req.Effective.Network = req.Effective.Network.DeepCopy()
	req.Effective.Network.Interfaces = append(req.Effective.Network.Interfaces, vmv1alpha1.VirtualMachineNetworkInterface{Name: "eth1"})
	req.Now = time.Now()
	ch, err := l.p.CreateOrUpdateVirtualMachineAsync(t.Context(), req)
	if ch == nil {
		t.Fatalf("no operation was started: %v", err)
	}
	if err := <-ch; vimfault.KindOf(err) != vimfault.WrongState {
		t.Errorf("adding an adapter after another client has changed the VM = %v, want a refusal", err)
	}
	l.until("the VM has both adapters", func() bool {
		return reason(&req.VM.Status, vmv1alpha1.ConditionConfigurationSynced) == "True Succeeded"
	}, req)
	if n := len(adapters(t, vm)); n != 2 {
		t.Errorf("the VM has %d adapters, want 2", n)
	}
}

// A snapshot changes the file of a disk and does not change config.changeVersion.
func TestReconfiguration_WithPreviousDiskFilesIsNotSent(t *testing.T) {
	t.Parallel()
	l, req, vm := startOutdated(t, "RetrieveProperties")
	snapshot(t, vm, "backup")
	req.Effective.BootDisk = &vmv1alpha1.VirtualMachineBootDisk{Capacity: ptr(resource.MustParse("40Gi"))}
	req.Now = time.Now()
	ch, err := l.p.CreateOrUpdateVirtualMachineAsync(t.Context(), req)
	if ch == nil {
		t.Fatalf("no operation was started: %v", err)
	}
	if err := <-ch; vimfault.KindOf(err) != vimfault.WrongState || !strings.Contains(err.Error(), "files of its disks, have changed") {
		t.Errorf("extending a disk whose file has changed = %v, want an error without a request", err)
	}
	l.until("the change is refused", func() bool { return reason(&req.VM.Status, vmv1alpha1.ConditionConfigurationSynced) == "False Invalid" }, req)
}

func TestDeletion_ReadsTheVMAgain(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		key, value string
		// keepsVM reports whether err is the result of a deletion that keeps the VM.
		keepsVM func(error) bool
	}{
		"an administrator paused it": {vmv1alpha1.ExtraConfigPausedKey, "TRUE", func(err error) bool { return errors.Is(err, provider.ErrPaused) }},
		"another object has it":      {observe.OwnerKey, "team-b/db/another", func(err error) bool { return err == nil }},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			l, req, vm := startOutdated(t, "RetrieveProperties")
			reconfigure(t, vm, types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: tc.key, Value: tc.value}}})
			req.Now = time.Now()
			if err := l.p.DeleteVirtualMachine(t.Context(), req); !errors.Is(err, provider.ErrReconcileInProgress) {
				t.Fatalf("delete = %v, want that vSphere is queried", err)
			}
			eventually(t, "the deletion waits", func() bool { return tc.keepsVM(l.p.DeleteVirtualMachine(t.Context(), req)) })
			if _, err := vm.ObjectName(t.Context()); err != nil {
				t.Errorf("the VM does not exist: %v", err)
			}
		})
	}
}

func TestPowerOn_FromAnOutdatedInventoryIsHarmless(t *testing.T) {
	t.Parallel()
	l, req, vm := startOutdated(t, "PowerOnVM_Task")
	task, err := vm.PowerOn(t.Context())
	if err == nil {
		err = task.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	// In the outdated inventory the VM is off.
	req.VM.Spec.PowerState = vmv1alpha1.PoweredOn
	l.until("the power-on is observed", func() bool {
		return req.VM.Status.PowerState == vmv1alpha1.PoweredOn && isTrue(&req.VM.Status, vmv1alpha1.ConditionPowerStateSynced)
	}, req)
}
