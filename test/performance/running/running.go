// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package running creates running virtual machines in the API for measurements of the server without vSphere.
//
// Guarantee: it writes only what a user and the controllers write.
package running

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// Capture creates the instance type of all virtual machines in namespace, and its revision. It returns the reference in
// their statuses.
func Capture(ctx context.Context, c versioned.Interface, namespace string) (*vmv1alpha1.InstancetypeRef, error) {
	source, err := c.InstancetypeV1alpha1().VirtualMachineClusterInstancetypes().Create(ctx, &itv1alpha1.VirtualMachineClusterInstancetype{
		ObjectMeta: metav1.ObjectMeta{Name: "small"},
		Spec:       itv1alpha1.VirtualMachineInstancetypeSpec{CPU: itv1alpha1.CPUInstancetype{Guest: 2}, Memory: itv1alpha1.MemoryInstancetype{Guest: resource.MustParse("2Gi")}},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("making the instance type: %w", err)
	}
	revision, err := instancetype.NewRevision(namespace, instancetype.FromClusterInstancetype(source))
	if err != nil {
		return nil, err
	}
	if _, err := c.InstancetypeV1alpha1().ControllerRevisions(namespace).Create(ctx, revision, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("making the revision: %w", err)
	}
	return &vmv1alpha1.InstancetypeRef{
		Name: source.Name, Kind: string(instancetype.KindClusterInstancetype), ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: revision.Name},
		SourceUID: string(source.UID), SourceGeneration: source.Generation,
	}, nil
}

// Machine is the object that a user creates.
func Machine(name string) *vmv1alpha1.VirtualMachine {
	return &vmv1alpha1.VirtualMachine{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web", "tier": "front"}},
		Spec: vmv1alpha1.VirtualMachineSpec{
			Instancetype: &vmv1alpha1.InstancetypeMatcher{Name: "small"},
			Image:        &vmv1alpha1.VirtualMachineImageRef{Name: "photon-5"},
			Network:      &vmv1alpha1.VirtualMachineNetworkSpec{HostName: name},
		},
	}
}

// Status is the status that the controllers write: the conditions of the nth VM, which is running.
func Status(captured *vmv1alpha1.InstancetypeRef, n int) vmv1alpha1.VirtualMachineStatus {
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	s := vmv1alpha1.VirtualMachineStatus{
		InstancetypeRef: captured, Phase: "Running", PowerState: vmv1alpha1.PoweredOn, UniqueID: fmt.Sprintf("vm-%d", n),
		NodeName: "DC0_C0_H0", Zone: "default", Network: &vmv1alpha1.VirtualMachineNetworkStatus{PrimaryIP4: fmt.Sprintf("10.0.%d.%d", n/250, n%250)},
	}
	for _, condition := range []string{
		vmv1alpha1.ConditionReady, vmv1alpha1.ConditionCreated, vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ConditionConfigurationSynced,
		vmv1alpha1.ConditionInstancetypeReady, vmv1alpha1.ConditionImageReady, vmv1alpha1.ConditionStorageReady, vmv1alpha1.ConditionVolumesReady,
		vmv1alpha1.ConditionNetworkReady, vmv1alpha1.ConditionPlacementReady, vmv1alpha1.ConditionDiskPromotionSynced, vmv1alpha1.ConditionSynchronized,
	} {
		s.Conditions = append(s.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue, Reason: vmv1alpha1.ReasonSucceeded, ObservedGeneration: 1, LastTransitionTime: now})
	}
	return s
}

// Instance returns the instance of vm, which is running.
func Instance(vm *vmv1alpha1.VirtualMachine) *vmv1alpha1.VirtualMachineInstance {
	memory := resource.MustParse("2Gi")
	return &vmv1alpha1.VirtualMachineInstance{
		ObjectMeta: metav1.ObjectMeta{
			Name: vm.Name, Namespace: vm.Namespace,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(vm, vmv1alpha1.SchemeGroupVersion.WithKind("VirtualMachine"))},
		},
		Spec: vmv1alpha1.VirtualMachineInstanceSpec{Memory: &vmv1alpha1.VirtualMachineMemory{Guest: &memory}},
	}
}
