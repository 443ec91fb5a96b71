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

// policyOf returns the storage policy of a storage class; an empty class means the VM's. It returns false if the
// policy is not known. A new VM without a class gets the default policy of its zone. An existing VM without a class
// keeps its policy.
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

// compareHome compares the storage policy of the VM's own files.
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

// changePolicy applies the policy of a storage class to a disk. vSphere does not report a disk's policy, so the
// change also records it.
func changePolicy(in *input, path, class, key string, have *types.VirtualDisk) Difference {
	policy, known := policyOf(in, class)
	if !known || policy.ID == "" || policy.ID == in.extra(key) || cannotEncrypt(in, policy, have) != "" {
		return Difference{}
	}
	return Difference{Path: path, Running: in.extra(key), Desired: policy.Name, Live: appliesLive(in, policy),
		set: func(spec *types.VirtualMachineConfigSpec) { applyPolicy(in, spec, editOf(spec, have), policy, key) }}
}

// applyPolicy applies a policy to a disk and records it.
func applyPolicy(in *input, spec *types.VirtualMachineConfigSpec, change *types.VirtualDeviceConfigSpec, policy storage.Policy, key string) {
	if policy.ID == "" {
		return
	}
	change.Profile = profileOf(policy)
	if policy.Encrypted && !isEncryptedDisk(change.Device) {
		change.Backing = &types.VirtualDeviceConfigSpecBackingSpec{Crypto: cryptoSpec(in)}
	}
	encryptVM(in, spec, policy)
	option(key, policy.ID)(spec)
}

// encryptVM encrypts the VM, which is required for encrypted disks (vSphere Security, Virtual Machine Encryption).
func encryptVM(in *input, spec *types.VirtualMachineConfigSpec, policy storage.Policy) {
	if policy.Encrypted && in.config.KeyId == nil {
		spec.Crypto = cryptoSpec(in)
	}
}

// cryptoSpec requests encryption with a new key of the default provider. Without a key ID, trusted and native
// providers create a key (vSphere API, CryptoKeyId.keyId). For other providers this is an assumption, which VM
// Operator also makes.
func cryptoSpec(in *input) *types.CryptoSpecEncrypt {
	return &types.CryptoSpecEncrypt{CryptoKeyId: types.CryptoKeyId{ProviderId: &types.KeyProviderId{Id: in.Storage.KeyProvider}}}
}

func isEncryptedDisk(device types.BaseVirtualDevice) bool {
	b, ok := device.GetVirtualDevice().Backing.(*types.VirtualDiskFlatVer2BackingInfo)
	return ok && b.KeyId != nil
}

// appliesLive reports whether a policy can be applied while the VM is running. Encrypting a VM requires that it is
// powered off.
func appliesLive(in *input, policy storage.Policy) bool {
	return !policy.Encrypted || in.config.KeyId != nil
}

// otherDatastore returns the datastore path for a new disk whose policy does not allow the VM's datastore. It
// returns an empty string if the disk can be in the VM's directory.
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

// cannotEncrypt returns why a disk cannot have a policy with encryption, or an empty string. If disk is nil, it
// checks the VM itself.
func cannotEncrypt(in *input, p storage.Policy, disk *types.VirtualDisk) string {
	switch {
	case !p.Encrypted || in.config.KeyId != nil && (disk == nil || isEncryptedDisk(disk)):
	case in.Storage.KeyProvider == "":
		return fmt.Sprintf("storage policy %q requires encryption, but vCenter has no default key provider", p.Name)
	case disk != nil && observe.HasParent(disk):
		return fmt.Sprintf("storage policy %q requires encryption, which vSphere does not support while the disk has snapshots", p.Name)
	}
	return ""
}

// refusePolicies reports storage policies that cannot be applied.
func refusePolicies(in *input, reportf func(format string, args ...any)) {
	encrypts := func(path, class string, disk *types.VirtualDisk) {
		if p, known := policyOf(in, class); known {
			if why := cannotEncrypt(in, p, disk); why != "" {
				reportf("%s: %s", path, why)
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
			encrypts(hardware.VolumePath(v.Name), v.Disk.StorageClass, attached[v.Name])
		}
	}
	if disk, _ := observe.BootDiskOf(in.vm, attachedDisks(in)); disk != nil && in.Effective.BootDisk != nil {
		encrypts(hardware.BootDiskStorageClass, in.Effective.BootDisk.StorageClass, disk)
	}
}

// reportUnappliedClasses reports storage classes whose storage policies are not known.
func reportUnappliedClasses(in *input, reportf func(format string, args ...any)) {
	for _, class := range storage.Classes(in.Effective) {
		if _, known := in.Storage.Policies[class]; !known {
			reportf("storageClass %s (its storage policy is not known)", class)
		}
	}
}

// HomeProfile returns the ID of the storage profile for the request that creates a VM, or an empty string. A policy
// with encryption is applied after the VM was created, because it is not documented whether a deployment with its
// profile encrypts the VM.
func HomeProfile(want Desired) string {
	if policy := HomePolicy(want); !policy.Encrypted {
		return policy.ID
	}
	return ""
}

// HomePolicy returns the storage policy of a new VM. The ID is empty if there is none.
func HomePolicy(want Desired) storage.Policy {
	if want.Effective == nil {
		return storage.Policy{}
	}
	policy, _ := policyOf(&input{Desired: want}, "")
	return policy
}

// LinkedCloneObstacle returns why a new VM's disks cannot be linked to the image's disks, or an empty string. image is the
// capacity of the image's first disk, in bytes.
func LinkedCloneObstacle(want Desired, image int64) string {
	for class, policy := range want.Storage.Policies {
		if policy.Encrypted && (class == "" || class == want.Effective.StorageClass || want.Effective.BootDisk != nil && class == want.Effective.BootDisk.StorageClass) {
			return fmt.Sprintf("storage policy %q requires encryption, but the cached copies of the image are not encrypted", policy.Name)
		}
	}
	boot := want.Effective.BootDisk
	switch {
	case boot == nil:
	case boot.Capacity != nil && bytes(boot.Capacity) > image:
		return fmt.Sprintf("%s: %s is more than the %s of the image's disk, and vSphere cannot extend a linked disk",
			hardware.BootDiskSize, boot.Capacity, hardware.FormatBytes(image))
	case boot.Provisioning == vmv1alpha1.DiskProvisioningThick || boot.Provisioning == vmv1alpha1.DiskProvisioningThickEagerZero:
		return fmt.Sprintf("bootDisk.provisioning: a linked disk cannot be %s", boot.Provisioning)
	}
	return ""
}

// Profile returns a profile ID in the form that requests use. It returns nil if the ID is empty.
func Profile(id string) []types.BaseVirtualMachineProfileSpec {
	if id == "" {
		return nil
	}
	return profileOf(storage.Policy{ID: id})
}
