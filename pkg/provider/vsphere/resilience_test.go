// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine"
	"github.com/slipway-dev/slipway/test/simulated"
	"github.com/slipway-dev/slipway/test/vcenter"
)

// dropSessions ends all sessions except that of the test.
func dropSessions(t *testing.T, ready vcenter.Ready) {
	t.Helper()
	c := admin(t, ready)
	me, err := c.SessionManager.UserSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var m mo.SessionManager
	if err := mo.RetrieveProperties(t.Context(), c.Client, c.ServiceContent.PropertyCollector, *c.ServiceContent.SessionManager, &m); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, s := range m.SessionList {
		if s.Key != me.Key {
			ids = append(ids, s.Key)
		}
	}
	if len(ids) == 0 {
		t.Fatal("vCenter has no other session")
	}
	if err := c.SessionManager.TerminateSession(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
}

func TestSession_IsRenewedAfterItEnds(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	first := newRequest("first", libraryImage())
	l.until("the first VM runs", isRunning(first), first)

	dropSessions(t, ready)
	second := newRequest("second", libraryImage())
	l.until("the second VM runs", isRunning(second), second)
	first.VM.Spec.PowerState = vmv1alpha1.PoweredOff
	l.until("the first VM is off", func() bool { return first.VM.Status.PowerState == vmv1alpha1.PoweredOff }, first)
	if n := counted.snapshot()["CreatePropertyCollector"]; n < 2 {
		t.Errorf("the stream was created %d times, want it recreated after the session ended", n)
	}
	if err := p.Healthy(t.Context()); err != nil {
		t.Errorf("Healthy = %v", err)
	}
}

func TestSession_IsRenewedOnceForManyCreates(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	first := newRequest("warm", libraryImage())
	l.until("the VM runs", isRunning(first), first)
	dropSessions(t, ready)
	var reqs []*provider.Request
	for i := range 30 {
		reqs = append(reqs, newRequest(fmt.Sprintf("vm-%02d", i), libraryImage()))
	}
	l.until("all VMs run", isRunning(reqs...), reqs...)
	if got := len(inVCenter(t, ready)); got != 31 {
		t.Errorf("vCenter has %d VMs, want 31", got)
	}
}

func TestCreate_CreatesNoDuplicatesWhenTheProcessIsKilled(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	image := map[bool]*vmv1alpha1.VirtualMachineImage{true: libraryImage(), false: templateImage()}
	var reqs []*provider.Request
	for i := range 20 {
		reqs = append(reqs, newRequest(fmt.Sprintf("vm-%02d", i), image[i%2 == 0]))
	}
	released, killer := make(chan struct{}), &killAfterDeployments{deploys: 3}
	first := newProvider(t, settings{Options: engine.Options{Limits: engine.Limits{Creates: 20}}, Config: Config{
		URL: ready.URL, CAFile: ready.CAFile, Credentials: credentials,
		Datastore: "LocalDS_0", Network: "VM Network",
		OnCall: func(method string) {
			if killer.isKilled(method) {
				<-released // A killed process sends no further calls.
			}
		},
	}})
	stop := run(t, first)
	t.Cleanup(func() { close(released); stop() })
	eventually(t, "the inventory is read", first.inventory.Synced)
	for _, r := range reqs {
		r.Now = time.Now()
		if _, err := first.CreateOrUpdateVirtualMachineAsync(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the process is stopped", func() bool { return killer.isKilled("") })

	// The next process has the objects with their stored status.
	for _, r := range reqs {
		r.VM.Status = vmv1alpha1.VirtualMachineStatus{}
	}
	second, _ := startProvider(t, ready, nil)
	l := newLoop(t, second)
	l.until("all VMs run", isRunning(reqs...), reqs...)
	vms := inVCenter(t, ready) // fails for two VMs at one path
	if len(vms) != len(reqs) {
		t.Errorf("vCenter has %d VMs, want %d", len(vms), len(reqs))
	}
	ids := map[string]bool{}
	for _, vm := range vms {
		ids[vm.Config.InstanceUuid] = true
	}
	for _, r := range reqs {
		if !ids[string(r.VM.UID)] {
			t.Errorf("no VM has the instance UUID of %s", r.VM.Name)
		}
	}
}

// killAfterDeployments stops a process after its third deployment was sent.
type killAfterDeployments struct {
	calls
	deploys int
}

func (d *killAfterDeployments) isKilled(method string) bool {
	n := d.snapshot()["rest.DeployLibraryItem"]
	d.count(method)
	return n >= d.deploys
}

func TestCreate_DoesNotChangeAForeignVMAtItsPath(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	first := newRequest("web", libraryImage())
	l.until("the VM runs", isRunning(first), first)
	other := newRequest("web", libraryImage()) // another UID, as after a deletion that kept the VM
	l.until("the conflict is reported", func() bool {
		return reason(&other.VM.Status, vmv1alpha1.ConditionCreated) == "False Error"
	}, other)
	if got := len(inVCenter(t, ready)); got != 1 {
		t.Errorf("vCenter has %d VMs, want the first one only", got)
	}
}

// A user who can create a VM can set spec.instanceUUID.
func TestAdoption_RefusesAVMOfAnotherObject(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	victim := newRequest("web", libraryImage())
	l.until("the VM runs", isRunning(victim), victim)
	thief := newRequest("thief", libraryImage())
	thief.VM.Namespace = "team-b"
	thief.VM.Spec.InstanceUUID, thief.VM.Spec.PowerState = string(victim.VM.UID), vmv1alpha1.PoweredOff
	ch, err := p.CreateOrUpdateVirtualMachineAsync(t.Context(), thief)
	if ch != nil || !provider.IsNoRequeue(err) || reason(&thief.VM.Status, vmv1alpha1.ConditionCreated) != "False Invalid" {
		t.Errorf("reconcile = %v, Created %s; want a NoRequeueError, Invalid and no operation", err, reason(&thief.VM.Status, vmv1alpha1.ConditionCreated))
	}
	if thief.VM.Status.UniqueID != "" || thief.VM.Status.Network != nil {
		t.Errorf("status %+v describes another object's VM", thief.VM.Status)
	}
}

func TestPrerequisites_AreReportedTogether(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, func(c *settings) { c.Datastore, c.ResourcePool = "nope", "nopool" })
	l := newLoop(t, p)
	req := newRequest("web", templateImage())
	req.Image.Spec.Template.InventoryPath = "templates/none"
	req.Effective.Network.Interfaces[0].Network = "nonet"
	l.until("the create has failed", func() bool {
		return reason(&req.VM.Status, vmv1alpha1.ConditionCreated) == "False Error"
	}, req)
	got := map[string]string{}
	for _, c := range req.VM.Status.Conditions {
		got[c.Type] = c.Reason + ": " + c.Message
	}
	want := map[string]string{
		vmv1alpha1.ConditionPlacementReady: `NotFound: vSphere has no resource pool "nopool"`,
		vmv1alpha1.ConditionStorageReady:   `NotFound: vSphere has no datastore "nope"`,
		vmv1alpha1.ConditionNetworkReady:   `NotFound: vSphere has no network "nonet"`,
		vmv1alpha1.ConditionImageReady:     `NotFound: vSphere has no template "/DC0/vm/templates/none"`,
		vmv1alpha1.ConditionCreated: "Error: vSphere has no resource pool \"nopool\"; vSphere has no datastore \"nope\"; " +
			"vSphere has no network \"nonet\"; vSphere has no template \"/DC0/vm/templates/none\"",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	// The controller sets the condition of the image object in every reconcile.
	before := req.VM.Status.DeepCopy()
	req.Now = time.Now().Add(time.Second)
	said := provider.Result{}
	said.True(vmv1alpha1.ConditionImageReady)
	said.Apply(&req.VM.Status, req.VM.Generation, req.Now)
	_, err := p.CreateOrUpdateVirtualMachineAsync(t.Context(), req)
	if diff := cmp.Diff(before, &req.VM.Status); diff != "" {
		t.Errorf("a reconcile without a change in vSphere changed the status (-before +after):\n%s", diff)
	}
	if err == nil {
		t.Error("the failed create was repeated immediately")
	} else if after, ok := provider.AsRequeue(err); !ok || after <= 0 {
		t.Errorf("the reconcile after a failed create = %v, want a RequeueError with a delay", err)
	}
}

func TestExternalChanges_CauseEvents(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("web", libraryImage())
	l.until("the VM runs", isRunning(req), req)
	c := admin(t, ready)
	ref := types.ManagedObjectReference{Type: "VirtualMachine", Value: req.VM.Status.UniqueID}
	if _, err := methods.PowerOffVM_Task(t.Context(), c.Client, &types.PowerOffVM_Task{This: ref}); err != nil {
		t.Fatal(err)
	}
	wasOff := false
	l.until("the power-off is observed and the VM runs again", func() bool {
		wasOff = wasOff || req.VM.Status.PowerState == vmv1alpha1.PoweredOff
		return wasOff && isRunning(req)()
	}, req)
}

func TestPause_PreventsChangesAndDeletion(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("web", libraryImage())
	l.until("the VM runs", isRunning(req), req)
	ref := types.ManagedObjectReference{Type: "VirtualMachine", Value: req.VM.Status.UniqueID}
	if err := p.driver.actor.Reconfigure(t.Context(), ref, types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{
		&types.OptionValue{Key: vmv1alpha1.ExtraConfigPausedKey, Value: "TRUE"},
	}}); err != nil {
		t.Fatal(err)
	}
	req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
	if ch, err := p.CreateOrUpdateVirtualMachineAsync(t.Context(), req); ch != nil || !errors.Is(err, provider.ErrPaused) {
		t.Errorf("reconcile = %v, want ErrPaused", err)
	}
	if err := p.DeleteVirtualMachine(t.Context(), req); !errors.Is(err, provider.ErrPaused) {
		t.Errorf("delete = %v, want ErrPaused", err)
	}
}

func TestSoftPowerOff_ShutsDownTheGuest(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, func(c *settings) { c.GracePeriod = 200 * time.Millisecond })
	l := newLoop(t, p)
	req := newRequest("web", libraryImage())
	req.VM.Spec.PowerOffMode = vmv1alpha1.PowerOpModeSoft
	l.until("the VM runs", isRunning(req), req)
	req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
	l.until("the VM is off", func() bool { return req.VM.Status.PowerState == vmv1alpha1.PoweredOff }, req)
	if n := counted.snapshot(); n["ShutdownGuest"] != 1 || n["PowerOffVM_Task"] != 0 {
		t.Errorf("calls = %v, want one ShutdownGuest and no PowerOffVM_Task", n)
	}
	l.remove(req)
}

// The guest shuts down although the response to the request was lost.
func TestPowerOff_WaitsForAGuestThatMayHaveReceivedTheRequest(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("web", libraryImage())
	req.VM.Spec.PowerOffMode = vmv1alpha1.PowerOpModeTrySoft
	l.until("the VM runs", isRunning(req), req)
	const answer = "answer.ShutdownGuest"
	control(t, ready, http.MethodPut, "/hold?method="+answer)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for blockedCalls(t, ready, answer) == 0 && t.Context().Err() == nil {
			<-time.After(20 * time.Millisecond)
		}
		control(t, ready, http.MethodPost, "/outage?seconds=1")
		control(t, ready, http.MethodDelete, "/hold?method="+answer)
	}()
	req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
	l.until("the VM is off", func() bool { return req.VM.Status.PowerState == vmv1alpha1.PoweredOff }, req)
	<-done
	if n := counted.snapshot(); n["PowerOffVM_Task"] != 0 {
		t.Errorf("calls = %v, want no PowerOffVM_Task during the grace period", n)
	}
}

// The deletion must not wait forever for a guest that does not respond. Here the guest has not booted yet.
func TestDeletion_DoesNotWaitForAnUnresponsiveGuest(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t, func(o *vcenter.Options) { o.GuestBootDelay = time.Hour })
	p, counted := startProvider(t, ready, func(c *settings) { c.GracePeriod = 200 * time.Millisecond })
	l := newLoop(t, p)
	req := newRequest("web", libraryImage())
	req.VM.Spec.PowerOffMode = vmv1alpha1.PowerOpModeSoft
	l.until("the VM is on", func() bool { return req.VM.Status.PowerState == vmv1alpha1.PoweredOn }, req)
	l.remove(req)
	if n := counted.snapshot(); n["PowerOffVM_Task"] != 1 || n["Destroy_Task"] != 1 {
		t.Errorf("calls = %v, want one PowerOffVM_Task and one Destroy_Task", n)
	}
}

// The guest receives the shutdown request but does not shut down.
func TestDeletion_WaitsForTheGuestForTheGracePeriod(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, func(c *settings) { c.GracePeriod = time.Hour })
	l := newLoop(t, p)
	req := newRequest("web", libraryImage())
	req.VM.Spec.PowerOffMode = vmv1alpha1.PowerOpModeHard
	req.VM.Spec.Deletion = &vmv1alpha1.VirtualMachineDeletion{PowerOffMode: vmv1alpha1.PowerOpModeSoft, TimeoutSeconds: 1}
	l.until("the VM runs", isRunning(req), req)
	simulated.Control(t, ready, http.MethodPut, "/vm/guest?ignores=true&vm="+req.VM.Status.UniqueID)
	l.remove(req)
	if n := counted.snapshot(); n["ShutdownGuest"] != 1 || n["PowerOffVM_Task"] != 1 || n["Destroy_Task"] != 1 {
		t.Errorf("calls = %v, want one ShutdownGuest, then one PowerOffVM_Task and one Destroy_Task", n)
	}
}

func TestUntrustedCertificate_IsRefused(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	for name, c := range map[string]Config{
		"another thumbprint": {Thumbprint: strings.Repeat("ab", 32)},
		"an unknown CA":      {},
	} {
		t.Run(name, func(t *testing.T) {
			c.URL, c.Credentials = ready.URL, credentials
			p := newProvider(t, settings{Config: c})
			if err := p.Healthy(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
				t.Errorf("Healthy = %v, want a refusal of the certificate", err)
			}
		})
	}
	t.Run("the correct thumbprint", func(t *testing.T) {
		p, _ := startProvider(t, ready, func(c *settings) { c.CAFile, c.Thumbprint = "", ready.Thumbprint })
		eventually(t, "the provider is healthy", func() bool { return p.Healthy(t.Context()) == nil })
	})
}
