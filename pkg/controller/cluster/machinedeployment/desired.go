// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machinedeployment

import (
	"maps"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/members"
)

const (
	deploymentKind = "MachineDeployment"
	// ChangeCauseAnnotation says why a template was changed, as kubectl has it. It is kept
	// with the set.
	ChangeCauseAnnotation = "kubernetes.io/change-cause"
	// maxHistory is how many earlier revisions a set remembers.
	maxHistory = 20
	// maxSetName leaves room for what the names of Machines have more.
	maxSetName = validation.DNS1123LabelMaxLength - 6
	// maxTries bounds how often another name is looked for.
	maxTries = 100
)

// newSet is a set of the template of d, whose name follows from it.
func newSet(d *deployment, taken func(string) bool) *set {
	hash, called := "", ""
	for try := range maxTries {
		hash = members.Hash(&d.Spec.Template, try)
		cut := d.Name[:min(len(d.Name), maxSetName-len(hash)-1)]
		called = strings.TrimRight(cut, ".-") + "-" + hash // no part of a name begins with a dash
		if !taken(called) {
			break
		}
	}
	s := &set{ObjectMeta: metav1.ObjectMeta{
		Namespace: d.Namespace, Name: called, Labels: map[string]string{clusterv1alpha1.MachineDeploymentUniqueLabel: hash},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, clusterv1alpha1.SchemeGroupVersion.WithKind(deploymentKind))},
	}}
	s.Spec.ClusterName, s.Spec.Replicas = d.Spec.ClusterName, ptr.To[int32](0)
	s.Spec.Selector = *d.Spec.Selector.DeepCopy()
	s.Spec.Selector.MatchLabels = with(s.Spec.Selector.MatchLabels, clusterv1alpha1.MachineDeploymentUniqueLabel, hash)
	s.Spec.Template = *d.Spec.Template.DeepCopy()
	return s
}

// desired is the set of v as the plan wants it. What belongs to its template stays, what can
// be changed in place is the deployment's.
func (p *plan) desired(v *view) *set {
	d, s := p.deployment, v.set.DeepCopy()
	s.Spec.Replicas = ptr.To(v.replicas)
	if v != p.current && v.spec() == 0 && v.replicas == 0 && v.count() == 0 {
		return s // History is left as it was.
	}
	labels := maps.Clone(d.Spec.Template.Metadata.Labels)
	if hash, ok := s.Labels[clusterv1alpha1.MachineDeploymentUniqueLabel]; ok {
		labels = with(labels, clusterv1alpha1.MachineDeploymentUniqueLabel, hash)
	}
	for key := range s.Spec.Template.Metadata.Labels {
		if _, ok := labels[key]; !ok {
			delete(s.Labels, key)
		}
	}
	s.Labels = with(s.Labels, clusterv1alpha1.ClusterNameLabel, d.Spec.ClusterName)
	maps.Copy(s.Labels, labels)
	s.Labels[clusterv1alpha1.MachineDeploymentNameLabel] = d.Name
	s.Spec.Template.Metadata = clusterv1alpha1.ObjectMeta{Labels: labels, Annotations: maps.Clone(d.Spec.Template.Metadata.Annotations)}
	s.Spec.Deletion, s.Spec.MachineNaming = d.Spec.Deletion, d.Spec.MachineNaming
	from, to := d.Spec.Template.Spec.DeepCopy(), &s.Spec.Template.Spec
	to.MinReadySeconds, to.ReadinessGates, to.Deletion, to.Taints = from.MinReadySeconds, from.ReadinessGates, from.Deletion, from.Taints

	s.Annotations = with(s.Annotations, clusterv1alpha1.DesiredReplicasAnnotation, strconv.Itoa(int(p.wanted)))
	s.Annotations[clusterv1alpha1.MaxReplicasAnnotation] = strconv.Itoa(int(p.wanted + p.surge))
	delete(s.Annotations, clusterv1alpha1.DisableMachineCreateAnnotation)
	if v != p.current {
		if !p.rolling() {
			s.Annotations[clusterv1alpha1.DisableMachineCreateAnnotation] = "true"
		}
		return s
	}
	if cause, ok := d.Annotations[ChangeCauseAnnotation]; ok {
		s.Annotations[ChangeCauseAnnotation] = cause
	}
	renumber(s, p.revision())
	return s
}

// renumber gives a set a revision, and lets it remember the one that it had.
func renumber(s *set, revision string) {
	was := s.Annotations[clusterv1alpha1.RevisionAnnotation]
	if was == revision {
		return
	}
	s.Annotations[clusterv1alpha1.RevisionAnnotation] = revision
	if was == "" {
		return
	}
	var history []string
	if text := s.Annotations[clusterv1alpha1.RevisionHistoryAnnotation]; text != "" {
		history = strings.Split(text, ",")
	}
	history = append(history, was)
	s.Annotations[clusterv1alpha1.RevisionHistoryAnnotation] = strings.Join(history[max(len(history)-maxHistory, 0):], ",")
}

func with(m map[string]string, key, value string) map[string]string {
	out := maps.Clone(m)
	if out == nil {
		out = map[string]string{}
	}
	out[key] = value
	return out
}
