// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package virtualmachinesnapshot describes the resource virtualmachinesnapshots.
package virtualmachinesnapshot

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apiserver/pkg/registry/generic"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	vmvalidation "github.com/slipway-dev/slipway/pkg/apis/vm/validation"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
	"github.com/slipway-dev/slipway/pkg/registry/table"
)

// fieldMachine is the field selector for the snapshots of a virtual machine.
const fieldMachine = "spec.vmName"

type snapshot = *vmv1alpha1.VirtualMachineSnapshot

// Kind describes virtualmachinesnapshots.
func Kind() standard.Kind[snapshot] {
	type column = table.Column[snapshot]
	return standard.Kind[snapshot]{
		Plural:     vmv1alpha1.Resource("virtualmachinesnapshots"),
		Singular:   vmv1alpha1.Resource("virtualmachinesnapshot"),
		ShortNames: []string{"vmsnapshot", "vmsnapshots", "vmsnap", "vmsnaps", "svmsnap", "svmsnaps"},
		Version:    "vm.slipway.dev/v1alpha1",
		Categories: []string{"slipway"},
		Namespaced: true,
		New:        func() snapshot { return &vmv1alpha1.VirtualMachineSnapshot{} },
		NewList:    func() runtime.Object { return &vmv1alpha1.VirtualMachineSnapshotList{} },
		Spec:       func(s snapshot) any { return s.Spec },
		Status: &standard.Status[snapshot]{
			Drop: func(s snapshot) {
				s.Status = vmv1alpha1.VirtualMachineSnapshotStatus{ObservedGeneration: standard.Unobserved}
			},
			Keep:     func(s, stored snapshot) { s.Status = stored.Status },
			KeepSpec: func(s, stored snapshot) { s.Spec = stored.Spec },
			Validate: vmvalidation.ValidateVirtualMachineSnapshotStatusUpdate,
		},
		PrepareForCreate: func(s snapshot) {
			fillFinalizer(s)
			label(s)
		},
		PrepareForUpdate: func(s, stored snapshot) {
			// A client that replaces the object by a manifest omits the finalizer.
			if stored.DeletionTimestamp == nil && slices.Contains(stored.Finalizers, vmv1alpha1.SnapshotFinalizer) {
				fillFinalizer(s)
			}
			label(s)
		},
		Validate:       vmvalidation.ValidateVirtualMachineSnapshot,
		ValidateUpdate: vmvalidation.ValidateVirtualMachineSnapshotUpdate,
		Table: table.New(
			column{Name: "VM", Type: "string", Description: "Name of the virtual machine.", Value: func(s snapshot) any { return s.Spec.VMName }},
			column{Name: "Ready", Type: "string", Description: "True if the VM can be reverted to the snapshot; otherwise the reason.", Value: func(s snapshot) any {
				return conditions.ColumnValue(s.Status.Conditions, vmv1alpha1.ConditionReady)
			}},
			column{Name: "Power", Type: "string", Description: "Power state after a revert.", Value: func(s snapshot) any { return string(s.Status.PowerState) }},
			column{Name: "Occupied", Type: "string", Description: "Datastore space that only this snapshot uses.", Value: func(s snapshot) any { return table.Bytes(s.Status.Occupied) }},
			column{Name: "ID", Type: "string", Wide: true, Description: "Managed object ID.", Value: func(s snapshot) any { return s.Status.UniqueID }},
			column{Name: "Parent", Type: "string", Wide: true, Description: "Managed object ID of the parent snapshot.", Value: func(s snapshot) any { return s.Status.Parent }},
		),
		GetAttrs:    getAttrs,
		IndexFields: map[string]func(snapshot) string{fieldMachine: func(s snapshot) string { return s.Spec.VMName }},
	}
}

// fillFinalizer adds the finalizer, which keeps the object until the snapshot is deleted in vSphere.
func fillFinalizer(s snapshot) {
	if !slices.Contains(s.Finalizers, vmv1alpha1.SnapshotFinalizer) {
		s.Finalizers = append(s.Finalizers, vmv1alpha1.SnapshotFinalizer)
	}
}

// label sets the label with the name of the virtual machine if the name is a valid label value.
func label(s snapshot) {
	if len(validation.IsValidLabelValue(s.Spec.VMName)) > 0 || s.Spec.VMName == "" {
		return
	}
	if s.Labels == nil {
		s.Labels = map[string]string{}
	}
	s.Labels[vmv1alpha1.LabelSnapshotVM] = s.Spec.VMName
}

// getAttrs returns the labels and fields of a snapshot for selectors.
func getAttrs(obj runtime.Object) (labels.Set, fields.Set, error) {
	s, ok := obj.(snapshot)
	if !ok {
		return nil, nil, fmt.Errorf("reading the fields of a VirtualMachineSnapshot: got a %T", obj)
	}
	set := generic.ObjectMetaFieldsSet(&s.ObjectMeta, true)
	set[fieldMachine] = s.Spec.VMName
	return s.Labels, set, nil
}
