// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"time"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// Machine is a virtual machine as read from the inventory.
type Machine interface {
	// Observe returns the observed state. The spec in w provides the names of volumes and interfaces.
	Observe(w *Desired) provider.Observation
	// Compare compares the machine with the desired state. It must not be called if the machine is not Readable.
	Compare(w *Desired) Comparison

	// Record returns the text of the stored object record; empty for none.
	Record() string
	// StoreRecord returns the change that stores a record.
	StoreRecord(r Record) Difference
	// MissingMetadata returns the changes for data that is missing because the virtual machine was last written with
	// schema since (see vmrecord.Schema). They are applied once.
	MissingMetadata(w *Desired, since int) []Difference

	// Complete completes an interrupted create.
	Complete(w *Desired) Operation
	// Configure applies changes.
	Configure(changes []Difference) Operation
	// PowerOn powers on or resumes the virtual machine.
	PowerOn() Operation
	// PowerOff powers off. grace limits the wait for the guest; 0 means the driver's default.
	PowerOff(mode vmv1alpha1.PowerOpMode, grace time.Duration) Operation
	// Suspend suspends the virtual machine.
	Suspend(mode vmv1alpha1.PowerOpMode, grace time.Duration) Operation
	// Restart restarts the virtual machine. If there are changes, it uses a power cycle.
	Restart(r Restart) Operation
	// Promote promotes the disks so that they do not depend on parent disks outside the virtual machine. It calls
	// progress with a percentage. progress must not block.
	Promote(progress func(percent int32)) Operation
	// StopPromotion stops a promotion that caused err in another operation. It returns err if no promotion runs.
	StopPromotion(ctx context.Context, err error) error
	// Destroy deletes the virtual machine and its files if it is powered off and belongs to the object when the
	// operation runs.
	Destroy(id Identity) Operation
	// Publish creates the library item, or finds an item that was created for the same request, and calls made. It
	// returns an error if the machine cannot be published in its current state.
	Publish(id Identity, p provider.Publication, made func(provider.Published)) (Operation, error)
	// Snapshot creates a snapshot with the object record, or completes an interrupted operation. It returns an error if
	// the machine cannot have the snapshot.
	Snapshot(id Identity, s provider.Snapshot) (Operation, error)
	// RemoveSnapshot removes the snapshot and keeps its children.
	RemoveSnapshot(id Identity, s provider.Snapshot) Operation
	// Revert reverts the machine to the snapshot. Observation.StoredSnapshot is then set until DropSnapshotRecord has
	// run.
	Revert(id Identity, to provider.RevertTarget) Operation
	// DropSnapshotRecord removes the snapshot record that Observation.StoredSnapshot reports.
	DropSnapshotRecord() Operation
	// Unregister removes the machine from the inventory and keeps its files.
	Unregister(id Identity) Operation
}

// Difference is a field whose value differs from the desired value.
type Difference struct {
	// Path of the field in the effective spec, for example cpu.sockets.
	Path string
	// Running is the current value.
	Running string
	// Desired is the desired value.
	Desired string
	// Live is true if the field can change while the machine runs.
	Live bool
	// FirstBoot is true if the field matters only before the first power on. A running machine does not need a restart
	// for it.
	FirstBoot bool
	// IsMetadata is true for metadata that does not affect the guest.
	IsMetadata bool
	// Change is private to the driver.
	Change any
}

// Comparison is the result of a comparison with the desired state.
type Comparison struct {
	// Refused lists desired settings that the machine cannot have.
	Refused Refusals
	// NotApplied lists desired settings that the hypervisor does not support or that the machine does not need.
	NotApplied []string
	// Deviations lists settings that differ from the desired state and that no Difference changes, each with the reason
	// or the action. They are not in NotApplied.
	Deviations []string
	// Differences to apply. They do not include refused settings.
	Differences []Difference
	// Unresolved are the conditions whose check must succeed before everything can be compared; empty if everything was
	// compared.
	Unresolved []string
}

// Restart is a requested restart.
type Restart struct {
	// Requested is the time in the request. It is recorded in the machine, so that a request causes at most one
	// restart.
	Requested time.Time
	// Mode of the restart.
	Mode vmv1alpha1.PowerOpMode
	// GracePeriod limits the wait for the guest; 0 means the driver's default.
	GracePeriod time.Duration
	// Changes to apply while the machine is off. If there are any, the restart is a power cycle.
	Changes []Difference
}
