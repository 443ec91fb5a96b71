// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/provider/vmrecord"
)

// IsSlipwayKey reports whether an extraConfig key belongs to Slipway. Such keys of an image belong to another VM.
func IsSlipwayKey(key string) bool {
	_, ok := CutKey(key, "slipway.")
	return ok
}

// CutKey returns an extraConfig key without the prefix. The comparison ignores case, like vSphere's.
func CutKey(key, prefix string) (rest string, ok bool) {
	if len(key) < len(prefix) || !strings.EqualFold(key[:len(prefix)], prefix) {
		return key, false
	}
	return key[len(prefix):], true
}

// Keys of extraConfig that belong to Slipway.
const (
	// OwnerKey is the key of namespace/name/uid of the VirtualMachine.
	OwnerKey = "slipway.vm"
	// LastRestartKey is the key of the request time of the last requested restart, RFC 3339 with nanoseconds.
	LastRestartKey = "slipway.lastRestartTime"
)

// AdoptedKey is the key of the UID of the object that has adopted the VM. Settings that the object's spec does not
// name stay unchanged. If an administrator removes the key, all settings of the VM are managed. Because of the UID,
// copies of the VM do not count as adopted.
const AdoptedKey = "slipway.adopted"

// RecordKey is the key of the object's record, and RecordHeadKey that of the record's head. Package vmrecord
// defines both.
const (
	RecordKey     = "slipway.record"
	RecordHeadKey = "slipway.recorded"
)

// RecordHead returns the head of the record in vm.
func RecordHead(vm *mo.VirtualMachine) vmrecord.Head {
	return vmrecord.ParseHead(ExtraConfig(vm, RecordHeadKey))
}

// PendingKey marks a VM whose creation is not complete. Such a VM was never powered on.
const PendingKey = "slipway.pending"

// InstanceIDKey is the key of cloud-init's instance ID if it is not the object's UID. Unlike guestinfo keys, the
// guest cannot write it.
const InstanceIDKey = "slipway.instanceID"

// BootstrapRemovedKey is the key of the instance ID whose first-boot data was removed.
const BootstrapRemovedKey = "slipway.bootstrapRemoved"

// GuestSettingsKey is the key of the settings that the guest got at its first boot, by field path, in JSON. Later
// changes of such a setting are not applied.
const GuestSettingsKey = "slipway.guestSettings"

// IsPending reports whether the VM's creation is not complete.
func IsPending(vm *mo.VirtualMachine) bool { return ExtraConfig(vm, PendingKey) != "" }

// Owner is the VirtualMachine that a vSphere VM belongs to.
type Owner struct {
	// Key is the namespace and name.
	Key types.NamespacedName
	// UID is the object's UID.
	UID string
}

// String returns the value for OwnerKey.
func (o Owner) String() string { return o.Key.Namespace + "/" + o.Key.Name + "/" + o.UID }

// OwnerOf returns the VM's owner. ok is false if the VM has no owner.
func OwnerOf(vm *mo.VirtualMachine) (owner Owner, ok bool) {
	if vm == nil {
		return Owner{}, false
	}
	parts := strings.Split(ExtraConfig(vm, OwnerKey), "/")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" {
		return Owner{}, false
	}
	return Owner{Key: types.NamespacedName{Namespace: parts[0], Name: parts[1]}, UID: parts[2]}, true
}

// ExtraConfig returns the value of an extraConfig key, or an empty string. It ignores the case of the key.
func ExtraConfig(vm *mo.VirtualMachine, key string) string {
	if vm == nil || vm.Config == nil {
		return ""
	}
	for _, o := range vm.Config.ExtraConfig {
		v := o.GetOptionValue()
		if v == nil || !strings.EqualFold(v.Key, key) {
			continue
		}
		if s, ok := v.Value.(string); ok {
			return s
		}
	}
	return ""
}
