// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// MachineHealthCheck finds Machines that are not well, and lets them be replaced.
//
// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type MachineHealthCheck struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the desired state, owned by users.
	// +required
	Spec MachineHealthCheckSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// status is the observed state, owned by the controllers.
	// +optional
	Status MachineHealthCheckStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// MachineHealthCheckList is a list of MachineHealthChecks.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type MachineHealthCheckList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items are the objects.
	Items []MachineHealthCheck `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// MachineHealthCheckSpec is the desired state of a MachineHealthCheck.
type MachineHealthCheckSpec struct {
	// clusterName names the Cluster that the machines belong to. Immutable.
	// +required
	ClusterName string `json:"clusterName,omitempty" protobuf:"bytes,1,opt,name=clusterName"`
	// selector says which machines are looked after.
	// +required
	Selector metav1.LabelSelector `json:"selector,omitempty,omitzero" protobuf:"bytes,2,opt,name=selector"`
	// checks say when a machine is not well.
	// +optional
	Checks MachineHealthCheckChecks `json:"checks,omitempty,omitzero" protobuf:"bytes,3,opt,name=checks"`
	// remediation says when and how machines that are not well are replaced.
	// +optional
	Remediation MachineHealthCheckRemediation `json:"remediation,omitempty,omitzero" protobuf:"bytes,4,opt,name=remediation"`
}

// DefaultNodeStartupTimeoutSeconds is how long a machine may take to have a Node when that is
// not given (Cluster API's webhook).
const DefaultNodeStartupTimeoutSeconds int32 = 600

// MachineHealthCheckChecks say when a machine is not well.
type MachineHealthCheckChecks struct {
	// nodeStartupTimeoutSeconds is how long a machine may take to have a Node, in seconds; 0
	// is for ever. Defaults to 600; at least 30.
	// +optional
	NodeStartupTimeoutSeconds *int32 `json:"nodeStartupTimeoutSeconds,omitempty" protobuf:"varint,1,opt,name=nodeStartupTimeoutSeconds"`
	// unhealthyNodeConditions are conditions of the Node, at most 100.
	// +optional
	// +listType=atomic
	UnhealthyNodeConditions []UnhealthyCondition `json:"unhealthyNodeConditions,omitempty" protobuf:"bytes,2,rep,name=unhealthyNodeConditions"`
	// unhealthyMachineConditions are conditions of the Machine, at most 100.
	// +optional
	// +listType=atomic
	UnhealthyMachineConditions []UnhealthyCondition `json:"unhealthyMachineConditions,omitempty" protobuf:"bytes,3,rep,name=unhealthyMachineConditions"`
}

// UnhealthyCondition is a condition that is not well when it lasts.
type UnhealthyCondition struct {
	// type of the condition.
	// +required
	Type string `json:"type" protobuf:"bytes,1,opt,name=type"`
	// status of the condition: True, False or Unknown.
	// +required
	Status metav1.ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status,casttype=k8s.io/apimachinery/pkg/apis/meta/v1.ConditionStatus"`
	// timeoutSeconds is how long it may last, in seconds.
	// +required
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty" protobuf:"varint,3,opt,name=timeoutSeconds"`
}

// MachineHealthCheckRemediation says when and how machines that are not well are replaced.
type MachineHealthCheckRemediation struct {
	// triggerIf bounds the number of machines that are not well: with more, something else is
	// wrong, and none is replaced.
	// +optional
	TriggerIf MachineHealthCheckRemediationTriggerIf `json:"triggerIf,omitempty,omitzero" protobuf:"bytes,1,opt,name=triggerIf"`
	// templateRef names a template of requests that somebody else acts on. Unset, the owner
	// of the machine replaces it.
	// +optional
	TemplateRef MachineHealthCheckRemediationTemplateReference `json:"templateRef,omitempty,omitzero" protobuf:"bytes,2,opt,name=templateRef"` //nolint:nonpointerstructs // absent when all of it is empty (omitzero), as in Cluster API
}

// MachineHealthCheckRemediationTriggerIf bounds the number of machines that are not well.
type MachineHealthCheckRemediationTriggerIf struct {
	// unhealthyLessThanOrEqualTo is the most of them, a number or a share in percent, rounded
	// down. Defaults to 100%.
	// +optional
	UnhealthyLessThanOrEqualTo *intstr.IntOrString `json:"unhealthyLessThanOrEqualTo,omitempty" protobuf:"bytes,1,opt,name=unhealthyLessThanOrEqualTo"`
	// unhealthyInRange is their range, for example [3-5]. It takes precedence.
	// +optional
	UnhealthyInRange string `json:"unhealthyInRange,omitempty" protobuf:"bytes,2,opt,name=unhealthyInRange"`
}

// MachineHealthCheckRemediationTemplateReference names a template of the same namespace.
type MachineHealthCheckRemediationTemplateReference struct {
	// kind of the template.
	// +required
	Kind string `json:"kind,omitempty" protobuf:"bytes,1,opt,name=kind"`
	// name of the template.
	// +required
	Name string `json:"name,omitempty" protobuf:"bytes,2,opt,name=name"`
	// apiVersion is the group and the version of the template.
	// +required
	APIVersion string `json:"apiVersion,omitempty" protobuf:"bytes,3,opt,name=apiVersion"`
}

// IsDefined is true for a reference that names anything.
func (r *MachineHealthCheckRemediationTemplateReference) IsDefined() bool {
	return r != nil && *r != (MachineHealthCheckRemediationTemplateReference{})
}

// MachineHealthCheckStatus is the observed state of a MachineHealthCheck.
type MachineHealthCheckStatus struct {
	// conditions tell what is observed.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,1,rep,name=conditions"`
	// expectedMachines is how many machines are looked after.
	// +optional
	ExpectedMachines *int32 `json:"expectedMachines,omitempty" protobuf:"varint,2,opt,name=expectedMachines"`
	// currentHealthy is how many of them are well.
	// +optional
	CurrentHealthy *int32 `json:"currentHealthy,omitempty" protobuf:"varint,3,opt,name=currentHealthy"`
	// remediationsAllowed is how many more may cease to be well before none is replaced.
	// +optional
	RemediationsAllowed *int32 `json:"remediationsAllowed,omitempty" protobuf:"varint,4,opt,name=remediationsAllowed"`
	// observedGeneration is the generation of spec that this is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,5,opt,name=observedGeneration"`
	// targets are the names of the machines, at most 10000.
	// +optional
	// +listType=atomic
	Targets []string `json:"targets,omitempty" protobuf:"bytes,6,rep,name=targets"`

	// Protobuf field number 7 is reserved: no field may use it.
}
