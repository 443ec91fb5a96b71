// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"

	"github.com/vmware/govmomi/vim25/mo"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// promotion says whether a disk of the VM still depends on one elsewhere.
func promotion(vm *mo.VirtualMachine) metav1.Condition {
	if n := len(observe.Depending(vm)); n > 0 {
		return no(vmv1alpha1.ConditionDiskPromotionSynced, vmv1alpha1.ReasonPromotionPending, fmt.Sprintf("%d disks depend on disks elsewhere", n))
	}
	return yes(vmv1alpha1.ConditionDiskPromotionSynced)
}

// Unpromotable is why vSphere cannot make the disks of the VM independent now, whatever its
// power state; empty if it can.
func Unpromotable(vm *mo.VirtualMachine) string {
	if len(vm.RootSnapshot) > 0 {
		return "it has snapshots, with which vSphere does not promote the disks of a virtual machine that runs"
	}
	if observe.Customizing(vm) {
		return "its guest is being customized"
	}
	return ""
}
