// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"errors"
	"testing"
	"time"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/test/vcenter"
)

// addNetwork creates a distributed port group.
func addNetwork(t *testing.T, ready vcenter.Ready, name string) {
	t.Helper()
	c := admin(t, ready)
	f := find.NewFinder(c.Client)
	net, err := f.Network(t.Context(), "/DC0/network/DVS0")
	if err != nil {
		t.Fatal(err)
	}
	task, err := net.(*object.DistributedVirtualSwitch).AddPortgroup(t.Context(), []types.DVPortgroupConfigSpec{{
		Name: name, Type: string(types.DistributedVirtualPortgroupPortgroupTypeEarlyBinding), NumPorts: 8,
	}})
	if err == nil {
		err = task.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// reconcileAt reconciles req at the given time until no operation runs. It returns the requeue delay.
func reconcileAt(t *testing.T, p *Provider, req *provider.Request, now time.Time) time.Duration {
	t.Helper()
	for {
		req.Now = now
		ch, err := p.CreateOrUpdateVirtualMachineAsync(t.Context(), req)
		if ch == nil {
			after, ok := provider.AsRequeue(err)
			if !ok {
				after = -1
			}
			return after
		}
		if err := <-ch; err != nil {
			t.Fatal(err)
		}
	}
}

func TestMissingNetwork_IsCheckedAgainForAnExistingVM(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("web", libraryImage())
	l.until("the VM runs", isRunning(req), req)
	st := &req.VM.Status
	req.Effective.Network = req.Effective.Network.DeepCopy()
	req.Effective.Network.Interfaces[0].Network = "late"
	now := time.Now()
	var waits []time.Duration
	for range 7 {
		after := reconcileAt(t, p, req, now)
		if reason(st, vmv1alpha1.ConditionNetworkReady) != "False NotFound" || after <= 0 {
			t.Fatalf("NetworkReady = %s, requeued after %s", reason(st, vmv1alpha1.ConditionNetworkReady), after)
		}
		waits = append(waits, after)
		now = now.Add(after)
	}
	for i, w := range waits {
		if i > 0 && w < waits[i-1] || w > time.Minute {
			t.Errorf("requeued after %v, want increasing delays of at most a minute", waits)
			break
		}
	}
	addNetwork(t, ready, "late")
	if after := reconcileAt(t, p, req, now); after >= 0 || reason(st, vmv1alpha1.ConditionNetworkReady) != "True Succeeded" {
		t.Errorf("with the network NetworkReady = %s, requeued after %s; want no requeue", reason(st, vmv1alpha1.ConditionNetworkReady), after)
	}
}

func TestMissingNetwork_IsCheckedAgainForAWaitingVM(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	eventually(t, "the inventory is read", p.inventory.Synced)
	req := newRequest("web", nil)
	req.PrerequisitesReady = false
	req.Effective.Network = req.Effective.Network.DeepCopy()
	req.Effective.Network.Interfaces[0].Network = "late"
	now := time.Now()
	after := reconcileAt(t, p, req, now)
	if after <= 0 || after > time.Minute {
		t.Fatalf("requeued after %s, want at most a minute", after)
	}
	addNetwork(t, ready, "late")
	reconcileAt(t, p, req, now.Add(after))
	if got := reason(&req.VM.Status, vmv1alpha1.ConditionNetworkReady); got != "True Succeeded" {
		t.Errorf("NetworkReady = %s, want True Succeeded", got)
	}
	if _, err := p.CreateOrUpdateVirtualMachineAsync(t.Context(), req); errors.Is(err, provider.ErrUnknownState) {
		t.Error("the inventory is no longer synchronized")
	}
}

// A recreated distributed port group has the same name and another key.
func TestRecreatedNetwork_IsUsedWithItsNewKey(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	addNetwork(t, ready, "late")
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	on := func(name, network string) *provider.Request {
		req := newRequest(name, templateImage())
		req.Effective = req.Effective.DeepCopy()
		req.Effective.Network.Interfaces[0].Network = network
		return req
	}
	first, other := on("first", "late"), on("other", "")
	l.until("both VMs run", isRunning(first, other), first, other)
	l.remove(first)
	f := find.NewFinder(admin(t, ready).Client)
	old, err := f.Network(t.Context(), "/DC0/network/late")
	if err != nil {
		t.Fatal(err)
	}
	task, err := object.NewCommon(admin(t, ready).Client, old.Reference()).Destroy(t.Context())
	if err == nil {
		err = task.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	addNetwork(t, ready, "late")
	made, err := f.Network(t.Context(), "/DC0/network/late")
	if err != nil || made.Reference() == old.Reference() {
		t.Fatalf("the recreated network is %v, error %v", made, err)
	}
	// An adapter of a powered-off VM is changed immediately.
	other.VM.Spec.PowerState = vmv1alpha1.PoweredOff
	l.until("the VM is off", func() bool { return other.VM.Status.PowerState == vmv1alpha1.PoweredOff }, other)
	other.Effective = on("other", "late").Effective
	l.until("the VM is on the new network", func() bool {
		for _, vm := range inVCenter(t, ready) {
			for _, d := range vm.Config.Hardware.Device {
				nic, ok := d.(types.BaseVirtualEthernetCard)
				if !ok {
					continue
				}
				b, ok := nic.GetVirtualEthernetCard().Backing.(*types.VirtualEthernetCardDistributedVirtualPortBackingInfo)
				return ok && b.Port.PortgroupKey == made.Reference().Value
			}
		}
		return false
	}, other)
}

func TestNetworks_AreFoundByNameAndNotByPattern(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	for _, name := range []string{"prod[10]", "prod1", "pro?1", `a*`, "abc"} {
		addNetwork(t, ready, name)
	}
	p, _ := startProvider(t, ready, nil)
	portgroup := func(name string) string {
		found, err := p.resolver.Backings(t.Context(), []string{name}, nil)
		if err != nil {
			return err.Error()
		}
		backing, ok := found[name].(*types.VirtualEthernetCardDistributedVirtualPortBackingInfo)
		if !ok {
			t.Fatalf("%s has a %T", name, found[name])
		}
		var pg mo.DistributedVirtualPortgroup
		ref := types.ManagedObjectReference{Type: "DistributedVirtualPortgroup", Value: backing.Port.PortgroupKey}
		if err := admin(t, ready).RetrieveOne(t.Context(), ref, []string{"name"}, &pg); err != nil {
			t.Fatal(err)
		}
		return pg.Name
	}
	for name, want := range map[string]string{
		"prod[10]":                "prod[10]",
		"/DC0/network/prod[10]":   "prod[10]",
		"pro?1":                   "pro?1",
		"a*":                      "a*",
		"*":                       `vSphere has no network "*"`,
		"ab?":                     `vSphere has no network "ab?"`,
		"a[1":                     `vSphere has no network "a[1"`,
		"VM*":                     `vSphere has no network "VM*"`,
		"...":                     `vSphere has no network "..."`,
		"/DC0/network/...":        `vSphere has no network "/DC0/network/..."`,
		"/DC0/network/../network": `vSphere has no network "/DC0/network/../network"`,
	} {
		if got := portgroup(name); got != want {
			t.Errorf("network %q is %q, want %q", name, got, want)
		}
	}
}
