// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	guuid "github.com/google/uuid"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
)

// recreate prepares an object that is recreated after the store was lost, and returns true for it. The object keeps its
// UID, because the vSphere VM, claims and addresses refer to it. It keeps the parts of status that identify the VM
// and its pinned revisions. Admission ensures that only privileged users set the annotation.
func recreate(created *vmv1alpha1.VirtualMachine) bool {
	uid, ok := recoveredUID(created)
	if !ok || created.Generation < 1 {
		return false
	}
	created.UID = uid
	status := created.Status
	created.Status = vmv1alpha1.VirtualMachineStatus{
		ObservedGeneration: standard.Unobserved, Zone: status.Zone, UniqueID: status.UniqueID, BiosUUID: status.BiosUUID, InstanceUUID: status.InstanceUUID,
		InstancetypeRef: status.InstancetypeRef, PreferenceRef: status.PreferenceRef,
	}
	return true
}

// recoveredUID returns the UID in the annotation.
func recoveredUID(created *vmv1alpha1.VirtualMachine) (types.UID, bool) {
	value := created.Annotations[vmv1alpha1.AnnotationRecovered]
	parsed, err := guuid.Parse(value)
	return types.UID(value), err == nil && parsed.String() == value
}
