// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Fields that VMs can be selected by, beside name and namespace.
const (
	fieldDesiredPower         = "spec.powerState"
	fieldObservedPower        = "status.powerState"
	fieldPhase                = "status.phase"
	fieldNode                 = "status.nodeName"
	fieldInstancetype         = "status.instancetypeRef.name"
	fieldInstancetypeOutdated = "status.instancetypeRef.outdated"
	fieldPreferenceOutdated   = "status.preferenceRef.outdated"
)

// getAttrs returns what selectors see of a VM.
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
	it, p := v.Status.InstancetypeRef, v.Status.PreferenceRef
	set[fieldInstancetypeOutdated] = strconv.FormatBool(it != nil && it.Outdated)
	set[fieldPreferenceOutdated] = strconv.FormatBool(p != nil && p.Outdated)
	return v.Labels, set, nil
}

// indexFields are the fields with many values: the others would match a large part of
// all VMs anyway.
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
