// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// hasMAC sets a VM's name and namespace, the MAC address in its spec, and the MAC address of its adapter.
func hasMAC(namespace, name, spec, adapter string) func(*vmv1alpha1.VirtualMachine) {
	return func(vm *vmv1alpha1.VirtualMachine) {
		vm.Namespace, vm.Name, vm.UID = namespace, name, ""
		vm.Spec.Network = &vmv1alpha1.VirtualMachineNetworkSpec{Interfaces: []vmv1alpha1.VirtualMachineNetworkInterface{{Name: "eth0", MACAddress: spec}}}
		vm.Status.Network = nil
		if adapter != "" {
			vm.Status.Network = &vmv1alpha1.VirtualMachineNetworkStatus{Interfaces: []vmv1alpha1.VirtualMachineNetworkInterfaceStatus{{MACAddress: adapter}}}
		}
	}
}

func TestMACAddresses_AreReportedIfSeveralVMsUseThem(t *testing.T) {
	const a, b = "00:50:56:00:00:0a", "00:50:56:00:00:0b"
	const end = "; set another macAddress, or none, in all but one"
	report := func(what string) string {
		return "False/Conflict: other virtual machines have the same MAC addresses: " + what + end
	}
	for name, tc := range map[string]struct {
		spec, adapter string
		others        []func(*vmv1alpha1.VirtualMachine)
		want          string
	}{
		"no other VM":             {a, a, nil, ""},
		"another address":         {a, a, []func(*vmv1alpha1.VirtualMachine){hasMAC("ns", "other", b, b)}, ""},
		"no address yet":          {"", "", []func(*vmv1alpha1.VirtualMachine){hasMAC("ns", "other", "", "")}, ""},
		"the same in the spec":    {a, "", []func(*vmv1alpha1.VirtualMachine){hasMAC("ns", "other", a, "")}, report(a + ` (also of VirtualMachine "other")`)},
		"in another letter case":  {"00:50:56:00:00:0A", a, []func(*vmv1alpha1.VirtualMachine){hasMAC("ns", "other", a, a)}, report(a + ` (also of VirtualMachine "other")`)},
		"chosen by vSphere":       {a, "", []func(*vmv1alpha1.VirtualMachine){hasMAC("ns", "other", "", a)}, report(a + ` (also of VirtualMachine "other")`)},
		"both chosen by vSphere":  {"", a, []func(*vmv1alpha1.VirtualMachine){hasMAC("ns", "other", "", a)}, report(a + ` (also of VirtualMachine "other")`)},
		"in another namespace":    {a, "", []func(*vmv1alpha1.VirtualMachine){hasMAC("tenant", "secret", a, "")}, report(a + " (also of a VirtualMachine in another namespace)")},
		"of the adapter and next": {b, a, []func(*vmv1alpha1.VirtualMachine){hasMAC("ns", "one", a, ""), hasMAC("ns", "two", b, "")}, report(b + ` (also of VirtualMachine "two"); ` + a + ` (also of VirtualMachine "one")`)},
		"many": {a, "", []func(*vmv1alpha1.VirtualMachine){hasMAC("ns", "1", a, ""), hasMAC("ns", "2", a, ""), hasMAC("ns", "3", a, ""), hasMAC("ns", "4", a, ""), hasMAC("tenant", "5", a, "")},
			report(a + ` (also of VirtualMachine "1", VirtualMachine "2", VirtualMachine "3", 2 more)`)},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []runtime.Object{photon(), fresh(hasMAC("ns", "vm", tc.spec, tc.adapter))}
			for _, other := range tc.others {
				objects = append(objects, fresh(other))
			}
			h := newHarness(t, objects...)
			h.mustReconcile()
			got := ""
			if c := findCondition(h.vm(), vmv1alpha1.ConditionMACAddressesUnique); c != nil {
				got = fmt.Sprintf("%s/%s: %s", c.Status, c.Reason, c.Message)
			}
			if got != tc.want {
				t.Errorf("MACAddressesUnique\n got %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestMACAddresses_QueueOtherVMsWhenTheyChange(t *testing.T) {
	const a, b = "00:50:56:00:00:0a", "00:50:56:00:00:0b"
	others := func(all []handedOut, but string) []string {
		var names []string
		for _, h := range byNameOf(all) {
			if h.Name != but {
				names = append(names, h.Name)
			}
		}
		return names
	}
	synctest.Test(t, func(t *testing.T) {
		c := assemble(t, stable(hasMAC("ns", "one", a, "")), stable(hasMAC("ns", "two", b, "")), stable(hasMAC("ns", "three", "", b)))
		c.watch(t)
		c.drain()
		vms := c.api.VmV1alpha1().VirtualMachines("ns")
		expect := func(what string, want ...string) {
			t.Helper()
			synctest.Wait()
			if diff := cmp.Diff(want, others(c.drain(), "new")); diff != "" {
				t.Errorf("%s: queued (-want +got):\n%s", what, diff)
			}
		}
		created, err := vms.Create(t.Context(), stable(hasMAC("ns", "new", a, "")), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		expect("a VM with an address is created", "one")
		created = created.DeepCopy()
		created.Spec.Network.Interfaces[0].MACAddress = b
		created.Generation++
		if created, err = vms.Update(t.Context(), created, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		expect("it gets another address", "one", "three", "two")
		created = created.DeepCopy()
		created.Labels = map[string]string{"a": "b"}
		if _, err = vms.Update(t.Context(), created, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		expect("something else changes")
		if err := vms.Delete(t.Context(), "new", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		expect("it is deleted", "three", "two")
	})
}
