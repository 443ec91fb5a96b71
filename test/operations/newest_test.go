// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

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
	"github.com/slipway-dev/slipway/test/testenv"
	"github.com/slipway-dev/slipway/test/vsphereclient"
)

// Features that require the newest vCenter version, or zones.
func TestNewestVCenter_WithZones(t *testing.T) {
	testenv.Own(t, func(o *localcluster.Options) {
		o.Zones, o.VCenters = true, 2
		o.VCenterArgs = append(o.VCenterArgs, "--api-version=9.1.0.0")
	})
	t.Run("a disk of several writers", sharedDisk)
	t.Run("a disk that is only read", readOnlyDisk)
	t.Run("a VM goes where its disk is", nearItsDisk)
	t.Run("virtctl top", virtctlTop)
	zoneNetworks(t)
	t.Run("a logical network is another one in each zone", networksOfZones)
	t.Run("interfaces of a running VM", liveInterfaces)
}

func sharedDisk(t *testing.T) {
	u := admin(t)
	c := testenv.NewClaim(u.User, "data", "ReadWriteMany")
	both := "zone: default\n  " + testenv.WithClaim("data", "data")
	u.Apply(testenv.Catalogue + testenv.VM("one", both) + testenv.VM("two", both))
	u.Kubectl("wait", "--for=condition=Ready", "vm/one", "vm/two", "--timeout=110s")
	c.Lives("one", "two")
	for _, vm := range []string{"one", "two"} {
		b := c.Disk(vm).Backing.(*vimtypes.VirtualDiskFlatVer2BackingInfo)
		if b.Sharing != string(vimtypes.VirtualDiskSharingSharingMultiWriter) || b.DiskMode != string(vimtypes.VirtualDiskModeIndependent_persistent) {
			t.Errorf("%s has the disk with sharing %q and mode %q", vm, b.Sharing, b.DiskMode)
		}
		u.Wants("vm/"+vm, testenv.VolumeStatus("data", "diskUUID"), b.Uuid)
	}
	// The deleted claim is kept until the last VM has released it.
	u.Kubectl("delete", "pvc/data", "--wait=false")
	u.Kubectl("delete", "vm/one", "--timeout=110s")
	c.Lives("two")
	u.Wants("vm/two", ".status.powerState", "PoweredOn")
	if got := u.Get("pvc/data", ".metadata.deletionTimestamp"); got == "" {
		t.Error("the claim is not being deleted, or is deleted")
	}
	u.Kubectl("delete", "vm/two", "--timeout=110s")
	u.Wants("pvc/data", ".metadata.name", "")
	c.Lives()
}

func readOnlyDisk(t *testing.T) {
	u := admin(t)
	c := testenv.NewClaim(u.User, "data", "ReadOnlyMany")
	u.Apply(testenv.Catalogue + testenv.VM("one", "zone: default", testenv.WithClaim("data", "data")))
	u.Kubectl("wait", "--for=condition=Ready", "vm/one", "--timeout=110s")
	if mode := c.Disk("one").Backing.(*vimtypes.VirtualDiskFlatVer2BackingInfo).DiskMode; mode != string(vimtypes.VirtualDiskModeIndependent_nonpersistent) {
		t.Errorf("the disk has mode %q", mode)
	}
	u.Apply(testenv.VM("two", "zone: default", testenv.WithClaim("data", "data")))
	u.Wants("vm/two", testenv.VolumesReady+"reason", "InUse")
	c.Lives("one")
	u.Kubectl("delete", "vm/one", "--timeout=110s")
	u.Kubectl("wait", "--for=condition=Ready", "vm/two", "--timeout=110s")
	c.Lives("two")
}

// nearItsDisk uses disks that hosts of only one of four zones can access, in one of two vCenters.
func nearItsDisk(t *testing.T) {
	u := admin(t)
	manifest := testenv.Catalogue
	var claims []*testenv.Claim
	for i := range 4 {
		name := fmt.Sprintf("vm-%d", i)
		claims = append(claims, testenv.MakeClaim(u.User, name))
		manifest += testenv.VM(name, testenv.WithClaim("data", name))
	}
	u.Apply(manifest)
	u.Wants("vm/vm-0", `.status.conditions[?(@.type=="Created")].message`, "waiting for other prerequisites before a zone is chosen")
	for _, c := range claims {
		c.Bind()
	}
	for _, c := range claims {
		u.Kubectl("wait", "--for=condition=Ready", "vm/"+c.Name, "--timeout=110s")
		u.Wants("vm/"+c.Name, ".status.zone", "default")
		c.Lives(c.Name)
	}
}

// zoneNetworks creates port groups, one of them a VLAN trunk, and configures networks with the same names in both
// zones.
func zoneNetworks(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Short)
	defer cancel()
	client := testenv.VCenterClient(ctx, t)
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
	root := testenv.AsAdmin(t, testenv.Of(t).AdminKubeconfig)
	for zone, prod := range map[string]string{"default": "DC0_DVPG0", "second": "prod-b"} {
		root.Kubectl("patch", "zone/"+zone, "--type=merge", "-p", fmt.Sprintf(`{"spec":{"defaultNetwork":"prod","networks":[
			{"name":"prod","network":%q},{"name":"lab","network":"VM Network"},{"name":"trunk","network":"vlans-100-199"},{"name":"nsx","network":"opaque-0"}]}}`, prod))
	}
	root.Kubectl("wait", "--for=condition=Ready", "zone/default", "zone/second", "--timeout=110s")
}

// wired returns the networks that the interfaces of a VM are connected to in vCenter, by name.
func (u user) wired(vm string) map[string]string {
	u.T.Helper()
	ctx, cancel := context.WithTimeout(u.T.Context(), testenv.Short)
	defer cancel()
	client := testenv.VCenterClient(ctx, u.T)
	defer func() { _ = client.Logout(context.WithoutCancel(ctx)) }()
	have := testenv.Inventory(u.T, u.Namespace)[vm]
	out := map[string]string{}
	if have.Config == nil {
		return out
	}
	var interfaces []struct {
		Name      string
		DeviceKey int32
	}
	if text := u.Get("vm/"+vm, ".status.network.interfaces"); text != "" {
		if err := json.Unmarshal([]byte(text), &interfaces); err != nil {
			u.T.Fatal(err)
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
				u.T.Fatal(err)
			}
			out[i.Name] = group.Name
		}
	}
	return out
}

// becomesWired waits until the interfaces are connected to these networks and the VM is not reconciling.
func (u user) becomesWired(vm string, want map[string]string) {
	u.T.Helper()
	testenv.Eventually(u.T, testenv.Long, fmt.Sprintf("%s is connected to %v", vm, want), func() error {
		if diff := cmp.Diff(want, u.wired(vm)); diff != "" {
			return fmt.Errorf("networks (-want +got):\n%s", diff)
		}
		if got := u.Get("vm/"+vm, `.status.conditions[?(@.type=="ConfigurationSynced")].reason`); got != "Succeeded" {
			return fmt.Errorf("ConfigurationSynced is %s", got)
		}
		return nil
	})
}

// withNetworks returns the line of a spec with interfaces, given as alternating names and networks.
func withNetworks(pairs ...string) string {
	list := ""
	for i := 0; i < len(pairs); i += 2 {
		list += fmt.Sprintf("{name: %s, network: %q}, ", pairs[i], pairs[i+1])
	}
	return "network: {interfaces: [" + list + "]}"
}

func networksOfZones(t *testing.T) {
	u := admin(t)
	u.Apply(testenv.Catalogue + testenv.VM("a", "zone: default", withNetworks("eth0", "prod", "vlans", "trunk")) +
		testenv.VM("b", "zone: second", withNetworks("eth0", "prod")) + testenv.VM("c", "zone: second"))
	u.Kubectl("wait", "--for=condition=Ready", "vm/a", "vm/b", "vm/c", "--timeout=110s")
	// A trunk passes tagged frames to the guest. The port is that of the port group.
	u.becomesWired("a", map[string]string{"eth0": "DC0_DVPG0", "vlans": "vlans-100-199"})
	u.becomesWired("b", map[string]string{"eth0": "prod-b"})
	u.becomesWired("c", map[string]string{"eth0": "prod-b"})
	u.Apply(testenv.VM("d", "zone: second", withNetworks("eth0", "VM Network")))
	const placement = `.status.conditions[?(@.type=="PlacementReady")].`
	u.Wants("vm/d", placement+"status", "False")
	if got, want := u.Get("vm/d", placement+"message"), `"VM Network"`; !containsAll(got, want, "zone second") {
		t.Errorf("the message of PlacementReady is %q, want zone and network", got)
	}
}

func containsAll(text string, parts ...string) bool {
	return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
}

// powerOns counts how often VMs were powered on.
func powerOns(t *testing.T) int {
	t.Helper()
	out, err := vsphereclient.Order(t.Context(), testenv.Of(t).VCenter().ControlURL, http.MethodGet, "/calls")
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
	u.Apply(testenv.Catalogue + testenv.VM("web", "zone: default", withNetworks("eth0", "prod")))
	u.Kubectl("wait", "--for=condition=Ready", "vm/web", "--timeout=110s")
	before := powerOns(t)
	const macOf = `.status.network.interfaces[?(@.name==%q)].macAddress`
	patch := func(list string) {
		t.Helper()
		u.Kubectl("patch", "vm/web", "--type=merge", "-p", `{"spec":{"network":{"interfaces":[`+list+`]}}}`)
	}
	own := u.Get("vm/web", fmt.Sprintf(macOf, "eth0"))

	patch(`{"name":"front","network":"lab"},{"name":"eth0","network":"prod"}`)
	u.becomesWired("web", map[string]string{"front": "VM Network", "eth0": "DC0_DVPG0"})
	added := u.Get("vm/web", fmt.Sprintf(macOf, "front"))
	patch(`{"name":"front","network":"nsx"},{"name":"eth0","network":"trunk"}`)
	u.becomesWired("web", map[string]string{"front": "opaque-0", "eth0": "vlans-100-199"})
	if got := u.Get("vm/web", fmt.Sprintf(macOf, "eth0")); got != own {
		t.Errorf("eth0 had MAC address %s, and has %s on another network", own, got)
	}
	patch(`{"name":"front","network":"nsx"}`)
	u.becomesWired("web", map[string]string{"front": "opaque-0"})
	if got := powerOns(t); got != before {
		t.Errorf("powered on, or restarted, %d times by changes that a running VM takes", got-before)
	}

	// vSphere does not change the MAC address of a running VM.
	patch(`{"name":"front","network":"nsx","macAddress":"00:50:56:12:34:56"}`)
	u.Wants("vm/web", ".status.restartRequired[*].path", "network.interfaces[front]")
	u.Wants("vm/web", `.status.conditions[?(@.type=="ConfigurationSynced")].reason`, "RestartRequired")
	if got := u.Get("vm/web", fmt.Sprintf(macOf, "front")); got != added {
		t.Errorf("front had MAC address %s, and has %s before its restart", added, got)
	}
	u.Virtctl("restart", "web")
	u.Restarted("web")
	u.Wants("vm/web", fmt.Sprintf(macOf, "front"), "00:50:56:12:34:56")
	u.Wants("vm/web", ".status.restartRequired", "")

	// A network that does not exist is reported, and the VM keeps running.
	patch(`{"name":"front","network":"nowhere","macAddress":"00:50:56:12:34:56"}`)
	u.Wants("vm/web", `.status.conditions[?(@.type=="NetworkReady")].status`, "False")
	if got := u.Get("vm/web", `.status.conditions[?(@.type=="NetworkReady")].message`); !containsAll(got, `"nowhere"`) {
		t.Errorf("the message of NetworkReady is %q, without the network", got)
	}
	if got := u.wired("web"); got["front"] != "opaque-0" || u.Get("vm/web", ".status.powerState") != "PoweredOn" {
		t.Errorf("the VM is connected to %v and %s", got, u.Get("vm/web", ".status.powerState"))
	}
}

// virtctlTop checks the usage of VMs in a zone.
func virtctlTop(t *testing.T) {
	u := admin(t)
	u.Apply(testenv.Catalogue + testenv.InlineVM("small", "photon-5") + strings.Replace(testenv.InlineVM("large", "photon-5"), "1Gi", "2Gi", 1))
	u.Wants("vm/large", ".status.printableStatus", "Running")
	u.Wants("vm/small", ".status.printableStatus", "Running")
	rows := strings.Split(u.Virtctl("top", "vm", "--sort-by", "memory", "--sum"), "\n")
	if len(rows) != 5 || !strings.HasPrefix(rows[1], "large") || !strings.HasPrefix(rows[3], "(2)") || !strings.Contains(rows[3], "3.0 GiB") {
		t.Errorf("virtctl top vm shows\n%s", strings.Join(rows, "\n"))
	}
	zones := u.Virtctl("top", "zone")
	zone := u.Get("vm/large", ".status.zone")
	testenv.Holds(t, "virtctl top zone", zones, "\n"+zone+" ", " GHz of ", "VM MEMORY")
}
