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

// policy is the storage policy of a class, which is that of the VM when empty; false
// while it is not known. What names no class has the default policy of its zone when it
// is made, and keeps what it has from then on.
func (c *comparison) policy(class string) (storage.Policy, bool) {
	if class == "" {
		class = c.want.Effective.StorageClass
	}
	p, known := c.want.Storage.Policies[class]
	if class == "" {
		if c.vm != nil && c.vm.Config != nil && !c.want.New {
			return storage.Policy{}, true
		}
		return p, true
	}
	return p, known
}

// home compares the policy of the VM's own files.
func (c *comparison) home() {
	if c.vm.Config == nil {
		return
	}
	policy, known := c.policy("")
	if !known || policy.ID == "" || policy.ID == extra(c, observe.HomePolicyKey) {
		return
	}
	c.add(Difference{Path: hardware.StorageClass, Running: extra(c, observe.HomePolicyKey), Desired: policy.Name, Live: c.appliesLive(policy),
		set: func(spec *types.VirtualMachineConfigSpec) {
			spec.VmProfile = profileOf(policy)
			c.encrypt(spec, policy)
			option(observe.HomePolicyKey, policy.ID)(spec)
		}})
}

// repolicy gives a disk another policy. vSphere does not tell by which one a disk is
// kept, so that it is recorded with the change.
func (c *comparison) repolicy(path string, policy storage.Policy, key string, have *types.VirtualDisk) {
	if policy.ID == "" || policy.ID == extra(c, key) {
		return
	}
	c.add(Difference{Path: path, Running: extra(c, key), Desired: policy.Name, Live: c.appliesLive(policy),
		set: func(spec *types.VirtualMachineConfigSpec) { c.keep(spec, editOf(spec, have), policy, key) }})
}

// keep puts a disk under a policy, and records that.
func (c *comparison) keep(spec *types.VirtualMachineConfigSpec, change *types.VirtualDeviceConfigSpec, policy storage.Policy, key string) {
	if policy.ID == "" {
		return
	}
	change.Profile = profileOf(policy)
	if policy.Encrypted && !encryptedDisk(change.Device) {
		change.Backing = &types.VirtualDeviceConfigSpecBackingSpec{Crypto: c.cryptoSpec()}
	}
	c.encrypt(spec, policy)
	option(key, policy.ID)(spec)
}

// encrypt encrypts the VM, without which no disk of it can be (vSphere Security, Virtual
// Machine Encryption).
func (c *comparison) encrypt(spec *types.VirtualMachineConfigSpec, policy storage.Policy) {
	if policy.Encrypted && c.have.KeyId == nil {
		spec.Crypto = c.cryptoSpec()
	}
}

// cryptoSpec lets vSphere make a key of the default provider: without an ID it makes one
// (API, CryptoKeyId.keyId, for trusted and native providers; for others judgement, as
// VM Operator does it).
func (c *comparison) cryptoSpec() *types.CryptoSpecEncrypt {
	return &types.CryptoSpecEncrypt{CryptoKeyId: types.CryptoKeyId{ProviderId: &types.KeyProviderId{Id: c.want.Storage.KeyProvider}}}
}

func encryptedDisk(device types.BaseVirtualDevice) bool {
	b, ok := device.GetVirtualDevice().Backing.(*types.VirtualDiskFlatVer2BackingInfo)
	return ok && b.KeyId != nil
}

// appliesLive is false for a policy that encrypts what is not encrypted: that needs the
// VM to be off.
func (c *comparison) appliesLive(policy storage.Policy) bool {
	return !policy.Encrypted || c.have.KeyId != nil
}

// elsewhere is the datastore path of a new disk whose policy does not allow the datastore
// that the VM is on; empty when it can be beside the VM.
func (c *comparison) elsewhere(policy storage.Policy) string {
	var home object.DatastorePath
	if !home.FromString(c.have.Files.VmPathName) || policy.Holds(home.Datastore) || len(policy.Datastores) == 0 {
		return ""
	}
	return (&object.DatastorePath{Datastore: policy.Datastores[0]}).String()
}

func profileOf(policy storage.Policy) []types.BaseVirtualMachineProfileSpec {
	return []types.BaseVirtualMachineProfileSpec{&types.VirtualMachineDefinedProfileSpec{ProfileId: policy.ID}}
}

// refusedPolicies says which policies the VM cannot have.
func (c *comparison) refusedPolicies(say func(format string, args ...any)) {
	encrypts := func(path, class string, disk *types.VirtualDisk) {
		p, known := c.policy(class)
		switch {
		case !known || !p.Encrypted || c.have.KeyId != nil && (disk == nil || encryptedDisk(disk)):
		case c.want.Storage.KeyProvider == "":
			say("%s: storage policy %q encrypts, and vCenter has no default key provider", path, p.Name)
		case disk != nil && observe.HasParent(disk):
			say("%s: storage policy %q encrypts, which vSphere does not do while there are snapshots", path, p.Name)
		}
	}
	if c.vm.Config == nil {
		return
	}
	encrypts(hardware.StorageClass, "", nil)
	attached := c.attached()
	for i := range c.want.Effective.Volumes {
		if v := &c.want.Effective.Volumes[i]; v.Disk != nil {
			encrypts(hardware.Volume(v.Name), v.Disk.StorageClass, attached[v.Name])
		}
	}
	if disk, _ := observe.BootDiskBeside(c.vm, c.attached()); disk != nil && c.want.Effective.BootDisk != nil {
		encrypts(hardware.BootDiskStorageClass, c.want.Effective.BootDisk.StorageClass, disk)
	}
}

// unappliedClasses names the classes whose storage policies are not known.
func (c *comparison) unappliedClasses(say func(format string, args ...any)) {
	for _, class := range storage.Classes(c.want.Effective) {
		if _, known := c.want.Storage.Policies[class]; !known {
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
	c := &comparison{want: want}
	policy, _ := c.policy("")
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
