// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// machine returns a running virtual machine with two interfaces and a probe of port 22.
func machine(change ...func(*vmv1alpha1.VirtualMachine)) *vmv1alpha1.VirtualMachine {
	vm := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "vm", Generation: 1}}
	vm.Spec.ReadinessProbe = &vmv1alpha1.VirtualMachineReadinessProbe{TCPSocket: &vmv1alpha1.TCPSocketAction{Port: 22}, PeriodSeconds: 20, TimeoutSeconds: 3}
	vm.Status.PowerState = vmv1alpha1.PoweredOn
	vm.Status.Network = &vmv1alpha1.VirtualMachineNetworkStatus{
		PrimaryIP4: "10.0.0.5", PrimaryIP6: "fd00::5",
		Interfaces: []vmv1alpha1.VirtualMachineNetworkInterfaceStatus{
			{IPAddresses: []string{"10.0.0.5/24", "fd00::5/64", "fe80::5/64"}},
			{IPAddresses: []string{"192.0.2.5/24", "169.254.169.254/32"}},
		},
	}
	for _, f := range change {
		f(vm)
	}
	return vm
}

func host(ip string) func(*vmv1alpha1.VirtualMachine) {
	return func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.ReadinessProbe.TCPSocket.Host = ip }
}

func TestTargetOf_AllowsOnlyAddressesOfTheGuest(t *testing.T) {
	for _, test := range []struct {
		name string
		vm   *vmv1alpha1.VirtualMachine
		want string // address, or part of the error
	}{
		{"the primary address", machine(), "10.0.0.5:22"},
		{"IPv6 if there is no IPv4 address", machine(func(vm *vmv1alpha1.VirtualMachine) { vm.Status.Network.PrimaryIP4 = "" }), "[fd00::5]:22"},
		{"another address of the guest", machine(host("192.0.2.5")), "192.0.2.5:22"},
		{"another spelling", machine(host("::ffff:192.0.2.5")), "192.0.2.5:22"},
		{"an address of another guest", machine(host("10.0.0.6")), "not an address that the guest"},
		{"a name", machine(host("kubernetes.default.svc")), "host names are not supported"},
	} {
		target, err := TargetOf(test.vm)
		var got string
		switch {
		case err != nil:
			got = err.Error()
		case target != nil:
			got = target.Address.String()
		}
		if (err != nil) != strings.Contains(test.want, " ") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestTargetOf_RequiresARunningVMWithAnAddress(t *testing.T) {
	for name, change := range map[string]func(*vmv1alpha1.VirtualMachine){
		"without probe":         func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.ReadinessProbe = nil },
		"another kind of probe": func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.ReadinessProbe.TCPSocket = nil },
		"powered off":           func(vm *vmv1alpha1.VirtualMachine) { vm.Status.PowerState = vmv1alpha1.PoweredOff },
		"suspended":             func(vm *vmv1alpha1.VirtualMachine) { vm.Status.PowerState = vmv1alpha1.Suspended },
		"not known":             func(vm *vmv1alpha1.VirtualMachine) { vm.Status.PowerState = "" },
		"without network":       func(vm *vmv1alpha1.VirtualMachine) { vm.Status.Network = nil },
		"without an address":    func(vm *vmv1alpha1.VirtualMachine) { vm.Status.Network = &vmv1alpha1.VirtualMachineNetworkStatus{} },
		"being deleted":         func(vm *vmv1alpha1.VirtualMachine) { vm.DeletionTimestamp = &metav1.Time{Time: time.Now()} },
	} {
		if target, err := TargetOf(machine(change)); target != nil || err != nil {
			t.Errorf("%s: %v, %v; want nothing", name, target, err)
		}
	}
}

func TestTargetOf_HasPeriodAndTimeoutOfTheProbe(t *testing.T) {
	got, _ := TargetOf(machine())
	want := &Target{Address: netip.MustParseAddrPort("10.0.0.5:22"), Period: 20 * time.Second, Timeout: 3 * time.Second}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
		t.Errorf("target (-want +got):\n%s", diff)
	}
}
