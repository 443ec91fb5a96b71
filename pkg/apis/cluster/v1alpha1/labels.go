// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Finalizers.
const (
	// MachineFinalizer keeps a Machine until its Node, its infrastructure and its bootstrap object are deleted. The
	// server sets it on creation; the controller removes it.
	MachineFinalizer = "machine.cluster.x-k8s.io"
	// ClusterFinalizer keeps a Cluster until all of its objects are deleted.
	ClusterFinalizer = "cluster.cluster.x-k8s.io"
)

// Labels.
const (
	// ClusterNameLabel is the name of an object's Cluster.
	ClusterNameLabel = "cluster.x-k8s.io/cluster-name"
	// MachineControlPlaneLabel marks control plane machines.
	MachineControlPlaneLabel = "cluster.x-k8s.io/control-plane"
	// MachineControlPlaneNameLabel is the name of the control plane that created a machine.
	MachineControlPlaneNameLabel = "cluster.x-k8s.io/control-plane-name"
	// MachineSetNameLabel is the name of the MachineSet that created a machine.
	MachineSetNameLabel = "cluster.x-k8s.io/set-name"
	// MachineDeploymentNameLabel is the name of the MachineDeployment of a machine.
	MachineDeploymentNameLabel = "cluster.x-k8s.io/deployment-name"
	// MachinePoolNameLabel is the name of the pool that created a machine.
	MachinePoolNameLabel = "cluster.x-k8s.io/pool-name"
	// MachineDeploymentUniqueLabel distinguishes machines of different templates of a MachineDeployment.
	MachineDeploymentUniqueLabel = "machine-template-hash"
	// InterruptibleLabel marks Nodes whose machines can be removed at any time.
	InterruptibleLabel = "cluster.x-k8s.io/interruptible"
	// PodDrainLabel, on a pod, defines how a drain handles it: skip or wait-completed.
	PodDrainLabel = "cluster.x-k8s.io/drain"
	// NodeRoleLabelPrefix is the domain of Node role labels.
	NodeRoleLabelPrefix = "node-role.kubernetes.io"
	// NodeRestrictionLabelDomain is the domain of labels that kubelets cannot set.
	NodeRestrictionLabelDomain = "node-restriction.kubernetes.io"
	// ManagedNodeLabelDomain is the domain of labels that are copied from a Machine to its Node.
	ManagedNodeLabelDomain = "node.cluster.x-k8s.io"
	// ManagedNodeAnnotationDomain is the domain of annotations that are copied from a Machine to its Node.
	ManagedNodeAnnotationDomain = "node.cluster.x-k8s.io"
)

// Annotations.
const (
	// PausedAnnotation pauses the reconciling of an object.
	PausedAnnotation = "cluster.x-k8s.io/paused"
	// ExcludeNodeDrainingAnnotation, on a Machine, disables the drain of its Node.
	ExcludeNodeDrainingAnnotation = "machine.cluster.x-k8s.io/exclude-node-draining"
	// ExcludeWaitForNodeVolumeDetachAnnotation, on a Machine, disables the wait for the detachment of its volumes.
	ExcludeWaitForNodeVolumeDetachAnnotation = "machine.cluster.x-k8s.io/exclude-wait-for-node-volume-detach"
	// PreDrainDeleteHookAnnotationPrefix is the prefix of annotations that delay the drain.
	PreDrainDeleteHookAnnotationPrefix = "pre-drain.delete.hook.machine.cluster.x-k8s.io"
	// PreTerminateDeleteHookAnnotationPrefix is the prefix of annotations that delay the deletion of the infrastructure.
	PreTerminateDeleteHookAnnotationPrefix = "pre-terminate.delete.hook.machine.cluster.x-k8s.io"
	// MachineCertificatesExpiryDateAnnotation is the expiry time of a machine's certificates, in RFC 3339 format.
	MachineCertificatesExpiryDateAnnotation = "machine.cluster.x-k8s.io/certificates-expiry"
	// UpdateInProgressAnnotation marks a Machine that is being updated in place.
	UpdateInProgressAnnotation = "in-place-updates.internal.cluster.x-k8s.io/update-in-progress"
	// PendingHooksAnnotation is a comma-separated list of the hooks that an object waits for.
	PendingHooksAnnotation = "runtime.cluster.x-k8s.io/pending-hooks"
	// UpdateMachineHook is the hook that updates a Machine in place.
	UpdateMachineHook = "UpdateMachine"
	// DeleteMachineAnnotation marks a Machine that is deleted first when a MachineSet scales down.
	DeleteMachineAnnotation = "cluster.x-k8s.io/delete-machine"
	// DisableMachineCreateAnnotation, on a MachineSet, disables the creation of machines.
	DisableMachineCreateAnnotation = "cluster.x-k8s.io/disable-machine-create"
	// RemediateMachineAnnotation marks a Machine as unhealthy.
	RemediateMachineAnnotation = "cluster.x-k8s.io/remediate-machine"
	// MachineSkipRemediationAnnotation excludes a Machine from health checks.
	MachineSkipRemediationAnnotation = "cluster.x-k8s.io/skip-remediation"
	// TemplateClonedFromNameAnnotation is the name of the template that an object was created from.
	TemplateClonedFromNameAnnotation = "cluster.x-k8s.io/cloned-from-name"
	// TemplateClonedFromGroupKindAnnotation is the kind of that template, in the form Kind.group.
	TemplateClonedFromGroupKindAnnotation = "cluster.x-k8s.io/cloned-from-groupkind"
	// RevisionAnnotation, on a MachineSet, is the revision of its MachineDeployment.
	RevisionAnnotation = "machinedeployment.clusters.x-k8s.io/revision"
	// RevisionHistoryAnnotation is a comma-separated list of previous revisions of a MachineSet.
	RevisionHistoryAnnotation = "machinedeployment.clusters.x-k8s.io/revision-history"
	// DesiredReplicasAnnotation, on a MachineSet, is the desired number of replicas of its MachineDeployment.
	DesiredReplicasAnnotation = "machinedeployment.clusters.x-k8s.io/desired-replicas"
	// MaxReplicasAnnotation, on a MachineSet, is the number of replicas of its MachineDeployment plus maxSurge.
	MaxReplicasAnnotation = "machinedeployment.clusters.x-k8s.io/max-replicas"
	// AutoscalerMinSizeAnnotation is the minimum number of replicas for the cluster autoscaler.
	AutoscalerMinSizeAnnotation = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
	// AutoscalerMaxSizeAnnotation is the maximum number of replicas for the cluster autoscaler.
	AutoscalerMaxSizeAnnotation = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
)

// Annotations that Cluster API does not define.
const (
	// ReleasedAnnotation marks a MachineSet or MachineDeployment that is deleted with propagation policy Orphan when no
	// dependent refers to it as owner any longer. The finalizer orphan is removed together with it, not earlier.
	ReleasedAnnotation = "cluster.slipway.dev/released"
)

// Annotations and taints of Nodes.
const (
	// ClusterNameAnnotation is the name of a Node's Cluster.
	ClusterNameAnnotation = "cluster.x-k8s.io/cluster-name"
	// ClusterNamespaceAnnotation is the namespace of a Node's Cluster.
	ClusterNamespaceAnnotation = "cluster.x-k8s.io/cluster-namespace"
	// MachineAnnotation is the name of a Node's Machine.
	MachineAnnotation = "cluster.x-k8s.io/machine"
	// OwnerKindAnnotation is the kind of the controller of a Node's Machine.
	OwnerKindAnnotation = "cluster.x-k8s.io/owner-kind"
	// OwnerNameAnnotation is the name of the controller of a Node's Machine.
	OwnerNameAnnotation = "cluster.x-k8s.io/owner-name"
	// LabelsFromMachineAnnotation lists the labels that were copied from the Machine.
	LabelsFromMachineAnnotation = "cluster.x-k8s.io/labels-from-machine"
	// AnnotationsFromMachineAnnotation lists the annotations that were copied from the Machine.
	AnnotationsFromMachineAnnotation = "cluster.x-k8s.io/annotations-from-machine"
	// TaintsFromMachineAnnotation lists the taints that were copied from the Machine, in the form key:effect.
	TaintsFromMachineAnnotation = "cluster.x-k8s.io/taints-from-machine"
	// NodeUninitializedTaintKey is the key of a taint that Nodes have until they are first synchronized with their
	// Machine.
	NodeUninitializedTaintKey = "node.cluster.x-k8s.io/uninitialized"
	// NodeOutdatedRevisionTaintKey is the key of a taint of Nodes whose MachineDeployment has a newer template.
	NodeOutdatedRevisionTaintKey = "node.cluster.x-k8s.io/outdated-revision"
)

// Secrets of clusters and machines.
const (
	// KubeconfigSecretSuffix is appended to the name of a Cluster to form the name of its kubeconfig Secret.
	KubeconfigSecretSuffix = "-kubeconfig"
	// SecretDataKey is the key of the kubeconfig and of the bootstrap data in their Secrets.
	SecretDataKey = "value"
	// SecretFormatKey is the key of the format of bootstrap data: cloud-config or ignition.
	SecretFormatKey = "format"
)
