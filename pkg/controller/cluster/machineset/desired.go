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
	// FromSetAnnotation of a Machine lists the labels and annotations that came from its set,
	// so that what leaves the template leaves the Machine, and nothing else does.
	FromSetAnnotation = "cluster.slipway.dev/from-machine-set"
)

// fromSet is the value of FromSetAnnotation.
type fromSet struct {
	Labels      []string `json:"labels,omitempty"`
	Annotations []string `json:"annotations,omitempty"`
	// Deletion is what came of the template last.
	Deletion *clusterv1alpha1.MachineDeletionSpec `json:"deletion,omitempty"`
}

// labelsOf are those that the Machines of s have, and what is made for them.
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

// newMachine is a Machine of s, whose bootstrap and infrastructure objects have its name.
func newMachine(s *set, name string) *machine {
	m := &machine{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}, Spec: *s.Spec.Template.Spec.DeepCopy()}
	m.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s, clusterv1alpha1.SchemeGroupVersion.WithKind(setKind))}
	m.Spec.ClusterName = s.Spec.ClusterName
	m.Spec.InfrastructureRef = refOf(s.Spec.Template.Spec.InfrastructureRef, name)
	m.Spec.Bootstrap.ConfigRef = refOf(s.Spec.Template.Spec.Bootstrap.ConfigRef, name)
	propagate(s, m)
	return m
}

// refOf names the object of a template that a Machine of that name has.
func refOf(template clusterv1alpha1.ContractVersionedObjectReference, name string) clusterv1alpha1.ContractVersionedObjectReference {
	if !template.IsDefined() {
		return template
	}
	template.Kind, template.Name = clusterv1alpha1.MadeKind(template.Kind), name
	return template
}

// propagate brings m, which it changes, to what s says of its Machines and can be changed in
// place, and tells whether it was not so. Of one that is being deleted, only what tells how
// that goes, and that only when the template changes.
func propagate(s *set, m *machine) bool {
	before := m.DeepCopy()
	from := &s.Spec.Template.Spec
	m.Spec.MinReadySeconds = from.MinReadySeconds
	m.Spec.ReadinessGates = slices.Clone(from.ReadinessGates)
	m.Spec.Taints = slices.Clone(from.Taints)
	var was fromSet
	// One that cannot be read was not written here: nothing is taken away.
	_ = json.Unmarshal([]byte(m.Annotations[FromSetAnnotation]), &was)
	is, deletion := was, deletionOf(s)
	// Somebody who changes it of a Machine that goes ends its drain, for example.
	if m.DeletionTimestamp == nil || !equality.Semantic.DeepEqual(was.Deletion, deletion) {
		m.Spec.Deletion, is.Deletion = *deletion.DeepCopy(), deletion
	}
	if m.DeletionTimestamp == nil {
		labels, annotations := labelsOf(s), s.Spec.Template.Metadata.Annotations
		m.Labels, m.Annotations = carry(m.Labels, labels, was.Labels), carry(m.Annotations, annotations, was.Annotations)
		is.Labels, is.Annotations = slices.Sorted(maps.Keys(labels)), slices.Sorted(maps.Keys(annotations))
	}
	if text, err := json.Marshal(is); err == nil { // Strings and numbers can be written.
		m.Annotations = carry(m.Annotations, map[string]string{FromSetAnnotation: string(text)}, nil)
	}
	return !equality.Semantic.DeepEqual(before, m)
}

// deletionOf is how Machines of s are deleted.
func deletionOf(s *set) *clusterv1alpha1.MachineDeletionSpec {
	out := s.Spec.Template.Spec.Deletion.DeepCopy()
	if out.NodeDeletionTimeoutSeconds == nil {
		out.NodeDeletionTimeoutSeconds = ptr.To(clusterv1alpha1.DefaultNodeDeletionTimeoutSeconds) // as the API has it
	}
	return out
}

// carry sets what is wanted, and takes away what was and is not any more.
func carry(has, wanted map[string]string, was []string) map[string]string {
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
