// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Facts are what the hypervisor shows of a virtual machine. The zero value is what it
// shows of one that is not there.
type Facts struct {
	// PowerState is the power state.
	PowerState vmv1alpha1.PowerState
	// UniqueID is the hypervisor's own ID.
	UniqueID string
	// BiosUUID and InstanceUUID, in lower case.
	BiosUUID, InstanceUUID string
	// HardwareVersion is the number of the virtual hardware version.
	HardwareVersion int32
	// Resources is the size that it has.
	Resources *vmv1alpha1.VirtualMachineResources
	// Guest is what the guest reports, nil while none runs.
	Guest *vmv1alpha1.VirtualMachineGuestStatus
	// GuestInfo are the values of the guestinfo variables that the readiness probe of the
	// object asks for, by name without the prefix; those that the guest does not have, or
	// leaves empty, are not there.
	GuestInfo map[string]string
	// Bootstrap is what the guest was told; nil for what it is told without a word.
	Bootstrap *vmv1alpha1.VirtualMachineBootstrapStatus
	// Network as observed.
	Network *vmv1alpha1.VirtualMachineNetworkStatus
	// Storage in use.
	Storage *vmv1alpha1.VirtualMachineStorageStatus
	// Volumes of the effective spec, and those left of removed ones.
	Volumes []vmv1alpha1.VirtualMachineVolumeStatus
	// NodeName is the name of the host.
	NodeName string
	// LastRestart is the request time of the last restart on request.
	LastRestart *metav1.Time
	// CurrentSnapshot is the name of the snapshot that it runs on, RootSnapshots are
	// those without parent.
	CurrentSnapshot string
	RootSnapshots   []string
	// Snapshots is the tree of them, a parent before its children, cut where status ends.
	Snapshots []vmv1alpha1.VirtualMachineSnapshotNode
}

// Result is what a call found and did. It changes nothing of the caller's; Apply puts
// it into a status.
type Result struct {
	// Zone that was chosen; empty when none was in this call.
	Zone string
	// Facts to report, nil when nothing new is known: then those that were reported
	// before stay.
	Facts *Facts
	// RestartRequired lists what needs a power cycle. It counts only with Compared.
	RestartRequired []vmv1alpha1.RestartRequirement
	// Compared is true when the virtual machine was compared with the effective spec.
	Compared bool
	// Conditions that were decided, without generation. A zero LastTransitionTime
	// stands for the time of the pass.
	Conditions []metav1.Condition
	// Withdrawn are the types of conditions that do not apply any more.
	Withdrawn []string
	// Started names the operation that was started, empty for none.
	Started string
	// Ended delivers the error of the operation that was started and is closed then;
	// nil when none was.
	Ended <-chan error
	// Attached are the disks with a life of their own, such as those of claims, that the
	// virtual machine has, by VolumeID. They count only with AttachedKnown: when they were
	// seen and nothing runs or was started that changes them.
	Attached      []string
	AttachedKnown bool
	// Reverted is the record of the snapshot that the virtual machine was reverted to and its
	// object was not yet; nil but then.
	Reverted *Kept
	// Settled is true when the virtual machine is as the effective spec wants it, but
	// for RestartRequired, and nothing was started for its configuration.
	Settled bool
}

// Set adds a condition, or replaces one of the same type.
func (r *Result) Set(kind string, status metav1.ConditionStatus, reason, message string) {
	r.SetAt(time.Time{}, kind, status, reason, message)
}

// SetAt is Set with the time since when the condition holds: what a caller sets anew
// in every pass, and this result otherwise, would seem to change in each of them.
func (r *Result) SetAt(at time.Time, kind string, status metav1.ConditionStatus, reason, message string) {
	c := metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
	if !at.IsZero() {
		c.LastTransitionTime = metav1.NewTime(at)
	}
	for i := range r.Conditions {
		if r.Conditions[i].Type == kind {
			r.Conditions[i] = c
			return
		}
	}
	r.Conditions = append(r.Conditions, c)
}

// True sets a condition that holds.
func (r *Result) True(kind string) {
	r.Set(kind, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded, "")
}

// False sets a condition that does not hold.
func (r *Result) False(kind, reason, message string) {
	r.Set(kind, metav1.ConditionFalse, reason, message)
}

// Apply puts the result of a pass over a generation at a time into a status.
func (r *Result) Apply(st *vmv1alpha1.VirtualMachineStatus, generation int64, now time.Time) {
	if r.Zone != "" {
		st.Zone = r.Zone
	}
	if f := r.Facts; f != nil {
		st.PowerState, st.UniqueID, st.BiosUUID, st.InstanceUUID = f.PowerState, f.UniqueID, f.BiosUUID, f.InstanceUUID
		st.HardwareVersion, st.Guest, st.Network, st.Storage = f.HardwareVersion, f.Guest, f.Network, f.Storage
		st.Volumes, st.NodeName, st.Bootstrap = f.Volumes, f.NodeName, f.Bootstrap
		st.CurrentSnapshot, st.RootSnapshots, st.Snapshots = f.CurrentSnapshot, f.RootSnapshots, f.Snapshots
		if f.LastRestart != nil {
			st.LastRestartTime = &metav1.Time{Time: f.LastRestart.Truncate(time.Second)}
		}
		if f.UniqueID == "" {
			st.RestartRequired = nil
		}
	}
	if r.Compared {
		st.RestartRequired = r.RestartRequired
	}
	for _, kind := range r.Withdrawn {
		meta.RemoveStatusCondition(&st.Conditions, kind)
	}
	for _, c := range r.Conditions {
		c.ObservedGeneration = generation
		at := now
		if !c.LastTransitionTime.IsZero() {
			at = c.LastTransitionTime.Time
		}
		conditions.Set(&st.Conditions, at, c)
	}
}
