// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vmrecord"
)

// Desired is the resolved desired state of a virtual machine. It is passed to the driver unchanged.
type Desired struct {
	// Effective is the spec after the class, the instance type, the preference and the defaults were resolved. It is
	// nil if they cannot be resolved. Then nothing is created or reconfigured, but the status is read, and power off
	// and suspend still work.
	Effective *vmv1alpha1.VirtualMachineInstanceSpec
	// NamespaceLabels are the labels of the namespace; nil if they are not known.
	NamespaceLabels map[string]string
	// Image is the image to create from; nil if it does not exist.
	Image *vmv1alpha1.VirtualMachineImage
	// ImageCache has the copies of the image; nil if no copies exist or are needed.
	ImageCache *vmv1alpha1.VirtualMachineImageCache
	// CloneOf is the virtual machine to clone; nil if the image is not a virtual machine. Image describes it.
	CloneOf *CloneSource
	// AcceptEULA is true if the license agreements of Image are accepted.
	AcceptEULA bool
	// FastDeploy selects how the disks of a new virtual machine are created from Image. Empty means FastDeployOff.
	FastDeploy vmv1alpha1.FastDeployMode
	// StorageClasses are the StorageClasses in Effective, by name.
	StorageClasses map[string]StorageClass
	// CDROMImages are the images of CD-ROM drives, by volume. An image that does not exist is nil.
	CDROMImages map[string]*vmv1alpha1.VirtualMachineImage
	// Bootstrap holds the values of the bootstrap Secrets.
	Bootstrap *BootstrapData
	// Claims are the claims of the volumes in Effective, by volume name. A volume whose claim is not listed is not
	// changed.
	Claims map[string]Claim
	// Revert is the snapshot that spec.currentSnapshotName requests; nil for none, or if the revert is not possible yet.
	Revert *RevertTarget
}

// Request has the inputs of one reconcile of a virtual machine.
type Request struct {
	// VM is the object. It must not be changed.
	VM *vmv1alpha1.VirtualMachine
	// Revisions are the ControllerRevisions that VM has pinned, as far as they could be read.
	Revisions []*itv1alpha1.ControllerRevision
	// Groups are the groups to store in the record of VM.
	Groups vmrecord.Groups
	Desired
	// Zone is the zone to use if the object does not specify one; empty for any. It is used only until a zone is set in
	// status.
	Zone string
	// Placement has the placement constraints of the VM's group; nil for none. It is used only until a zone is set in
	// status.
	Placement *Placement
	// PrerequisitesReady is false if the caller has set a condition that prevents the create. The provider then checks
	// and reports its own prerequisites but does not start a create.
	PrerequisitesReady bool
	// CompletionReady is like PrerequisitesReady, but it is also true if only the image is missing. An interrupted
	// create no longer needs the image after the virtual machine was created.
	CompletionReady bool
	// Priority orders the creates that wait for a slot. Higher priorities are created earlier.
	Priority int
	// Now is the time of the reconcile.
	Now time.Time
}

// Placement has the placement constraints of a virtual machine in a group.
type Placement struct {
	// Policy is the policy of the group.
	Policy vmv1alpha1.PlacementPolicy
	// Group is the name of the group.
	Group string
	// Others are the zones of the other virtual machines in the group. The zone is empty if none was chosen.
	Others map[types.NamespacedName]string
}

// CloneSource is the virtual machine to clone.
type CloneSource struct {
	// NamespacedName of its object.
	types.NamespacedName
	// UID of its object.
	UID types.UID
	// InstanceUUID of the virtual machine.
	InstanceUUID string
	// Snapshot is the name of the snapshot to clone. If it is empty, the current state is cloned, which must be powered
	// off.
	Snapshot string
}

// Event requests another reconcile of an object. It is sent when an operation has ended, when the hypervisor reports a
// change, or when a slot is free.
type Event struct {
	// Key of the object.
	Key Key
}

// Provider reconciles virtual machines against a hypervisor.
type Provider interface {
	// CreateOrUpdateVirtualMachine creates or changes the virtual machine as requested, one operation at a time, and
	// waits for the operation. It returns a RequeueError if another reconcile is needed.
	CreateOrUpdateVirtualMachine(ctx context.Context, req *Request) (Result, error)

	// CreateOrUpdateVirtualMachineAsync is like CreateOrUpdateVirtualMachine but does not wait. If it has started an
	// operation, the result's channel Ended receives the error, and an event follows.
	CreateOrUpdateVirtualMachineAsync(ctx context.Context, req *Request) (Result, error)

	// DeleteVirtualMachine removes the virtual machine and the leftovers of a failed create. It returns nil if nothing
	// is left, and ErrReconcileInProgress while an operation of the virtual machine runs. It returns ErrPaused if an
	// administrator paused the virtual machine in the hypervisor. If the virtual machine cannot be removed, it returns
	// a NoRequeueError with the required change.
	DeleteVirtualMachine(ctx context.Context, req *Request) (Result, error)

	// ReportVirtualMachine returns the observed state and starts nothing. It is used while a deletion is blocked. The
	// error is ErrUnknownState if the virtual machine cannot be observed.
	ReportVirtualMachine(ctx context.Context, req *Request) (Result, error)

	// Forget removes the in-memory state of a virtual machine whose object was deleted. It does not affect the
	// hypervisor or a running operation.
	Forget(key types.NamespacedName)

	// IsUnread reports whether the first read of the hypervisor has not reached vm yet, so that a call for it would
	// return ErrUnknownState. An event follows after the read.
	IsUnread(vm *vmv1alpha1.VirtualMachine) bool

	// Watch calls changed for every event until ctx is done. The same event may be delivered more than once. changed
	// must not block.
	Watch(ctx context.Context, changed func(Event))

	// Healthy returns nil while the hypervisor responds.
	Healthy(ctx context.Context) error
}
