// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Annotations and labels of a VirtualMachine. Only privileged users can set, change or remove a key whose prefix ends
// in .protected.
const (
	// AnnotationPaused, with any value, pauses the reconciling of the VM.
	AnnotationPaused = "vm.slipway.dev/paused"
	// AnnotationSkipDelete, on a VM that is being deleted, keeps the vSphere VM.
	AnnotationSkipDelete = "vm.slipway.dev.protected/skip-delete-platform-resource"
	// AnnotationConfirmedMissing, with the value of status.uniqueID, confirms that a VM that vSphere does not report was
	// permanently deleted. For a VM that vSphere reports, it allows the deletion although many other VMs are missing.
	// With the value of status.uniqueID, an equals sign and another managed object ID, it states that the VM now has
	// this other ID.
	AnnotationConfirmedMissing = "vm.slipway.dev.protected/confirmed-gone"
	// AnnotationUnregister, on a VM that is being deleted while vCenter cannot reach it, unregisters the vSphere VM and
	// keeps its files.
	AnnotationUnregister = "vm.slipway.dev.protected/unregister"
	// AnnotationRecovered, on a VM that is being created, marks a VM that was lost with the store. Its value is the
	// previous UID. The new object gets this UID, metadata.generation, and the status fields that identify the vSphere
	// VM and the pinned revisions.
	AnnotationRecovered = "vm.slipway.dev.protected/recovered"
	// AnnotationOverwriteRecord, with the generation of the record in the vSphere VM, allows the object to overwrite the
	// record although the object is older.
	AnnotationOverwriteRecord = "vm.slipway.dev.protected/overwrite-record"
	// AnnotationReverting, on a VM that is being reverted, contains the part of the restored spec that counts against a
	// ResourceQuota, in JSON. The server sets it before vSphere reverts the VM and removes it when the spec is restored.
	AnnotationReverting = "vm.slipway.dev.protected/reverting"
	// AnnotationReconcilePriority overrides the reconcile priority. The value is an integer. The name is the one of VM
	// Operator, so that its tools work without changes.
	AnnotationReconcilePriority = "vmoperator.vmware.com.protected/reconcile-priority"
	// AnnotationDelayedPowerOn delays power on until a time in RFC 3339 format.
	AnnotationDelayedPowerOn = "vm.slipway.dev/power-on-not-before"
	// AnnotationStartRequested requests one power on of a VM whose spec.powerState is already PoweredOn, regardless of
	// its powerPolicy and of previous failures. The start subresource sets it to the current time. The controller
	// removes it when the VM runs.
	AnnotationStartRequested = "vm.slipway.dev/start-requested"
	// CheckPowerOnPrefix followed by the name of a component is the key of an annotation that blocks power on and resume
	// of the VM. Its value is the reason. A user who creates the VM can set it. Later, only privileged users can set,
	// change or remove it.
	CheckPowerOnPrefix = "poweron.check.vm.slipway.dev/"
	// CheckDeletePrefix followed by the name of a component is the key of an annotation that blocks the deletion of the
	// VM. Its value is the reason. Only privileged users can set, change or remove it.
	CheckDeletePrefix = "delete.check.vm.slipway.dev/"
	// AnnotationFastDeploy, on a VM or its class, is a FastDeployMode. The annotation of the VM takes precedence over
	// that of the class, and both over the server's default.
	AnnotationFastDeploy = "vm.slipway.dev/fast-deploy"
	// LabelImageCache, on a VM that waits for copies of its image, is the name of the VirtualMachineImageCache.
	LabelImageCache = "vm.slipway.dev/image-cache"
	// AnnotationImageCacheLocation, on a VM that waits for copies of its image, is the required location: the name of
	// the VCenter, the managed object ID of the datastore and the ID of the storage policy, which can be empty,
	// separated by commas.
	AnnotationImageCacheLocation = "vm.slipway.dev/image-cache-location"
)

// Annotations and finalizers of PersistentVolumeClaims that VMs use.
const (
	// AnnotationClaimHolderPrefix followed by the UID of a VM is the key of an annotation that reserves the claim for
	// the VM. No other VM gets its disk unless the claim is ReadWriteMany. The value is the name of the VM, a slash, and
	// the ID of the disk.
	AnnotationClaimHolderPrefix = "claim.vm.slipway.dev/"
	// ClaimFinalizer keeps the claim until no VM uses it.
	ClaimFinalizer = "vm.slipway.dev/claim-in-use"
)

// ExtraConfigPausedKey is a key in the extraConfig of a vSphere VM. With the value TRUE, it pauses all changes of the
// VM. Administrators can set it in vSphere.
const ExtraConfigPausedKey = "slipway.paused"

// Labels of images and claims from which instance types and preferences are inferred. The names are those of KubeVirt,
// so that labeled images can be used without changes.
const (
	// LabelDefaultInstancetype is the name of the default instance type.
	LabelDefaultInstancetype = "instancetype.kubevirt.io/default-instancetype"
	// LabelDefaultInstancetypeKind is the kind of the default instance type.
	LabelDefaultInstancetypeKind = "instancetype.kubevirt.io/default-instancetype-kind"
	// LabelDefaultPreference is the name of the default preference.
	LabelDefaultPreference = "instancetype.kubevirt.io/default-preference"
	// LabelDefaultPreferenceKind is the kind of the default preference.
	LabelDefaultPreferenceKind = "instancetype.kubevirt.io/default-preference-kind"
)
