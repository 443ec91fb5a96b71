// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MachineDrainRule says what the drain of a Node does with some pods.
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

	// items are the objects.
	Items []MachineDrainRule `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// MachineDrainRuleSpec says what a drain does, of which machines, with which pods.
type MachineDrainRuleSpec struct {
	// drain says what is done with the pods.
	// +required
	Drain MachineDrainRuleDrainConfig `json:"drain,omitempty,omitzero" protobuf:"bytes,1,opt,name=drain"`
	// machines that the rule is for: those that any entry selects, all if there is none. At
	// most 32.
	// +optional
	// +listType=atomic
	Machines []MachineDrainRuleMachineSelector `json:"machines,omitempty" protobuf:"bytes,2,rep,name=machines"` //nolint:arrayofstruct // as in Cluster API: one has a selector at least, which validation demands
	// pods that the rule is for: those that any entry selects, all if there is none. At
	// most 32.
	// +optional
	// +listType=atomic
	Pods []MachineDrainRulePodSelector `json:"pods,omitempty" protobuf:"bytes,3,rep,name=pods"` //nolint:arrayofstruct // as in Cluster API: one has a selector at least, which validation demands
}

// MachineDrainRuleDrainBehavior is what a drain does with pods.
// +enum
type MachineDrainRuleDrainBehavior string

const (
	// MachineDrainRuleDrainBehaviorDrain evicts them.
	MachineDrainRuleDrainBehaviorDrain MachineDrainRuleDrainBehavior = "Drain"
	// MachineDrainRuleDrainBehaviorSkip leaves them.
	MachineDrainRuleDrainBehaviorSkip MachineDrainRuleDrainBehavior = "Skip"
	// MachineDrainRuleDrainBehaviorWaitCompleted waits until they have ended.
	MachineDrainRuleDrainBehaviorWaitCompleted MachineDrainRuleDrainBehavior = "WaitCompleted"
)

// MachineDrainRuleDrainConfig says what is done with pods.
type MachineDrainRuleDrainConfig struct {
	// behavior is what is done.
	// +required
	Behavior MachineDrainRuleDrainBehavior `json:"behavior" protobuf:"bytes,1,opt,name=behavior,casttype=MachineDrainRuleDrainBehavior"`
	// order of the pods that are drained, lowest first. Defaults to 0; only with Drain.
	// +optional
	Order *int32 `json:"order,omitempty" protobuf:"varint,2,opt,name=order"`
}

// MachineDrainRuleMachineSelector selects machines that both of its selectors match.
type MachineDrainRuleMachineSelector struct {
	// selector of labels of Machines. Unset and empty match all.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty" protobuf:"bytes,1,opt,name=selector"`
	// clusterSelector of labels of their Clusters. Unset and empty match all.
	// +optional
	ClusterSelector *metav1.LabelSelector `json:"clusterSelector,omitempty" protobuf:"bytes,2,opt,name=clusterSelector"`
}

// MachineDrainRulePodSelector selects pods that both of its selectors match.
type MachineDrainRulePodSelector struct {
	// selector of labels of pods. Unset and empty match all.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty" protobuf:"bytes,1,opt,name=selector"`
	// namespaceSelector of labels of their namespaces. Unset and empty match all.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty" protobuf:"bytes,2,opt,name=namespaceSelector"`
}
