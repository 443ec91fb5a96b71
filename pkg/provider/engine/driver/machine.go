// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"time"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// Machine is one virtual machine as it was read.
type Machine interface {
	// Observe returns its observed state. w names its parts.
	Observe(w *Want) provider.Observation
	// Compare compares it with what is wanted. It must not be called if the machine is not
	// Readable.
	Compare(w *Want) Comparison

	// Record is the text of the record that it keeps, empty for none.
	Record() string
	// Keep is what makes it keep a record.
	Keep(r Record) Difference
	// Lacking is what it lacks of what is written to virtual machines since a schema, as
	// record.Schema counts them, and what is filled in once.
	Lacking(w *Want, since int) []Difference

	// Complete finishes a create that was interrupted.
	Complete(w *Want) Operation
	// Configure changes it.
	Configure(changes []Difference) Operation
	// PowerOn powers on or resumes.
	PowerOn() Operation
	// PowerOff powers off by mode. grace bounds the wait for the guest; 0 means the
	// driver's default.
	PowerOff(mode vmv1alpha1.PowerOpMode, grace time.Duration) Operation
	// Suspend suspends by mode.
	Suspend(mode vmv1alpha1.PowerOpMode, grace time.Duration) Operation
	// Restart restarts, by a power cycle if there are changes to make.
	Restart(r Restart) Operation
	// Promote makes its disks independent of those elsewhere, and tells progress how far
	// that has come, in percent. progress does not block.
	Promote(progress func(percent int32)) Operation
	// StopPromotion ends a promotion that err, of another operation, says is in the way. It
	// returns err if there is none.
	StopPromotion(ctx context.Context, err error) error
	// Destroy removes it with what belongs to it, if it is off and still the object's
	// when the operation runs.
	Destroy(id Identity) Operation
	// Publish makes the library item, or finds what an earlier operation made for the
	// same request, and tells it. The error says why the machine must not be published as
	// it is.
	Publish(id Identity, p provider.Publication, made func(provider.Published)) (Operation, error)
	// Snapshot makes the snapshot with what keeps the object, or finishes what an earlier
	// operation began. The error says why the machine cannot have it.
	Snapshot(id Identity, s provider.Snapshot) (Operation, error)
	// RemoveSnapshot removes the snapshot, and ends nothing else.
	RemoveSnapshot(id Identity, s provider.Snapshot) Operation
	// Revert makes the machine what it was at the snapshot. It is Kept then, until
	// DropKept.
	Revert(id Identity, to provider.RevertTarget) Operation
	// DropKept removes what is Kept.
	DropKept() Operation
	// Unregister takes it out of the inventory and leaves its files.
	Unregister(id Identity) Operation
}

// Difference is one field that is not as wanted.
type Difference struct {
	// Path of the field in the effective spec, for example cpu.sockets.
	Path string
	// Running is the value that the machine has.
	Running string
	// Desired is the wanted value.
	Desired string
	// Live is true when it can change while the machine runs.
	Live bool
	// FirstBoot is true when it matters only before the machine is powered on, so
	// that one that runs does not need a restart for it.
	FirstBoot bool
	// Names is true when it changes nothing for the guest.
	Names bool
	// Change is the driver's own.
	Change any
}

// Comparison is how a machine differs from what is wanted.
type Comparison struct {
	// Refused says what is wanted and the machine cannot have.
	Refused Refusals
	// NotApplied lists what is wanted and has no meaning to the hypervisor, or what the
	// machine can do without.
	NotApplied []string
	// Deviating lists what the machine has otherwise than wanted and what no Difference
	// changes, each with the reason or the action. NotApplied does not include it.
	Deviating []string
	// Differences to apply; nothing that is refused is one of them.
	Differences []Difference
	// Unresolved are the conditions whose check has to come before everything can be
	// compared; none when everything was.
	Unresolved []string
}

// Restart is a restart on request.
type Restart struct {
	// Requested is the time that asked for it. It is recorded in the machine, so that
	// one request restarts at most once.
	Requested time.Time
	// Mode of the restart.
	Mode vmv1alpha1.PowerOpMode
	// GracePeriod bounds the wait for the guest; 0 means the driver's default.
	GracePeriod time.Duration
	// Changes to make while the machine is off; with some the restart is a power cycle.
	Changes []Difference
}
