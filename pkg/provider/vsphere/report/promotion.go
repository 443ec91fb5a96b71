// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"path"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// promotion says whether a disk of the VM still depends on one elsewhere.
func promotion(vm *mo.VirtualMachine) metav1.Condition {
	if linked(vm.Config) {
		return no(vmv1alpha1.ConditionDiskPromotionSynced, vmv1alpha1.ReasonNotReady,
			"a disk depends on one of another virtual machine; this version does not promote it")
	}
	return yes(vmv1alpha1.ConditionDiskPromotionSynced)
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
		files := observe.DiskFiles(disk.Backing)
		for n, file := range files {
			if n > 0 && !own[directory(file)] && directory(file) != directory(files[0]) {
				return true
			}
		}
	}
	return false
}

// directory of a datastore path, which is like "[datastore] directory/file".
func directory(file string) string { return path.Dir(file) }
