// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package update

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// reconcileStatus reports the facts. What follows from them for others, such as
// the addresses of Cluster API's contract, is the controller's.
func reconcileStatus(in *Input, st *vmv1alpha1.VirtualMachineStatus) (*Operation, error) {
	f := in.Facts
	in.setTrue(st, vmv1alpha1.ConditionCreated)
	if in.VM.Spec.ClassName == "" {
		st.Class = nil
	}
	st.PowerState = f.PowerState
	st.UniqueID, st.BiosUUID, st.InstanceUUID = f.UniqueID, f.BiosUUID, f.InstanceUUID
	st.HardwareVersion = f.HardwareVersion
	st.Guest, st.Storage = f.Guest, f.Storage
	st.Volumes = volumes(in)
	st.NodeName = f.NodeName
	if f.LastRestart != nil {
		st.LastRestartTime = &metav1.Time{Time: f.LastRestart.Truncate(time.Second)}
	}
	st.Network = nameInterfaces(in)
	tools(in, st)
	promotion(in, st)
	return nil, nil
}

// nameInterfaces gives the adapters the names of the interfaces in the same order.
func nameInterfaces(in *Input) *vmv1alpha1.VirtualMachineNetworkStatus {
	n := in.Facts.Network.DeepCopy()
	if n == nil || in.Effective == nil || in.Effective.Network == nil {
		return n
	}
	for i, spec := range in.Effective.Network.Interfaces {
		if i >= len(in.Facts.NICs) {
			break
		}
		at := slices.IndexFunc(n.Interfaces, func(s vmv1alpha1.VirtualMachineNetworkInterfaceStatus) bool {
			return s.DeviceKey == in.Facts.NICs[i]
		})
		if at >= 0 {
			n.Interfaces[at].Name = spec.Name
		}
	}
	return n
}

func tools(in *Input, st *vmv1alpha1.VirtualMachineStatus) {
	switch {
	case in.Facts.PowerState != vmv1alpha1.PoweredOn:
		in.setFalse(st, vmv1alpha1.ConditionGuestToolsReady, vmv1alpha1.ReasonPoweredOff, "the virtual machine does not run")
	case in.Facts.Guest == nil:
		in.set(st, vmv1alpha1.ConditionGuestToolsReady, metav1.ConditionUnknown, vmv1alpha1.ReasonUnknownState, "vSphere reports no guest")
	case in.Facts.Guest.ToolsRunning:
		in.setTrue(st, vmv1alpha1.ConditionGuestToolsReady)
	default:
		in.setFalse(st, vmv1alpha1.ConditionGuestToolsReady, vmv1alpha1.ReasonWaitingForTools, "VMware Tools does not run")
	}
}
