// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/testenv"
)

// storageFault is invalid input or a fault of vSphere, with the expected message.
type storageFault struct {
	name string
	// claim changes the claim that the virtual machine uses, or its volume. It is nil for a row without a claim.
	claim func(*faultyClaim)
	// vm changes the virtual machine.
	vm func(*vmv1alpha1.VirtualMachine)
	// order is the control request that is sent to the simulated vCenter before the virtual machine is created, with
	// the ID of the disk for {id}.
	order string
	// later runs when the virtual machine has its disk.
	later func(*faultScene, *faultyClaim)
	// condition, reason and texts of its message. For a refused request the reason is "refused", and the texts are in
	// the answer. {id} is replaced by the ID of the disk.
	condition, reason string
	says              []string
}

func asMade(*faultyClaim) {}

// volume changes the first volume.
func volume(change func(*vmv1alpha1.VirtualMachineVolume)) func(*vmv1alpha1.VirtualMachine) {
	return func(vm *vmv1alpha1.VirtualMachine) { change(&vm.Spec.Volumes[0]) }
}

func ofStorageClass(name string) func(*vmv1alpha1.VirtualMachine) {
	return func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.StorageClass = name }
}

const (
	refusedRequest = "refused"
	volumes        = vmv1alpha1.ConditionVolumesReady
	storage        = vmv1alpha1.ConditionStorageReady
	synced         = vmv1alpha1.ConditionConfigurationSynced
	created        = vmv1alpha1.ConditionCreated
)

// cnsFault is a fault of the volume service for the disk of the row.
func cnsFault(method, fault string) string {
	return "/volumes/fault?method=" + method + "&fault=" + fault + "&id={id}"
}

// refusedVolumes are requests that the API rejects.
var refusedVolumes = []storageFault{
	{name: "no-claim-name", vm: volume(func(v *vmv1alpha1.VirtualMachineVolume) { v.PersistentVolumeClaim.ClaimName = "" }), reason: refusedRequest, says: []string{"spec.volumes[0].persistentVolumeClaim.claimName: Required"}},
	{name: "bad-claim-name", vm: volume(func(v *vmv1alpha1.VirtualMachineVolume) { v.PersistentVolumeClaim.ClaimName = "Data_1" }), reason: refusedRequest, says: []string{"spec.volumes[0].persistentVolumeClaim.claimName", `"Data_1"`}},
	{name: "two-sources", vm: volume(func(v *vmv1alpha1.VirtualMachineVolume) {
		size := resource.MustParse("1Gi")
		v.Disk = &vmv1alpha1.DiskVolumeSource{Capacity: &size}
	}), reason: refusedRequest, says: []string{"spec.volumes[0]", "exactly one of these fields must be set: persistentVolumeClaim, disk, cdrom"}},
	{name: "no-source", vm: volume(func(v *vmv1alpha1.VirtualMachineVolume) { v.PersistentVolumeClaim = nil }), reason: refusedRequest, says: []string{"spec.volumes[0]: Required", "exactly one of these fields must be set"}},
	{name: "one-claim-twice", vm: func(vm *vmv1alpha1.VirtualMachine) {
		again := vm.Spec.Volumes[0]
		again.Name = "again"
		vm.Spec.Volumes = append(vm.Spec.Volumes, again)
	}, reason: refusedRequest, says: []string{"spec.volumes[1].persistentVolumeClaim.claimName: Duplicate"}},
	{name: "one-name-twice", vm: func(vm *vmv1alpha1.VirtualMachine) {
		again := *vm.Spec.Volumes[0].DeepCopy()
		again.PersistentVolumeClaim.ClaimName = "other"
		vm.Spec.Volumes = append(vm.Spec.Volumes, again)
	}, reason: refusedRequest, says: []string{"spec.volumes[1].name: Duplicate"}},
	{name: "unit-7", vm: volume(func(v *vmv1alpha1.VirtualMachineVolume) { v.Bus, v.UnitNumber = "pvscsi", new(int32(7)) }), reason: refusedRequest, says: []string{"spec.volumes[0].unitNumber", "except 7, which is reserved for the controller"}},
	{name: "unit-65", vm: volume(func(v *vmv1alpha1.VirtualMachineVolume) { v.Bus, v.UnitNumber = "pvscsi", new(int32(65)) }), reason: refusedRequest, says: []string{"spec.volumes[0].unitNumber", "must be from 0 to 64 on pvscsi"}},
	{name: "unit-16", vm: volume(func(v *vmv1alpha1.VirtualMachineVolume) { v.Bus, v.UnitNumber = "lsilogic", new(int32(16)) }), reason: refusedRequest, says: []string{"spec.volumes[0].unitNumber", "must be from 0 to 15 on lsilogic"}},
	{name: "controller-4", vm: volume(func(v *vmv1alpha1.VirtualMachineVolume) { v.Bus, v.ControllerBusNumber = "sata", new(int32(4)) }), reason: refusedRequest, says: []string{"spec.volumes[0].controllerBusNumber", "must be from 0 to 3 on sata"}},
	{name: "unknown-bus", vm: volume(func(v *vmv1alpha1.VirtualMachineVolume) { v.Bus = "usb" }), reason: refusedRequest, says: []string{"spec.volumes[0].bus: Unsupported value", `"usb"`, `"pvscsi"`}},
	{name: "reclaimed-claim", vm: volume(func(v *vmv1alpha1.VirtualMachineVolume) { v.ReclaimPolicy = vmv1alpha1.VolumeReclaimDelete }), reason: refusedRequest, says: []string{"spec.volumes[0].reclaimPolicy: Forbidden", "the disk of a PersistentVolumeClaim is always detached"}},
	{name: "bad-class", vm: ofStorageClass("Fast Disks"), reason: refusedRequest, says: []string{"spec.storageClass", `"Fast Disks"`}},
	{name: "too-large", vm: volume(func(v *vmv1alpha1.VirtualMachineVolume) {
		size := resource.MustParse("63Ti")
		v.PersistentVolumeClaim, v.Disk = nil, &vmv1alpha1.DiskVolumeSource{Capacity: &size}
	}), reason: refusedRequest, says: []string{"spec.volumes[0].disk.size", "from 1Mi to 62Ti"}},
}

// claimFaults are claims that cannot be attached.
var claimFaults = []storageFault{
	{name: "missing", condition: volumes, reason: "NotFound", says: []string{`volumes[data]: PersistentVolumeClaim "missing" does not exist`}},
	{name: "pending", claim: func(c *faultyClaim) { c.phase = corev1.ClaimPending }, condition: volumes, reason: "NotReady", says: []string{`"pending" is not bound yet`, "WaitForFirstConsumer"}},
	{name: "lost", claim: func(c *faultyClaim) { c.phase = corev1.ClaimLost }, condition: volumes, reason: "NotReady", says: []string{`"lost" has lost its PersistentVolume`}},
	{name: "no-volume", claim: func(c *faultyClaim) { c.pv = nil }, condition: volumes, reason: "NotFound", says: []string{`"no-volume" is bound to PersistentVolume`, "which does not exist"}},
	{name: "anothers-volume", claim: func(c *faultyClaim) { c.pv.Spec.ClaimRef.Name, c.pv.Spec.ClaimRef.UID = "other", "other" }, condition: volumes, reason: "NotReady", says: []string{`"anothers-volume" refers to PersistentVolume`, "belongs to another claim"}},
	{name: "deleted", claim: func(c *faultyClaim) { c.deleted = true }, condition: volumes, reason: "NotReady", says: []string{`"deleted" is being deleted`}},
	{name: "volume-deleted", claim: func(c *faultyClaim) { c.pvDeleted = true }, condition: volumes, reason: "NotReady", says: []string{`"volume-deleted" is bound to PersistentVolume`, "which is being deleted"}},
	{name: "host-path", claim: func(c *faultyClaim) {
		c.pv.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/data"}}
	}, condition: volumes, reason: "Unsupported", says: []string{`"host-path" is bound`, "does not use a CSI driver"}},
	{name: "other-driver", claim: func(c *faultyClaim) { c.pv.Spec.CSI.Driver = "ebs.csi.aws.com" }, condition: volumes, reason: "Unsupported", says: []string{`"other-driver" is bound`, `CSI driver "ebs.csi.aws.com"`}},
	{name: "file-share", claim: func(c *faultyClaim) { c.pv.Spec.CSI.VolumeHandle = "file:" + c.id }, condition: volumes, reason: "Unsupported", says: []string{`"file-share" is bound`, "is a file share and not a disk"}},
	{name: "supervisor", claim: func(c *faultyClaim) { c.pv.Spec.CSI.VolumeHandle = "2041ff4a-ns-data" }, condition: volumes, reason: "Unsupported", says: []string{`"supervisor" is bound`, `volumeHandle "2041ff4a-ns-data" is not the UUID`}},
	{name: "read-only-shared", claim: func(c *faultyClaim) { c.modes(corev1.ReadWriteMany) }, vm: volume(func(v *vmv1alpha1.VirtualMachineVolume) { v.PersistentVolumeClaim.ReadOnly = true }), condition: volumes, reason: "Invalid", says: []string{`"read-only-shared" is ReadWriteMany`, "persistentVolumeClaim.readOnly is true"}},
	{name: "held-by-missing-vm", claim: func(c *faultyClaim) {
		c.pvc.Annotations = map[string]string{vmv1alpha1.AnnotationClaimHolderPrefix + "11111111-1111-1111-1111-111111111111": "ghost/" + c.id}
	}, condition: volumes, reason: "InUse", says: []string{`"held-by-missing-vm" is held by VirtualMachine "ghost"`, "which does not exist", "{id}"}},
	{name: "on-a-node", claim: func(c *faultyClaim) { c.node = "worker-7" }, condition: volumes, reason: "InUse", says: []string{`"on-a-node" is in use on Node "worker-7"`}},
	{name: "several-writers", claim: func(c *faultyClaim) { c.modes(corev1.ReadWriteMany) }, condition: created, reason: "Invalid", says: []string{"volumes[data].persistentVolumeClaim", "one virtual machine at a time, but the claim is ReadWriteMany"}},
	{name: "on-nvme", claim: asMade, vm: volume(func(v *vmv1alpha1.VirtualMachineVolume) { v.Bus = "nvme" }), condition: created, reason: "Invalid", says: []string{"volumes[data].bus", "only to pvscsi controllers"}},
	{name: "on-ide", claim: asMade, vm: volume(func(v *vmv1alpha1.VirtualMachineVolume) { v.Bus = "ide" }), condition: created, reason: "Invalid", says: []string{"volumes[data].bus", "cannot be attached to ide"}},
	{name: "at-a-place", claim: asMade, vm: volume(func(v *vmv1alpha1.VirtualMachineVolume) { v.Bus, v.UnitNumber = "pvscsi", new(int32(3)) }), condition: created, reason: "Invalid", says: []string{"volumes[data]", "leave controllerBusNumber and unitNumber unset"}},
}

// serviceFaults are the faults of the volume service for one disk.
var serviceFaults = []storageFault{
	{name: "of-another-vcenter", claim: func(c *faultyClaim) {
		c.id = "0c5e31a5-6b9a-4f2e-8c0f-3f6a7c1d2e4b" // not a disk of this vCenter
		c.pv.Spec.CSI.VolumeHandle = c.id
	}, condition: synced, reason: "Error", says: []string{"attaching first class disk {id}", "CnsNotRegisteredFault"}},
	{name: "unregistered", claim: asMade, order: "POST /volumes/unregister?id={id}", condition: synced, reason: "Error", says: []string{"attaching first class disk {id}", "CnsNotRegisteredFault"}},
	{name: "elsewhere", claim: func(c *faultyClaim) { c.elsewhere = true }, condition: synced, reason: "Error", says: []string{"disk {id} is attached to a vSphere VM", "detach it from that VM first"}},
	{name: "disk-gone", claim: asMade, order: cnsFault("CnsAttachVolume", "NotFound"), condition: synced, reason: "Error", says: []string{"first class disk {id}", "NotFound"}},
	{name: "not-permitted", claim: asMade, order: cnsFault("CnsAttachVolume", "NoPermission"), condition: synced, reason: "Error", says: []string{"first class disk {id}", "NoPermission", "missing privilege Cns.Searchable"}},
	{name: "in-use", claim: asMade, order: cnsFault("CnsAttachVolume", "ResourceInUse"), condition: synced, reason: "Error", says: []string{"disk {id} is attached to a vSphere VM"}},
	{name: "invalid-state", claim: asMade, order: cnsFault("CnsAttachVolume", "InvalidState"), condition: synced, reason: "Error", says: []string{"first class disk {id}", "InvalidState"}},
	{name: "busy", claim: asMade, order: cnsFault("CnsAttachVolume", "TaskInProgress"), condition: synced, reason: "Error", says: []string{"first class disk {id}", "TaskInProgress"}},
	{name: "not-supported", claim: asMade, order: cnsFault("CnsAttachVolume", "NotSupported"), condition: synced, reason: "Error", says: []string{"first class disk {id}", "NotSupported"}},
	{name: "file-locked", claim: asMade, order: cnsFault("CnsAttachVolume", "FileLocked"), condition: synced, reason: "Error", says: []string{"first class disk {id}", "FileLocked"}},
	{name: "datastore-unreached", claim: asMade, order: cnsFault("CnsAttachVolume", "InvalidDatastore"), condition: synced, reason: "Error", says: []string{"first class disk {id}", "InvalidDatastore"}},
	{name: "host-away", claim: asMade, order: cnsFault("CnsAttachVolume", "HostCommunication"), condition: synced, reason: "Error", says: []string{"first class disk {id}", "HostCommunication"}},
	{name: "service-fails", claim: asMade, order: cnsFault("CnsAttachVolume", "CnsFault"), condition: synced, reason: "Error", says: []string{"first class disk {id}", "VSLM task failed"}},
	{name: "detach-fails", claim: asMade, order: cnsFault("CnsDetachVolume", "CnsFault"), later: (*faultScene).drop, condition: synced, reason: "Error", says: []string{"detaching first class disk {id}", "VSLM task failed"}},
	{name: "datastore-full", claim: asMade, order: cnsFault("CnsExtendVolume", "NoDiskSpace"), later: (*faultScene).grow, condition: synced, reason: "Error", says: []string{"extending first class disk {id}", "NoDiskSpace"}},
	{name: "has-snapshots", claim: asMade, later: func(s *faultScene, c *faultyClaim) { s.snapshot(c); s.grow(c) }, condition: synced, reason: "Error", says: []string{"extending first class disk {id}", "InvalidState"}},
}

// policyFaults are the storage errors of a virtual machine.
var policyFaults = []storageFault{
	{name: "no-class", vm: ofStorageClass("no-such-class"), condition: storage, reason: "NotFound", says: []string{`StorageClass "no-such-class" does not exist`}},
	{name: "other-provisioner", vm: ofStorageClass("faulty-foreign"), condition: storage, reason: "Invalid", says: []string{`StorageClass "faulty-foreign" has provisioner "ebs.csi.aws.com"`}},
	{name: "no-policy", vm: ofStorageClass("faulty-unknown"), condition: storage, reason: "NotFound", says: []string{`StorageClass "faulty-unknown" refers to storage policy "Platinum", which does not exist in vCenter`}},
	{name: "policy-gone", vm: ofStorageClass("faulty-gone"), condition: storage, reason: "NotFound", says: []string{`StorageClass "faulty-gone" refers to storage policy "Retired", which does not exist in vCenter`}},
	{name: "no-datastore", vm: ofStorageClass("faulty-nowhere"), condition: storage, reason: "Invalid", says: []string{`storageClass "faulty-nowhere": no datastore can be used by storage policy "Nowhere"`, "LocalDS_0: not compatible"}},
	{name: "no-such-datastore", vm: ofStorageClass("faulty-url"), condition: storage, reason: "Invalid", says: []string{`storageClass "faulty-url": no datastore can be used`}},
	{name: "no-space", vm: func(vm *vmv1alpha1.VirtualMachine) {
		size := resource.MustParse("61Ti")
		vm.Spec.StorageClass = "faulty-silver"
		vm.Spec.Volumes = []vmv1alpha1.VirtualMachineVolume{{Name: "big", Disk: &vmv1alpha1.DiskVolumeSource{Capacity: &size, Provisioning: vmv1alpha1.DiskProvisioningThick}}}
	}, condition: storage, reason: "Invalid", says: []string{"volumes[big].disk.storageClass", "requires 63963136 MiB"}},
	{name: "no-key-provider", vm: ofStorageClass("faulty-encrypted"), condition: storage, reason: "NotFound", says: []string{`storage policy "VM Encryption Policy" requires encryption, but vCenter has no default key provider`}},
}

// outages are faults of whole services, one after the other. Each virtual machine uses a class or a claim that was not
// requested before.
var outages = []struct {
	storageFault
	undo string
}{
	{storageFault{name: "policies-away", vm: ofStorageClass("faulty-1"), order: "/service?name=policies&away=true", condition: storage, reason: "Error", says: []string{"503"}}, "PUT /service?name=policies&away=false"},
	{storageFault{name: "policies-forbidden", vm: ofStorageClass("faulty-2"), order: "/permissions?entity=/&without=StorageProfile.View", condition: storage, reason: "Error", says: []string{"missing privilege StorageProfile.View"}}, "DELETE /permissions?entity=/"},
	{storageFault{name: "policies-fail", vm: ofStorageClass("faulty-3"), order: "/policies/fault?method=PbmCheckRequirements&fault=PbmFault", condition: storage, reason: "Error", says: []string{`checking the datastores' compatibility with storage policy "Tier3"`}}, "DELETE /policies/fault?method=PbmCheckRequirements"},
	{storageFault{name: "policy-deleted-meanwhile", vm: ofStorageClass("faulty-4"), order: "/policies/fault?method=PbmCheckRequirements&fault=InvalidArgument", condition: storage, reason: "Error", says: []string{`checking the datastores' compatibility with storage policy "Tier4"`}}, "DELETE /policies/fault?method=PbmCheckRequirements"},
	{storageFault{name: "key-providers-forbidden", vm: ofStorageClass("faulty-encrypted"), order: "/permissions?entity=/&without=" + url.QueryEscape("Cryptographer.ManageKeyServers,Cryptographer.ReadKeyServersInfo"), condition: storage, reason: "Error", says: []string{"listing the key providers", "missing privilege Cryptographer."}}, "DELETE /permissions?entity=/"},
	{storageFault{name: "volumes-away", claim: asMade, order: "/service?name=volumes&away=true", condition: synced, reason: "Error", says: []string{"first class disk {id}", "503"}}, "PUT /service?name=volumes&away=false"},
	{storageFault{name: "volumes-forbidden", claim: asMade, order: "/permissions?entity=/&without=Cns.Searchable", condition: synced, reason: "Error", says: []string{"first class disk {id}", "missing privilege Cns.Searchable"}}, "DELETE /permissions?entity=/"},
}

// Each row has its own virtual machine. Faults of one disk are tested for all rows together. Services fail one after
// the other.
func TestStorageFaults_AreReportedByConditions(t *testing.T) {
	testenv.Own(t)
	if n := len(refusedVolumes) + len(claimFaults) + len(serviceFaults) + len(policyFaults) + len(outages); n < 40 {
		t.Fatalf("%d rows, want at least 40", n)
	}
	s := newFaultScene(t)
	for _, row := range refusedVolumes {
		s.refuses(row)
	}
	var rows []storageFault
	rows = append(append(append(rows, claimFaults...), serviceFaults...), policyFaults...)
	for _, row := range rows {
		s.make(row)
	}
	for _, row := range rows {
		if row.later != nil {
			s.attached(row.name)
			row.later(s, s.claims[row.name])
		}
	}
	s.awaitResults(rows...)
	for _, o := range outages {
		s.make(o.storageFault)
		s.awaitResults(o.storageFault)
		method, path, _ := strings.Cut(o.undo, " ")
		testenv.Order(t, method, path)
	}
	s.end()
}

// faultyClasses are the StorageClasses of the rows.
func faultyClasses() []*storagev1.StorageClass {
	class := func(name, provisioner string, parameters map[string]string) *storagev1.StorageClass {
		return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "faulty-" + name}, Provisioner: provisioner, Parameters: parameters, AllowVolumeExpansion: new(true)}
	}
	const csi = "csi.vsphere.vmware.com"
	policy := func(name string) map[string]string { return map[string]string{"storagepolicyname": name} }
	return []*storagev1.StorageClass{
		class("foreign", "ebs.csi.aws.com", nil), class("unknown", csi, policy("Platinum")), class("gone", csi, policy("Retired")),
		class("nowhere", csi, policy("Nowhere")), class("url", csi, map[string]string{"datastoreurl": "ds:///vmfs/volumes/none/"}),
		class("silver", csi, policy("Silver")), class("encrypted", csi, policy("VM Encryption Policy")),
		class("1", csi, policy("Tier1")), class("2", csi, policy("Tier2")), class("3", csi, policy("Tier3")), class("4", csi, policy("Tier4")),
		class("expands", csi, nil),
	}
}

// tiers are policies that only the rows about outages use.
func tiers(t *testing.T) {
	for _, name := range []string{"Tier1", "Tier2", "Tier3", "Tier4", "Retired"} {
		testenv.Order(t, http.MethodPost, "/policies/add?tag=silver&name="+name)
	}
	testenv.Order(t, http.MethodPost, "/policies/remove?name=Retired")
}
