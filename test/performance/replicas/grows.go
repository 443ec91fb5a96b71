// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// mayGrow makes the replica of d one of a StatefulSet of one, as artifacts/deploy/overlays/single
// has it, and starts it again: it looks for that at its start.
func (d *deployment) mayGrow(ctx context.Context) error {
	host, err := kubernetes.NewForConfig(d.cluster.RestConfig())
	if err != nil {
		return fmt.Errorf("making the client of the host cluster: %w", err)
	}
	labels := map[string]string{"app": program}
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: program, Namespace: "slipway-system"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: ptr.To[int32](1), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: program, Image: program}}},
			},
		},
	}
	if _, err := host.AppsV1().StatefulSets(set.Namespace).Create(ctx, set, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("making the StatefulSet: %w", err)
	}
	return d.cluster.RestartSlipway(ctx)
}
