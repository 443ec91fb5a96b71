// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package catalogue contains the objects that virtual machines refer to in tests with many of them, in each of their
// namespaces.
//
// Guarantees: all objects can be applied to a test/localcluster in one step, and again. The simulated vCenter has the
// images.
package catalogue

import "fmt"

// Names of the objects in a namespace.
const (
	// Small and Big are instance types, of two processors with 2 GiB and of four with 4 GiB.
	Small, Big = "small", "big"
	// Linux is a preference.
	Linux = "linux"
	// Item and Template are images: an item of a content library and a template.
	Item, Template = "item", "template"
)

const manifests = `
apiVersion: v1
kind: Namespace
metadata: {name: %[1]s}
---
apiVersion: instancetype.slipway.dev/v1alpha1
kind: VirtualMachineInstancetype
metadata: {name: small, namespace: %[1]s}
spec: {cpu: {guest: 2}, memory: {guest: 2Gi}}
---
apiVersion: instancetype.slipway.dev/v1alpha1
kind: VirtualMachineInstancetype
metadata: {name: big, namespace: %[1]s}
spec: {cpu: {guest: 4}, memory: {guest: 4Gi}}
---
apiVersion: instancetype.slipway.dev/v1alpha1
kind: VirtualMachinePreference
metadata: {name: linux, namespace: %[1]s}
spec: {cpu: {preferredCPUTopology: sockets}}
---
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachineImage
metadata: {name: item, namespace: %[1]s}
spec: {contentLibrary: {library: slipway, item: photon-5}}
---
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachineImage
metadata: {name: template, namespace: %[1]s}
spec: {template: {inventoryPath: templates/ubuntu-24.04}}
`

// Manifests returns a namespace with all its objects, in YAML.
func Manifests(namespace string) []byte { return fmt.Appendf(nil, manifests, namespace) }
