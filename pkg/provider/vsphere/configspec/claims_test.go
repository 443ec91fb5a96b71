// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// Claims' disks: one is attached as volume pvc, the other is not attached.
const (
	heldID  = "8f163c98-2bef-4ea3-a7f9-acefb21e7398"
	otherID = "713dd25b-56cb-4092-a593-8acd93651b99"
)

func claimed(name string) vmv1alpha1.VirtualMachineVolume {
	return vmv1alpha1.VirtualMachineVolume{Name: name, PersistentVolumeClaim: &vmv1alpha1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}
}

// withClaim adds the disk of a claim of 4Gi, recorded as volume pvc.
func withClaim(vm *mo.VirtualMachine) *types.VirtualDisk {
	disk := diskAt(2002, 1000, 2, 4<<30)
	disk.VDiskId = &types.ID{Id: heldID}
	disk.Backing = &types.VirtualDiskFlatVer2BackingInfo{DiskMode: string(types.VirtualDiskModePersistent)}
	vm.Config.Hardware.Device = append(vm.Config.Hardware.Device, disk)
	vm.Config.ExtraConfig = append(vm.Config.ExtraConfig, &types.OptionValue{Key: observe.ClaimKey("pvc"), Value: heldID})
	return disk
}

// requests formats the requests to the volume service.
func requests(diffs []Difference) []string {
	var out []string
	for _, c := range ClaimChanges(diffs) {
		switch {
		case c.Attach != nil:
			out = append(out, fmt.Sprintf("attach %s to %s%d:%d shared=%t", c.ID, c.Attach.Kind, c.Attach.Bus, c.Attach.Unit, c.Attach.Shared))
		case c.Detach:
			out = append(out, "detach "+c.ID)
		default:
			out = append(out, fmt.Sprintf("extend %s to %d", c.ID, c.Extend))
		}
	}
	return out
}

var (
	held  = provider.Claim{VolumeID: heldID, Size: 4 << 30}
	other = provider.Claim{VolumeID: otherID, Size: 4 << 30}
)

// claimCases are volumes with claims, with the expected differences and requests.
var claimCases = []struct {
	name    string
	volumes []vmv1alpha1.VirtualMachineVolume
	claims  map[string]provider.Claim
	have    func(*mo.VirtualMachine, *types.VirtualDisk)
	isNew   bool
	want    []Difference
	asked   []string
	changes []string
}{
	{name: "attached", volumes: []vmv1alpha1.VirtualMachineVolume{claimed("pvc")}, claims: map[string]provider.Claim{"pvc": held}},
	{name: "larger than requested", volumes: []vmv1alpha1.VirtualMachineVolume{claimed("pvc")},
		claims: map[string]provider.Claim{"pvc": {VolumeID: heldID, Size: 1 << 30}}},
	{name: "not attached", volumes: []vmv1alpha1.VirtualMachineVolume{claimed("pvc"), claimed("more")}, claims: map[string]provider.Claim{"pvc": held, "more": other},
		want:    []Difference{{Path: "volumes[more]", Desired: "claim c", Live: true}},
		asked:   []string{"attach " + otherID + " to pvscsi0:3 shared=false"},
		changes: []string{observe.ClaimKey("more") + "=" + otherID}},
	{name: "next to a new disk", volumes: []vmv1alpha1.VirtualMachineVolume{claimed("pvc"), volume("data", "2Gi", ""), claimed("more"), volume("empty", "1Gi", "")},
		claims: map[string]provider.Claim{"pvc": held, "more": other},
		want: []Difference{{Path: "volumes[empty]", Desired: "1Gi on pvscsi", Live: true},
			{Path: "volumes[more]", Desired: "claim c", Live: true}},
		asked: []string{"attach " + otherID + " to pvscsi0:3 shared=false"},
		changes: []string{"add disk 1Gi at 1000:4 create", observe.VolumeKey("empty") + "=scsi0:4",
			observe.ClaimKey("more") + "=" + otherID}},
	{name: "shared", volumes: []vmv1alpha1.VirtualMachineVolume{claimed("pvc"), claimed("more")},
		claims: map[string]provider.Claim{"pvc": held, "more": {VolumeID: otherID, Shared: true}},
		want:   []Difference{{Path: "volumes[more]", Desired: "claim c", Live: true}},
		asked:  []string{"attach " + otherID + " to pvscsi0:3 shared=true"}, changes: []string{observe.ClaimKey("more") + "=" + otherID}},
	{name: "must wait", volumes: []vmv1alpha1.VirtualMachineVolume{claimed("pvc"), claimed("more")},
		claims: map[string]provider.Claim{"pvc": held, "more": {VolumeID: otherID, Waiting: "in use"}}},
	{name: "attached and must wait", volumes: []vmv1alpha1.VirtualMachineVolume{claimed("pvc")},
		claims: map[string]provider.Claim{"pvc": {VolumeID: heldID, Size: 4 << 30, Waiting: "is being deleted"}}},
	{name: "an unknown disk", volumes: []vmv1alpha1.VirtualMachineVolume{claimed("pvc")}, claims: map[string]provider.Claim{"pvc": {Waiting: "does not exist"}}},
	{name: "claims that were not read", volumes: []vmv1alpha1.VirtualMachineVolume{claimed("pvc")}},
	{name: "a new VM", isNew: true, volumes: []vmv1alpha1.VirtualMachineVolume{claimed("more")}, claims: map[string]provider.Claim{"more": other}},
	{name: "resized", volumes: []vmv1alpha1.VirtualMachineVolume{claimed("pvc")}, claims: map[string]provider.Claim{"pvc": {VolumeID: heldID, Size: 5<<30 - 1}},
		want:  []Difference{{Path: "volumes[pvc]", Running: "4Gi on pvscsi", Desired: "5Gi on pvscsi", Live: true}},
		asked: []string{"extend " + heldID + " to 5120"}},
	{name: "removed", want: []Difference{{Path: "volumes[pvc]", Running: "disk " + heldID, Live: true}}, asked: []string{"detach " + heldID}},
	{name: "removed and detached", have: func(vm *mo.VirtualMachine, disk *types.VirtualDisk) {
		vm.Config.Hardware.Device = vm.Config.Hardware.Device[:len(vm.Config.Hardware.Device)-1]
	},
		want: []Difference{{Path: "volumes[pvc]", Running: "disk " + heldID, Live: true}}, changes: []string{observe.ClaimKey("pvc") + "="}},
	{name: "attached by another client", have: func(vm *mo.VirtualMachine, disk *types.VirtualDisk) {
		vm.Config.ExtraConfig = vm.Config.ExtraConfig[:len(vm.Config.ExtraConfig)-1]
	}},
	{name: "attached manually", volumes: []vmv1alpha1.VirtualMachineVolume{claimed("pvc")}, claims: map[string]provider.Claim{"pvc": held},
		have: func(vm *mo.VirtualMachine, disk *types.VirtualDisk) {
			vm.Config.ExtraConfig = vm.Config.ExtraConfig[:len(vm.Config.ExtraConfig)-1]
		},
		want:    []Difference{{Path: "volumes[pvc]", Running: "a disk that is not recorded", Desired: "claim c", Live: true}},
		changes: []string{observe.ClaimKey("pvc") + "=" + heldID}},
	{name: "renamed", volumes: []vmv1alpha1.VirtualMachineVolume{claimed("new")}, claims: map[string]provider.Claim{"new": held},
		want:    []Difference{{Path: "volumes[new]", Running: "a disk that is not recorded", Desired: "claim c", Live: true}},
		changes: []string{observe.ClaimKey("new") + "=" + heldID}},
	{name: "another claim in a volume of the same name", volumes: []vmv1alpha1.VirtualMachineVolume{claimed("pvc")}, claims: map[string]provider.Claim{"pvc": other},
		want: []Difference{{Path: "volumes[pvc]", Running: "disk " + heldID, Live: true}}, asked: []string{"detach " + heldID}},
	{name: "another claim in a volume of the same name, and the first claim is detached", volumes: []vmv1alpha1.VirtualMachineVolume{claimed("pvc")}, claims: map[string]provider.Claim{"pvc": other},
		have: func(vm *mo.VirtualMachine, disk *types.VirtualDisk) {
			vm.Config.Hardware.Device = vm.Config.Hardware.Device[:len(vm.Config.Hardware.Device)-1]
		},
		want:    []Difference{{Path: "volumes[pvc]", Desired: "claim c", Live: true}},
		asked:   []string{"attach " + otherID + " to pvscsi0:2 shared=false"},
		changes: []string{observe.ClaimKey("pvc") + "=" + otherID}},
	{name: "read-only", volumes: []vmv1alpha1.VirtualMachineVolume{claimed("pvc")}, claims: map[string]provider.Claim{"pvc": {VolumeID: heldID, ReadOnly: true}},
		want:    []Difference{{Path: "volumes[pvc].persistentVolumeClaim.readOnly", Running: "false", Desired: "true"}},
		changes: []string{"edit disk 4Gi at 1000:2 "}},
}

func TestClaims_DisksAreAttachedAndNeverDeleted(t *testing.T) {
	for _, tc := range claimCases {
		t.Run(tc.name, func(t *testing.T) {
			w, vm := want(), have()
			withDisks(vm)
			if !slices.ContainsFunc(tc.volumes, func(v vmv1alpha1.VirtualMachineVolume) bool { return v.Name == "data" }) {
				setManually(observe.VolumeKey("data"), "")(vm)
			}
			disk := withClaim(vm)
			if tc.have != nil {
				tc.have(vm, disk)
			}
			w.Effective.Volumes, w.Claims, w.New, w.PlacesClaims = tc.volumes, tc.claims, tc.isNew, true
			var got []Difference
			for _, d := range Differences(w, vm) {
				if len(d.Path) > 7 && d.Path[:7] == "volumes" {
					got = append(got, d)
				}
			}
			shown := cmp.Comparer(func(a, b Difference) bool {
				return a.Path == b.Path && a.Running == b.Running && a.Desired == b.Desired && a.Live == b.Live
			})
			if diff := cmp.Diff(tc.want, got, shown); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.asked, requests(got)); diff != "" {
				t.Errorf("requests to the volume service (-want +got):\n%s", diff)
			}
			spec := Spec(got)
			if diff := cmp.Diff(tc.changes, changes(spec)); diff != "" {
				t.Errorf("reconfiguration (-want +got):\n%s", diff)
			}
			for _, c := range spec.DeviceChange {
				d := c.GetVirtualDeviceConfigSpec()
				if d.Operation == types.VirtualDeviceConfigSpecOperationRemove || d.FileOperation == types.VirtualDeviceConfigSpecFileOperationDestroy {
					t.Errorf("a reconfiguration removes %+v", d)
				}
			}
			if got := NeedNoReconfigure(got); got != (len(tc.changes) == 0) {
				t.Errorf("needs no reconfiguration: %t, but there are %d changes", got, len(tc.changes))
			}
		})
	}
}

func TestRefused_RejectsClaimsThatOlderVCentersDoNotSupport(t *testing.T) {
	at := func(change func(*vmv1alpha1.VirtualMachineVolume)) vmv1alpha1.VirtualMachineVolume {
		v := claimed("data")
		change(&v)
		return v
	}
	for _, tc := range []struct {
		name   string
		volume vmv1alpha1.VirtualMachineVolume
		claim  provider.Claim
		places bool
		want   []string
	}{
		{"pvscsi", at(func(v *vmv1alpha1.VirtualMachineVolume) { v.Bus = "pvscsi" }), provider.Claim{}, false, nil},
		{"ide", at(func(v *vmv1alpha1.VirtualMachineVolume) { v.Bus = "ide" }), provider.Claim{}, true,
			[]string{"volumes[data].bus: the disk of a claim cannot be attached to ide; allowed: pvscsi, lsilogic, lsilogicsas, sata, nvme"}},
		{"another bus", at(func(v *vmv1alpha1.VirtualMachineVolume) { v.Bus = "nvme" }), provider.Claim{}, false,
			[]string{"volumes[data].bus: a vCenter older than 9.1 attaches claims' disks only to pvscsi controllers"}},
		{"another bus, new vCenter", at(func(v *vmv1alpha1.VirtualMachineVolume) { v.Bus = "nvme" }), provider.Claim{}, true, nil},
		{"a unit number", at(func(v *vmv1alpha1.VirtualMachineVolume) { v.UnitNumber = ptr(int32(3)) }), provider.Claim{}, false,
			[]string{"volumes[data]: a vCenter older than 9.1 chooses the position of a claim's disk: leave controllerBusNumber and unitNumber unset"}},
		{"a unit number, new vCenter", at(func(v *vmv1alpha1.VirtualMachineVolume) { v.UnitNumber = ptr(int32(3)) }), provider.Claim{}, true, nil},
		{"several writers", claimed("data"), provider.Claim{Shared: true}, false,
			[]string{"volumes[data].persistentVolumeClaim: a vCenter older than 9.1 attaches a claim's disk to one virtual machine at a time, but the claim is ReadWriteMany"}},
		{"several writers, new vCenter", claimed("data"), provider.Claim{Shared: true}, true, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := want()
			w.Effective.Volumes, w.Claims, w.PlacesClaims = []vmv1alpha1.VirtualMachineVolume{tc.volume}, map[string]provider.Claim{"data": tc.claim}, tc.places
			refused := Refused(w, &mo.VirtualMachine{})
			if diff := cmp.Diff(tc.want, refused.Invalid); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
			var volumes []string
			if tc.want != nil {
				volumes = []string{"data"}
			}
			if diff := cmp.Diff(volumes, refused.Volumes); diff != "" {
				t.Errorf("volumes (-want +got):\n%s", diff)
			}
		})
	}
}
