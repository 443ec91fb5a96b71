// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "cmp"

// LabelZone is the label with which a virtual machine can request a zone, as an alternative to spec.zone. Kubernetes
// uses the same label for nodes and volumes.
const LabelZone = "topology.kubernetes.io/zone"

// VCenterName returns the name of the VCenter that the zone is in.
func (z *Zone) VCenterName() string { return cmp.Or(z.Spec.VCenter, DefaultVCenter) }

// RequestedZone returns the zone that the spec or the label of the virtual machine requests, or "" if neither requests
// one.
func (vm *VirtualMachine) RequestedZone() string { return cmp.Or(vm.Spec.Zone, vm.Labels[LabelZone]) }
