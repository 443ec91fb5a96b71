// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package update

import (
	"path"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// promotion says whether a disk of the VM still depends on one elsewhere. Whoever
// wants no promotion is told nothing of it.
func promotion(in *Input, st *vmv1alpha1.VirtualMachineStatus) {
	kind := vmv1alpha1.ConditionDiskPromotionSynced
	switch {
	case in.VM.Spec.PromoteDisksMode == vmv1alpha1.PromoteDisksModeDisabled:
		meta.RemoveStatusCondition(&st.Conditions, kind)
	case in.Observed.Config == nil:
		in.set(st, kind, metav1.ConditionUnknown, vmv1alpha1.ReasonUnknownState, "the configuration of the vSphere VM cannot be read")
	case linked(in.Observed.Config):
		in.setFalse(st, kind, vmv1alpha1.ReasonNotReady, "a disk depends on one of another virtual machine; this version does not promote it")
	default:
		in.setTrue(st, kind)
	}
}

// linked is true when a disk has a parent that is not the VM's own. Those that
// snapshots leave behind are: they are in a directory of the VM.
func linked(config *types.VirtualMachineConfigInfo) bool {
	own := map[string]bool{directory(config.Files.VmPathName): true, strings.TrimSuffix(config.Files.SnapshotDirectory, "/"): true}
	for _, device := range config.Hardware.Device {
		disk, ok := device.(*types.VirtualDisk)
		if !ok {
			continue
		}
		files := chain(disk.Backing)
		for n, file := range files {
			if n > 0 && !own[directory(file)] && directory(file) != directory(files[0]) {
				return true
			}
		}
	}
	return false
}

// chain returns the file of a disk and those of its parents. Only the kinds that
// vCenter clones by reference have parents.
func chain(backing types.BaseVirtualDeviceBackingInfo) []string {
	var files []string
	switch b := backing.(type) {
	case *types.VirtualDiskFlatVer2BackingInfo:
		for ; b != nil; b = b.Parent {
			files = append(files, b.FileName)
		}
	case *types.VirtualDiskSeSparseBackingInfo:
		for ; b != nil; b = b.Parent {
			files = append(files, b.FileName)
		}
	}
	return files
}

// directory of a datastore path, which is like "[datastore] directory/file".
func directory(file string) string { return path.Dir(file) }
