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

// Observation is the observed state of a virtual machine. The driver fills it, the engine uses it for planning, and
// controllers write it to status. The zero value represents a virtual machine that does not exist.
type Observation struct {
	// Readable is false if the configuration cannot be read. Then only UniqueID, Orphaned and Trouble are set.
	Readable bool
	// UniqueID is the hypervisor's own ID.
	UniqueID string
	// Orphaned is true if the virtual machine is not registered on any host.
	Orphaned bool
	// Trouble is the reason why the virtual machine cannot be changed now; empty if it can. An event follows when it
	// changes.
	Trouble string
	// Paused is true if an administrator paused the virtual machine in the hypervisor.
	Paused bool
	// Unfinished is true if the create has not ended.
	Unfinished bool

	// BiosUUID and InstanceUUID are in lower case.
	BiosUUID, InstanceUUID string
	// VCenterInstanceUUID is the instance UUID of the vCenter; empty if it is not known.
	VCenterInstanceUUID string
	// HardwareVersion is the number of the virtual hardware version.
	HardwareVersion int32
	// CreationTime is the time of creation; nil if the hypervisor does not report it.
	CreationTime *metav1.Time
	// Resources are the CPUs and the memory of the virtual machine.
	Resources *vmv1alpha1.VirtualMachineResources
	// PowerState is the power state; empty if the hypervisor reports none.
	PowerState vmv1alpha1.PowerState
	// CleanPowerOff is true if the virtual machine is powered off and its guest was shut down cleanly.
	CleanPowerOff bool
	// NodeName is the name of the host.
	NodeName string
	// LastRestart is the request time of the last requested restart.
	LastRestart *metav1.Time
	// Guest is the information that the guest reports; nil while no guest runs.
	Guest *vmv1alpha1.VirtualMachineGuestStatus
	// GuestInfo has the values of the guestinfo variables in the object's readiness probe, by name without prefix.
	// Variables that are unset or empty in the guest are omitted.
	GuestInfo map[string]string
	// Customizing is true while the guest is being customized, or if it will be customized at its next start.
	Customizing bool
	// Bootstrap describes how the guest was configured; nil if the guest needs no instance ID.
	Bootstrap *vmv1alpha1.VirtualMachineBootstrapStatus
	// Network is the observed network.
	Network *vmv1alpha1.VirtualMachineNetworkStatus
	// Storage is the storage in use.
	Storage *vmv1alpha1.VirtualMachineStorageStatus
	// Volumes are the volumes of the effective spec, and attached volumes that were removed from it.
	Volumes []vmv1alpha1.VirtualMachineVolumeStatus
	// RetainedDisks are the VolumeIDs of the disks that are not deleted with the virtual machine, such as disks of
	// claims.
	RetainedDisks []string
	// DependentDisks is the number of disks that depend on parent disks outside the virtual machine and can be
	// promoted. PromotionObstacle is the reason why they cannot be promoted now; empty if they can.
	DependentDisks    int
	PromotionObstacle string
	// Snapshots of the virtual machine, each parent before its children.
	Snapshots []ObservedSnapshot
	// RecordHead is the head of the object record that is stored in the virtual machine. StoredSnapshot is the snapshot
	// record that is stored in it, or nil.
	RecordHead     vmrecord.Head
	StoredSnapshot *StoredSnapshotRecord

	// Conditions are the conditions that the driver has determined, without times. Withdrawn are the types of
	// conditions to remove.
	Conditions []metav1.Condition
	Withdrawn  []string
}

// Set sets a condition, or withdraws it if its status is empty.
func (o *Observation) Set(c metav1.Condition) {
	o.Conditions = slices.DeleteFunc(o.Conditions, func(old metav1.Condition) bool { return old.Type == c.Type })
	if c.Status != "" {
		o.Conditions = append(o.Conditions, c)
	} else if !slices.Contains(o.Withdrawn, c.Type) {
		o.Withdrawn = append(o.Withdrawn, c.Type)
	}
}

// maxSnapshots is the maximum number of snapshots in a status. A chain has at most 32, and VMware recommends at most
// three.
const maxSnapshots = 64

// report writes the observation into a status, except for conditions.
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
