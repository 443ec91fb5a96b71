// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/resource"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/test/vcenter"
)

// diskSetup is a VM with a volume named data. Its methods change the VM's disks like an administrator.
type diskSetup struct {
	t     *testing.T
	ready vcenter.Ready
	p     *Provider
	l     *loop
	req   *provider.Request
	vm    *object.VirtualMachine
	// payroll is a VM that Slipway does not manage. foreignFile is the file of its disk.
	payroll     *object.VirtualMachine
	foreignFile string
}

func (s *diskSetup) devices(vm *object.VirtualMachine) object.VirtualDeviceList {
	s.t.Helper()
	devices, err := vm.Device(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return devices
}

// disks returns the files of the VM's disks, in the order of their slots.
func (s *diskSetup) disks(vm *object.VirtualMachine) (files []string) {
	for _, d := range s.devices(vm).SelectByType((*types.VirtualDisk)(nil)) {
		files = append(files, d.GetVirtualDevice().Backing.(*types.VirtualDiskFlatVer2BackingInfo).FileName)
	}
	return files
}

// replace removes the disk of the volume and attaches payroll's disk in its slot.
func (s *diskSetup) replace() {
	s.t.Helper()
	devices := s.devices(s.vm)
	data := devices.SelectByType((*types.VirtualDisk)(nil))[1]
	if err := s.vm.RemoveDevice(s.t.Context(), true, data); err != nil {
		s.t.Fatal(err)
	}
	controller := devices.FindByKey(data.GetVirtualDevice().ControllerKey).(types.BaseVirtualController)
	foreign := devices.CreateDisk(controller, types.ManagedObjectReference{}, s.foreignFile)
	foreign.UnitNumber, foreign.CapacityInKB = data.GetVirtualDevice().UnitNumber, 0
	if err := s.vm.AddDevice(s.t.Context(), foreign); err != nil {
		s.t.Fatal(err)
	}
}

// records returns the slots with recorded disks, from the inventory.
func (s *diskSetup) records() []string {
	return slices.Sorted(maps.Keys(observe.DiskRecords(s.p.inventory.Get(s.vm.Reference()))))
}

// removeRecords removes the records of disks. A VM of an older version has none.
func (s *diskSetup) removeRecords() {
	var spec types.VirtualMachineConfigSpec
	for _, slot := range s.records() {
		spec.ExtraConfig = append(spec.ExtraConfig, &types.OptionValue{Key: observe.DiskKey(slot), Value: ""})
	}
	reconfigure(s.t, s.vm, spec)
}

// relocate moves the VM, or the disk with the given number, to another datastore. A negative number
// means the VM.
func (s *diskSetup) relocate(disk int) {
	s.t.Helper()
	ds, err := find.NewFinder(s.vm.Client()).Datastore(s.t.Context(), "/DC0/datastore/LocalDS_1")
	if err != nil {
		s.t.Fatal(err)
	}
	to, spec := ds.Reference(), types.VirtualMachineRelocateSpec{}
	if spec.Datastore = &to; disk >= 0 {
		key := s.devices(s.vm).SelectByType((*types.VirtualDisk)(nil))[disk].GetVirtualDevice().Key
		spec = types.VirtualMachineRelocateSpec{Disk: []types.VirtualMachineRelocateSpecDiskLocator{{DiskId: key, Datastore: to}}}
	}
	task, err := s.vm.Relocate(s.t.Context(), spec, types.VirtualMachineMovePriorityDefaultPriority)
	if err == nil {
		err = task.Wait(s.t.Context())
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func TestDestroy_DeletesOnlyTheRecordedDisks(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	var events eventLog
	p, _ := startProvider(t, ready, func(s *settings) { s.OnEvent = events.add })
	for name, tc := range map[string]struct {
		event func(*diskSetup)
		// recorded are the slots with recorded disks after the change.
		recorded []string
		// kept are the attached disks that must be kept. "ours" is the volume's first disk.
		kept []string
		// detached are the disks that events report as detached.
		detached []string
	}{
		"unchanged":                      {func(*diskSetup) {}, []string{"scsi0:0", "scsi0:1"}, nil, nil},
		"the records are added again":    {(*diskSetup).removeRecords, []string{"scsi0:0", "scsi0:1"}, nil, nil},
		"a foreign disk in the slot":     {(*diskSetup).replace, []string{"scsi0:0", "scsi0:1"}, []string{"theirs"}, []string{"theirs"}},
		"a foreign, unrecorded disk":     {func(s *diskSetup) { s.replace(); s.removeRecords() }, []string{"scsi0:0"}, []string{"theirs"}, []string{"theirs"}},
		"Storage vMotion of the VM":      {func(s *diskSetup) { s.relocate(-1) }, []string{"scsi0:0", "scsi0:1"}, nil, nil},
		"Storage vMotion of a boot disk": {func(s *diskSetup) { s.relocate(0) }, []string{"scsi0:0", "scsi0:1"}, nil, nil},
		"Storage vMotion of a volume":    {func(s *diskSetup) { s.relocate(1) }, []string{"scsi0:0", "scsi0:1"}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			id := strings.ToLower(strings.ReplaceAll(name, " ", "-"))
			s := &diskSetup{t: t, ready: ready, p: p, l: newLoop(t, p), req: newRequest(id, templateImage())}
			s.payroll, _ = createVM(t, ready, "/DC0/vm/templates", "payroll-"+id)
			s.foreignFile = s.disks(s.payroll)[0]
			s.req.Effective.Volumes = []vmv1alpha1.VirtualMachineVolume{disk("data", "1Gi", "")}
			s.l.until("the VM runs and its disks are recorded", func() bool {
				s.vm = objectOf(t, ready, s.req)
				return isSynced(s.req)() && len(s.records()) == 2
			}, s.req)
			ours := s.disks(s.vm)[1]

			tc.event(s)
			s.req.Effective.Volumes[0].Disk.Capacity = ptr(resource.MustParse("1Gi"))
			s.l.until("the disks are recorded", func() bool { return cmp.Equal(tc.recorded, s.records()) }, s.req)
			files := s.disks(s.vm)
			s.l.remove(s.req)

			var kept, detached []string
			for _, file := range slices.Compact(slices.Sorted(slices.Values(append(files, ours, s.foreignFile)))) {
				called := map[string]string{ours: "ours", s.foreignFile: "theirs"}[file]
				if fileExists(t, ready, file) && (file != s.foreignFile || slices.Contains(files, file)) {
					kept = append(kept, called)
				}
				if events.count("DiskDetached", file) > 0 {
					detached = append(detached, called)
				}
			}
			slices.Sort(kept)
			if diff := cmp.Diff(tc.kept, kept); diff != "" {
				t.Errorf("remaining files (-want +got):\n%s%v", diff, files)
			}
			if diff := cmp.Diff(tc.detached, detached); diff != "" {
				t.Errorf("disks in events (-want +got):\n%s", diff)
			}
			if !fileExists(t, ready, s.foreignFile) {
				t.Errorf("%s of another VM was deleted", s.foreignFile)
			}
		})
	}
}

// A foreign disk in the slot of a volume must not be resized.
func TestVolume_RefusesAForeignDiskInItsSlot(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	s := &diskSetup{t: t, ready: ready, p: p, l: newLoop(t, p), req: newRequest("web", templateImage())}
	s.payroll, _ = createVM(t, ready, "/DC0/vm/templates", "payroll")
	s.foreignFile = s.disks(s.payroll)[0]
	s.req.Effective.Volumes = []vmv1alpha1.VirtualMachineVolume{disk("data", "1Gi", "")}
	s.l.until("the VM runs and its disks are recorded", func() bool {
		s.vm = objectOf(t, ready, s.req)
		return isSynced(s.req)() && len(s.records()) == 2
	}, s.req)
	s.replace()
	s.req.Effective.Volumes[0].Disk.Capacity = ptr(resource.MustParse("100Gi"))
	want := "volumes[data]: its disk was removed in vSphere and replaced by " + s.foreignFile + ": attach it again at scsi0:1, or rename the volume to get an empty disk"
	s.l.until("the change is refused", func() bool { return message(&s.req.VM.Status, vmv1alpha1.ConditionConfigurationSynced) == want }, s.req)
	for _, d := range s.devices(s.vm).SelectByType((*types.VirtualDisk)(nil)) {
		if size := d.(*types.VirtualDisk).CapacityInBytes; size >= 100<<30 {
			t.Errorf("a disk has %d bytes", size)
		}
	}
}
