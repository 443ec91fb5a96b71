// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "cmp"

// LabelZone is the label by which a virtual machine can ask for a zone, as by spec.zone.
// It is Kubernetes' own of nodes and volumes.
const LabelZone = "topology.kubernetes.io/zone"

// VCenterName is the name of the VCenter that the zone is in.
func (z *Zone) VCenterName() string { return cmp.Or(z.Spec.VCenter, DefaultVCenter) }

// AsksForZone is the zone that the virtual machine asks for, by its spec or by its label;
// empty for none.
func (vm *VirtualMachine) AsksForZone() string { return cmp.Or(vm.Spec.Zone, vm.Labels[LabelZone]) }
