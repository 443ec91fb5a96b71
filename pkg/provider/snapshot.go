// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// KindSnapshot is the kind of snapshots of virtual machines.
const KindSnapshot Kind = "VirtualMachineSnapshot"

// ErrSnapshotMissing means that the hypervisor had a snapshot and does not show it any more.
var ErrSnapshotMissing = errors.New("the hypervisor does not show the snapshot any more")

// Snapshot asks for a snapshot of a virtual machine.
type Snapshot struct {
	// NamespacedName of the object, and its UID, by which the snapshot is found.
	types.NamespacedName
	UID types.UID
	// Source is the name of the virtual machine, and VM the object.
	Source types.NamespacedName
	VM     *vmv1alpha1.VirtualMachine
	// UniqueID of the snapshot, empty as long as none was seen.
	UniqueID string
	// Memory keeps the memory of one that runs, Quiesce brings its guest to rest first; 0
	// in QuiesceTimeout stands for the hypervisor's default.
	Memory, Quiesce bool
	QuiesceTimeout  time.Duration
	// Description for people.
	Description string
	// Record of the object of the virtual machine, which the snapshot carries.
	Record string
	// Now is the time of the pass.
	Now time.Time
}

// Key of the object.
func (s *Snapshot) Key() Key { return Key{Kind: KindSnapshot, NamespacedName: s.NamespacedName} }

// SnapshotRefusedError means that the hypervisor would refuse the snapshot, or that
// something else comes first.
type SnapshotRefusedError struct {
	// Reason of the condition.
	Reason string
	// Message for people.
	Message string
}

// Error implements error.
func (e *SnapshotRefusedError) Error() string { return e.Message }

// ObservedSnapshot is a snapshot as the hypervisor shows it.
type ObservedSnapshot struct {
	vmv1alpha1.VirtualMachineSnapshotNode
	// UID of its object, empty for one that somebody else made.
	UID types.UID
	// Quiesced is true when the guest was brought to rest.
	Quiesced bool
	// Current is true for the one that the virtual machine runs on.
	Current bool
	// Children are the unique IDs of those that follow it.
	Children []string
}

// RevertTarget is the snapshot that a virtual machine is to be reverted to.
type RevertTarget struct {
	// Name and UID of its object.
	Name string
	UID  types.UID
	// UniqueID that it has in the hypervisor.
	UniqueID string
	// Admit is called with the record of the snapshot before the hypervisor reverts the virtual machine. An error
	// refuses the revert. It may be nil.
	Admit func(ctx context.Context, record string) error
}

// Kept is the record of a snapshot that a virtual machine itself has: after a revert, and
// while the snapshot is being made.
type Kept struct {
	// UID of the snapshot's object.
	UID types.UID
	// Record as package record writes it.
	Record string
}

// Snapshotter makes and removes snapshots. Its methods never wait for that; the end of what
// they begin is followed by a hint for the snapshot.
type Snapshotter interface {
	// Snapshot makes the snapshot, once for each object, and at most one thing at a time of
	// one virtual machine. It returns what the hypervisor shows of it when it is there. Until
	// then the error is ErrReconcileInProgress while it is made, ErrSourceBusy,
	// ErrTooManyOperations when others come first, which a hint follows, a
	// SnapshotRefusedError, ErrSnapshotMissing for one that was there, or another failure,
	// joined with a RequeueError where it is tried again.
	Snapshot(ctx context.Context, s *Snapshot) (*ObservedSnapshot, error)
	// RemoveSnapshot removes the snapshot and leaves those that follow it. It returns nil when
	// there is none, and ErrReconcileInProgress while it is removed.
	RemoveSnapshot(ctx context.Context, s *Snapshot) error
	// ForgetSnapshot drops what is kept in memory for a snapshot.
	ForgetSnapshot(key types.NamespacedName)
}

// MachineOf is the UID of the virtual machine that a snapshot is of, which may be an earlier one of
// the name. It is empty as long as the snapshot has met none: its controller makes it the owner.
func MachineOf(s *vmv1alpha1.VirtualMachineSnapshot) types.UID {
	for _, o := range s.OwnerReferences {
		if o.Kind == "VirtualMachine" && o.Name == s.Spec.VMName && o.APIVersion == vmv1alpha1.SchemeGroupVersion.String() {
			return o.UID
		}
	}
	return ""
}
