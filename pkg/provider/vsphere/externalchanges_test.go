// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/test/vcenter"
)

// victim is a virtual machine that is changed in vCenter.
type victim struct {
	t     *testing.T
	ready vcenter.Ready
	p     *Provider
	l     *loop
	req   *provider.Request
	// vm is the VM in an administrator's session, with its original managed object ID.
	vm *object.VirtualMachine
	// eventResponse is the response to an event. undo uses it.
	eventResponse string
}

// event sends a request to the simulator. %s in path is replaced by the managed object ID.
func (v *victim) event(method, path string) {
	v.t.Helper()
	if strings.Contains(path, "%s") {
		path = fmt.Sprintf(path, v.vm.Reference().Value)
	}
	v.eventResponse = strings.Trim(ask(v.t, v.ready, method, path), "\"\n")
}

func (v *victim) reconfigure(spec types.VirtualMachineConfigSpec) { reconfigure(v.t, v.vm, spec) }

func (v *victim) await(task *object.Task, err error) {
	v.t.Helper()
	if err == nil {
		err = task.Wait(v.t.Context())
	}
	if err != nil {
		v.t.Fatal(err)
	}
}

// reported returns a summary of the status.
func (v *victim) reported() string {
	st := &v.req.VM.Status
	return fmt.Sprintf("%s, Created %s, ConfigurationSynced %s", st.PowerState,
		reason(st, vmv1alpha1.ConditionCreated), reason(st, vmv1alpha1.ConditionConfigurationSynced))
}

const (
	synchronized = "PoweredOn, Created True Succeeded, ConfigurationSynced True Succeeded"
	unreadable   = "PoweredOn, Created True Succeeded, ConfigurationSynced Unknown UnknownState"
	missingVM    = "PoweredOn, Created Unknown Missing, ConfigurationSynced True Succeeded"
	copyFound    = "PoweredOn, Created Unknown CopyFound, ConfigurationSynced True Succeeded"
	adminFolder  = "/DC0/vm/elsewhere"
)

// externalChange is a change of a running VM by an administrator or by vCenter.
type externalChange struct {
	name  string
	event func(*victim)
	// reported is the status after the event. It is empty if the status differs for a short time only.
	reported string
	// check checks further results.
	check func(*victim)
	// undo reverts the event. Afterwards the status must be allWell.
	undo func(*victim)
	// hasNewID is true if the VM has a new managed object ID afterwards.
	hasNewID bool
}

var externalChanges = []externalChange{
	{name: "its datastore is inaccessible", reported: unreadable,
		event: func(v *victim) { v.event(http.MethodPost, "/vm/hide?vm=%s&state=inaccessible") },
		undo:  func(v *victim) { v.event(http.MethodPost, "/vm/show?vm=%s") }},
	{name: "its host is disconnected", reported: unreadable,
		event: func(v *victim) { v.event(http.MethodPost, "/vm/hide?vm=%s&state=disconnected") },
		undo:  func(v *victim) { v.event(http.MethodPost, "/vm/show?vm=%s") }},
	{name: "it is orphaned", reported: unreadable,
		event: func(v *victim) { v.event(http.MethodPost, "/vm/hide?vm=%s&state=orphaned") },
		undo:  func(v *victim) { v.event(http.MethodPost, "/vm/show?vm=%s") }},
	{name: "it is invalid", reported: unreadable,
		event: func(v *victim) { v.event(http.MethodPost, "/vm/hide?vm=%s&state=invalid") },
		undo:  func(v *victim) { v.event(http.MethodPost, "/vm/show?vm=%s") }},
	{name: "all permissions on it are revoked", reported: unreadable,
		event: func(v *victim) { v.event(http.MethodPut, "/permissions?entity=%s&only=") },
		undo:  func(v *victim) { v.event(http.MethodDelete, "/permissions?entity=%s") }},
	{name: "it is unregistered and registered again", reported: "PoweredOff, Created Unknown Missing, ConfigurationSynced True Succeeded", hasNewID: true,
		event: func(v *victim) {
			v.req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
			v.l.until("the VM is off", func() bool { return v.req.VM.Status.PowerState == vmv1alpha1.PoweredOff }, v.req)
			v.event(http.MethodPost, "/vm/unregister?vm=%s")
		},
		undo: func(v *victim) {
			v.req.VM.Spec.PowerState = vmv1alpha1.PoweredOn
			v.event(http.MethodPost, "/vm/register?folder=/DC0/vm/slipway/team-a&path="+url.QueryEscape(v.eventResponse))
		}},
	{name: "it is renumbered by a restore of vCenter", reported: copyFound, hasNewID: true,
		event: func(v *victim) { v.event(http.MethodPost, "/vm/renumber?vm=%s") },
		undo:  (*victim).confirm},
	{name: "it gets another instance UUID", reported: synchronized,
		event: func(v *victim) { v.reconfigure(types.VirtualMachineConfigSpec{InstanceUuid: uuid.NewString()}) },
		check: func(v *victim) {
			if got := v.req.VM.Status.InstanceUUID; got != string(v.req.VM.UID) {
				v.t.Errorf("instance UUID %s, want the object's", got)
			}
		}},
	{name: "it is moved out of the managed folder", reported: synchronized,
		event: func(v *victim) { v.event(http.MethodPost, "/vm/move?folder="+adminFolder+"&vm=%s") },
		check: func(v *victim) {
			v.l.until("status reports the move", func() bool {
				return reason(&v.req.VM.Status, vmv1alpha1.ConditionLocationValid) == "False Moved"
			}, v.req)
			v.powerOff()
			v.l.until("the VM is managed in its new folder", func() bool { return v.req.VM.Status.PowerState == vmv1alpha1.PoweredOff }, v.req)
			v.l.until("the VM is powered on", isRunning(v.req), v.req)
		},
		undo: func(v *victim) { v.event(http.MethodPost, "/vm/move?folder=/DC0/vm/slipway/team-a&vm=%s") }},
	{name: "it is renamed", reported: synchronized,
		event: func(v *victim) { v.await(v.vm.Rename(v.t.Context(), "renamed")) },
		check: func(v *victim) {
			v.l.until("the name is corrected", func() bool { return v.p.inventory.Get(v.vm.Reference()).Name == v.req.VM.Name }, v.req)
		}},
	{name: "it is powered off manually", reported: synchronized, event: func(v *victim) { v.powerOff() }},
	{name: "it is suspended manually", reported: synchronized, event: func(v *victim) { v.await(v.vm.Suspend(v.t.Context())) }},
	{name: "it is reset manually", reported: synchronized, event: func(v *victim) { v.await(v.vm.Reset(v.t.Context())) }},
	{name: "its CPUs are changed while it is off", reported: synchronized,
		event: func(v *victim) {
			v.powerOff()
			v.reconfigure(types.VirtualMachineConfigSpec{NumCPUs: 1})
			// If the VM is powered on before the change is observed, it has one CPU until the next power cycle.
			v.awaitInventory(func(vm *mo.VirtualMachine) bool { return vm.Config.Hardware.NumCPU == 1 })
		},
		check: func(v *victim) {
			if got := v.p.inventory.Get(v.vm.Reference()).Config.Hardware.NumCPU; got != 2 {
				v.t.Errorf("%d CPUs, want 2", got)
			}
		}},
	{name: "its owner key is removed", reported: synchronized,
		event: func(v *victim) { v.setKey(observe.OwnerKey, "") },
		check: func(v *victim) {
			v.l.until("the key is set again", func() bool {
				o, ok := observe.OwnerOf(v.p.inventory.Get(v.vm.Reference()))
				return ok && o.UID == string(v.req.VM.UID)
			}, v.req)
		}},
	{name: "its owner key is changed to another object", reported: ", Created False Invalid, ConfigurationSynced True Succeeded",
		event: func(v *victim) { v.setKey(observe.OwnerKey, "team-b/other/"+uuid.NewString()) },
		undo: func(v *victim) {
			v.setKey(observe.OwnerKey, observe.Owner{Key: keyOf(v.req), UID: string(v.req.VM.UID)}.String())
		}},
	{name: "an administrator pauses it", reported: synchronized,
		event: func(v *victim) { v.setKey(vmv1alpha1.ExtraConfigPausedKey, "TRUE"); v.awaitInventory(observe.IsPaused) },
		check: func(v *victim) {
			v.powerOff()
			v.awaitInventory(func(vm *mo.VirtualMachine) bool {
				return vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOff
			})
			if ch, err := v.p.CreateOrUpdateVirtualMachineAsync(v.t.Context(), v.req); ch != nil || !errors.Is(err, provider.ErrPaused) {
				v.t.Errorf("reconcile = %v, want ErrPaused and no operation", err)
			}
		},
		undo: func(v *victim) {
			v.setKey(vmv1alpha1.ExtraConfigPausedKey, "")
			v.awaitInventory(func(vm *mo.VirtualMachine) bool { return !observe.IsPaused(vm) })
		}},
	{name: "an adapter is removed", reported: synchronized,
		event: func(v *victim) {
			if err := v.vm.RemoveDevice(v.t.Context(), false, adapters(v.t, v.vm)[0]); err != nil {
				v.t.Fatal(err)
			}
		},
		check: func(v *victim) {
			v.l.until("it is added again", func() bool { return v.reported() == synchronized && len(adapters(v.t, v.vm)) == 1 }, v.req)
		}},
	{name: "an adapter is added", reported: "PoweredOn, Created True Succeeded, ConfigurationSynced False RestartRequired",
		event: func(v *victim) {
			card := &types.VirtualVmxnet3{}
			card.Key, card.Backing = -1, adapters(v.t, v.vm)[0].GetVirtualDevice().Backing
			if err := v.vm.AddDevice(v.t.Context(), card); err != nil {
				v.t.Fatal(err)
			}
		},
		check: func(v *victim) {
			if n := len(adapters(v.t, v.vm)); n != 2 {
				v.t.Errorf("%d adapters while the VM runs, want 2", n)
			}
		},
		undo: func(v *victim) { v.powerOff() }},
	{name: "a snapshot is taken", reported: synchronized,
		event: func(v *victim) { v.await(v.vm.CreateSnapshot(v.t.Context(), "by-hand", "", false, false)) }},
	{name: "it is cloned in its folder", reported: synchronized,
		event: func(v *victim) {
			folder, err := find.NewFinder(v.vm.Client()).Folder(v.t.Context(), "/DC0/vm/slipway/team-a")
			if err != nil {
				v.t.Fatal(err)
			}
			v.await(v.vm.Clone(v.t.Context(), folder, "copy-of-"+v.req.VM.Name, types.VirtualMachineCloneSpec{}))
		}},
	{name: "vSphere asks a question", reported: synchronized,
		event: func(v *victim) {
			v.event(http.MethodPost, "/vm/ask?text=moved+or+copied&choice=moved&choice=copied&vm=%s")
		},
		check: func(v *victim) {
			v.l.until("status reports the question", func() bool {
				return strings.HasPrefix(reason(&v.req.VM.Status, vmv1alpha1.ConditionQuestionsAnswered), "False")
			}, v.req)
		},
		undo: func(v *victim) {
			var now mo.VirtualMachine
			if err := v.vm.Properties(v.t.Context(), v.vm.Reference(), []string{"runtime.question"}, &now); err != nil {
				v.t.Fatal(err)
			}
			q := now.Runtime.Question
			if err := v.vm.Answer(v.t.Context(), q.Id, q.Choice.ChoiceInfo[0].GetElementDescription().Key); err != nil {
				v.t.Fatal(err)
			}
			v.l.until("no question is pending", func() bool { return reason(&v.req.VM.Status, vmv1alpha1.ConditionQuestionsAnswered) == "" }, v.req)
		}},
}

// awaitInventory waits until what returns true for the VM in the inventory.
func (v *victim) awaitInventory(what func(*mo.VirtualMachine) bool) {
	v.t.Helper()
	eventually(v.t, "the inventory has the state", func() bool { return what(v.p.inventory.Get(v.vm.Reference())) })
}

// confirm confirms, like virtctl adopt --copies, that the copy is the object's VM.
func (v *victim) confirm() {
	v.t.Helper()
	v.l.until("the copy is reported", func() bool { return v.reported() == copyFound }, v.req)
	for _, vm := range vmsOf(v.t, v.ready) {
		if vm.Name == v.req.VM.Name {
			v.req.VM.Annotations = map[string]string{vmv1alpha1.AnnotationConfirmedMissing: v.req.VM.Status.UniqueID + "=" + vm.ID}
		}
	}
}

// moveToOtherHost moves vm to a host other than the given one.
func (v *victim) moveToOtherHost(vm *object.VirtualMachine, host *object.HostSystem) {
	v.t.Helper()
	hosts, err := find.NewFinder(vm.Client()).HostSystemList(v.t.Context(), "/DC0/host/DC0_C0/*")
	if err != nil {
		v.t.Fatal(err)
	}
	at := slices.IndexFunc(hosts, func(h *object.HostSystem) bool { return h.Reference() != host.Reference() })
	v.await(vm.Relocate(v.t.Context(), types.VirtualMachineRelocateSpec{Host: new(hosts[at].Reference())}, types.VirtualMachineMovePriorityDefaultPriority))
}

func (v *victim) powerOff() { v.await(v.vm.PowerOff(v.t.Context())) }

func (v *victim) setKey(key, value string) {
	v.reconfigure(types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: key, Value: value}}})
}

func TestExternalChanges_AreReportedAndCorrected(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	root, err := find.NewFinder(admin(t, ready).Client).Folder(t.Context(), "/DC0/vm")
	if err == nil {
		_, err = root.CreateFolder(t.Context(), "elsewhere")
	}
	if err != nil {
		t.Fatal(err)
	}
	for n, tc := range append(externalChanges, externalLocationChanges...) {
		t.Run(strings.ReplaceAll(tc.name, " ", "-"), func(t *testing.T) {
			req := newRequest(fmt.Sprintf("vm-%02d", n), templateImage())
			l.until("the VM runs", isRunning(req), req)
			first := req.VM.Status.UniqueID
			v := &victim{t: t, ready: ready, p: p, l: l, req: req,
				vm: object.NewVirtualMachine(admin(t, ready).Client, types.ManagedObjectReference{Type: "VirtualMachine", Value: first})}
			before := counted.snapshot()
			tc.event(v)
			l.until("status reports "+tc.reported, func() bool { return v.reported() == tc.reported }, req)
			if tc.check != nil {
				tc.check(v)
			}
			if id := req.VM.Status.UniqueID; (id == "") != strings.Contains(tc.reported, "Created False") {
				t.Errorf("uniqueID %q while %s", id, v.reported())
			}
			if tc.undo != nil {
				tc.undo(v)
				l.until("the VM is synchronized again", func() bool { return v.reported() == synchronized && isRunning(req)() }, req)
			}
			if id := req.VM.Status.UniqueID; (id != first) != tc.hasNewID {
				t.Errorf("the VM is %s, want %s", id, first)
			}
			after := counted.snapshot()
			if made, destroyed := after["CloneVM_Task"]-before["CloneVM_Task"], after["Destroy_Task"]-before["Destroy_Task"]; made+destroyed != 0 {
				t.Errorf("%d VMs were created and %d destroyed", made, destroyed)
			}
			l.remove(req)
			for _, left := range vmsOf(t, ready) {
				if left.InstanceUUID == string(req.VM.UID) {
					t.Errorf("VM %s still exists after the deletion of its object", left.ID)
				}
			}
		})
	}
	copies := 0
	for _, vm := range vmsOf(t, ready) {
		if strings.HasPrefix(vm.Name, "copy-of-") {
			copies++
		}
	}
	if copies != 1 {
		t.Errorf("%d manual copies exist, want 1", copies)
	}
}

// An unreachable VM is neither destroyed nor recreated. The deletion of its object waits.
func TestDeletion_WaitsForAnUnreachableVM(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	for _, state := range []string{"inaccessible", "orphaned", "disconnected", "invalid"} {
		t.Run(state, func(t *testing.T) {
			req := newRequest("vm-"+state, templateImage())
			l.until("the VM runs", isRunning(req), req)
			id := req.VM.Status.UniqueID
			control(t, ready, http.MethodPost, "/vm/hide?state="+state+"&vm="+id)
			l.until("the VM is unreachable", func() bool {
				return reason(&req.VM.Status, vmv1alpha1.ConditionConfigurationSynced) == "Unknown UnknownState"
			}, req)
			before := counted.snapshot()["Destroy_Task"]
			err := p.DeleteVirtualMachine(t.Context(), req)
			if !provider.IsNoRequeue(err) || !strings.Contains(err.Error(), id) {
				t.Errorf("deletion = %v, want it to wait with a reason", err)
			}
			if n := counted.snapshot()["Destroy_Task"] - before; n != 0 {
				t.Errorf("Destroy_Task was called %d times", n)
			}
			if state == "orphaned" {
				req.VM.Annotations = map[string]string{vmv1alpha1.AnnotationUnregister: ""}
				l.remove(req)
				if n := counted.snapshot()["UnregisterVM"]; n != 1 {
					t.Errorf("UnregisterVM was called %d times, want once, as requested", n)
				}
				return
			}
			control(t, ready, http.MethodPost, "/vm/show?vm="+id)
			ref := types.ManagedObjectReference{Type: "VirtualMachine", Value: id}
			eventually(t, "the inventory has the recovery", func() bool { return observe.Trouble(p.inventory.Get(ref)) == "" })
			l.remove(req)
			if n := counted.snapshot()["Destroy_Task"] - before; n != 1 {
				t.Errorf("Destroy_Task was called %d times after the recovery, want once", n)
			}
		})
	}
}
