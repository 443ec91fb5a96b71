// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/provider/vmrecord"
)

// Ours is true for keys of extraConfig that belong to this product. What an image has of
// them was said of another VM.
func Ours(key string) bool {
	_, ok := CutKey(key, "slipway.")
	return ok
}

// CutKey returns a key of extraConfig without the prefix. vSphere compares keys without case,
// and people type them by hand.
func CutKey(key, prefix string) (rest string, ok bool) {
	if len(key) < len(prefix) || !strings.EqualFold(key[:len(prefix)], prefix) {
		return key, false
	}
	return key[len(prefix):], true
}

// Keys of extraConfig that belong to this product.
const (
	// OwnerKey holds namespace/name/uid of the VirtualMachine.
	OwnerKey = "slipway.vm"
	// LastRestartKey holds the request time of the last restart on request,
	// RFC 3339 with nanoseconds.
	LastRestartKey = "slipway.lastRestartTime"
)

// AdoptedKey holds the UID of the object that has taken the VM over from an
// administrator. What the object's spec does not name stays as it was then; who
// removes the key hands all of the VM over. The UID keeps the mark from copies.
const AdoptedKey = "slipway.adopted"

// RecordKey holds the record of the object, and RecordHeadKey its head, as package record
// writes them.
const (
	RecordKey     = "slipway.record"
	RecordHeadKey = "slipway.recorded"
)

// Recorded says what record vm keeps.
func Recorded(vm *mo.VirtualMachine) vmrecord.Head {
	return vmrecord.ParseHead(ExtraConfig(vm, RecordHeadKey))
}

// PendingKey marks a VM whose create is not finished. It was never powered on.
const PendingKey = "slipway.pending"

// InstanceIDKey holds the instance ID that cloud-init was told, if that is not the UID of
// the object. The guest can write what is below guestinfo, and not this.
const InstanceIDKey = "slipway.instanceID"

// BootstrapRemovedKey holds the instance ID whose data for the first boot was removed.
const BootstrapRemovedKey = "slipway.bootstrapRemoved"

// GuestSettingsKey holds, in JSON, the settings that the guest was given for its first boot, by the path of their
// field. A setting that the spec changes later is not applied.
const GuestSettingsKey = "slipway.guestSettings"

// Pending is true for a VM whose create is not finished.
func Pending(vm *mo.VirtualMachine) bool { return ExtraConfig(vm, PendingKey) != "" }

// Owner is the VirtualMachine that a vSphere VM belongs to.
type Owner struct {
	// Key is namespace and name.
	Key types.NamespacedName
	// UID of the object.
	UID string
}

// String is the value of OwnerKey.
func (o Owner) String() string { return o.Key.Namespace + "/" + o.Key.Name + "/" + o.UID }

// OwnerOf reads the owner; ok is false for a VM that has none.
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

// ExtraConfig returns the value of a key in any letter case, empty when there is none.
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
