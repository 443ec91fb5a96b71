// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	vsphere "github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	vimtypes "github.com/vmware/govmomi/vim25/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/test/fleetcheck"
)

// restored is the prefix of the names of copies.
const restored = "restored-"

// foreignDisks is the directory of foreign disks.
const foreignDisks = "[LocalDS_0] foreign-disks"

// backup takes a snapshot of each VM. The end of the event removes the snapshots.
func backup(ctx context.Context, s *storm) (func(context.Context) error, error) {
	const name = "backup"
	end := func(ctx context.Context) error {
		return s.eachVM(ctx, func(ctx context.Context, vm *vsphere.VirtualMachine, now *mo.VirtualMachine) (*vsphere.Task, error) {
			if now.Snapshot == nil || now.Snapshot.RootSnapshotList[0].Name != name {
				return nil, nil
			}
			return vm.RemoveSnapshot(ctx, now.Snapshot.RootSnapshotList[0].Snapshot.Value, true, new(true))
		})
	}
	return end, s.eachVM(ctx, func(ctx context.Context, vm *vsphere.VirtualMachine, _ *mo.VirtualMachine) (*vsphere.Task, error) {
		return vm.CreateSnapshot(ctx, name, "", false, false)
	})
}

// eachVM starts a task for each managed VM and waits for the tasks. It skips VMs that their user deletes
// concurrently.
func (s *storm) eachVM(ctx context.Context, do func(context.Context, *vsphere.VirtualMachine, *mo.VirtualMachine) (*vsphere.Task, error)) error {
	c, logout, err := fleetcheck.Connect(ctx, s.cluster)
	if err != nil {
		return err
	}
	defer logout()
	all, err := s.ours(ctx, c)
	if err != nil {
		return err
	}
	var tasks []*vsphere.Task
	for i := range all {
		task, err := do(ctx, vsphere.NewVirtualMachine(c.Client, all[i].Self), &all[i])
		if err != nil {
			return err
		}
		if task != nil {
			tasks = append(tasks, task)
		}
	}
	for _, task := range tasks {
		if err := task.Wait(ctx); err != nil && ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// backedUp creates a snapshot of each VM and removes it, as a backup does.
func (s *storm) backedUp(names []string) {
	s.t.Helper()
	if !slices.Contains(names, "backup") {
		return
	}
	end, err := backup(s.t.Context(), s)
	if err == nil {
		err = s.end(s.t.Context(), end)
	}
	if err != nil {
		s.t.Errorf("a backup of each VM: %v", err)
	}
}

// guestInfo sets a guestinfo variable in all VMs, as their guests do.
func guestInfo(ctx context.Context, s *storm) (func(context.Context) error, error) {
	c, logout, err := fleetcheck.Connect(ctx, s.cluster)
	if err != nil {
		return nil, err
	}
	defer logout()
	all, err := s.ours(ctx, c)
	if err != nil {
		return nil, err
	}
	for _, v := range all {
		q := url.Values{"vm": {v.Self.Value}, "key": {"guestinfo.written"}, "value": {strconv.FormatUint(s.random.Uint64(), 16)}}
		_ = s.control(ctx, http.MethodPut, "/vm/guest?"+q.Encode(), nil) // its user has deleted it
	}
	return done, nil
}

// restore creates a copy of a VM next to it, with its settings and BIOS UUID. The copy is kept.
func restore(ctx context.Context, s *storm) (func(context.Context) error, error) {
	v, err := s.anyMachine(ctx)
	if err != nil {
		return nil, err
	}
	c, logout, err := fleetcheck.Connect(ctx, s.cluster)
	if err != nil {
		return nil, err
	}
	defer logout()
	pool, err := find.NewFinder(c.Client).ResourcePool(ctx, "/DC0/host/DC0_C0/Resources")
	if err != nil {
		return nil, err
	}
	s.foreign++
	task, err := vsphere.NewVirtualMachine(c.Client, v.Self).Clone(ctx, vsphere.NewFolder(c.Client, *v.Parent), fmt.Sprintf("%s%d", restored, s.foreign),
		vimtypes.VirtualMachineCloneSpec{
			Location: vimtypes.VirtualMachineRelocateSpec{Pool: new(pool.Reference())},
			Config:   &vimtypes.VirtualMachineConfigSpec{Uuid: v.Config.Uuid},
		})
	if err == nil {
		err = task.Wait(ctx)
	}
	return func(ctx context.Context) error { return s.check.AddForeign(ctx, restored) }, err
}

// attach attaches a foreign disk to a free unit of a VM. The disk is not detached, and must be kept when the VM is
// deleted.
func attach(ctx context.Context, s *storm) (func(context.Context) error, error) {
	v, err := s.anyMachine(ctx)
	if err != nil {
		return nil, err
	}
	c, logout, err := fleetcheck.Connect(ctx, s.cluster)
	if err != nil {
		return nil, err
	}
	defer logout()
	file, err := s.makeDisk(ctx, c.Client)
	if err != nil {
		return nil, err
	}
	devices := vsphere.VirtualDeviceList(v.Config.Hardware.Device)
	controller, err := devices.FindDiskController("")
	if err != nil {
		return nil, err
	}
	disk := devices.CreateDisk(controller, vimtypes.ManagedObjectReference{}, file)
	disk.CapacityInKB = 0
	return done, vsphere.NewVirtualMachine(c.Client, v.Self).AddDevice(ctx, disk)
}

// makeDisk creates a foreign disk and returns its path.
func (s *storm) makeDisk(ctx context.Context, c *vim25.Client) (string, error) {
	dc, err := find.NewFinder(c).Datacenter(ctx, "/DC0")
	if err != nil {
		return "", err
	}
	s.foreign++
	file := fmt.Sprintf("%s/%d.vmdk", foreignDisks, s.foreign)
	task, err := vsphere.NewVirtualDiskManager(c).CreateVirtualDisk(ctx, file, dc, &vimtypes.FileBackedVirtualDiskSpec{
		VirtualDiskSpec: vimtypes.VirtualDiskSpec{DiskType: "thin", AdapterType: "lsiLogic"}, CapacityKb: 1 << 20,
	})
	if err == nil {
		err = task.Wait(ctx)
	}
	if err == nil {
		s.disks = append(s.disks, file)
	}
	return file, err
}

// foreignDisksStay checks that the foreign disks exist.
func (s *storm) foreignDisksStay(ctx context.Context) error {
	var files []string
	if err := s.control(ctx, http.MethodGet, "/files", &files); err != nil {
		return err
	}
	for _, file := range s.disks {
		if !slices.Contains(files, file) {
			return fmt.Errorf("foreign: the disk %s was deleted", file)
		}
	}
	return nil
}

// removeHost removes a host with its running VMs from the inventory. The end of the event adds it again. The VMs keep
// their managed object IDs or get others, at random. An administrator confirms others.
func removeHost(ctx context.Context, s *storm) (func(context.Context) error, error) {
	if s.hostIsAway {
		return nil, nil
	}
	c, logout, err := fleetcheck.Connect(ctx, s.cluster)
	if err != nil {
		return nil, err
	}
	defer logout()
	hosts, err := find.NewFinder(c.Client).HostSystemList(ctx, "/DC0/host/DC0_C0/*")
	if err != nil {
		return nil, err
	}
	names := make([]string, len(hosts))
	for i, host := range hosts {
		names[i] = host.Name()
	}
	slices.Sort(names)
	host, same := url.QueryEscape(s.pick(names)), s.random.IntN(2) == 0
	var before, after []string
	if err := s.control(ctx, http.MethodPost, "/host/remove?host="+host, &before); err != nil {
		return nil, err
	}
	s.hostIsAway = true
	return func(ctx context.Context) error {
		if s.hostIsAway {
			ids := map[bool]string{true: "&ids=same"}[same]
			if err := s.control(ctx, http.MethodPost, "/host/add?host="+host+ids, &after); err != nil {
				return err
			}
			s.hostIsAway = false
		}
		return s.confirmAll(ctx, before, after)
	}, nil
}

// confirmAll confirms the identity of VMs whose managed object IDs have changed.
func (s *storm) confirmAll(ctx context.Context, before, after []string) error {
	c, logout, err := fleetcheck.Connect(ctx, s.cluster)
	if err != nil {
		return err
	}
	defer logout()
	for i, moID := range after {
		v := s.read(ctx, c, moID)
		if v == nil || s.check.Renumbered(before[i], moID) {
			continue
		}
		s.returned = append(s.returned, moID)
		owner, owned := observe.OwnerOf(v)
		if !owned || moID == before[i] {
			continue
		}
		vm, err := s.api.VmV1alpha1().VirtualMachines(owner.Key.Namespace).Get(ctx, owner.Key.Name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		if err == nil && vm.Status.UniqueID == before[i] {
			s.belongs(v, moID)
			v.Self.Value = before[i]
			if err := s.confirm(ctx, v, moID); err != nil {
				return err
			}
		}
	}
	return nil
}

// destroyCopies destroys VMs that were created just before their host was removed. No status refers to them, because
// the server was killed and created other VMs in between. An administrator finds them with virtctl orphans.
func (s *storm) destroyCopies(ctx context.Context) error {
	c, logout, err := fleetcheck.Connect(ctx, s.cluster)
	if err != nil {
		return err
	}
	defer logout()
	for _, moID := range s.returned {
		v := s.read(ctx, c, moID)
		if v == nil {
			continue
		}
		owner, owned := observe.OwnerOf(v)
		vm, err := s.api.VmV1alpha1().VirtualMachines(owner.Key.Namespace).Get(ctx, owner.Key.Name, metav1.GetOptions{})
		switch {
		case !owned || err == nil && vm.Status.UniqueID == moID:
			continue
		case err == nil && vm.Status.UniqueID == "":
			return fmt.Errorf("%s has no VM yet, and %s may be its VM", owner, moID)
		case err != nil && !apierrors.IsNotFound(err):
			return err
		}
		s.t.Logf("%s is a copy of %s: it is destroyed", moID, owner)
		if err := s.destroy(ctx, vsphere.NewVirtualMachine(c.Client, v.Self)); err != nil {
			return err
		}
	}
	return nil
}

// read returns a VM as stored in vCenter, or nil if it does not exist.
func (s *storm) read(ctx context.Context, c *govmomi.Client, moID string) *mo.VirtualMachine {
	var v mo.VirtualMachine
	ref := vimtypes.ManagedObjectReference{Type: "VirtualMachine", Value: moID}
	if err := c.RetrieveOne(ctx, ref, []string{"name", "config"}, &v); err != nil || v.Config == nil {
		return nil // its user has deleted it
	}
	return &v
}

// destroy destroys a VM as an administrator does.
func (s *storm) destroy(ctx context.Context, vm *vsphere.VirtualMachine) error {
	if task, err := vm.PowerOff(ctx); err == nil {
		_ = task.Wait(ctx) // it is off already
	}
	task, err := vm.Destroy(ctx)
	if err != nil {
		return err
	}
	return task.Wait(ctx)
}
