// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/vm/claims"
	"github.com/slipway-dev/slipway/pkg/controller/vm/owner"
	"github.com/slipway-dev/slipway/pkg/instancetype"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// Indexes of the virtual machine cache.
const (
	indexByClass = "class"
	indexByImage = "image"
	// indexByOrigin has the virtual machines that will be cloned, by the source of the clone.
	indexByOrigin = "origin"
	indexByClaim  = "claim"
	// indexByStorageClass has the virtual machines that refer to a StorageClass.
	indexByStorageClass = "storageClass"
	indexBySource       = "source"
	// indexBySnapshot has the virtual machines that will be reverted, by the snapshot.
	indexBySnapshot = "snapshot"
	// indexByCache has virtual machines by the image cache that they wait for.
	indexByCache = "imageCache"
	// indexByGroup has the virtual machines that refer to a group.
	indexByGroup = "group"
	// indexByMachine has the virtual machines of Machines, by the Machine and by its API group.
	indexByMachine = "machine"
	// indexByCluster has the virtual machines of Machines, by the name of the Cluster.
	indexByCluster = "cluster"
	// indexByMAC has virtual machines by the MAC addresses in their spec and of their adapters.
	indexByMAC = "mac"
	// indexUnplaced has all virtual machines without a zone, under one value.
	indexUnplaced = "unplaced"
)

// indexers has the functions of the indexes.
var indexers = cache.Indexers{
	indexByClass: controller.IndexBy(func(vm *vmv1alpha1.VirtualMachine) []string {
		if vm.Spec.ClassName == "" {
			return nil
		}
		return []string{vm.Namespace + "/" + vm.Spec.ClassName}
	}),
	indexByImage: controller.IndexBy(func(vm *vmv1alpha1.VirtualMachine) []string {
		var keys []string
		add := func(ref *vmv1alpha1.VirtualMachineImageRef) {
			switch {
			case ref == nil:
			case ref.Kind == vmv1alpha1.ClusterImageKind:
				keys = append(keys, clusterKey(ref.Name))
			case ref.Kind == vmv1alpha1.MachineImageKind:
				// in indexByOrigin
			default:
				keys = append(keys, vm.Namespace+"/"+ref.Name)
			}
		}
		add(vm.Spec.Image)
		for i := range vm.Spec.Volumes {
			if d := vm.Spec.Volumes[i].CDROM; d != nil {
				add(d.Image)
			}
		}
		return keys
	}),
	indexByOrigin: controller.IndexBy(func(vm *vmv1alpha1.VirtualMachine) []string {
		if ref := vm.Spec.Image; ref != nil && ref.Kind == vmv1alpha1.MachineImageKind && !isTrue(vm, vmv1alpha1.ConditionCreated) {
			return []string{vm.Namespace + "/" + ref.Name}
		}
		return nil
	}),
	indexByStorageClass: controller.IndexBy(func(vm *vmv1alpha1.VirtualMachine) []string {
		return provider.StorageClassesOf(vm.Spec.StorageClass, vm.Spec.BootDisk, vm.Spec.Volumes)
	}),
	indexBySource: controller.IndexBy(sources),
	indexBySnapshot: controller.IndexBy(func(vm *vmv1alpha1.VirtualMachine) []string {
		if vm.Spec.CurrentSnapshotName == "" {
			return nil
		}
		return []string{vm.Namespace + "/" + vm.Spec.CurrentSnapshotName}
	}),
	indexByClaim: controller.IndexBy(func(vm *vmv1alpha1.VirtualMachine) []string {
		var keys []string
		for _, name := range claims.ClaimNames(vm) {
			keys = append(keys, vm.Namespace+"/"+name)
		}
		return keys
	}),
	indexByCache: controller.IndexBy(func(vm *vmv1alpha1.VirtualMachine) []string {
		if name, ok := vm.Labels[vmv1alpha1.LabelImageCache]; ok {
			return []string{name}
		}
		return nil
	}),
	indexByGroup: controller.IndexBy(func(vm *vmv1alpha1.VirtualMachine) []string {
		if vm.Spec.GroupName == "" {
			return nil
		}
		return []string{vm.Namespace + "/" + vm.Spec.GroupName}
	}),
	indexByMachine: controller.IndexBy(byMachine),
	indexByCluster: controller.IndexBy(byCluster),
	indexByMAC:     controller.IndexBy(byMAC),
	indexUnplaced: controller.IndexBy(func(vm *vmv1alpha1.VirtualMachine) []string {
		if provider.ZoneOf(vm) != "" {
			return nil
		}
		return []string{""}
	}),
}

// clusterKey returns the index value of a cluster-scoped image.
func clusterKey(name string) string { return "/" + name }

// sources returns the index values of the instance type and the preference of vm. These are the objects that the spec
// refers to, which may not exist yet, and the objects in use, which may have been inferred.
func sources(vm *vmv1alpha1.VirtualMachine) []string {
	var values []string
	add := func(role instancetype.Role, kind, name string) {
		if parsed, err := instancetype.ParseKind(role, kind); err == nil && name != "" {
			values = append(values, sourceKey(parsed, vm.Namespace, name))
		}
	}
	if m := vm.Spec.Instancetype; m != nil {
		add(instancetype.RoleInstancetype, m.Kind, m.Name)
	}
	if m := vm.Spec.Preference; m != nil {
		add(instancetype.RolePreference, m.Kind, m.Name)
	}
	if ref := vm.Status.InstancetypeRef; ref != nil {
		add(instancetype.RoleInstancetype, ref.Kind, ref.Name)
	}
	if ref := vm.Status.PreferenceRef; ref != nil {
		add(instancetype.RolePreference, ref.Kind, ref.Name)
	}
	return values
}

// sourceKey returns the index value of an instance type or a preference.
func sourceKey(kind instancetype.Kind, namespace, name string) string {
	if !kind.Namespaced() {
		namespace = ""
	}
	return string(kind) + "/" + namespace + "/" + name
}

// byMachine returns the values of indexByMachine.
func byMachine(vm *vmv1alpha1.VirtualMachine) []string {
	of := owner.ReferenceOf(vm)
	switch {
	case of == nil || of.Group == "":
		return nil
	case of.Name == "":
		return []string{of.Group}
	}
	return []string{of.Group, machineValue(of.Group, types.NamespacedName{Namespace: vm.Namespace, Name: of.Name})}
}

// machineValue returns the value of indexByMachine for one Machine.
func machineValue(group string, machine types.NamespacedName) string {
	return group + "/" + machine.String()
}

// byCluster returns the values of indexByCluster.
func byCluster(vm *vmv1alpha1.VirtualMachine) []string {
	if of := owner.ReferenceOf(vm); of != nil && of.Cluster != "" {
		return []string{types.NamespacedName{Namespace: vm.Namespace, Name: of.Cluster}.String()}
	}
	return nil
}
