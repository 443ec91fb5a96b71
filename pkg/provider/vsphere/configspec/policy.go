// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"fmt"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/storage"
)

// policyOf is the storage policy of a class, which is that of the VM when empty; false
// while it is not known. What names no class has the default policy of its zone when it
// is made, and keeps what it has from then on.
func policyOf(in *input, class string) (storage.Policy, bool) {
	if class == "" {
		class = in.Effective.StorageClass
	}
	p, known := in.Storage.Policies[class]
	if class == "" {
		if in.exists() && !in.New {
			return storage.Policy{}, true
		}
		return p, true
	}
	return p, known
}

// compareHome compares the policy of the VM's own files.
func compareHome(in *input) []Difference {
	policy, known := policyOf(in, "")
	if !known || policy.ID == "" || policy.ID == in.extra(observe.HomePolicyKey) || cannotEncrypt(in, policy, nil) != "" {
		return nil
	}
	return []Difference{{Path: hardware.StorageClass, Running: in.extra(observe.HomePolicyKey), Desired: policy.Name, Live: appliesLive(in, policy),
		set: func(spec *types.VirtualMachineConfigSpec) {
			spec.VmProfile = profileOf(policy)
			encryptVM(in, spec, policy)
			option(observe.HomePolicyKey, policy.ID)(spec)
		}}}
}

// changePolicy gives a disk the policy of a class. vSphere does not report the policy of a disk,
// so that it is recorded with the change.
func changePolicy(in *input, path, class, key string, have *types.VirtualDisk) Difference {
	policy, known := policyOf(in, class)
	if !known || policy.ID == "" || policy.ID == in.extra(key) || cannotEncrypt(in, policy, have) != "" {
		return Difference{}
	}
	return Difference{Path: path, Running: in.extra(key), Desired: policy.Name, Live: appliesLive(in, policy),
		set: func(spec *types.VirtualMachineConfigSpec) { applyPolicy(in, spec, editOf(spec, have), policy, key) }}
}

// applyPolicy puts a disk under a policy, and records that.
func applyPolicy(in *input, spec *types.VirtualMachineConfigSpec, change *types.VirtualDeviceConfigSpec, policy storage.Policy, key string) {
	if policy.ID == "" {
		return
	}
	change.Profile = profileOf(policy)
	if policy.Encrypted && !encryptedDisk(change.Device) {
		change.Backing = &types.VirtualDeviceConfigSpecBackingSpec{Crypto: cryptoSpec(in)}
	}
	encryptVM(in, spec, policy)
	option(key, policy.ID)(spec)
}

// encryptVM encrypts the VM, without which no disk of it can be (vSphere Security, Virtual
// Machine Encryption).
func encryptVM(in *input, spec *types.VirtualMachineConfigSpec, policy storage.Policy) {
	if policy.Encrypted && in.config.KeyId == nil {
		spec.Crypto = cryptoSpec(in)
	}
}

// cryptoSpec lets vSphere make a key of the default provider: without an ID it makes one
// (API, CryptoKeyId.keyId, for trusted and native providers; for others judgement, as
// VM Operator does it).
func cryptoSpec(in *input) *types.CryptoSpecEncrypt {
	return &types.CryptoSpecEncrypt{CryptoKeyId: types.CryptoKeyId{ProviderId: &types.KeyProviderId{Id: in.Storage.KeyProvider}}}
}

func encryptedDisk(device types.BaseVirtualDevice) bool {
	b, ok := device.GetVirtualDevice().Backing.(*types.VirtualDiskFlatVer2BackingInfo)
	return ok && b.KeyId != nil
}

// appliesLive is false for a policy that encrypts what is not encrypted: that needs the
// VM to be off.
func appliesLive(in *input, policy storage.Policy) bool {
	return !policy.Encrypted || in.config.KeyId != nil
}

// otherDatastore is the datastore path of a new disk whose policy does not allow the datastore
// that the VM is on; empty when it can be beside the VM.
func otherDatastore(in *input, policy storage.Policy) string {
	var home object.DatastorePath
	if !home.FromString(in.config.Files.VmPathName) || policy.Holds(home.Datastore) || len(policy.Datastores) == 0 {
		return ""
	}
	return (&object.DatastorePath{Datastore: policy.Datastores[0]}).String()
}

func profileOf(policy storage.Policy) []types.BaseVirtualMachineProfileSpec {
	return []types.BaseVirtualMachineProfileSpec{&types.VirtualMachineDefinedProfileSpec{ProfileId: policy.ID}}
}

// cannotEncrypt is why a disk, or the VM if that is nil, cannot have a policy that encrypts; empty
// if it can.
func cannotEncrypt(in *input, p storage.Policy, disk *types.VirtualDisk) string {
	switch {
	case !p.Encrypted || in.config.KeyId != nil && (disk == nil || encryptedDisk(disk)):
	case in.Storage.KeyProvider == "":
		return fmt.Sprintf("storage policy %q encrypts, and vCenter has no default key provider", p.Name)
	case disk != nil && observe.HasParent(disk):
		return fmt.Sprintf("storage policy %q encrypts, which vSphere does not do while there are snapshots", p.Name)
	}
	return ""
}

// refusedPolicies says which policies the VM cannot have.
func refusedPolicies(in *input, say func(format string, args ...any)) {
	encrypts := func(path, class string, disk *types.VirtualDisk) {
		if p, known := policyOf(in, class); known {
			if why := cannotEncrypt(in, p, disk); why != "" {
				say("%s: %s", path, why)
			}
		}
	}
	if in.vm.Config == nil {
		return
	}
	encrypts(hardware.StorageClass, "", nil)
	attached := attachedDisks(in)
	for i := range in.Effective.Volumes {
		if v := &in.Effective.Volumes[i]; v.Disk != nil {
			encrypts(hardware.Volume(v.Name), v.Disk.StorageClass, attached[v.Name])
		}
	}
	if disk, _ := observe.BootDiskBeside(in.vm, attachedDisks(in)); disk != nil && in.Effective.BootDisk != nil {
		encrypts(hardware.BootDiskStorageClass, in.Effective.BootDisk.StorageClass, disk)
	}
}

// unappliedClasses names the classes whose storage policies are not known.
func unappliedClasses(in *input, say func(format string, args ...any)) {
	for _, class := range storage.Classes(in.Effective) {
		if _, known := in.Storage.Policies[class]; !known {
			say("storageClass %s (its storage policy is not known)", class)
		}
	}
}

// HomeProfile is the profile that a new VM is made by, empty for none. One that encrypts is
// given to it when it is there: whether a deployment encrypts by its profile alone is not
// documented.
func HomeProfile(want Want) string {
	if policy := HomePolicy(want); !policy.Encrypted {
		return policy.ID
	}
	return ""
}

// HomePolicy is the storage policy of a new VM, without an ID for none.
func HomePolicy(want Want) storage.Policy {
	if want.Effective == nil {
		return storage.Policy{}
	}
	policy, _ := policyOf(&input{Want: want}, "")
	return policy
}

// NotLinked is why the disks of a new VM cannot depend on those of its image; empty if they
// can. image is the capacity of the image's first disk, in bytes.
func NotLinked(want Want, image int64) string {
	for class, policy := range want.Storage.Policies {
		if policy.Encrypted && (class == "" || class == want.Effective.StorageClass || want.Effective.BootDisk != nil && class == want.Effective.BootDisk.StorageClass) {
			return fmt.Sprintf("storage policy %q encrypts, and the copies of the image are not encrypted", policy.Name)
		}
	}
	boot := want.Effective.BootDisk
	switch {
	case boot == nil:
	case boot.Capacity != nil && bytes(boot.Capacity) > image:
		return fmt.Sprintf("%s: %s is more than the %s of the image's disk, and vSphere extends no disk that depends on another one",
			hardware.BootDiskSize, boot.Capacity, hardware.Bytes(image))
	case boot.Provisioning == vmv1alpha1.DiskProvisioningThick || boot.Provisioning == vmv1alpha1.DiskProvisioningThickEagerZero:
		return fmt.Sprintf("bootDisk.provisioning: a disk that depends on another one is never %s", boot.Provisioning)
	}
	return ""
}

// Profile is the profile of the ID as requests name it, nil for none.
func Profile(id string) []types.BaseVirtualMachineProfileSpec {
	if id == "" {
		return nil
	}
	return profileOf(storage.Policy{ID: id})
}
