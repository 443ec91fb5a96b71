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
	// ChangeCauseAnnotation contains the reason for a change of the template, as set by kubectl. It is copied to the
	// MachineSet.
	ChangeCauseAnnotation = "kubernetes.io/change-cause"
	// maxHistory is the maximum number of earlier revisions in the annotation of a MachineSet.
	maxHistory = 20
	// maxSetName leaves room for the suffix in the names of Machines.
	maxSetName = validation.DNS1123LabelMaxLength - 6
	// maxTries is the maximum number of names that are tried.
	maxTries = 100
)

// newSet returns a MachineSet with the template of d. Its name contains a hash of the template.
func newSet(d *deployment, taken func(string) bool) *set {
	hash, setName := "", ""
	for try := range maxTries {
		hash = members.Hash(&d.Spec.Template, try)
		cut := d.Name[:min(len(d.Name), maxSetName-len(hash)-1)]
		setName = strings.TrimRight(cut, ".-") + "-" + hash // A part of a name must not end with a dash or dot.
		if !taken(setName) {
			break
		}
	}
	s := &set{ObjectMeta: metav1.ObjectMeta{
		Namespace: d.Namespace, Name: setName, Labels: map[string]string{clusterv1alpha1.MachineDeploymentUniqueLabel: hash},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, clusterv1alpha1.SchemeGroupVersion.WithKind(deploymentKind))},
	}}
	s.Spec.ClusterName, s.Spec.Replicas = d.Spec.ClusterName, ptr.To[int32](0)
	s.Spec.Selector = *d.Spec.Selector.DeepCopy()
	s.Spec.Selector.MatchLabels = withEntry(s.Spec.Selector.MatchLabels, clusterv1alpha1.MachineDeploymentUniqueLabel, hash)
	s.Spec.Template = *d.Spec.Template.DeepCopy()
	return s
}

// desired returns the MachineSet of v according to the plan. It updates only the fields that can be changed in place.
func (p *plan) desired(v *setState) *set {
	d, s := p.deployment, v.set.DeepCopy()
	s.Spec.Replicas = ptr.To(v.replicas)
	if v != p.current && v.specReplicas() == 0 && v.replicas == 0 && v.machineCount() == 0 {
		return s // MachineSets of the history remain unchanged.
	}
	labels := maps.Clone(d.Spec.Template.Metadata.Labels)
	if hash, ok := s.Labels[clusterv1alpha1.MachineDeploymentUniqueLabel]; ok {
		labels = withEntry(labels, clusterv1alpha1.MachineDeploymentUniqueLabel, hash)
	}
	for key := range s.Spec.Template.Metadata.Labels {
		if _, ok := labels[key]; !ok {
			delete(s.Labels, key)
		}
	}
	s.Labels = withEntry(s.Labels, clusterv1alpha1.ClusterNameLabel, d.Spec.ClusterName)
	maps.Copy(s.Labels, labels)
	s.Labels[clusterv1alpha1.MachineDeploymentNameLabel] = d.Name
	s.Spec.Template.Metadata = clusterv1alpha1.ObjectMeta{Labels: labels, Annotations: maps.Clone(d.Spec.Template.Metadata.Annotations)}
	s.Spec.Deletion, s.Spec.MachineNaming = d.Spec.Deletion, d.Spec.MachineNaming
	from, to := d.Spec.Template.Spec.DeepCopy(), &s.Spec.Template.Spec
	to.MinReadySeconds, to.ReadinessGates, to.Deletion, to.Taints = from.MinReadySeconds, from.ReadinessGates, from.Deletion, from.Taints

	s.Annotations = withEntry(s.Annotations, clusterv1alpha1.DesiredReplicasAnnotation, strconv.Itoa(int(p.total)))
	s.Annotations[clusterv1alpha1.MaxReplicasAnnotation] = strconv.Itoa(int(p.total + p.surge))
	delete(s.Annotations, clusterv1alpha1.DisableMachineCreateAnnotation)
	if v != p.current {
		if !p.isRolling() {
			s.Annotations[clusterv1alpha1.DisableMachineCreateAnnotation] = "true"
		}
		return s
	}
	if cause, ok := d.Annotations[ChangeCauseAnnotation]; ok {
		s.Annotations[ChangeCauseAnnotation] = cause
	}
	setRevision(s, p.revision())
	return s
}

// setRevision sets the revision of a MachineSet and adds the previous one to its history.
func setRevision(s *set, revision string) {
	previous := s.Annotations[clusterv1alpha1.RevisionAnnotation]
	if previous == revision {
		return
	}
	s.Annotations[clusterv1alpha1.RevisionAnnotation] = revision
	if previous == "" {
		return
	}
	var history []string
	if text := s.Annotations[clusterv1alpha1.RevisionHistoryAnnotation]; text != "" {
		history = strings.Split(text, ",")
	}
	history = append(history, previous)
	s.Annotations[clusterv1alpha1.RevisionHistoryAnnotation] = strings.Join(history[max(len(history)-maxHistory, 0):], ",")
}

func withEntry(m map[string]string, key, value string) map[string]string {
	out := maps.Clone(m)
	if out == nil {
		out = map[string]string{}
	}
	out[key] = value
	return out
}
