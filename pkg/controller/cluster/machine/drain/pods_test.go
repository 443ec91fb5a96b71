// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

var now = time.Date(2026, 11, 21, 7, 30, 0, 0, time.UTC)

// pod returns a running Pod of a ReplicaSet in namespace default.
func pod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", Controller: ptr.To(true)}},
		},
		Spec:   corev1.PodSpec{NodeName: "node-1"},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	for _, c := range change {
		c(p)
	}
	return p
}

func in(namespace string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Namespace = namespace } }

func labeled(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels[key] = value }
}

func phase(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Phase = phase }
}

func deleted(ago time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: now.Add(-ago)} }
}

func ownedBy(kind, name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.OwnerReferences[0].Kind, p.OwnerReferences[0].Name = kind, name }
}

func alone(p *corev1.Pod) { p.OwnerReferences = nil }

func static(p *corev1.Pod) {
	p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "some-hash"}
}

func emptyDir(p *corev1.Pod) {
	p.Spec.Volumes = []corev1.Volume{{Name: "a"}, {Name: "b", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
}

// ruleNamed returns a rule for all Machines and Pods.
func ruleNamed(name string, behavior clusterv1alpha1.MachineDrainRuleDrainBehavior, order *int32) *clusterv1alpha1.MachineDrainRule {
	return &clusterv1alpha1.MachineDrainRule{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: clusterv1alpha1.MachineDrainRuleSpec{
			Drain: clusterv1alpha1.MachineDrainRuleDrainConfig{Behavior: behavior, Order: order},
		},
	}
}

func forPods(r *clusterv1alpha1.MachineDrainRule, pods ...clusterv1alpha1.MachineDrainRulePodSelector) *clusterv1alpha1.MachineDrainRule {
	r.Spec.Pods = pods
	return r
}

func forMachines(r *clusterv1alpha1.MachineDrainRule, machines ...clusterv1alpha1.MachineDrainRuleMachineSelector) *clusterv1alpha1.MachineDrainRule {
	r.Spec.Machines = machines
	return r
}

func has(key, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
}

// invalid is a selector that admission rejects.
var invalid = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}}}
