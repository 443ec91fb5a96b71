// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	guuid "github.com/google/uuid"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
)

// remake makes an object again that was lost with the store: with its UID, by which all that
// belongs to it knows it (its vSphere VM, the holders of its claims, the names of its
// addresses), and with what of its status names that VM and what it has captured. Until its
// controllers have looked at it that is all that is known. Only privileged users may set the
// annotation, which admission sees to.
func remake(created *vmv1alpha1.VirtualMachine) bool {
	uid, ok := lostUID(created)
	if !ok || created.Generation < 1 {
		return false
	}
	created.UID = uid
	was := created.Status
	created.Status = vmv1alpha1.VirtualMachineStatus{
		ObservedGeneration: standard.Unobserved, Zone: was.Zone, UniqueID: was.UniqueID, BiosUUID: was.BiosUUID, InstanceUUID: was.InstanceUUID,
		InstancetypeRef: was.InstancetypeRef, PreferenceRef: was.PreferenceRef,
	}
	return true
}

// lostUID is the UID that the annotation names.
func lostUID(created *vmv1alpha1.VirtualMachine) (types.UID, bool) {
	value := created.Annotations[vmv1alpha1.AnnotationRecovered]
	parsed, err := guuid.Parse(value)
	return types.UID(value), err == nil && parsed.String() == value
}
