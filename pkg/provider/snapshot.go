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

// ErrSnapshotMissing is returned if the hypervisor no longer shows a snapshot that it had.
var ErrSnapshotMissing = errors.New("the hypervisor no longer has the snapshot")

// Snapshot is a request for a snapshot of a virtual machine.
type Snapshot struct {
	// NamespacedName and UID of the object. The snapshot is found by the UID.
	types.NamespacedName
	UID types.UID
	// Source is the name of the virtual machine. VM is its object.
	Source types.NamespacedName
	VM     *vmv1alpha1.VirtualMachine
	// UniqueID of the snapshot; empty until the snapshot was observed.
	UniqueID string
	// Memory includes the memory of a running virtual machine. Quiesce quiesces the guest first. If QuiesceTimeout is
	// 0, the hypervisor's default applies.
	Memory, Quiesce bool
	QuiesceTimeout  time.Duration
	// Description is shown to users.
	Description string
	// Record is the record of the virtual machine's object. It is stored in the snapshot.
	Record string
	// Now is the time of the reconcile.
	Now time.Time
}

// Key returns the key of the object.
func (s *Snapshot) Key() Key { return Key{Kind: KindSnapshot, NamespacedName: s.NamespacedName} }

// SnapshotRefusedError is returned if the hypervisor would refuse the snapshot, or if something else must happen first.
type SnapshotRefusedError struct {
	// Reason is the reason of the condition.
	Reason string
	// Message is shown to users.
	Message string
}

// Error implements error.
func (e *SnapshotRefusedError) Error() string { return e.Message }

// ObservedSnapshot is a snapshot in the hypervisor.
type ObservedSnapshot struct {
	vmv1alpha1.VirtualMachineSnapshotNode
	// UID of its object; empty if another client created the snapshot.
	UID types.UID
	// Quiesced is true if the guest was quiesced.
	Quiesced bool
	// Current is true for the parent of the virtual machine's present state.
	Current bool
	// Children are the unique IDs of the child snapshots.
	Children []string
}

// RevertTarget is the snapshot to which a virtual machine must be reverted.
type RevertTarget struct {
	// Name and UID of its object.
	Name string
	UID  types.UID
	// UniqueID of the snapshot in the hypervisor.
	UniqueID string
	// Admit, if set, is called with the record of the snapshot before the virtual machine is reverted. An error
	// prevents the revert.
	Admit func(ctx context.Context, record string) error
}

// StoredSnapshotRecord is a snapshot record that is stored in the virtual machine itself: after a revert, and while the
// snapshot is being created.
type StoredSnapshotRecord struct {
	// UID of the snapshot's object.
	UID types.UID
	// Record is the encoded record; see package vmrecord.
	Record string
}

// Snapshotter creates and removes snapshots. Its methods never wait for an operation. An event for the snapshot follows
// when the operation ends.
type Snapshotter interface {
	// Snapshot creates the snapshot once per object. At most one operation runs per virtual machine. It returns the
	// observed snapshot if it exists. Otherwise the error is one of:
	//
	//   - ErrReconcileInProgress while the snapshot is created
	//   - ErrSourceBusy while another operation of the virtual machine runs
	//   - ErrTooManyOperations if no slot is free; an event follows when a slot is free
	//   - a SnapshotRefusedError
	//   - ErrSnapshotMissing if the snapshot existed before
	//   - another failure, joined with a RequeueError if it is retried
	Snapshot(ctx context.Context, s *Snapshot) (*ObservedSnapshot, error)
	// RemoveSnapshot removes the snapshot and keeps its children. It returns nil if the snapshot does not exist, and
	// ErrReconcileInProgress while it is being removed.
	RemoveSnapshot(ctx context.Context, s *Snapshot) error
	// ForgetSnapshot removes the in-memory state of a snapshot.
	ForgetSnapshot(key types.NamespacedName)
}

// OwnerVMUID returns the UID of the virtual machine that owns the snapshot; an earlier virtual machine of the same name
// may be the owner. It returns an empty UID until the controller has set the owner.
func OwnerVMUID(s *vmv1alpha1.VirtualMachineSnapshot) types.UID {
	for _, o := range s.OwnerReferences {
		if o.Kind == "VirtualMachine" && o.Name == s.Spec.VMName && o.APIVersion == vmv1alpha1.SchemeGroupVersion.String() {
			return o.UID
		}
	}
	return ""
}
