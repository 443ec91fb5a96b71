// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/vm/addressclaim"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// pools assigns the addresses of the test and records its calls.
type pools struct {
	// give has the addresses by the name of the pool. err is returned for other pools.
	give map[string]string
	err  error
	// held is the problem of claims in use. failed is the error of releases.
	held   string
	failed error
	calls  []string
}

func (p *pools) Ensure(_ context.Context, _ *vmv1alpha1.VirtualMachine, c vmv1alpha1.ClaimedAddress) (vmv1alpha1.ClaimedAddress, error) {
	p.calls = append(p.calls, "claim "+c.Pool.Name)
	if c.Address = p.give[c.Pool.Name]; c.Address != "" {
		return c, nil
	}
	return c, p.err
}

func (p *pools) Problem(*vmv1alpha1.VirtualMachine, vmv1alpha1.ClaimedAddress) string { return p.held }

func (p *pools) Release(_ context.Context, _ *vmv1alpha1.VirtualMachine, c vmv1alpha1.ClaimedAddress) error {
	p.calls = append(p.calls, "release "+c.Pool.Name+" "+c.Address)
	return p.failed
}

func (p *pools) Run(context.Context, func(types.NamespacedName)) {}

// takeCalls returns the calls since the last call of take.
func (p *pools) takeCalls() []string {
	calls := p.calls
	p.calls = nil
	return calls
}

func pool(name string) vmv1alpha1.IPPoolReference {
	return vmv1alpha1.IPPoolReference{APIGroup: addressclaim.Group, Kind: "InClusterIPPool", Name: name}
}

// pooled returns a new virtual machine whose interface has addresses of pools.
func pooled(names ...string) *vmv1alpha1.VirtualMachine {
	return fresh(func(vm *vmv1alpha1.VirtualMachine) {
		vm.Spec.Network.Interfaces[0].AddressesFromPools = references(names...)
	})
}

func references(names ...string) []vmv1alpha1.IPPoolReference {
	var out []vmv1alpha1.IPPoolReference
	for _, n := range names {
		out = append(out, pool(n))
	}
	return out
}

// claimed returns the pools and addresses in the status.
func claimed(vm *vmv1alpha1.VirtualMachine) []string {
	var out []string
	for _, c := range vm.Status.ClaimedAddresses {
		out = append(out, strings.TrimSpace(c.Interface+" "+c.Pool.Name+" "+c.Address))
	}
	return out
}

func addressesReady(vm *vmv1alpha1.VirtualMachine) string {
	c := findCondition(vm, vmv1alpha1.ConditionAddressesReady)
	if c == nil {
		return ""
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Status, c.Reason, c.Message))
}

// Each step is stored before the next: the name of the claim, the claim, the address, the virtual machine.
func TestAddresses_AreStoredBeforeTheVMGetsThem(t *testing.T) {
	h := newHarness(t, pooled("front"), photon())
	h.pools.err = &addressclaim.WaitError{Message: "the claim waits"}
	created := func() bool { return h.provider.requests[len(h.provider.requests)-1].CanStartCreate }

	h.mustReconcile()
	if diff := cmp.Diff([]string(nil), h.pools.takeCalls()); diff != "" || created() {
		t.Errorf("first reconcile: calls %s, may be created %t; want only the name to be stored", diff, created())
	}
	if diff := cmp.Diff([]string{"eth0 front"}, claimed(h.vm())); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}

	h.mustReconcile()
	if diff := cmp.Diff([]string{"claim front"}, h.pools.takeCalls()); diff != "" || created() {
		t.Errorf("second reconcile: calls (-want +got):\n%s\nmay be created %t", diff, created())
	}
	if got := addressesReady(h.vm()); got != "False NotReady the claim waits" {
		t.Errorf("AddressesReady = %s", got)
	}
	if got := h.vm().Status.PrintableStatus; got != "AddressesNotReady" {
		t.Errorf("STATUS is %s", got)
	}

	h.pools.give = map[string]string{"front": "192.0.2.5/24"}
	h.mustReconcile()
	if created() {
		t.Error("a virtual machine may be created with an address that is not stored")
	}
	if diff := cmp.Diff([]string{"eth0 front 192.0.2.5/24"}, claimed(h.vm())); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	h.pools.takeCalls()

	h.mustReconcile()
	request := h.provider.requests[len(h.provider.requests)-1]
	if diff := cmp.Diff([]string{"192.0.2.5/24"}, request.Effective.Network.Interfaces[0].Addresses); diff != "" || !request.CanStartCreate {
		t.Errorf("addresses (-want +got):\n%s\nmay be created %t", diff, request.CanStartCreate)
	}
	if got := addressesReady(h.vm()); got != "True Succeeded" || len(h.pools.takeCalls()) != 0 {
		t.Errorf("AddressesReady = %s, want True and no calls", got)
	}
	if len(h.vm().Spec.Network.Interfaces[0].Addresses) != 0 {
		t.Error("the address was written into the spec")
	}
}

func TestAddresses_ReportTheReasonOfAWait(t *testing.T) {
	for name, tc := range map[string]struct {
		err     error
		want    string
		retried bool
	}{
		"an exhausted pool":     {&addressclaim.WaitError{Message: "PoolExhausted"}, "False NotReady PoolExhausted", false},
		"no contract":           {&addressclaim.NotServedError{}, "False NotFound " + (&addressclaim.NotServedError{}).Error(), false},
		"an address of another": {&addressclaim.InvalidError{Message: "is of another"}, "False Invalid is of another", false},
		"an unreachable server": {errors.New("connection refused"), "False Error connection refused", true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, pooled("front", "back"), photon())
			h.pools.err = tc.err
			h.mustReconcile()
			h.refresh()
			result, err := h.Reconcile(t.Context(), testKey)
			if got := addressesReady(h.vm()); got != tc.want {
				t.Errorf("AddressesReady = %s, want %s", got, tc.want)
			}
			if (err != nil) != tc.retried || !tc.retried && result.RequeueAfter != controller.Recheck {
				t.Errorf("result %+v, error %v; want a requeue", result, err)
			}
			if h.provider.requests[len(h.provider.requests)-1].CanStartCreate {
				t.Error("the virtual machine may be created without its addresses")
			}
		})
	}
}

func TestAddresses_AreReleasedWhenTheVMIsDeleted(t *testing.T) {
	h := newHarness(t, pooled("front", "back"), photon())
	h.pools.give = map[string]string{"front": "192.0.2.5/24", "back": "198.51.100.5/24"}
	h.mustReconcile()
	h.mustReconcile()
	h.api.edit("vm", func(vm *vmv1alpha1.VirtualMachine) {
		vm.Spec.Network.Interfaces[0].AddressesFromPools = references("back")
	})
	h.pools.takeCalls()
	h.mustReconcile()
	if diff := cmp.Diff([]string{"eth0 back 198.51.100.5/24", "eth0 front 192.0.2.5/24"}, claimed(h.vm())); diff != "" || len(h.pools.takeCalls()) != 0 {
		t.Errorf("an assigned address was not kept (-want +got):\n%s", diff)
	}

	h.api.markDeleted("vm")
	h.provider.remove = func(*provider.Request) error { return provider.ErrReconcileInProgress }
	h.mustReconcile()
	if got := h.pools.takeCalls(); len(got) != 0 {
		t.Errorf("released %v while the virtual machine exists", got)
	}
	h.provider.remove, h.pools.failed = nil, errors.New("connection refused")
	h.refresh()
	if _, err := h.Reconcile(t.Context(), testKey); err == nil || h.api.vm("vm") == nil {
		t.Errorf("error %v; want the object to stay while its addresses cannot be released", err)
	}
	h.pools.takeCalls()
	h.pools.failed = nil
	h.mustReconcile()
	if diff := cmp.Diff([]string{"release back 198.51.100.5/24", "release front 192.0.2.5/24"}, h.pools.takeCalls()); diff != "" {
		t.Errorf("released (-want +got):\n%s", diff)
	}
	if h.api.vm("vm") != nil {
		t.Error("the object still exists")
	}
}

func TestAddresses_ReleaseUnusedClaims(t *testing.T) {
	h := newHarness(t, pooled("front"), photon())
	h.pools.err = &addressclaim.WaitError{Message: "waits"}
	h.mustReconcile()
	h.mustReconcile()
	h.api.edit("vm", func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.Network.Interfaces[0].AddressesFromPools = nil })
	h.pools.takeCalls()
	h.mustReconcile()
	if diff := cmp.Diff([]string{"release front "}, h.pools.takeCalls()); diff != "" || claimed(h.vm()) != nil || addressesReady(h.vm()) != "" {
		t.Errorf("requests (-want +got):\n%s\nstored %v, AddressesReady %s", diff, claimed(h.vm()), addressesReady(h.vm()))
	}
}

func TestAddresses_ReportADeletedClaimInUse(t *testing.T) {
	h := newHarness(t, pooled("front"), photon())
	h.pools.give = map[string]string{"front": "192.0.2.5/24"}
	h.mustReconcile()
	h.mustReconcile()
	h.pools.takeCalls()
	h.pools.held = "the claim is being deleted"
	h.mustReconcile()
	if got := addressesReady(h.vm()); got != "False NotReady the claim is being deleted" || len(h.pools.takeCalls()) != 0 {
		t.Errorf("AddressesReady = %s, want the problem of the claim and no calls", got)
	}
	if diff := cmp.Diff([]string{"eth0 front 192.0.2.5/24"}, claimed(h.vm())); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
}
