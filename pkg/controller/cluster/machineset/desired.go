// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machineset

import (
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

const (
	setKind     = "MachineSet"
	machineKind = "Machine"
	// FromSetAnnotation lists the labels and annotations of a Machine that were set by its MachineSet. They are removed
	// from the Machine when they are removed from the template.
	FromSetAnnotation = "cluster.slipway.dev/from-machine-set"
)

// fromSet is the JSON value of FromSetAnnotation.
type fromSet struct {
	Labels      []string `json:"labels,omitempty"`
	Annotations []string `json:"annotations,omitempty"`
	// Deletion is the value that was last copied from the template.
	Deletion *clusterv1alpha1.MachineDeletionSpec `json:"deletion,omitempty"`
}

// labelsOf returns the labels of the Machines of s and of their objects.
func labelsOf(s *set) map[string]string {
	out := maps.Clone(s.Spec.Template.Metadata.Labels)
	if out == nil {
		out = map[string]string{}
	}
	out[clusterv1alpha1.ClusterNameLabel] = s.Spec.ClusterName
	out[clusterv1alpha1.MachineSetNameLabel] = clusterv1alpha1.LabelValue(s.Name)
	if deployment, ok := s.Labels[clusterv1alpha1.MachineDeploymentNameLabel]; ok {
		out[clusterv1alpha1.MachineDeploymentNameLabel] = deployment
	}
	return out
}

// newMachine returns a Machine of s. Its bootstrap and infrastructure objects have the same name.
func newMachine(s *set, name string) *machine {
	m := &machine{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}, Spec: *s.Spec.Template.Spec.DeepCopy()}
	m.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s, clusterv1alpha1.SchemeGroupVersion.WithKind(setKind))}
	m.Spec.ClusterName = s.Spec.ClusterName
	m.Spec.InfrastructureRef = refOf(s.Spec.Template.Spec.InfrastructureRef, name)
	m.Spec.Bootstrap.ConfigRef = refOf(s.Spec.Template.Spec.Bootstrap.ConfigRef, name)
	propagate(s, m)
	return m
}

// refOf returns the reference of a Machine to the object that is created from a template.
func refOf(template clusterv1alpha1.ContractVersionedObjectReference, name string) clusterv1alpha1.ContractVersionedObjectReference {
	if !template.IsDefined() {
		return template
	}
	template.Kind, template.Name = clusterv1alpha1.KindFromTemplate(template.Kind), name
	return template
}

// propagate copies the fields of s that can be changed in place to m, and reports whether m was changed. For a Machine
// that is being deleted it copies only spec.deletion, and only if the template has changed.
func propagate(s *set, m *machine) bool {
	before := m.DeepCopy()
	from := &s.Spec.Template.Spec
	m.Spec.MinReadySeconds = from.MinReadySeconds
	m.Spec.ReadinessGates = slices.Clone(from.ReadinessGates)
	m.Spec.Taints = slices.Clone(from.Taints)
	var previous fromSet
	// An invalid annotation was not written by this controller. No label is removed then.
	_ = json.Unmarshal([]byte(m.Annotations[FromSetAnnotation]), &previous)
	next, deletion := previous, deletionOf(s)
	// A user may have changed it on the Machine, for example to skip the drain.
	if m.DeletionTimestamp == nil || !equality.Semantic.DeepEqual(previous.Deletion, deletion) {
		m.Spec.Deletion, next.Deletion = *deletion.DeepCopy(), deletion
	}
	if m.DeletionTimestamp == nil {
		labels, annotations := labelsOf(s), s.Spec.Template.Metadata.Annotations
		m.Labels, m.Annotations = mergeManaged(m.Labels, labels, previous.Labels), mergeManaged(m.Annotations, annotations, previous.Annotations)
		next.Labels, next.Annotations = slices.Sorted(maps.Keys(labels)), slices.Sorted(maps.Keys(annotations))
	}
	if text, err := json.Marshal(next); err == nil { // Marshalling strings and numbers cannot fail.
		m.Annotations = mergeManaged(m.Annotations, map[string]string{FromSetAnnotation: string(text)}, nil)
	}
	return !equality.Semantic.DeepEqual(before, m)
}

// deletionOf returns the deletion settings of the Machines of s.
func deletionOf(s *set) *clusterv1alpha1.MachineDeletionSpec {
	out := s.Spec.Template.Spec.Deletion.DeepCopy()
	if out.NodeDeletionTimeoutSeconds == nil {
		out.NodeDeletionTimeoutSeconds = ptr.To(clusterv1alpha1.DefaultNodeDeletionTimeoutSeconds) // The default of the API.
	}
	return out
}

// mergeManaged sets the desired entries, and removes those in was that are no longer desired.
func mergeManaged(has, wanted map[string]string, was []string) map[string]string {
	out := maps.Clone(has)
	if out == nil {
		out = map[string]string{}
	}
	for _, key := range was {
		if _, ok := wanted[key]; !ok {
			delete(out, key)
		}
	}
	maps.Copy(out, wanted)
	return out
}
