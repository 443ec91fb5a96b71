// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/testenv"
	"github.com/slipway-dev/slipway/test/vcenter"
)

// foreign is the number of VMs that are adopted in one run.
var foreign = flag.Int("foreign", 9, "number of VMs adopted in one run; creating more takes longer than adopting them")

// legacy creates VMs as vSphere administrators do.
type legacy struct {
	t      *testing.T
	client *govmomi.Client
	find   *find.Finder
	// path is the path of their folder.
	path   string
	folder *object.Folder
	pool   types.ManagedObjectReference
	source *object.VirtualMachine
}

func newLegacy(t *testing.T, folder string) *legacy {
	t.Helper()
	client := testenv.VCenterClient(t.Context(), t)
	t.Cleanup(func() { _ = client.Logout(context.WithoutCancel(t.Context())) })
	l := &legacy{t: t, client: client, find: find.NewFinder(client.Client), path: "/DC0/vm/slipway/" + folder}
	parent, err := l.find.Folder(t.Context(), "/DC0/vm/slipway")
	l.must(err)
	l.folder, err = parent.CreateFolder(t.Context(), folder)
	l.must(err)
	pool, err := l.find.ResourcePool(t.Context(), "/DC0/host/DC0_C0/Resources")
	l.must(err)
	l.pool = pool.Reference()
	l.source, err = l.find.VirtualMachine(t.Context(), "/DC0/vm/templates/"+vcenter.Template)
	l.must(err)
	return l
}

func (l *legacy) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

func (l *legacy) wait(task *object.Task, err error) *types.TaskInfo {
	l.t.Helper()
	l.must(err)
	info, err := task.WaitForResult(l.t.Context())
	l.must(err)
	return info
}

// vm creates a VM with devices.
func (l *legacy) vm(name string, on bool, add ...types.BaseVirtualDevice) *object.VirtualMachine {
	l.t.Helper()
	spec := types.VirtualMachineCloneSpec{
		Location: types.VirtualMachineRelocateSpec{Pool: &l.pool},
		Config:   &types.VirtualMachineConfigSpec{InstanceUuid: uuid.NewString(), NumCPUs: 2, MemoryMB: 1024},
	}
	info := l.wait(l.source.Clone(l.t.Context(), l.folder, name, spec))
	vm := object.NewVirtualMachine(l.client.Client, info.Result.(types.ManagedObjectReference))
	if len(add) > 0 {
		l.must(vm.AddDevice(l.t.Context(), add...))
	}
	if on {
		l.wait(vm.PowerOn(l.t.Context()))
	}
	return vm
}

// disk returns another disk of this many GiB at the first SCSI controller.
func (l *legacy) disk(gib int64, unit int32) types.BaseVirtualDevice {
	l.t.Helper()
	devices, err := l.source.Device(l.t.Context())
	l.must(err)
	controller, err := devices.FindDiskController("scsi")
	l.must(err)
	thin := true
	disk := &types.VirtualDisk{CapacityInKB: gib << 20, CapacityInBytes: gib << 30}
	disk.ControllerKey, disk.UnitNumber, disk.Key = controller.GetVirtualController().Key, &unit, -unit
	disk.Backing = &types.VirtualDiskFlatVer2BackingInfo{DiskMode: string(types.VirtualDiskModePersistent), ThinProvisioned: &thin}
	return disk
}

func (l *legacy) nic() types.BaseVirtualDevice {
	l.t.Helper()
	network, err := l.find.Network(l.t.Context(), "/DC0/network/VM Network")
	l.must(err)
	backing, err := network.EthernetCardBackingInfo(l.t.Context())
	l.must(err)
	nic, err := object.EthernetCardTypes().CreateEthernetCard("e1000e", backing)
	l.must(err)
	return nic
}

// make creates VMs of all kinds, and two that are not adopted.
func (l *legacy) make(machines int) {
	l.t.Helper()
	for i := range machines {
		var devices []types.BaseVirtualDevice
		if i%3 == 1 {
			devices = append(devices, l.disk(2, 1), l.disk(3, 2))
		}
		if i%4 == 2 {
			devices = append(devices, l.nic())
		}
		name := fmt.Sprintf("Legacy VM_%02d", i)
		switch i {
		case 0:
			name = "twin"
		case 1:
			name = "Twin" // the same name in Kubernetes
		}
		vm := l.vm(name, i%2 == 0, devices...)
		if i == 4 {
			l.wait(vm.CreateSnapshot(l.t.Context(), "before", "", false, false))
		}
	}
	l.must(l.vm("golden", false).MarkAsTemplate(l.t.Context()))
	l.vm("vCLS-1", true)
}

// state is the part of a VM that must not change, which is everything except the owner's marker.
func (l *legacy) state() map[string]mo.VirtualMachine {
	l.t.Helper()
	var folder mo.Folder
	l.must(l.client.RetrieveOne(l.t.Context(), l.folder.Reference(), []string{"childEntity"}, &folder))
	out := map[string]mo.VirtualMachine{}
	for _, ref := range folder.ChildEntity {
		var vm mo.VirtualMachine
		l.must(l.client.RetrieveOne(l.t.Context(), ref, []string{"name", "config", "runtime.powerState", "runtime.bootTime"}, &vm))
		var kept []types.BaseOptionValue
		for _, o := range vm.Config.ExtraConfig {
			if !strings.HasPrefix(o.GetOptionValue().Key, "slipway.") {
				kept = append(kept, o)
			}
		}
		vm.Config.ExtraConfig, vm.Config.ChangeVersion = kept, ""
		vm.Config.Modified = vm.Config.Modified.Truncate(0)
		out[vm.Name] = vm
	}
	return out
}

// asMe returns the flags with which virtctl logs in to vCenter.
func asMe(t *testing.T) []string {
	t.Helper()
	vc := testenv.Of(t).VCenter()
	at, err := url.Parse(vc.URL)
	if err != nil {
		t.Fatal(err)
	}
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte(vc.Password), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--vcenter-url", at.Host, "--vcenter-username", vc.Username, "--vcenter-password-file", password, "--vcenter-ca-file", vc.CAFile}
}

func TestAdopt_KeepsAdoptedVMsUnchanged(t *testing.T) {
	t.Parallel()
	u := admin(t)
	l := newLegacy(t, "legacy-"+u.Namespace)
	machines, begin := *foreign, time.Now()
	l.make(machines)
	made := time.Now()
	before := l.state()

	adopt := func(args ...string) []string { return append(append([]string{"adopt"}, args...), asMe(t)...) }
	out, errOut, err := u.Try("", "virtctl", adopt("--folder", l.path, "--dry-run")...)
	if err != nil || strings.Count(out, " none\n") != machines {
		t.Fatalf("dry run: %v, want %d VMs of which nothing changes\n%s%s", err, machines, out, errOut)
	}
	for _, want := range []string{"golden: it is a template", "vCLS-1: it is a system VM", "other VMs would also be named twin", "the VM has 1 snapshots"} {
		if !strings.Contains(errOut, want) {
			t.Errorf("the output of the dry run is missing %q:\n%s", want, errOut)
		}
	}
	if got := strings.Fields(u.Get("vm", ".items[*].metadata.name")); len(got) > 0 {
		t.Fatalf("the dry run has created %q", got)
	}
	tried := time.Now()
	u.Virtctl(adopt("--folder", l.path, "--apply", "--timeout", "110s")...)
	t.Logf("%d VMs: created in %s, dry run in %s, adopted in %s", machines, made.Sub(begin), tried.Sub(made), time.Since(tried))

	after := l.state()
	for name, was := range before {
		is := after[name]
		was.Self, is.Self = types.ManagedObjectReference{}, types.ManagedObjectReference{}
		was.Config.Modified = is.Config.Modified
		if diff := cmp.Diff(was, is); diff != "" {
			t.Errorf("%s was changed (-before +after):\n%s", name, diff)
		}
	}
	u.checkAdopted(machines)
	if out := u.Virtctl("adopt", "--help"); !strings.Contains(out, "deleting the object deletes the VM") {
		t.Errorf("the help does not describe the effect of a deletion:\n%s", out)
	}

	// The owner of a VM is reported.
	if _, errOut, err := u.Try("", "virtctl", adopt("--folder", l.path, "--apply")...); err == nil || !strings.Contains(errOut, "it already belongs to VirtualMachine "+u.Namespace+"/legacy-vm-02") {
		t.Errorf("second run: %v %s", err, errOut)
	}

	u.ownsWhatItTook(l)
}

// ownsWhatItTook changes and deletes adopted VMs.
func (u user) ownsWhatItTook(l *legacy) {
	t := u.T
	t.Helper()
	// The volume is the existing disk: it grows, and no disk is added.
	u.Kubectl("patch", "vm/legacy-vm-07", "--type=json", "-p", `[{"op":"replace","path":"/spec/volumes/0/disk/size","value":"4Gi"}]`)
	testenv.Eventually(t, testenv.Short, "the disk grows", func() error {
		var disks []int64
		for _, d := range l.state()["Legacy VM_07"].Config.Hardware.Device {
			if disk, ok := d.(*types.VirtualDisk); ok {
				disks = append(disks, disk.CapacityInBytes>>30)
			}
		}
		slices.Sort(disks)
		if diff := cmp.Diff([]int64{3, 4, 16}, disks); diff != "" {
			return fmt.Errorf("disks in GiB (-want +got): %s", diff)
		}
		return nil
	})

	// Deleting the object deletes the VM, unless its owner specifies otherwise.
	u.Annotate("vm/legacy-vm-05", "vm.slipway.dev.protected/skip-delete-platform-resource=")
	u.Delete("vm/legacy-vm-05", "vm/legacy-vm-03")
	left := l.state()
	if _, there := left["Legacy VM_03"]; there {
		t.Error("the VM still exists, and its object is deleted")
	}
	if _, there := left["Legacy VM_05"]; !there {
		t.Error("the VM that must be kept is deleted")
	}
}

// checkAdopted checks that this many VMs are adopted and match their specs.
func (u user) checkAdopted(machines int) {
	u.T.Helper()
	out := u.Kubectl("get", "vm", "-o", `jsonpath={range .items[*]}{.status.conditions[?(@.type=="ConfigurationSynced")].reason} {.status.restartRequired} {.metadata.name}{"\n"}{end}`)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != machines {
		u.T.Errorf("%d VMs, want %d:\n%s", len(lines), machines, out)
	}
	for _, line := range lines {
		if !strings.HasPrefix(line, "Succeeded  ") {
			u.T.Errorf("%s: want it to match its spec", line)
		}
	}
}
