// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// MachineHealthCheck finds unhealthy Machines and triggers their replacement.
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

	// items are the health checks.
	Items []MachineHealthCheck `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// MachineHealthCheckSpec is the desired state of a MachineHealthCheck.
type MachineHealthCheckSpec struct {
	// clusterName is the name of the Cluster that the machines belong to. Immutable.
	// +required
	ClusterName string `json:"clusterName,omitempty" protobuf:"bytes,1,opt,name=clusterName"`
	// selector selects the machines that are checked.
	// +required
	Selector metav1.LabelSelector `json:"selector,omitempty,omitzero" protobuf:"bytes,2,opt,name=selector"`
	// checks define when a machine is unhealthy.
	// +optional
	Checks MachineHealthCheckChecks `json:"checks,omitempty,omitzero" protobuf:"bytes,3,opt,name=checks"`
	// remediation defines when and how unhealthy machines are replaced.
	// +optional
	Remediation MachineHealthCheckRemediation `json:"remediation,omitempty,omitzero" protobuf:"bytes,4,opt,name=remediation"`
}

// DefaultNodeStartupTimeoutSeconds is the default of nodeStartupTimeoutSeconds. Cluster API uses the same default.
const DefaultNodeStartupTimeoutSeconds int32 = 600

// MachineHealthCheckChecks defines when a machine is unhealthy.
type MachineHealthCheckChecks struct {
	// nodeStartupTimeoutSeconds is the time in which a machine must get a Node, in seconds. 0 means no timeout. Other
	// values must be at least 30. Defaults to 600.
	// +optional
	NodeStartupTimeoutSeconds *int32 `json:"nodeStartupTimeoutSeconds,omitempty" protobuf:"varint,1,opt,name=nodeStartupTimeoutSeconds"`
	// unhealthyNodeConditions are the Node conditions that make a machine unhealthy, at most 100.
	// +optional
	// +listType=atomic
	UnhealthyNodeConditions []UnhealthyCondition `json:"unhealthyNodeConditions,omitempty" protobuf:"bytes,2,rep,name=unhealthyNodeConditions"`
	// unhealthyMachineConditions are the Machine conditions that make a machine unhealthy, at most 100.
	// +optional
	// +listType=atomic
	UnhealthyMachineConditions []UnhealthyCondition `json:"unhealthyMachineConditions,omitempty" protobuf:"bytes,3,rep,name=unhealthyMachineConditions"`
}

// UnhealthyCondition makes a machine unhealthy if it persists for longer than its timeout.
type UnhealthyCondition struct {
	// type of the condition.
	// +required
	Type string `json:"type" protobuf:"bytes,1,opt,name=type"`
	// status of the condition: True, False or Unknown.
	// +required
	Status metav1.ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status,casttype=k8s.io/apimachinery/pkg/apis/meta/v1.ConditionStatus"`
	// timeoutSeconds is the time after which the condition makes a machine unhealthy, in seconds.
	// +required
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty" protobuf:"varint,3,opt,name=timeoutSeconds"`
}

// MachineHealthCheckRemediation defines when and how unhealthy machines are replaced.
type MachineHealthCheckRemediation struct {
	// triggerIf limits the number of unhealthy machines. If the number is outside the limit, no machine is replaced.
	// +optional
	TriggerIf MachineHealthCheckRemediationTriggerIf `json:"triggerIf,omitempty,omitzero" protobuf:"bytes,1,opt,name=triggerIf"`
	// templateRef refers to a template of remediation requests for an external controller. If unset, the owner of a
	// machine replaces it.
	// +optional
	TemplateRef MachineHealthCheckRemediationTemplateReference `json:"templateRef,omitempty,omitzero" protobuf:"bytes,2,opt,name=templateRef"` //nolint:nonpointerstructs // omitted if empty (omitzero), as in Cluster API
}

// MachineHealthCheckRemediationTriggerIf limits the number of unhealthy machines.
type MachineHealthCheckRemediationTriggerIf struct {
	// unhealthyLessThanOrEqualTo is the maximum number of unhealthy machines. It is a number or a percentage, rounded
	// down. Defaults to 100%.
	// +optional
	UnhealthyLessThanOrEqualTo *intstr.IntOrString `json:"unhealthyLessThanOrEqualTo,omitempty" protobuf:"bytes,1,opt,name=unhealthyLessThanOrEqualTo"`
	// unhealthyInRange is the allowed range of the number of unhealthy machines, for example [3-5]. It takes precedence
	// over unhealthyLessThanOrEqualTo.
	// +optional
	UnhealthyInRange string `json:"unhealthyInRange,omitempty" protobuf:"bytes,2,opt,name=unhealthyInRange"`
}

// MachineHealthCheckRemediationTemplateReference refers to a template in the same namespace.
type MachineHealthCheckRemediationTemplateReference struct {
	// kind of the template.
	// +required
	Kind string `json:"kind,omitempty" protobuf:"bytes,1,opt,name=kind"`
	// name of the template.
	// +required
	Name string `json:"name,omitempty" protobuf:"bytes,2,opt,name=name"`
	// apiVersion is the API group and version of the template.
	// +required
	APIVersion string `json:"apiVersion,omitempty" protobuf:"bytes,3,opt,name=apiVersion"`
}

// IsDefined reports whether any field of the reference is set.
func (r *MachineHealthCheckRemediationTemplateReference) IsDefined() bool {
	return r != nil && *r != (MachineHealthCheckRemediationTemplateReference{})
}

// MachineHealthCheckStatus is the observed state of a MachineHealthCheck.
type MachineHealthCheckStatus struct {
	// conditions are the conditions of the health check.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,1,rep,name=conditions"`
	// expectedMachines is the number of selected machines.
	// +optional
	ExpectedMachines *int32 `json:"expectedMachines,omitempty" protobuf:"varint,2,opt,name=expectedMachines"`
	// currentHealthy is the number of healthy machines.
	// +optional
	CurrentHealthy *int32 `json:"currentHealthy,omitempty" protobuf:"varint,3,opt,name=currentHealthy"`
	// remediationsAllowed is the number of additional machines that can become unhealthy before remediation stops.
	// +optional
	RemediationsAllowed *int32 `json:"remediationsAllowed,omitempty" protobuf:"varint,4,opt,name=remediationsAllowed"`
	// observedGeneration is the generation of the spec that this status reflects.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,5,opt,name=observedGeneration"`
	// targets are the names of the selected machines, at most 10000.
	// +optional
	// +listType=atomic
	Targets []string `json:"targets,omitempty" protobuf:"bytes,6,rep,name=targets"`

	// Protobuf field number 7 is reserved: no field may use it.
}
