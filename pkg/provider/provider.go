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

// Desired is what a virtual machine is made of, as far as it could be resolved. It reaches the driver unchanged.
type Desired struct {
	// Effective is the spec with class, instance type, preference and defaults
	// resolved. It is nil when it cannot be resolved: then nothing is created or
	// reconfigured, but status is read, and power off and suspend still happen.
	Effective *vmv1alpha1.VirtualMachineInstanceSpec
	// NamespaceLabels are the labels of the namespace; nil if they are not known.
	NamespaceLabels map[string]string
	// Image is the image to create from, nil when it does not exist.
	Image *vmv1alpha1.VirtualMachineImage
	// ImageCache holds the copies of the image, nil when there is none, or none is wanted.
	ImageCache *vmv1alpha1.VirtualMachineImageCache
	// CloneOf is the virtual machine to clone, with Image for what is said of it; nil for
	// any other image.
	CloneOf *CloneSource
	// AcceptEULA is true if the license agreements of Image are accepted.
	AcceptEULA bool
	// FastDeploy is how the disks of a new virtual machine are made of Image; empty stands
	// for FastDeployOff.
	FastDeploy vmv1alpha1.FastDeployMode
	// StorageClasses are those that Effective names, by name.
	StorageClasses map[string]StorageClass
	// Discs are the images in CD-ROM drives, by volume; nil for one that does not exist.
	Discs map[string]*vmv1alpha1.VirtualMachineImage
	// Bootstrap holds the values that the bootstrap Secrets had.
	Bootstrap *BootstrapData
	// Claims are those of the volumes of Effective that have one, by the name of the
	// volume. A volume whose claim is not here is left as it is.
	Claims map[string]Claim
	// Revert is the snapshot that the spec names to revert to; nil for none, or if it cannot
	// be reverted to yet.
	Revert *RevertTarget
}

// Request is everything that one reconcile knows about a virtual machine.
type Request struct {
	// VM is the object. It is only read.
	VM *vmv1alpha1.VirtualMachine
	// Revisions are those that VM has captured, as far as they could be read.
	Revisions []*itv1alpha1.ControllerRevision
	// Groups are those that are kept with VM.
	Groups vmrecord.Groups
	Desired
	// Zone is the one that the virtual machine goes to if its object asks for none; empty for
	// any. It counts as long as it is in no zone.
	Zone string
	// Placement is where the virtual machine goes in relation to others; nil if that is all
	// the same. It counts as long as it is in no zone.
	Placement *Placement
	// PrerequisitesReady is false when the caller has set a condition that
	// forbids creation. The provider then checks and reports its own
	// prerequisites, but starts no create.
	PrerequisitesReady bool
	// CompletionReady is true also when only the image is missing, of which a create needs
	// nothing any more that was interrupted after the virtual machine was made.
	CompletionReady bool
	// Priority orders creates that wait for a slot, higher first.
	Priority int
	// Now is the time of the pass.
	Now time.Time
}

// Placement is where a virtual machine goes in relation to the others of its group.
type Placement struct {
	// Policy that the group has.
	Policy vmv1alpha1.PlacementPolicy
	// Group is its name.
	Group string
	// Others are the zones of the other virtual machines of the group; empty for one that is
	// in none.
	Others map[types.NamespacedName]string
}

// CloneSource is a virtual machine that another one is cloned from.
type CloneSource struct {
	// NamespacedName of its object.
	types.NamespacedName
	// UID of its object.
	UID types.UID
	// InstanceUUID that it has.
	InstanceUUID string
	// Snapshot is the name of the snapshot that is cloned; empty for the present state,
	// which can be cloned of one that is powered off.
	Snapshot string
}

// Hint says that an object is worth another look: an operation of it has ended, the
// hypervisor reported a change, or it is its turn.
type Hint struct {
	// Key of the object.
	Key Key
}

// Provider reconciles virtual machines against a hypervisor.
type Provider interface {
	// CreateOrUpdateVirtualMachine makes the virtual machine as requested, one
	// operation at a time, and waits for that operation. It returns a
	// RequeueError when another pass is needed.
	CreateOrUpdateVirtualMachine(ctx context.Context, req *Request) (Result, error)

	// CreateOrUpdateVirtualMachineAsync does the same without waiting: when an
	// operation was started, its error comes over the channel of the result, and a
	// hint follows.
	CreateOrUpdateVirtualMachineAsync(ctx context.Context, req *Request) (Result, error)

	// DeleteVirtualMachine removes the virtual machine and what a failed create
	// left behind. It returns nil when nothing is left, ErrReconcileInProgress
	// while an operation for it runs, ErrPaused when an administrator paused the
	// virtual machine in the hypervisor, and a NoRequeueError while it cannot be
	// removed, with what has to change first.
	DeleteVirtualMachine(ctx context.Context, req *Request) (Result, error)

	// ReportVirtualMachine tells what is seen of the virtual machine and does nothing, as
	// for one whose deletion is held. The error is ErrUnknownState while it cannot be seen.
	ReportVirtualMachine(ctx context.Context, req *Request) (Result, error)

	// Forget drops what is kept in memory for a virtual machine whose object is
	// gone, however that came about. It touches neither the hypervisor nor an
	// operation that runs.
	Forget(key types.NamespacedName)

	// Unread reports whether the hypervisor is being read for the first time and was
	// not read as far as vm yet, so that a call about it could only return
	// ErrUnknownState. A hint follows when it was read.
	Unread(vm *vmv1alpha1.VirtualMachine) bool

	// Watch calls changed for every hint until ctx is done. A hint may come
	// more than once and means nothing but "look again". changed must not block.
	Watch(ctx context.Context, changed func(Hint))

	// Healthy returns nil while the hypervisor can be talked to.
	Healthy(ctx context.Context) error
}
