// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Annotations and labels of a VirtualMachine. A key under a prefix that ends in
// .protected may be set, changed or removed by privileged users only.
const (
	// AnnotationPaused, whatever its value, stops all reconciling of the VM.
	AnnotationPaused = "vm.slipway.dev/paused"
	// AnnotationSkipDelete, on a VM that is being deleted, leaves the vSphere VM
	// in place.
	AnnotationSkipDelete = "vm.slipway.dev.protected/skip-delete-platform-resource"
	// AnnotationConfirmedGone, with the value of status.uniqueID, says that a VM which
	// vSphere does not show is gone for good, or that one which it shows may be deleted
	// although many others are missing. With the value of status.uniqueID, an equals sign and
	// another managed object ID it says that the VM has that ID now.
	AnnotationConfirmedGone = "vm.slipway.dev.protected/confirmed-gone"
	// AnnotationUnregister, on a VM that is being deleted and that vCenter cannot reach,
	// takes it out of the inventory and leaves its files.
	AnnotationUnregister = "vm.slipway.dev.protected/unregister"
	// AnnotationRecovered, on a VM that is created, says that it is one that was lost with the
	// store: its value is the UID of that, which it gets again, with metadata.generation and
	// of status what names the vSphere VM and what it has captured.
	AnnotationRecovered = "vm.slipway.dev.protected/recovered"
	// AnnotationOverwriteRecord, with the generation of the record that the vSphere VM keeps,
	// says that the object counts although it is older than that.
	AnnotationOverwriteRecord = "vm.slipway.dev.protected/overwrite-record"
	// AnnotationReverting, on a VM that is being reverted, is what of the restored spec a
	// ResourceQuota is charged for, in JSON. The server sets it before vSphere reverts the VM
	// and removes it when the spec is restored.
	AnnotationReverting = "vm.slipway.dev.protected/reverting"
	// AnnotationReconcilePriority overrides the reconcile priority; an integer.
	// The name is that of VM Operator, so that its tooling works unchanged.
	AnnotationReconcilePriority = "vmoperator.vmware.com.protected/reconcile-priority"
	// AnnotationDelayedPowerOn delays power on until an RFC 3339 time.
	AnnotationDelayedPowerOn = "vm.slipway.dev/power-on-not-before"
	// AnnotationStartRequested requests one power on of a VM whose spec already has PoweredOn,
	// whatever its powerPolicy is and however often it went off. The start subresource sets it, to
	// the time, and the controller removes it when the VM runs.
	AnnotationStartRequested = "vm.slipway.dev/start-requested"
	// CheckPowerOnPrefix and the name of a component are the key of an annotation that keeps
	// the VM from being powered on or resumed as long as it is there; its value says why.
	// Whoever creates the VM may set it, and only privileged users may do so later, change or
	// remove it.
	CheckPowerOnPrefix = "poweron.check.vm.slipway.dev/"
	// CheckDeletePrefix and the name of a component are the key of an annotation that keeps
	// the VM from being deleted as long as it is there; its value says why. Only privileged
	// users may set, change or remove it.
	CheckDeletePrefix = "delete.check.vm.slipway.dev/"
	// AnnotationFastDeploy, on a VM or its class, is a FastDeployMode. That of the VM counts
	// before that of the class, and both before the server's own.
	AnnotationFastDeploy = "vm.slipway.dev/fast-deploy"
	// LabelImageCache, on a VM that waits for copies of its image, is the name of the
	// VirtualMachineImageCache.
	LabelImageCache = "vm.slipway.dev/image-cache"
	// AnnotationImageCacheLocation, on a VM that waits for copies of its image, says where
	// it needs them: the name of the VCenter, the managed object ID of the datastore and
	// the ID of the storage policy, which may be empty, with commas between them.
	AnnotationImageCacheLocation = "vm.slipway.dev/image-cache-location"
)

// On a claim that a VM has or is about to get.
const (
	// AnnotationClaimHolderPrefix and the UID of a VM are the key of an annotation that
	// says that the VM holds the claim: nobody else gets its disk, unless the claim is
	// ReadWriteMany. The value is the name of the VM, a slash, and the ID of the disk.
	AnnotationClaimHolderPrefix = "claim.vm.slipway.dev/"
	// ClaimFinalizer keeps the claim until no VM holds it.
	ClaimFinalizer = "vm.slipway.dev/claim-in-use"
)

// ExtraConfigPausedKey with the value TRUE in the extraConfig of a vSphere VM is an
// administrator's way to stop all changes of it.
const ExtraConfigPausedKey = "slipway.paused"

// Labels on images and claims from which instance types and preferences are
// inferred. The names are KubeVirt's, so that labelled images keep working.
const (
	// LabelDefaultInstancetype names the default instance type.
	LabelDefaultInstancetype = "instancetype.kubevirt.io/default-instancetype"
	// LabelDefaultInstancetypeKind is its kind.
	LabelDefaultInstancetypeKind = "instancetype.kubevirt.io/default-instancetype-kind"
	// LabelDefaultPreference names the default preference.
	LabelDefaultPreference = "instancetype.kubevirt.io/default-preference"
	// LabelDefaultPreferenceKind is its kind.
	LabelDefaultPreferenceKind = "instancetype.kubevirt.io/default-preference-kind"
)
