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
		"unknown field":                {vm("a", image, size, "colour: blue"), []string{"spec.colour"}},
	} {
		t.Run(name, func(t *testing.T) {
			u := u
			u.t = t
			u.refused(tc.manifest, []string{"create", "-f", "-"}, tc.texts...)
		})
	}
}
