// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
)

func TestBadInputIsRefusedWithTheFieldNamed(t *testing.T) {
	t.Parallel()
	u := admin(t)
	size, image := "cpu: {sockets: 1}\n  memory: {guest: 1Gi}", "image: {name: photon-5}"
	vm := func(name string, lines ...string) string {
		return "apiVersion: vm.slipway.dev/v1alpha1\nkind: VirtualMachine\nmetadata: {name: " + name + "}\nspec:\n  " + strings.Join(lines, "\n  ") + "\n"
	}
	for name, tc := range map[string]struct {
		manifest string
		texts    []string
	}{
		"class and instance type":      {vm("a", image, "className: c", "instancetype: {name: small}"), []string{"spec.className", "spec.instancetype"}},
		"no size":                      {vm("a", image), []string{"spec"}},
		"negative CPU":                 {vm("a", image, "cpu: {sockets: -1}", "memory: {guest: 1Gi}"), []string{"spec.cpu.sockets", "-1"}},
		"memory that is no multiple":   {vm("a", image, "cpu: {sockets: 1}", "memory: {guest: 1000}"), []string{"spec.memory.guest"}},
		"unknown power state":          {vm("a", image, size, "powerState: Sleeping"), []string{"spec.powerState", "Sleeping", "PoweredOn"}},
		"unknown image kind":           {vm("a", size, "image: {kind: Floppy, name: x}"), []string{"spec.image.kind", "Floppy", "VirtualMachineImage"}},
		"name too long for vSphere":    {vm(strings.Repeat("a", 81), image, size), []string{"metadata.name", "80"}},
		"two interfaces with one name": {vm("a", image, size, "network: {interfaces: [{name: e}, {name: e}]}"), []string{"spec.network.interfaces[1]"}},
		"bad MAC address":              {vm("a", image, size, "network: {interfaces: [{name: e, macAddress: nonsense}]}"), []string{"spec.network.interfaces[0].macAddress", "nonsense"}},
		"matcher without name":         {vm("a", image, "instancetype: {kind: VirtualMachineInstancetype}"), []string{"spec.instancetype"}},
		"unknown matcher kind":         {vm("a", image, "instancetype: {name: x, kind: Nonsense}"), []string{"spec.instancetype.kind", "Nonsense"}},
		"three mistakes of shape": {vm("a", "image: photon-5", "cpus: 2", "memory: 4GB"), []string{
			`spec.image: Invalid value: "photon-5": must be an object`, `spec.memory: Invalid value: "4GB": must be an object`, `unknown field "spec.cpus", did you mean "spec.cpu"?`,
		}},
		"unknown field": {vm("a", image, size, "colour: blue"), []string{"spec.colour"}},
	} {
		t.Run(name, func(t *testing.T) {
			u := u
			u.t = t
			u.refused(tc.manifest, []string{"create", "-f", "-"}, tc.texts...)
		})
	}
}

// kubectl computes and applies the patch itself.
func TestKubectlApply_DryRunOfAChangedVM(t *testing.T) {
	t.Parallel()
	u := admin(t)
	vm := func(state string) string {
		return vmWith("web", "cpu: {sockets: 1}", "memory: {guest: 1Gi}", "powerState: "+state, "network: {interfaces: [{name: eth0}]}")
	}
	u.apply(vm("PoweredOff"))
	for _, where := range []string{"client", "server"} {
		out, errOut, err := u.try(vm("PoweredOn"), "kubectl", "apply", "--dry-run="+where, "-o", "jsonpath={.spec.powerState}", "-f", "-")
		if err != nil || out != "PoweredOn" {
			t.Errorf("--dry-run=%s: %v, power state %q\n%s", where, err, out, errOut)
		}
	}
	if got := u.get("vm/web", ".spec.powerState"); got != "PoweredOff" {
		t.Errorf("a dry run has changed the power state to %s", got)
	}
}
