// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	vimtypes "github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/vsphereclient"
)

// What takes the newest vCenter, or zones.
func TestTheNewestVCenterWithZones(t *testing.T) {
	another(t, func(o *localcluster.Options) {
		o.Zones, o.VCenters = true, 2
		o.VCenterArgs = append(o.VCenterArgs, "--api-version=9.1.0.0")
	})
	t.Run("a disk of several writers", sharedDisk)
	t.Run("a disk that is only read", readOnlyDisk)
	t.Run("a VM goes where its disk is", nearItsDisk)
	zoneNetworks(t)
	t.Run("a logical network is another one in each zone", networksOfZones)
	t.Run("interfaces of a running VM", liveInterfaces)
}

func sharedDisk(t *testing.T) {
	u := admin(t)
	c := newClaim(u, "data", "ReadWriteMany")
	both := "zone: default\n  " + withClaim("data", "data")
	u.apply(catalogue + vmManifest("one", both) + vmManifest("two", both))
	u.kubectl("wait", "--for=condition=Ready", "vm/one", "vm/two", "--timeout=110s")
	c.lives("one", "two")
	for _, vm := range []string{"one", "two"} {
		b := c.disk(vm).Backing.(*vimtypes.VirtualDiskFlatVer2BackingInfo)
		if b.Sharing != string(vimtypes.VirtualDiskSharingSharingMultiWriter) || b.DiskMode != string(vimtypes.VirtualDiskModeIndependent_persistent) {
			t.Errorf("%s has the disk with sharing %q and mode %q", vm, b.Sharing, b.DiskMode)
		}
		u.wants("vm/"+vm, volumeStatus("data", "diskUUID"), b.Uuid)
	}
	// The claim that is deleted stays until the last of them goes.
	u.kubectl("delete", "pvc/data", "--wait=false")
	u.kubectl("delete", "vm/one", "--timeout=110s")
	c.lives("two")
	u.wants("vm/two", ".status.powerState", "PoweredOn")
	if got := u.get("pvc/data", ".metadata.deletionTimestamp"); got == "" {
		t.Error("the claim is not being deleted, or gone")
	}
	u.kubectl("delete", "vm/two", "--timeout=110s")
	u.wants("pvc/data", ".metadata.name", "")
	c.lives()
}

func readOnlyDisk(t *testing.T) {
	u := admin(t)
	c := newClaim(u, "data", "ReadOnlyMany")
	u.apply(catalogue + vmManifest("one", "zone: default", withClaim("data", "data")))
	u.kubectl("wait", "--for=condition=Ready", "vm/one", "--timeout=110s")
	if mode := c.disk("one").Backing.(*vimtypes.VirtualDiskFlatVer2BackingInfo).DiskMode; mode != string(vimtypes.VirtualDiskModeIndependent_nonpersistent) {
		t.Errorf("the disk has mode %q", mode)
	}
	u.apply(vmManifest("two", "zone: default", withClaim("data", "data")))
	u.wants("vm/two", volumesReady+"reason", "InUse")
	c.lives("one")
	u.kubectl("delete", "vm/one", "--timeout=110s")
	u.kubectl("wait", "--for=condition=Ready", "vm/two", "--timeout=110s")
	c.lives("two")
}

// nearItsDisk has disks that hosts of one of four zones see, in one of two vCenters.
func nearItsDisk(t *testing.T) {
	u := admin(t)
	manifest := catalogue
	var claims []*claim
	for i := range 4 {
		name := fmt.Sprintf("vm-%d", i)
		claims = append(claims, makeClaim(u, name))
		manifest += vmManifest(name, withClaim("data", name))
	}
	u.apply(manifest)
	u.wants("vm/vm-0", `.status.conditions[?(@.type=="Created")].message`, "a zone is chosen when the other conditions are met")
	for _, c := range claims {
		c.bind()
	}
	for _, c := range claims {
		u.kubectl("wait", "--for=condition=Ready", "vm/"+c.name, "--timeout=110s")
		u.wants("vm/"+c.name, ".status.zone", "default")
		c.lives(c.name)
	}
}

// zoneNetworks makes port groups, one of them a VLAN trunk, and gives both zones networks
// of the same names.
func zoneNetworks(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), short)
	defer cancel()
	client := vcenterClient(ctx, t)
	defer func() { _ = client.Logout(context.WithoutCancel(ctx)) }()
	found, err := find.NewFinder(client.Client).Network(ctx, "/DC0/network/DVS0")
	if err != nil {
		t.Fatal(err)
	}
	trunk := &vimtypes.VMwareDVSPortSetting{Vlan: &vimtypes.VmwareDistributedVirtualSwitchTrunkVlanSpec{VlanId: []vimtypes.NumericRange{{Start: 100, End: 199}}}}
	task, err := found.(*object.DistributedVirtualSwitch).AddPortgroup(ctx, []vimtypes.DVPortgroupConfigSpec{
		{Name: "prod-b", Type: string(vimtypes.DistributedVirtualPortgroupPortgroupTypeEarlyBinding), NumPorts: 8},
		{Name: "vlans-100-199", Type: string(vimtypes.DistributedVirtualPortgroupPortgroupTypeEarlyBinding), NumPorts: 8, DefaultPortConfig: trunk},
	})
	if err == nil {
		err = task.Wait(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	root := asAdmin(t, environment(t).AdminKubeconfig)
	for zone, prod := range map[string]string{"default": "DC0_DVPG0", "second": "prod-b"} {
		root.kubectl("patch", "zone/"+zone, "--type=merge", "-p", fmt.Sprintf(`{"spec":{"defaultNetwork":"prod","networks":[
			{"name":"prod","network":%q},{"name":"lab","network":"VM Network"},{"name":"trunk","network":"vlans-100-199"},{"name":"nsx","network":"opaque-0"}]}}`, prod))
	}
	root.kubectl("wait", "--for=condition=Ready", "zone/default", "zone/second", "--timeout=110s")
}

// wired are the networks that the interfaces of a VM are connected to in vCenter, by name.
func (u user) wired(vm string) map[string]string {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(u.t.Context(), short)
	defer cancel()
	client := vcenterClient(ctx, u.t)
	defer func() { _ = client.Logout(context.WithoutCancel(ctx)) }()
	have := inventory(u.t, u.namespace)[vm]
	out := map[string]string{}
	if have.Config == nil {
		return out
	}
	var interfaces []struct {
		Name      string
		DeviceKey int32
	}
	if text := u.get("vm/"+vm, ".status.network.interfaces"); text != "" {
		if err := json.Unmarshal([]byte(text), &interfaces); err != nil {
			u.t.Fatal(err)
		}
	}
	for _, i := range interfaces {
		device := object.VirtualDeviceList(have.Config.Hardware.Device).FindByKey(i.DeviceKey)
		if device == nil {
			continue
		}
		switch b := device.GetVirtualDevice().Backing.(type) {
		case *vimtypes.VirtualEthernetCardNetworkBackingInfo:
			out[i.Name] = b.DeviceName
		case *vimtypes.VirtualEthernetCardOpaqueNetworkBackingInfo:
			out[i.Name] = b.OpaqueNetworkId
		case *vimtypes.VirtualEthernetCardDistributedVirtualPortBackingInfo:
			var group mo.DistributedVirtualPortgroup
			ref := vimtypes.ManagedObjectReference{Type: "DistributedVirtualPortgroup", Value: b.Port.PortgroupKey}
			if err := client.RetrieveOne(ctx, ref, []string{"name"}, &group); err != nil {
				u.t.Fatal(err)
			}
			out[i.Name] = group.Name
		}
	}
	return out
}

// becomesWired waits until the interfaces are connected so, and nothing is left to do.
func (u user) becomesWired(vm string, want map[string]string) {
	u.t.Helper()
	eventually(u.t, long, fmt.Sprintf("%s is connected to %v", vm, want), func() error {
		if diff := cmp.Diff(want, u.wired(vm)); diff != "" {
			return errorf("networks (-want +got):\n%s", diff)
		}
		if got := u.get("vm/"+vm, `.status.conditions[?(@.type=="ConfigurationSynced")].reason`); got != "Succeeded" {
			return errorf("ConfigurationSynced is %s", got)
		}
		return nil
	})
}

// withNetworks is the line of a spec with interfaces, given as name and network in turn.
func withNetworks(pairs ...string) string {
	list := ""
	for i := 0; i < len(pairs); i += 2 {
		list += fmt.Sprintf("{name: %s, network: %q}, ", pairs[i], pairs[i+1])
	}
	return "network: {interfaces: [" + list + "]}"
}

func networksOfZones(t *testing.T) {
	u := admin(t)
	u.apply(catalogue + vmManifest("a", "zone: default", withNetworks("eth0", "prod", "vlans", "trunk")) +
		vmManifest("b", "zone: second", withNetworks("eth0", "prod")) + vmManifest("c", "zone: second"))
	u.kubectl("wait", "--for=condition=Ready", "vm/a", "vm/b", "vm/c", "--timeout=110s")
	// A trunk hands the tagged frames to the guest: the port is that of the port group.
	u.becomesWired("a", map[string]string{"eth0": "DC0_DVPG0", "vlans": "vlans-100-199"})
	u.becomesWired("b", map[string]string{"eth0": "prod-b"})
	u.becomesWired("c", map[string]string{"eth0": "prod-b"})
	u.apply(vmManifest("d", "zone: second", withNetworks("eth0", "VM Network")))
	const placement = `.status.conditions[?(@.type=="PlacementReady")].`
	u.wants("vm/d", placement+"status", "False")
	if got, want := u.get("vm/d", placement+"message"), `"VM Network"`; !containsAll(got, want, "zone second") {
		t.Errorf("PlacementReady says %q, want zone and network named", got)
	}
}

func containsAll(text string, parts ...string) bool {
	return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
}

// powerOns counts how often VMs were powered on.
func powerOns(t *testing.T) int {
	t.Helper()
	out, err := vsphereclient.Order(t.Context(), environment(t).VCenter().ControlURL, http.MethodGet, "/calls")
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]int{}
	if err := json.Unmarshal(out, &calls); err != nil {
		t.Fatal(err)
	}
	return calls["PowerOnVM_Task"] + calls["ResetVM_Task"] + calls["RebootGuest"]
}

func liveInterfaces(t *testing.T) {
	u := admin(t)
	u.apply(catalogue + vmManifest("web", "zone: default", withNetworks("eth0", "prod")))
	u.kubectl("wait", "--for=condition=Ready", "vm/web", "--timeout=110s")
	before := powerOns(t)
	const macOf = `.status.network.interfaces[?(@.name==%q)].macAddress`
	patch := func(list string) {
		t.Helper()
		u.kubectl("patch", "vm/web", "--type=merge", "-p", `{"spec":{"network":{"interfaces":[`+list+`]}}}`)
	}
	own := u.get("vm/web", fmt.Sprintf(macOf, "eth0"))

	patch(`{"name":"front","network":"lab"},{"name":"eth0","network":"prod"}`)
	u.becomesWired("web", map[string]string{"front": "VM Network", "eth0": "DC0_DVPG0"})
	added := u.get("vm/web", fmt.Sprintf(macOf, "front"))
	patch(`{"name":"front","network":"nsx"},{"name":"eth0","network":"trunk"}`)
	u.becomesWired("web", map[string]string{"front": "opaque-0", "eth0": "vlans-100-199"})
	if got := u.get("vm/web", fmt.Sprintf(macOf, "eth0")); got != own {
		t.Errorf("eth0 had MAC address %s, and has %s on another network", own, got)
	}
	patch(`{"name":"front","network":"nsx"}`)
	u.becomesWired("web", map[string]string{"front": "opaque-0"})
	if got := powerOns(t); got != before {
		t.Errorf("powered on, or restarted, %d times by changes that a running VM takes", got-before)
	}

	// vSphere gives no running VM another MAC address.
	patch(`{"name":"front","network":"nsx","macAddress":"00:50:56:12:34:56"}`)
	u.wants("vm/web", ".status.restartRequired[*].path", "network.interfaces[front]")
	u.wants("vm/web", `.status.conditions[?(@.type=="ConfigurationSynced")].reason`, "RestartRequired")
	if got := u.get("vm/web", fmt.Sprintf(macOf, "front")); got != added {
		t.Errorf("front had MAC address %s, and has %s before its restart", added, got)
	}
	u.virtctl("restart", "web")
	u.restarted("web")
	u.wants("vm/web", fmt.Sprintf(macOf, "front"), "00:50:56:12:34:56")
	u.wants("vm/web", ".status.restartRequired", "")

	// A network that there is not is said, and the VM goes on as it is.
	patch(`{"name":"front","network":"nowhere","macAddress":"00:50:56:12:34:56"}`)
	u.wants("vm/web", `.status.conditions[?(@.type=="NetworkReady")].status`, "False")
	if got := u.get("vm/web", `.status.conditions[?(@.type=="NetworkReady")].message`); !containsAll(got, `"nowhere"`) {
		t.Errorf("NetworkReady says %q, and not which network", got)
	}
	if got := u.wired("web"); got["front"] != "opaque-0" || u.get("vm/web", ".status.powerState") != "PoweredOn" {
		t.Errorf("the VM is connected to %v and %s", got, u.get("vm/web", ".status.powerState"))
	}
}
