// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Finalizers.
const (
	// MachineFinalizer keeps a Machine until its Node, its infrastructure and its bootstrap
	// object are gone. The create strategy sets it, the controller removes it.
	MachineFinalizer = "machine.cluster.x-k8s.io"
	// ClusterFinalizer keeps a Cluster until everything of it is gone.
	ClusterFinalizer = "cluster.cluster.x-k8s.io"
)

// Labels.
const (
	// ClusterNameLabel names the Cluster of an object.
	ClusterNameLabel = "cluster.x-k8s.io/cluster-name"
	// MachineControlPlaneLabel is on machines of the control plane.
	MachineControlPlaneLabel = "cluster.x-k8s.io/control-plane"
	// MachineControlPlaneNameLabel names the control plane that made a machine.
	MachineControlPlaneNameLabel = "cluster.x-k8s.io/control-plane-name"
	// MachineSetNameLabel names the MachineSet that made a machine.
	MachineSetNameLabel = "cluster.x-k8s.io/set-name"
	// MachineDeploymentNameLabel names the MachineDeployment that a machine is of.
	MachineDeploymentNameLabel = "cluster.x-k8s.io/deployment-name"
	// MachinePoolNameLabel names the pool that made a machine.
	MachinePoolNameLabel = "cluster.x-k8s.io/pool-name"
	// MachineDeploymentUniqueLabel tells the machines of one template of a MachineDeployment
	// from those of another.
	MachineDeploymentUniqueLabel = "machine-template-hash"
	// InterruptibleLabel is on Nodes whose machines may be taken away at any time.
	InterruptibleLabel = "cluster.x-k8s.io/interruptible"
	// PodDrainLabel of a pod says what a drain does with it: skip or wait-completed.
	PodDrainLabel = "cluster.x-k8s.io/drain"
	// NodeRoleLabelPrefix is the domain of the roles of Nodes.
	NodeRoleLabelPrefix = "node-role.kubernetes.io"
	// NodeRestrictionLabelDomain is the domain of labels that kubelets may not set.
	NodeRestrictionLabelDomain = "node-restriction.kubernetes.io"
	// ManagedNodeLabelDomain is the domain of labels that go from the Machine to the Node.
	ManagedNodeLabelDomain = "node.cluster.x-k8s.io"
	// ManagedNodeAnnotationDomain is that of annotations.
	ManagedNodeAnnotationDomain = "node.cluster.x-k8s.io"
)

// Annotations.
const (
	// PausedAnnotation keeps the controllers from an object.
	PausedAnnotation = "cluster.x-k8s.io/paused"
	// ExcludeNodeDrainingAnnotation of a Machine: its Node is not drained.
	ExcludeNodeDrainingAnnotation = "machine.cluster.x-k8s.io/exclude-node-draining"
	// ExcludeWaitForNodeVolumeDetachAnnotation of a Machine: its volumes are not waited for.
	ExcludeWaitForNodeVolumeDetachAnnotation = "machine.cluster.x-k8s.io/exclude-wait-for-node-volume-detach"
	// PreDrainDeleteHookAnnotationPrefix begins the annotations that hold up the drain.
	PreDrainDeleteHookAnnotationPrefix = "pre-drain.delete.hook.machine.cluster.x-k8s.io"
	// PreTerminateDeleteHookAnnotationPrefix begins those that hold up the deletion of the
	// infrastructure.
	PreTerminateDeleteHookAnnotationPrefix = "pre-terminate.delete.hook.machine.cluster.x-k8s.io"
	// MachineCertificatesExpiryDateAnnotation is when certificates expire, as RFC 3339.
	MachineCertificatesExpiryDateAnnotation = "machine.cluster.x-k8s.io/certificates-expiry"
	// UpdateInProgressAnnotation is on a Machine that is updated in place.
	UpdateInProgressAnnotation = "in-place-updates.internal.cluster.x-k8s.io/update-in-progress"
	// PendingHooksAnnotation lists, with commas, the hooks that an object waits for.
	PendingHooksAnnotation = "runtime.cluster.x-k8s.io/pending-hooks"
	// UpdateMachineHook is the hook that updates a Machine in place.
	UpdateMachineHook = "UpdateMachine"
	// DeleteMachineAnnotation of a Machine: it goes first when there are too many.
	DeleteMachineAnnotation = "cluster.x-k8s.io/delete-machine"
	// DisableMachineCreateAnnotation of a MachineSet: it makes no more machines.
	DisableMachineCreateAnnotation = "cluster.x-k8s.io/disable-machine-create"
	// RemediateMachineAnnotation of a Machine: it is not well.
	RemediateMachineAnnotation = "cluster.x-k8s.io/remediate-machine"
	// MachineSkipRemediationAnnotation of a Machine: no health check looks at it.
	MachineSkipRemediationAnnotation = "cluster.x-k8s.io/skip-remediation"
	// TemplateClonedFromNameAnnotation names the template that an object was made from.
	TemplateClonedFromNameAnnotation = "cluster.x-k8s.io/cloned-from-name"
	// TemplateClonedFromGroupKindAnnotation names its kind, as Kind.group.
	TemplateClonedFromGroupKindAnnotation = "cluster.x-k8s.io/cloned-from-groupkind"
	// RevisionAnnotation of a MachineSet is the revision of its MachineDeployment that it is.
	RevisionAnnotation = "machinedeployment.clusters.x-k8s.io/revision"
	// RevisionHistoryAnnotation lists, with commas, the revisions that it was before.
	RevisionHistoryAnnotation = "machinedeployment.clusters.x-k8s.io/revision-history"
	// DesiredReplicasAnnotation of a MachineSet is how many its MachineDeployment wanted.
	DesiredReplicasAnnotation = "machinedeployment.clusters.x-k8s.io/desired-replicas"
	// MaxReplicasAnnotation is that with maxSurge.
	MaxReplicasAnnotation = "machinedeployment.clusters.x-k8s.io/max-replicas"
	// AutoscalerMinSizeAnnotation is the fewest replicas that the autoscaler leaves.
	AutoscalerMinSizeAnnotation = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
	// AutoscalerMaxSizeAnnotation is the most.
	AutoscalerMaxSizeAnnotation = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
)

// Annotations of this server alone.
const (
	// ReleasedAnnotation of a MachineSet or MachineDeployment that is deleted without what it
	// owns: nothing names it as an owner any more. The finalizer orphan goes with it, not before.
	ReleasedAnnotation = "cluster.slipway.dev/released"
)

// Annotations and taints of Nodes.
const (
	// ClusterNameAnnotation names the Cluster of a Node.
	ClusterNameAnnotation = "cluster.x-k8s.io/cluster-name"
	// ClusterNamespaceAnnotation is the namespace of that Cluster.
	ClusterNamespaceAnnotation = "cluster.x-k8s.io/cluster-namespace"
	// MachineAnnotation names the Machine of a Node.
	MachineAnnotation = "cluster.x-k8s.io/machine"
	// OwnerKindAnnotation is the kind of what controls that Machine.
	OwnerKindAnnotation = "cluster.x-k8s.io/owner-kind"
	// OwnerNameAnnotation is its name.
	OwnerNameAnnotation = "cluster.x-k8s.io/owner-name"
	// LabelsFromMachineAnnotation lists the labels that came from the Machine.
	LabelsFromMachineAnnotation = "cluster.x-k8s.io/labels-from-machine"
	// AnnotationsFromMachineAnnotation lists the annotations that did.
	AnnotationsFromMachineAnnotation = "cluster.x-k8s.io/annotations-from-machine"
	// TaintsFromMachineAnnotation lists the taints that did, as key:effect.
	TaintsFromMachineAnnotation = "cluster.x-k8s.io/taints-from-machine"
	// NodeUninitializedTaintKey is the key of a taint that is on Nodes until the first
	// synchronization.
	NodeUninitializedTaintKey = "node.cluster.x-k8s.io/uninitialized"
	// NodeOutdatedRevisionTaintKey is that of a taint on Nodes whose MachineDeployment has a
	// newer template.
	NodeOutdatedRevisionTaintKey = "node.cluster.x-k8s.io/outdated-revision"
)

// Secrets of clusters and machines.
const (
	// KubeconfigSecretSuffix follows the name of a Cluster in the name of the Secret that says
	// how its API is reached.
	KubeconfigSecretSuffix = "-kubeconfig"
	// SecretDataKey is the key of a kubeconfig and of bootstrap data in their Secrets.
	SecretDataKey = "value"
	// SecretFormatKey is the key of the format of bootstrap data: cloud-config or ignition.
	SecretFormatKey = "format"
)
