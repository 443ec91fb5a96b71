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
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/client-go/tools/cache"

	vm "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
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

// indexedFields are those with many values, of which one is asked for: the others
// would match a large part of all VMs anyway.
var indexedFields = []string{fieldNode, fieldInstancetype}

// GetAttrs returns what selectors see of a VM.
func GetAttrs(obj runtime.Object) (labels.Set, fields.Set, error) {
	v, ok := obj.(*vm.VirtualMachine)
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

// Match returns the predicate of a list or watch.
func Match(label labels.Selector, field fields.Selector) storage.SelectionPredicate {
	return storage.SelectionPredicate{Label: label, Field: field, GetAttrs: GetAttrs, IndexFields: indexedFields}
}

// Indexers serve the predicates of Match from the watch cache.
func Indexers() *cache.Indexers {
	return &cache.Indexers{
		storage.FieldIndex(fieldNode):         indexBy(func(v *vm.VirtualMachine) string { return v.Status.NodeName }),
		storage.FieldIndex(fieldInstancetype): indexBy(instancetypeName),
	}
}

func indexBy(value func(*vm.VirtualMachine) string) cache.IndexFunc {
	return func(obj any) ([]string, error) {
		v, ok := obj.(*vm.VirtualMachine)
		if !ok {
			return nil, fmt.Errorf("indexing VirtualMachines: got a %T", obj)
		}
		return []string{value(v)}, nil
	}
}

func instancetypeName(v *vm.VirtualMachine) string {
	if v.Status.InstancetypeRef == nil {
		return ""
	}
	return v.Status.InstancetypeRef.Name
}
