// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"fmt"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Field selectors of virtual machines in addition to name and namespace.
const (
	fieldDesiredPower         = "spec.powerState"
	fieldObservedPower        = "status.powerState"
	fieldPhase                = "status.phase"
	fieldNode                 = "status.nodeName"
	fieldInstancetype         = "status.instancetypeRef.name"
	fieldInstancetypeOutdated = "status.instancetypeRef.outdated"
	fieldPreferenceOutdated   = "status.preferenceRef.outdated"
)

// trueFields are the fields of getAttrs that are absent for most virtual machines. They are omitted because a map of
// more than eight fields needs twice the memory.
var trueFields = []string{fieldInstancetypeOutdated, fieldPreferenceOutdated}

// getAttrs returns the labels and fields of a virtual machine for selectors.
func getAttrs(obj runtime.Object) (labels.Set, fields.Set, error) {
	v, ok := obj.(*vmv1alpha1.VirtualMachine)
	if !ok {
		return nil, nil, fmt.Errorf("reading the fields of a VirtualMachine: got a %T", obj)
	}
	set := generic.ObjectMetaFieldsSet(&v.ObjectMeta, true)
	set[fieldDesiredPower] = string(v.Spec.PowerState)
	set[fieldObservedPower] = string(v.Status.PowerState)
	set[fieldPhase] = string(v.Status.Phase)
	set[fieldNode] = v.Status.NodeName
	set[fieldInstancetype] = instancetypeName(v)
	if it := v.Status.InstancetypeRef; it != nil && it.Outdated {
		set[fieldInstancetypeOutdated] = "true"
	}
	if p := v.Status.PreferenceRef; p != nil && p.Outdated {
		set[fieldPreferenceOutdated] = "true"
	}
	return v.Labels, set, nil
}

// indexFields returns the fields with many different values. An index of the others would select a large part of all
// virtual machines.
func indexFields() map[string]func(*vmv1alpha1.VirtualMachine) string {
	return map[string]func(*vmv1alpha1.VirtualMachine) string{
		fieldNode:         func(v *vmv1alpha1.VirtualMachine) string { return v.Status.NodeName },
		fieldInstancetype: instancetypeName,
	}
}

func instancetypeName(v *vmv1alpha1.VirtualMachine) string {
	if v.Status.InstancetypeRef == nil {
		return ""
	}
	return v.Status.InstancetypeRef.Name
}
