// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"fmt"
	"strings"
)

// Catalogue contains the objects that the VMs of a test refer to: an instance type in its own namespace, so that
// tests do not conflict, and both kinds of image.
const Catalogue = `
apiVersion: instancetype.slipway.dev/v1alpha1
kind: VirtualMachineInstancetype
metadata: {name: small}
spec:
  cpu: {guest: 2}
  memory: {guest: 2Gi}
---
apiVersion: instancetype.slipway.dev/v1alpha1
kind: VirtualMachinePreference
metadata: {name: linux}
spec:
  cpu: {preferredCPUTopology: sockets}
---
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachineImage
metadata: {name: photon-5}
spec:
  contentLibrary: {library: slipway, item: photon-5}
---
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachineImage
metadata: {name: ubuntu-24.04}
spec:
  template: {inventoryPath: templates/ubuntu-24.04}
`

// VM returns a VM from the Catalogue. lines are added to its spec.
func VM(name string, lines ...string) string {
	return fmt.Sprintf(`
---
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachine
metadata: {name: %s}
spec:
  instancetype: {name: small, kind: VirtualMachineInstancetype}
  preference: {name: linux, kind: VirtualMachinePreference}
  image: {name: photon-5}
  %s
`, name, strings.Join(lines, "\n  "))
}

// InlineVM returns a VM with its size in its spec, from the given image.
func InlineVM(name, image string, lines ...string) string {
	return fmt.Sprintf(`
---
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachine
metadata: {name: %s}
spec:
  cpu: {sockets: 1}
  memory: {guest: 1Gi}
  image: {name: %s}
  %s
`, name, image, strings.Join(lines, "\n  "))
}

// VMWith returns a VM from the image of the Catalogue with the given lines as the rest of its spec.
func VMWith(name string, lines ...string) string {
	return fmt.Sprintf(`
---
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachine
metadata: {name: %s}
spec:
  image: {name: photon-5}
  %s
`, name, strings.Join(lines, "\n  "))
}

// Manifest returns a manifest of a kind in one of the groups. lines are its spec.
func Manifest(group, kind, name string, lines ...string) string {
	return fmt.Sprintf("---\napiVersion: %s.slipway.dev/v1alpha1\nkind: %s\nmetadata: {name: %s}\nspec:\n  %s\n", group, kind, name, strings.Join(lines, "\n  "))
}
