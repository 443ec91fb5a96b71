// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/test/simulated"
	"github.com/slipway-dev/slipway/test/vcenter"
)

// startZones starts a provider with two zones: a with DRS, and b without DRS and with another
// folder.
func startZones(t *testing.T) (*Provider, *loop, vcenter.Ready, map[string]*vmv1alpha1.ZoneSpec) {
	t.Helper()
	ready := startVCenter(t, func(o *vcenter.Options) { o.Clusters = 2 })
	operator := simulated.Operator(t, ready)
	parent, err := find.NewFinder(operator.Client).Folder(t.Context(), "/DC0/vm")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parent.CreateFolder(t.Context(), "second"); err != nil {
		t.Fatal(err)
	}
	prod := vmv1alpha1.ZoneNetwork{Name: "prod", Network: "VM Network"}
	all := map[string]*vmv1alpha1.ZoneSpec{
		"a": {Cluster: "DC0_C0", Folder: "slipway", Networks: []vmv1alpha1.ZoneNetwork{prod}, Storage: vmv1alpha1.ZoneStorage{Datastores: []string{"LocalDS_0", "LocalDS_1"}}},
		"b": {
			Datacenter: "DC0", ResourcePools: []string{"/DC0/host/DC0_C1/Resources"}, Folder: "/DC0/vm/second", DefaultNetwork: "prod", Networks: []vmv1alpha1.ZoneNetwork{prod, {
				Name: "secret", Network: "DC0_DVPG0", NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}},
			}}, Storage: vmv1alpha1.ZoneStorage{Datastores: []string{"DC0_C1_DS"}},
			Devices: []vmv1alpha1.ZoneDevice{{DeviceName: "8086:1572", NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}}},
		},
	}
	p, _ := startProvider(t, ready, nil)
	p.driver.SetZones(all)
	return p, newLoop(t, p), ready, all
}

// zoneRequest returns a request for a VM in a zone.
func zoneRequest(zone, name string) *provider.Request {
	req := newRequest(name, libraryImage())
	req.VM.Status.Zone = zone
	return req
}

func TestZone_ContainsItsVMs(t *testing.T) {
	t.Parallel()
	p, l, ready, _ := startZones(t)
	a, b := zoneRequest("a", "in-a"), zoneRequest("b", "in-b")
	l.until("both VMs run", func() bool { return isRunning(a)() && isRunning(b)() }, a, b)
	operator := simulated.Operator(t, ready)
	f := find.NewFinder(operator.Client)
	for path, want := range map[string]struct{ cluster, datastore string }{
		"/DC0/vm/slipway/team-a/in-a": {"DC0_C0", "LocalDS_"}, "/DC0/vm/second/team-a/in-b": {"DC0_C1", "DC0_C1_DS"},
	} {
		vm, err := f.VirtualMachine(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		pool, err := vm.ResourcePool(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		owner, err := pool.Owner(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		cluster, err := f.ClusterComputeResource(t.Context(), want.cluster)
		if err != nil {
			t.Fatal(err)
		}
		if owner.Reference() != cluster.Reference() {
			t.Errorf("%s is in %s, want it in %s", path, owner.Reference(), want.cluster)
		}
		var props mo.VirtualMachine
		if err := vm.Properties(t.Context(), vm.Reference(), []string{"config.files"}, &props); err != nil {
			t.Fatal(err)
		}
		if home := props.Config.Files.VmPathName; !strings.HasPrefix(home, "["+want.datastore) {
			t.Errorf("%s is at %s, want it on %s", path, home, want.datastore)
		}
	}
	// The inventory does not depend on the object's zone.
	if n := p.driver.CountOwned(); n != 2 {
		t.Errorf("the inventory has %d VMs, want 2", n)
	}
}

func TestZoneWithoutFolder_DoesNotAffectOtherZones(t *testing.T) {
	t.Parallel()
	p, l, ready, all := startZones(t)
	lost := *all["b"]
	lost.Folder = "/DC0/vm/third"
	p.driver.SetZones(map[string]*vmv1alpha1.ZoneSpec{"a": all["a"], "c": &lost})
	a, c, gone := zoneRequest("a", "in-a"), zoneRequest("c", "in-c"), zoneRequest("gone", "nowhere")
	l.until("the VM in the zone with a folder runs", isRunning(a), a)
	l.until("the state in the zone without a folder is unknown", func() bool {
		return p.driver.Observe(driver.Identity{Zone: "c", InstanceUUID: "none"}).State == driver.Unknown
	}, c)
	if why := p.driver.Observe(driver.Identity{Zone: "c", InstanceUUID: "none"}).Why; !strings.Contains(why, `no folder "/DC0/vm/third"`) {
		t.Errorf("the state is unknown because %q", why)
	}
	l.until("the unknown zone is reported", func() bool {
		c := conditions.Find(gone.VM.Status.Conditions, vmv1alpha1.ConditionCreated)
		return c != nil && c.Status == metav1.ConditionUnknown && strings.Contains(c.Message, `there is no Zone "gone"`)
	}, gone)
	parent, err := find.NewFinder(simulated.Operator(t, ready).Client).Folder(t.Context(), "/DC0/vm")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parent.CreateFolder(t.Context(), "third"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the folder is found", func() bool { return p.driver.ZoneState(t.Context(), "c").Trouble == nil })
	eventually(t, "the new folder is read", func() bool {
		return p.driver.Observe(driver.Identity{Zone: "c", InstanceUUID: "none"}).State == driver.Absent
	})
}

func TestZone_LimitsNetworksAndDevicesToNamespaces(t *testing.T) {
	t.Parallel()
	_, l, _, _ := startZones(t)
	with := func(name, network string, labels map[string]string) *provider.Request {
		req := zoneRequest("b", name)
		req.NamespaceLabels = labels
		req.Effective.Network.Interfaces[0].Network = network
		return req
	}
	team := map[string]string{"team": "a"}
	theirs := with("theirs", "secret", team)
	l.until("the VM of the allowed namespace runs", isRunning(theirs), theirs)
	// The network is resolved by now, but it is still not allowed for other namespaces.
	for name, req := range map[string]*provider.Request{
		"others": with("others", "secret", map[string]string{"team": "b"}), "unknown": with("unknown", "secret", nil),
		"by-path": with("by-path", "DC0_DVPG0", team), "unlisted": with("unlisted", "VM Network", team),
	} {
		l.until(name+" is refused", func() bool {
			return isFalseWith(&req.VM.Status, vmv1alpha1.ConditionNetworkReady, vmv1alpha1.ReasonNotAllowed, `is not allowed by zone "b"`, `"prod"`)
		}, req)
	}
	device := with("device", "prod", map[string]string{"team": "b"})
	device.Effective.Devices = &vmv1alpha1.VirtualMachineDevices{HostDevices: []vmv1alpha1.VirtualMachineDevice{{Name: "nic", DeviceName: "8086:1572"}}}
	l.until("the device is refused", func() bool {
		return isFalseWith(&device.VM.Status, vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonNotAllowed, "8086:1572", `zone "b"`)
	}, device)
	// A running VM can change to another network of the zone only if its namespace may use it.
	theirs.Effective.Network.Interfaces[0].Network = "prod"
	l.until("the change is applied", func() bool { return isTrue(&theirs.VM.Status, vmv1alpha1.ConditionConfigurationSynced) }, theirs)
	theirs.NamespaceLabels = map[string]string{}
	theirs.Effective.Network.Interfaces[0].Network = "secret"
	l.until("the change is refused", func() bool {
		return isFalseWith(&theirs.VM.Status, vmv1alpha1.ConditionNetworkReady, vmv1alpha1.ReasonNotAllowed, "secret")
	}, theirs)
}

func TestCheckZone_ReportsCapacityAndProblems(t *testing.T) {
	t.Parallel()
	p, _, ready, all := startZones(t)
	for name, tc := range map[string]struct {
		zone   string
		change func(*driver.Desired)
		lacks  string
	}{
		"with DRS":            {zone: "a", change: func(*driver.Desired) {}},
		"without DRS":         {zone: "b", change: func(*driver.Desired) {}},
		"without the network": {zone: "a", change: func(w *driver.Desired) { w.Effective.Network.Interfaces[0].Network = "secret" }, lacks: `network "secret" is not allowed by zone "a"`},
		"too many vCPUs":      {zone: "a", change: func(w *driver.Desired) { w.Effective.CPU.Sockets = 512 }, lacks: "512 vCPUs are requested"},
		"too much memory":     {zone: "a", change: func(w *driver.Desired) { w.Effective.Memory.Guest = ptr(resource.MustParse("1Ti")) }, lacks: "1024 GiB of memory is requested; the largest host has"},
		"an unknown image": {zone: "b", change: func(w *driver.Desired) {
			w.Image.Spec.ContentLibrary.Item = "none"
		}, lacks: `has no item "none"`},
		"no zone": {zone: "z", change: func(*driver.Desired) {}, lacks: `there is no Zone "z"`},
	} {
		t.Run(name, func(t *testing.T) {
			req := newRequest("offer", libraryImage())
			w := &driver.Desired{Desired: provider.Desired{Effective: req.Effective.DeepCopy(), Image: req.Image.DeepCopy()}, Name: "offer"}
			tc.change(w)
			o := p.driver.CheckZone(t.Context(), w, tc.zone)
			if o.CheckErr != nil || (o.Refusal == nil) != (tc.lacks == "") || o.Refusal != nil && !strings.Contains(o.Refusal.Error(), tc.lacks) {
				t.Fatalf("Refusal %v, CheckErr %v; want %q", o.Refusal, o.CheckErr, tc.lacks)
			}
			if tc.lacks != "" {
				return
			}
			if drs := o.Rating > 0; drs != (tc.zone == "a") {
				t.Errorf("DRS rating %d", o.Rating)
			}
			// The simulator has three hosts with 4 GiB each. A cluster reports memory in MiB.
			if o.Capacity.Memory>>20 != 3*4294430720>>20 || o.Free.Memory != o.Capacity.Memory || o.Capacity.CPU == 0 || o.Free.Storage == 0 {
				t.Errorf("capacity %+v, free %+v", o.Capacity, o.Free)
			}
		})
	}
	// The network is in the datacenter but not on a host of the zone.
	without := *all["b"]
	without.Networks = []vmv1alpha1.ZoneNetwork{{Name: "prod", Network: "Elsewhere"}}
	full := *all["b"]
	p.driver.SetZones(map[string]*vmv1alpha1.ZoneSpec{"b": &full, "without": &without})
	simulated.Control(t, ready, http.MethodPut, "/datastore/free?"+url.Values{"datastore": {"DC0_C1_DS"}, "bytes": {"1048576"}}.Encode())
	w := &driver.Desired{Desired: provider.Desired{Effective: newRequest("x", nil).Effective, Image: libraryImage()}, Name: "offer"}
	if o := p.driver.CheckZone(t.Context(), w, "without"); o.Refusal == nil || !strings.Contains(o.Refusal.Error(), `no network "Elsewhere"`) {
		t.Errorf("without the port group: Refusal %v", o.Refusal)
	}
	p.driver.invalidate() // discards the free space of the last read
	if o := p.driver.CheckZone(t.Context(), w, "b"); o.Refusal == nil || !strings.Contains(o.Refusal.Error(), "the swap file needs 1024 MiB on one datastore; at most 1 MiB are free") {
		t.Errorf("without space: Refusal %v, CheckErr %v", o.Refusal, o.CheckErr)
	}
}

func TestCheckZone_RequiresTheSpaceOfThickDisks(t *testing.T) {
	t.Parallel()
	p, _, ready, all := startZones(t)
	p.driver.SetZones(map[string]*vmv1alpha1.ZoneSpec{"b": all["b"]})
	simulated.Control(t, ready, http.MethodPut, "/datastore/free?"+url.Values{"datastore": {"DC0_C1_DS"}, "bytes": {"8589934592"}}.Encode())
	for name, tc := range map[string]struct {
		size, disk   string
		provisioning vmv1alpha1.DiskProvisioning
		want         string
	}{
		"thin disks":          {size: "20Gi", disk: "20Gi", provisioning: vmv1alpha1.DiskProvisioningThin},
		"thick, enough space": {size: "3Gi", disk: "4Gi", provisioning: vmv1alpha1.DiskProvisioningThick},
		"thick, too little space for both": {size: "5Gi", disk: "6Gi", provisioning: vmv1alpha1.DiskProvisioningThick,
			want: "the disks together require 11264 MiB on one datastore, but at most 8192 MiB are free"},
		"a thick boot disk": {size: "20Gi", provisioning: vmv1alpha1.DiskProvisioningThick, want: "bootDisk.storageClass: no datastore can be used: DC0_C1_DS: requires 20480 MiB, but only 8192 MiB are free"},
		"with the swap file": {size: "7800Mi", provisioning: vmv1alpha1.DiskProvisioningThick,
			want: "the swap file and the boot disk need 8824 MiB on one datastore; at most 8192 MiB are free"},
		"a thick disk": {disk: "20Gi", provisioning: vmv1alpha1.DiskProvisioningThickEagerZero,
			want: "volumes[data].disk.storageClass: no datastore can be used: DC0_C1_DS: requires 20480 MiB, but only 8192 MiB are free"},
	} {
		w := &driver.Desired{Desired: provider.Desired{Effective: newRequest("x", nil).Effective.DeepCopy(), Image: libraryImage()}, Name: "offer"}
		if tc.size != "" {
			w.Effective.BootDisk = &vmv1alpha1.VirtualMachineBootDisk{Capacity: ptr(resource.MustParse(tc.size)), Provisioning: tc.provisioning}
		}
		if tc.disk != "" {
			w.Effective.Volumes = append(w.Effective.Volumes, vmv1alpha1.VirtualMachineVolume{Name: "data", Disk: &vmv1alpha1.DiskVolumeSource{
				Capacity: ptr(resource.MustParse(tc.disk)), Provisioning: tc.provisioning,
			}})
		}
		o := p.driver.CheckZone(t.Context(), w, "b")
		switch {
		case o.CheckErr != nil || (o.Refusal != nil) != (tc.want != ""):
			t.Errorf("%s: Refusal %v, CheckErr %v; want %q", name, o.Refusal, o.CheckErr, tc.want)
		case tc.want != "" && !strings.Contains(o.Refusal.Error(), tc.want):
			t.Errorf("%s: Refusal %v, want %q", name, o.Refusal, tc.want)
		}
	}
}

func TestCheckZone_ReportsTheDRSRatingWithFewerDatastoresThanTheCluster(t *testing.T) {
	t.Parallel()
	p, _, _, all := startZones(t)
	one := all["a"].DeepCopy()
	one.Storage.Datastores = []string{"LocalDS_1"}
	p.driver.SetZones(map[string]*vmv1alpha1.ZoneSpec{"a": one})
	w := &driver.Desired{Desired: provider.Desired{Effective: newRequest("x", nil).Effective, Image: libraryImage()}, Name: "offer"}
	for range 20 { // The simulator chooses a datastore at random.
		if o := p.driver.CheckZone(t.Context(), w, "a"); o.Rating == 0 || o.Refusal != nil || o.CheckErr != nil {
			t.Fatalf("zone check %+v", o)
		}
	}
}

func TestCheckZone_ReportsTheZoneOfAnAdoptedVM(t *testing.T) {
	t.Parallel()
	p, l, ready, _ := startZones(t)
	req := zoneRequest("b", "made")
	l.until("the VM runs", isRunning(req), req)
	w := &driver.Desired{Identity: driver.Identity{InstanceUUID: req.VM.Status.InstanceUUID}, Adopted: true}
	for zone, want := range map[string]bool{"a": false, "b": true} {
		if o := p.driver.CheckZone(t.Context(), w, zone); o.HasVM != want || o.CheckErr != nil {
			t.Errorf("zone %s: HasVM %v, CheckErr %v", zone, o.HasVM, o.CheckErr)
		}
	}
	// The VM is moved to a folder outside of all zones.
	moved := types.ManagedObjectReference{Type: "VirtualMachine", Value: req.VM.Status.UniqueID}
	simulated.Control(t, ready, http.MethodPost, "/vm/move?"+url.Values{"vm": {moved.Value}, "folder": {"/DC0/vm/templates"}}.Encode())
	if o := p.driver.CheckZone(t.Context(), w, "b"); o.HasVM {
		t.Error("zone b has the moved VM")
	}
}

// A virtual machine must be placed where the disks of its claims are accessible.
func TestCheckZone_RequiresTheDisksOfClaims(t *testing.T) {
	t.Parallel()
	p, _, ready, _ := startZones(t)
	const unknown = "0c5e31a5-6b9a-4f2e-8c0f-3f6a7c1d2e4b"
	id := newFirstClassDisk(t, ready)
	offer := func(zone, id string) provider.ZoneCheck {
		req := zoneRequest(zone, "web")
		addClaim(req, "data", provider.Claim{VolumeID: id})
		return p.driver.CheckZone(t.Context(), engine.DesiredOf(req), zone)
	}
	if o := offer("a", id); o.Refusal != nil || o.CheckErr != nil {
		t.Errorf("the zone of the disk: Refusal %v, CheckErr %v", o.Refusal, o.CheckErr)
	}
	for name, tc := range map[string]struct{ zone, id, want string }{
		"on an inaccessible datastore": {"b", id, "volumes[data]: disk " + id + " is on datastore "},
		"in another vCenter":           {"a", unknown, "volumes[data]: the vCenter's volume service has no disk " + unknown},
	} {
		if o := offer(tc.zone, tc.id); o.Refusal == nil || !strings.Contains(o.Refusal.Error(), tc.want) {
			t.Errorf("%s: Refusal %v, CheckErr %v; want %q", name, o.Refusal, o.CheckErr, tc.want)
		}
	}
	control(t, ready, http.MethodPut, "/service?name=volumes&away=true")
	if o := offer("a", id); o.Refusal != nil || o.CheckErr == nil || !strings.Contains(o.CheckErr.Error(), "volume service") {
		t.Errorf("without the volume service: Refusal %v, CheckErr %v", o.Refusal, o.CheckErr)
	}
	if o := offer("a", ""); o.Refusal != nil || o.CheckErr != nil {
		t.Errorf("with a claim whose disk is unknown: Refusal %v, CheckErr %v", o.Refusal, o.CheckErr)
	}
}
