// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MachineDrainRule defines how the drain of a Node handles the pods that it selects.
//
// +genclient
// +genclient:noStatus
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type MachineDrainRule struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the desired state, owned by users.
	// +required
	Spec MachineDrainRuleSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
}

// MachineDrainRuleList is a list of MachineDrainRules.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type MachineDrainRuleList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items are the drain rules.
	Items []MachineDrainRule `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// MachineDrainRuleSpec defines how a drain handles pods, and selects the machines and pods.
type MachineDrainRuleSpec struct {
	// drain defines how the pods are handled.
	// +required
	Drain MachineDrainRuleDrainConfig `json:"drain,omitempty,omitzero" protobuf:"bytes,1,opt,name=drain"`
	// machines select the machines to which the rule applies. A machine must match at least one entry. If empty, the
	// rule applies to all machines. At most 32.
	// +optional
	// +listType=atomic
	Machines []MachineDrainRuleMachineSelector `json:"machines,omitempty" protobuf:"bytes,2,rep,name=machines"` //nolint:arrayofstruct // as in Cluster API: all fields are optional
	// pods select the pods to which the rule applies. A pod must match at least one entry. If empty, the rule applies to
	// all pods. At most 32.
	// +optional
	// +listType=atomic
	Pods []MachineDrainRulePodSelector `json:"pods,omitempty" protobuf:"bytes,3,rep,name=pods"` //nolint:arrayofstruct // as in Cluster API: all fields are optional
}

// MachineDrainRuleDrainBehavior defines how a drain handles pods.
// +enum
type MachineDrainRuleDrainBehavior string

const (
	// MachineDrainRuleDrainBehaviorDrain evicts the pods.
	MachineDrainRuleDrainBehaviorDrain MachineDrainRuleDrainBehavior = "Drain"
	// MachineDrainRuleDrainBehaviorSkip ignores the pods.
	MachineDrainRuleDrainBehaviorSkip MachineDrainRuleDrainBehavior = "Skip"
	// MachineDrainRuleDrainBehaviorWaitCompleted waits until the pods have completed.
	MachineDrainRuleDrainBehaviorWaitCompleted MachineDrainRuleDrainBehavior = "WaitCompleted"
)

// MachineDrainRuleDrainConfig defines how a drain handles pods.
type MachineDrainRuleDrainConfig struct {
	// behavior is Drain, Skip or WaitCompleted.
	// +required
	Behavior MachineDrainRuleDrainBehavior `json:"behavior" protobuf:"bytes,1,opt,name=behavior,casttype=MachineDrainRuleDrainBehavior"`
	// order in which pods are drained, lowest first. Allowed only with the behavior Drain. Defaults, when used, to 0.
	// +optional
	Order *int32 `json:"order,omitempty" protobuf:"varint,2,opt,name=order"`
}

// MachineDrainRuleMachineSelector selects the machines that match both selectors.
type MachineDrainRuleMachineSelector struct {
	// selector selects machines by label. If unset or empty, all machines match.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty" protobuf:"bytes,1,opt,name=selector"`
	// clusterSelector selects machines by the labels of their Clusters. If unset or empty, all machines match.
	// +optional
	ClusterSelector *metav1.LabelSelector `json:"clusterSelector,omitempty" protobuf:"bytes,2,opt,name=clusterSelector"`
}

// MachineDrainRulePodSelector selects the pods that match both selectors.
type MachineDrainRulePodSelector struct {
	// selector selects pods by label. If unset or empty, all pods match.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty" protobuf:"bytes,1,opt,name=selector"`
	// namespaceSelector selects pods by the labels of their namespaces. If unset or empty, all pods match.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty" protobuf:"bytes,2,opt,name=namespaceSelector"`
}
