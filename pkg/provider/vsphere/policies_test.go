// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/crypto"
	"github.com/vmware/govmomi/object"
	vimtypes "github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/test/simulated"
	"github.com/slipway-dev/slipway/test/vcenter"
	"github.com/slipway-dev/slipway/test/vcenter/policies"
)

// allowAllDatastores allows virtual machines on all datastores of the cluster.
func allowAllDatastores(p *Provider, storage vmv1alpha1.ZoneStorage) {
	p.driver.SetZones(map[string]*vmv1alpha1.ZoneSpec{vmv1alpha1.DefaultZone: {
		Cluster: "DC0_C0", Folder: "slipway", DefaultNetwork: "prod",
		Networks: []vmv1alpha1.ZoneNetwork{{Name: "prod", Network: "VM Network"}}, Storage: storage,
	}})
}

// classRequest returns a request with a storage class and the known storage classes.
func classRequest(name string, image *vmv1alpha1.VirtualMachineImage, class string) *provider.Request {
	req := newRequest(name, image)
	req.Effective.StorageClass = class
	req.StorageClasses = map[string]provider.StorageClass{
		"gold": {Policy: policies.Gold}, "silver": {Policy: policies.Silver}, "nowhere": {Policy: policies.Nowhere},
		"unknown": {Policy: "Platinum"}, "encrypted": {Policy: policies.Encryption}, "plain": {},
		"absent": {Problem: &provider.NotUsableError{Message: `StorageClass "absent" does not exist`, Missing: true}},
		"other":  {Problem: &provider.NotUsableError{Message: `StorageClass "other" has provisioner "ebs"`}},
	}
	return req
}

// datastoreIn returns the name of the datastore in a path.
func datastoreIn(file string) string {
	var p object.DatastorePath
	p.FromString(file)
	return p.Datastore
}

// datastoresOf returns the datastores of a VM's home and disks. The key of a disk is its size.
func datastoresOf(t *testing.T, ready vcenter.Ready, name string) map[string]string {
	t.Helper()
	out := map[string]string{"home": datastoreIn(inVCenter(t, ready)["team-a/"+name].Config.Files.VmPathName)}
	for size, file := range filesOf(t, ready, name) {
		out[size] = datastoreIn(file)
	}
	return out
}

func TestStoragePolicy_SelectsTheDatastore(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	allowAllDatastores(p, vmv1alpha1.ZoneStorage{Policy: policies.Silver})
	l := newLoop(t, p)
	for name, image := range map[string]*vmv1alpha1.VirtualMachineImage{"library": libraryImage(), "clone": templateImage()} {
		t.Run(name, func(t *testing.T) {
			req := classRequest("gold-"+name, image, "gold")
			req.Effective.Volumes = []vmv1alpha1.VirtualMachineVolume{disk("data", "2Gi", "")}
			l.until("the VM runs", isSynced(req), req)
			want := map[string]string{"home": "LocalDS_1", "16Gi": "LocalDS_1", "2Gi": "LocalDS_1"}
			if diff := cmp.Diff(want, datastoresOf(t, ready, "gold-"+name)); diff != "" {
				t.Errorf("datastores (-want +got):\n%s", diff)
			}
			if got := reason(&req.VM.Status, vmv1alpha1.ConditionStorageReady); got != "True Succeeded" {
				t.Errorf("StorageReady = %s, want True Succeeded", got)
			}
			if got := req.VM.Status.Volumes[0].StorageClass; got != "gold" {
				t.Errorf("the class of the volume is %q, want gold", got)
			}
			checkNoOperation(t, p, req)
		})
	}
	t.Run("a disk on another datastore than its VM", func(t *testing.T) {
		control(t, ready, http.MethodPut, "/datastore/tags?datastore=LocalDS_0&tags=silver")
		control(t, ready, http.MethodPut, "/datastore/tags?datastore=LocalDS_1&tags=gold")
		p.driver.invalidate()
		req := classRequest("apart", libraryImage(), "silver")
		v := disk("fast", "3Gi", "")
		v.Disk.StorageClass = "gold"
		req.Effective.Volumes = []vmv1alpha1.VirtualMachineVolume{v}
		l.until("the VM runs", isSynced(req), req)
		want := map[string]string{"home": "LocalDS_0", "16Gi": "LocalDS_0", "3Gi": "LocalDS_1"}
		if diff := cmp.Diff(want, datastoresOf(t, ready, "apart")); diff != "" {
			t.Errorf("datastores (-want +got):\n%s", diff)
		}
		checkNoOperation(t, p, req)
	})
}

func TestStoragePolicy_IsAppliedToAnExistingVM(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	allowAllDatastores(p, vmv1alpha1.ZoneStorage{Datastores: []string{"LocalDS_0", "LocalDS_1"}})
	l := newLoop(t, p)
	req := classRequest("later", libraryImage(), "")
	req.Effective.Volumes = []vmv1alpha1.VirtualMachineVolume{disk("data", "2Gi", "")}
	l.until("the VM runs", isSynced(req), req)
	if n := counted.snapshot()["PbmQueryProfile"]; n != 0 {
		t.Errorf("policies were listed %d times for a VM without one", n)
	}
	req.Effective.StorageClass = "silver"
	l.until("the VM has the policy", func() bool { return isSynced(req)() && req.VM.Status.Volumes[0].StorageClass == "silver" }, req)
	vm := inVCenter(t, ready)["team-a/later"]
	for _, key := range []string{observe.HomePolicyKey, observe.BootDiskPolicyKey, observe.PolicyKey("data")} {
		if observe.ExtraConfig(&vm, key) == "" {
			t.Errorf("%s is not recorded", key)
		}
	}
	if req.VM.Status.PowerState != vmv1alpha1.PoweredOn {
		t.Errorf("the VM is %s, want it running throughout", req.VM.Status.PowerState)
	}
	l.until("the VM is compliant", func() bool { return reason(&req.VM.Status, vmv1alpha1.ConditionStorageCompliant) == "True Succeeded" }, req)
	before := counted.snapshot()
	checkNoOperation(t, p, req)
	if diff := cmp.Diff(before, counted.snapshot()); diff != "" {
		t.Errorf("reconciles of a synchronized VM called vSphere (-before +after):\n%s", diff)
	}
}

// refusedStorage are invalid requests, each with the prefix of the expected condition.
var refusedStorage = map[string]struct {
	change func(*provider.Request)
	want   string
}{
	"a class that does not exist":                   {func(r *provider.Request) { r.Effective.StorageClass = "absent" }, `False NotFound: StorageClass "absent" does not exist`},
	"a class of another provisioner":                {func(r *provider.Request) { r.Effective.StorageClass = "other" }, `False Invalid: StorageClass "other" has provisioner "ebs"`},
	"a class that was not read":                     {func(r *provider.Request) { r.Effective.StorageClass = "unread" }, `False Error: StorageClass "unread" has not been read`},
	"a policy that vCenter does not have":           {func(r *provider.Request) { r.Effective.StorageClass = "unknown" }, `False NotFound: StorageClass "unknown" refers to storage policy "Platinum", which does not exist in vCenter; existing policies: "Gold", `},
	"a policy that no datastore is compatible with": {func(r *provider.Request) { r.Effective.StorageClass = "nowhere" }, `False Invalid: storageClass "nowhere": no datastore can be used by storage policy "Nowhere": LocalDS_0: not compatible: Datastore does not satisfy required tag(s).; LocalDS_1: not compatible`},
	"a policy that encrypts without key provider":   {func(r *provider.Request) { r.Effective.StorageClass = "encrypted" }, `False NotFound: storage policy "VM Encryption Policy" requires encryption, but vCenter has no default key provider`},
	"a boot disk of a class that does not exist": {func(r *provider.Request) {
		r.Effective.BootDisk = &vmv1alpha1.VirtualMachineBootDisk{StorageClass: "absent"}
	}, `False NotFound: StorageClass "absent" does not exist`},
	"a volume of a class that does not exist": {func(r *provider.Request) {
		v := disk("a", "1Gi", "")
		v.Disk.StorageClass = "absent"
		r.Effective.Volumes = append(r.Effective.Volumes, v)
	}, `False NotFound: StorageClass "absent" does not exist`},
	"a class without a datastore in the zone": {func(r *provider.Request) {
		r.Effective.StorageClass = "elsewhere"
		r.StorageClasses["elsewhere"] = provider.StorageClass{Policy: policies.Gold}
	}, `False Invalid: storageClass "elsewhere": no datastore can be used by storage policy "Gold": LocalDS_0: `},
	"a policy of the zone that vCenter does not have": {func(r *provider.Request) {
		r.Effective.StorageClass = "wrong"
		r.StorageClasses["wrong"] = provider.StorageClass{}
	}, `False NotFound: StorageClass "wrong" refers to storage policy "Bronze", which does not exist in vCenter`},
	"the URL of an unknown datastore": {func(r *provider.Request) {
		r.Effective.StorageClass = "url"
		r.StorageClasses["url"] = provider.StorageClass{DatastoreURL: "ds:///vmfs/volumes/x/"}
	}, `False Invalid: storageClass "url": no datastore can be used: LocalDS_0: not allowed by the zone or storage class`},
	"two invalid classes": {func(r *provider.Request) {
		r.Effective.StorageClass = "absent"
		r.Effective.BootDisk = &vmv1alpha1.VirtualMachineBootDisk{StorageClass: "other"}
	}, `False NotFound: StorageClass "absent" does not exist; StorageClass "other" has provisioner`},
	"more than the free space": {func(r *provider.Request) {
		v := disk("big", "61Ti", "")
		v.Disk.Provisioning = vmv1alpha1.DiskProvisioningThick
		r.Effective.Volumes = append(r.Effective.Volumes, v)
	}, `False Invalid: volumes[big].disk.storageClass: no datastore can be used by storage policy "Silver": LocalDS_0: requires 63963136 MiB, but only `},
	"an image in a drive that does not exist": {func(r *provider.Request) {
		r.Effective.Volumes = append(r.Effective.Volumes, vmv1alpha1.VirtualMachineVolume{Name: "iso", Bus: "sata", CDROM: &vmv1alpha1.CDROMVolumeSource{
			Image: &vmv1alpha1.VirtualMachineImageRef{Kind: "VirtualMachineImage", Name: "gone"}}})
		r.CDROMImages = map[string]*vmv1alpha1.VirtualMachineImage{"iso": nil}
	}, `False NotFound: volumes[iso].cdrom.image: VirtualMachineImage "gone" does not exist`},
	"an OVF item in a drive": {func(r *provider.Request) {
		r.Effective.Volumes = append(r.Effective.Volumes, vmv1alpha1.VirtualMachineVolume{Name: "iso", Bus: "sata", CDROM: &vmv1alpha1.CDROMVolumeSource{
			Image: &vmv1alpha1.VirtualMachineImageRef{Kind: "VirtualMachineImage", Name: "photon"}}})
		r.CDROMImages = map[string]*vmv1alpha1.VirtualMachineImage{"iso": libraryImage()}
	}, `False Invalid: volumes[iso].cdrom.image: item "photon-5" of content library "slipway" has type "ovf", but a CD-ROM drive requires type "iso"`},
	"a template in a drive": {func(r *provider.Request) {
		r.Effective.Volumes = append(r.Effective.Volumes, vmv1alpha1.VirtualMachineVolume{Name: "iso", Bus: "sata", CDROM: &vmv1alpha1.CDROMVolumeSource{
			Image: &vmv1alpha1.VirtualMachineImageRef{Kind: "VirtualMachineImage", Name: "ubuntu"}}})
		r.CDROMImages = map[string]*vmv1alpha1.VirtualMachineImage{"iso": templateImage()}
	}, `False Invalid: volumes[iso].cdrom.image: VirtualMachineImage "ubuntu" is not a content library item; an ISO image must be one`},
}

func TestStorageClass_ReportsWhyItCannotBeUsed(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	allowAllDatastores(p, vmv1alpha1.ZoneStorage{Policy: policies.Silver, Classes: []vmv1alpha1.ZoneStorageClass{
		{Name: "overridden", Policy: policies.Gold}, {Name: "elsewhere", Datastores: []string{"DS_X"}}, {Name: "wrong", Policy: "Bronze"},
	}})
	l := newLoop(t, p)
	for name, tc := range refusedStorage {
		t.Run(name, func(t *testing.T) {
			req := classRequest("refused-"+strings.ReplaceAll(strings.ReplaceAll(name, " ", "-"), ",", ""), libraryImage(), "")
			tc.change(req)
			l.until("the condition is reported", func() bool {
				return strings.HasPrefix(reason(&req.VM.Status, vmv1alpha1.ConditionStorageReady), "False")
			}, req)
			got := reason(&req.VM.Status, vmv1alpha1.ConditionStorageReady) + ": " + message(&req.VM.Status, vmv1alpha1.ConditionStorageReady)
			if !strings.HasPrefix(got, tc.want) {
				t.Errorf("StorageReady is\n%s\nwant the prefix\n%s", got, tc.want)
			}
			if req.VM.Status.UniqueID != "" {
				t.Error("a VM was created")
			}
		})
	}
	t.Run("a zone overrides a class of another provisioner", func(t *testing.T) {
		req := classRequest("overridden", libraryImage(), "overridden")
		req.StorageClasses["overridden"] = req.StorageClasses["other"]
		l.until("the VM runs", isSynced(req), req)
		if got := datastoresOf(t, ready, "overridden")["home"]; got != "LocalDS_1" {
			t.Errorf("the VM is on %s, want it on LocalDS_1", got)
		}
	})
	if vms := inVCenter(t, ready); len(vms) != 1 {
		t.Errorf("vCenter has %d VMs, want only the one that was not refused", len(vms))
	}
}

func TestInvalidStorageClass_DoesNotStopTheVM(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	allowAllDatastores(p, vmv1alpha1.ZoneStorage{Policy: policies.Silver})
	l := newLoop(t, p)
	req := classRequest("lasting", libraryImage(), "silver")
	l.until("the VM runs", isSynced(req), req)
	v := disk("more", "1Gi", "")
	v.Disk.StorageClass = "absent"
	req.Effective.Volumes = append(req.Effective.Volumes, v)
	l.until("the condition is reported", func() bool { return reason(&req.VM.Status, vmv1alpha1.ConditionStorageReady) == "False NotFound" }, req)
	if st := &req.VM.Status; st.PowerState != vmv1alpha1.PoweredOn || reason(st, vmv1alpha1.ConditionConfigurationSynced) != "False WaitingForPrerequisites" {
		t.Errorf("the VM is %s with ConfigurationSynced %s, want it running, with a waiting configuration", st.PowerState, reason(st, vmv1alpha1.ConditionConfigurationSynced))
	}
	req.StorageClasses["absent"] = provider.StorageClass{Policy: policies.Silver}
	l.until("the new class is used", func() bool {
		return isSynced(req)() && reason(&req.VM.Status, vmv1alpha1.ConditionStorageReady) == "True Succeeded" && req.VM.Status.Volumes[0].Attached
	}, req)
	checkNoOperation(t, p, req)
}

func TestStoragePolicy_EncryptsVMs(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	registerKeyProvider(t, ready)
	p, _ := startProvider(t, ready, nil)
	allowAllDatastores(p, vmv1alpha1.ZoneStorage{Policy: policies.Silver})
	l := newLoop(t, p)
	for name, image := range map[string]*vmv1alpha1.VirtualMachineImage{"library": libraryImage(), "clone": templateImage()} {
		t.Run(name, func(t *testing.T) {
			req := classRequest("secret-"+name, image, "encrypted")
			req.Effective.Volumes = []vmv1alpha1.VirtualMachineVolume{disk("data", "2Gi", "")}
			l.until("the VM runs", isSynced(req), req)
			vm := inVCenter(t, ready)["team-a/secret-"+name]
			if vm.Config.KeyId == nil || vm.Config.KeyId.ProviderId == nil || vm.Config.KeyId.ProviderId.Id != "provider-1" {
				t.Errorf("the VM has key %+v, want one of provider-1", vm.Config.KeyId)
			}
			for _, d := range vm.Config.Hardware.Device {
				if disk, ok := d.(*vimtypes.VirtualDisk); ok && disk.Backing.(*vimtypes.VirtualDiskFlatVer2BackingInfo).KeyId == nil {
					t.Errorf("disk %d is not encrypted", disk.Key)
				}
			}
			checkNoOperation(t, p, req)
		})
	}
	t.Run("a running VM is encrypted at a restart", func(t *testing.T) {
		req := classRequest("later", libraryImage(), "")
		l.until("the VM runs", isSynced(req), req)
		req.Effective.StorageClass = "encrypted"
		l.until("a restart is required", func() bool {
			return reason(&req.VM.Status, vmv1alpha1.ConditionConfigurationSynced) == "False RestartRequired"
		}, req)
		req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
		l.until("the VM is encrypted", func() bool {
			vm := inVCenter(t, ready)["team-a/later"]
			return vm.Config != nil && vm.Config.KeyId != nil && reason(&req.VM.Status, vmv1alpha1.ConditionConfigurationSynced) == "True Succeeded"
		}, req)
	})
}

func TestCompliance_IsReported(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	allowAllDatastores(p, vmv1alpha1.ZoneStorage{Policy: policies.Silver})
	l := newLoop(t, p)
	plain, req := classRequest("plain", libraryImage(), ""), classRequest("complies", libraryImage(), "gold")
	req.Effective.Volumes = []vmv1alpha1.VirtualMachineVolume{disk("data", "1Gi", "")}
	compliant := func(of *provider.Request, want string) func() bool {
		return func() bool {
			return reason(&of.VM.Status, vmv1alpha1.ConditionStorageCompliant) == want && isSynced(of)()
		}
	}
	l.until("both VMs are compliant", func() bool { return compliant(req, "True Succeeded")() && compliant(plain, "True Succeeded")() }, req, plain)
	st := &req.VM.Status
	if st.Storage.Compliance != "compliant" || st.Storage.BootDisk.Compliance != "compliant" || st.Volumes[0].Compliance != "compliant" {
		t.Errorf("compliance %q, boot disk %q, volume %q; want all compliant", st.Storage.Compliance, st.Storage.BootDisk.Compliance, st.Volumes[0].Compliance)
	}
	before := counted.snapshot()
	checkNoOperation(t, p, req)
	if diff := cmp.Diff(before, counted.snapshot()); diff != "" {
		t.Errorf("reconciles of a synchronized VM called vSphere (-before +after):\n%s", diff)
	}
	control(t, ready, http.MethodPut, "/datastore/tags?datastore=LocalDS_1&tags=silver")
	if err := p.driver.compliance.QueryAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.until("the VM is no longer compliant", compliant(req, "False NonCompliant"), req)
	const want = "storage policy compliance: the virtual machine itself is nonCompliant, bootDisk is nonCompliant, volumes[data] is nonCompliant"
	if got := message(st, vmv1alpha1.ConditionStorageCompliant); got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	if got := counted.snapshot()["PbmFetchComplianceResult"] - before["PbmFetchComplianceResult"]; got != 1 {
		t.Errorf("compliance was queried %d times for all objects with a policy, want once", got)
	}
}

// A missing datastore is checked again until it is available.
func TestStoragePolicy_UsesADatastoreThatBecomesCompatible(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	allowAllDatastores(p, vmv1alpha1.ZoneStorage{Policy: policies.Silver})
	l := newLoop(t, p)
	req := classRequest("late", libraryImage(), "nowhere")
	l.until("no datastore can be used", func() bool { return reason(&req.VM.Status, vmv1alpha1.ConditionStorageReady) == "False Invalid" }, req)
	control(t, ready, http.MethodPut, "/datastore/tags?datastore=LocalDS_1&tags=silver,nowhere")
	l.until("the VM runs", isSynced(req), req)
	if got := datastoresOf(t, ready, "late")["home"]; got != "LocalDS_1" {
		t.Errorf("the VM is on %s, want it on LocalDS_1", got)
	}
}

// A missing key provider is checked again until it is available.
func TestStoragePolicy_UsesAKeyProviderThatIsConfiguredLater(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	allowAllDatastores(p, vmv1alpha1.ZoneStorage{Policy: policies.Silver})
	l := newLoop(t, p)
	req := classRequest("secret", libraryImage(), "encrypted")
	l.until("the key provider is missing", func() bool { return reason(&req.VM.Status, vmv1alpha1.ConditionStorageReady) == "False NotFound" }, req)
	registerKeyProvider(t, ready)
	l.until("the VM runs", isSynced(req), req)
}

// registerKeyProvider registers a default key provider.
func registerKeyProvider(t *testing.T, ready vcenter.Ready) {
	t.Helper()
	keys := crypto.NewManagerKmip(simulated.Operator(t, ready).Client)
	if err := keys.RegisterKmsCluster(t.Context(), "provider-1", vimtypes.KmipClusterInfoKmsManagementTypeNativeProvider); err != nil {
		t.Fatal(err)
	}
	if err := keys.SetDefaultKmsClusterId(t.Context(), "provider-1", nil); err != nil {
		t.Fatal(err)
	}
}
