// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

func TestRecordDisks(t *testing.T) {
	file := func(key int32, name string) func(*Desired, *mo.VirtualMachine) {
		return func(_ *Desired, vm *mo.VirtualMachine) {
			diskOfVM(vm, key).Backing.(*types.VirtualDiskFlatVer2BackingInfo).FileName = name
		}
	}
	record := func(slot, uuid string) func(*Desired, *mo.VirtualMachine) {
		return func(_ *Desired, vm *mo.VirtualMachine) { recordKey(vm, observe.DiskKey(slot), uuid) }
	}
	for name, tc := range map[string]struct {
		changes []func(*Desired, *mo.VirtualMachine)
		want    []string
	}{
		"disks of an older version":                    {nil, []string{"scsi0:0=boot-uuid", "scsi0:1=data-uuid"}},
		"a disk in the directory of another VM":        {[]func(*Desired, *mo.VirtualMachine){file(2001, "[ds] payroll/payroll.vmdk")}, []string{"scsi0:0=boot-uuid"}},
		"a disk of the VM on another datastore":        {[]func(*Desired, *mo.VirtualMachine){file(2001, "[ds2] web_1/web.vmdk")}, []string{"scsi0:0=boot-uuid", "scsi0:1=data-uuid"}},
		"a disk of another VM on another datastore":    {[]func(*Desired, *mo.VirtualMachine){file(2001, "[ds2] payroll/payroll.vmdk")}, []string{"scsi0:0=boot-uuid"}},
		"a new disk in any directory":                  {[]func(*Desired, *mo.VirtualMachine){file(2001, "[vsan] 4a3f/web.vmdk"), record("scsi0:1", observe.DiskCreated)}, []string{"scsi0:0=boot-uuid", "scsi0:1=data-uuid"}},
		"a disk of a VM that is being created":         {[]func(*Desired, *mo.VirtualMachine){file(2000, "[vsan] 4a3f/web.vmdk"), func(w *Desired, _ *mo.VirtualMachine) { w.New = true }}, []string{"scsi0:0=boot-uuid", "scsi0:1=data-uuid"}},
		"recorded":                                     {[]func(*Desired, *mo.VirtualMachine){record("scsi0:0", "BOOT-UUID"), record("scsi0:1", "data-uuid")}, nil},
		"a recorded disk that was replaced by another": {[]func(*Desired, *mo.VirtualMachine){record("scsi0:0", "boot-uuid"), record("scsi0:1", "old-uuid")}, nil},
		"a disk without a readable UUID": {[]func(*Desired, *mo.VirtualMachine){func(_ *Desired, vm *mo.VirtualMachine) {
			diskOfVM(vm, 2001).Backing.(*types.VirtualDiskFlatVer2BackingInfo).Uuid = ""
		}}, []string{"scsi0:0=boot-uuid"}},
		"a volume that is added in a used slot": {[]func(*Desired, *mo.VirtualMachine){record("scsi0:0", "boot-uuid"), record("scsi0:1", "data-uuid"), record("scsi0:2", "old-uuid"), func(w *Desired, _ *mo.VirtualMachine) {
			w.Effective.Volumes = append(w.Effective.Volumes, volume("new", "1Gi", ""))
		}}, []string{"scsi0:2=created"}},
		"a volume that is removed with its disk": {[]func(*Desired, *mo.VirtualMachine){record("scsi0:0", "boot-uuid"), record("scsi0:1", "data-uuid"), func(w *Desired, vm *mo.VirtualMachine) {
			w.Effective.Volumes = nil
			recordKey(vm, observe.ReclaimKey("data"), "Delete data-uuid")
		}}, []string{"scsi0:1="}},
	} {
		t.Run(name, func(t *testing.T) {
			w, vm := want(), have()
			withDisks(vm)
			vm.Config.Files.VmPathName = "[ds] web/web.vmx"
			w.Effective.Volumes = []vmv1alpha1.VirtualMachineVolume{volume("data", "2Gi", "")}
			for key, uuid := range map[int32]string{2000: "boot-uuid", 2001: "data-uuid"} {
				b := diskOfVM(vm, key).Backing.(*types.VirtualDiskFlatVer2BackingInfo)
				b.FileName, b.Uuid = "[ds] web/web.vmdk", uuid
			}
			for _, change := range tc.changes {
				change(&w, vm)
			}
			var got []string
			for _, o := range Spec(Differences(w, vm)).ExtraConfig {
				if slot, ok := strings.CutPrefix(o.GetOptionValue().Key, observe.DiskKey("")); ok {
					got = append(got, slot+"="+o.GetOptionValue().Value.(string))
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
		})
	}
}
