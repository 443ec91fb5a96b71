// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vmrecord"
)

// Observation is the observed state of a virtual machine. The driver fills it, the engine plans by it, and controllers
// report it. The zero value stands for a virtual machine that does not exist.
type Observation struct {
	// Readable is false if the configuration cannot be read. Then only UniqueID, Orphaned and Trouble are set.
	Readable bool
	// UniqueID is the hypervisor's own ID.
	UniqueID string
	// Orphaned is true if no host has the virtual machine any more.
	Orphaned bool
	// Trouble is the reason why it cannot be changed now; empty if it can. A hint follows when it changes.
	Trouble string
	// Paused is true if an administrator paused it in the hypervisor.
	Paused bool
	// Unfinished is true if its create has not ended.
	Unfinished bool

	// BiosUUID and InstanceUUID, in lower case.
	BiosUUID, InstanceUUID string
	// VCenterInstanceUUID is that of the vCenter, empty if it is not known.
	VCenterInstanceUUID string
	// HardwareVersion is the number of the virtual hardware version.
	HardwareVersion int32
	// CreationTime is when it was created, nil if the hypervisor does not report it.
	CreationTime *metav1.Time
	// Resources is the size that it has.
	Resources *vmv1alpha1.VirtualMachineResources
	// PowerState is the power state; empty if the hypervisor reports none.
	PowerState vmv1alpha1.PowerState
	// CleanPowerOff is true if it is powered off and its last shutdown was an orderly one.
	CleanPowerOff bool
	// NodeName is the name of the host.
	NodeName string
	// LastRestart is the request time of the last restart on request.
	LastRestart *metav1.Time
	// Guest is what the guest reports, nil while none runs.
	Guest *vmv1alpha1.VirtualMachineGuestStatus
	// GuestInfo has the values of the guestinfo variables that the readiness probe of the object names, without prefix.
	// Variables that the guest does not have, or leaves empty, are missing.
	GuestInfo map[string]string
	// Customizing is true while the guest is being customized, or will be at its next start.
	Customizing bool
	// Bootstrap is what the guest was configured with; nil if the guest needs no ID for it.
	Bootstrap *vmv1alpha1.VirtualMachineBootstrapStatus
	// Network as observed.
	Network *vmv1alpha1.VirtualMachineNetworkStatus
	// Storage in use.
	Storage *vmv1alpha1.VirtualMachineStorageStatus
	// Volumes of the effective spec, and attached ones that were removed from it.
	Volumes []vmv1alpha1.VirtualMachineVolumeStatus
	// Attached are the disks that are not deleted with the virtual machine, such as those of claims, by VolumeID.
	Attached []string
	// Depending is the number of disks that depend on disks elsewhere and can be made independent, and Unpromotable
	// the reason why that is not possible now, empty if it is.
	Depending    int
	Unpromotable string
	// Snapshots that it has, a parent before its children.
	Snapshots []ObservedSnapshot
	// Recorded is the head of the object record that it has, and Kept the record of a snapshot that it has itself, nil
	// for none.
	Recorded vmrecord.Head
	Kept     *Kept

	// Conditions that the driver observes, without times; Withdrawn are the types of those that do not apply.
	Conditions []metav1.Condition
	Withdrawn  []string
}

// Set sets a condition, or withdraws it if it has no status.
func (o *Observation) Set(c metav1.Condition) {
	o.Conditions = slices.DeleteFunc(o.Conditions, func(is metav1.Condition) bool { return is.Type == c.Type })
	if c.Status != "" {
		o.Conditions = append(o.Conditions, c)
	} else if !slices.Contains(o.Withdrawn, c.Type) {
		o.Withdrawn = append(o.Withdrawn, c.Type)
	}
}

// maxSnapshots is how many snapshots a status lists. There are 32 in a chain at most, and VMware advises to keep three.
const maxSnapshots = 64

// report writes the observation into a status, without conditions.
func (o *Observation) report(st *vmv1alpha1.VirtualMachineStatus) {
	st.UniqueID, st.BiosUUID, st.InstanceUUID, st.HardwareVersion = o.UniqueID, o.BiosUUID, o.InstanceUUID, o.HardwareVersion
	st.CreationTime = o.CreationTime
	st.PowerState, st.NodeName, st.Guest, st.Bootstrap = o.PowerState, o.NodeName, o.Guest, o.Bootstrap
	st.Network, st.Storage, st.Volumes = o.Network, o.Storage, o.Volumes
	if o.LastRestart != nil {
		st.LastRestartTime = &metav1.Time{Time: o.LastRestart.Truncate(time.Second)}
	}
	if id := o.VCenterInstanceUUID; id != "" {
		st.VCenterInstanceUUID = &id
	}
	if o.UniqueID == "" {
		st.RestartRequired, st.VCenterInstanceUUID = nil, nil
	}
	st.CurrentSnapshot, st.RootSnapshots, st.Snapshots = "", nil, nil
	for i := range o.Snapshots {
		s := &o.Snapshots[i]
		name := cmp.Or(s.SnapshotName, s.Name)
		if s.Current {
			st.CurrentSnapshot = name
		}
		if len(st.Snapshots) == maxSnapshots {
			continue
		}
		st.Snapshots = append(st.Snapshots, s.VirtualMachineSnapshotNode)
		if s.Parent == "" {
			st.RootSnapshots = append(st.RootSnapshots, name)
		}
	}
}
