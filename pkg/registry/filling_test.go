// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/registry/cluster/filling"
)

func TestReplicas_DefaultToTheBoundsOfTheAutoscaler(t *testing.T) {
	const least, most = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size", "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
	bounds := func(a, b string) map[string]string { return map[string]string{least: a, most: b} }
	for name, tc := range map[string]struct {
		given       *int32
		annotations map[string]string
		stored      *int32
		want        int32
	}{
		"set":                         {given: ptr.To[int32](7), annotations: bounds("2", "5"), want: 7},
		"zero":                        {given: ptr.To[int32](0), want: 0},
		"new":                         {want: 1},
		"removed in an update":        {stored: ptr.To[int32](9), want: 1},
		"new, with an autoscaler":     {annotations: bounds("2", "5"), want: 2},
		"below the bounds":            {annotations: bounds("2", "5"), stored: ptr.To[int32](1), want: 2},
		"within the bounds":           {annotations: bounds("2", "5"), stored: ptr.To[int32](4), want: 4},
		"above the bounds":            {annotations: bounds("2", "5"), stored: ptr.To[int32](9), want: 5},
		"one bound":                   {annotations: map[string]string{least: "2"}, stored: ptr.To[int32](9), want: 1},
		"bounds that are not numbers": {annotations: bounds("two", "5"), stored: ptr.To[int32](9), want: 1},
		"bounds beyond int32":         {annotations: bounds("2", "99999999999"), want: 1},
	} {
		got := tc.given
		filling.SetReplicas(&got, tc.annotations, tc.stored)
		if *got != tc.want {
			t.Errorf("%s: %d replicas, want %d", name, *got, tc.want)
		}
	}
}

func TestVersion_GetsThePrefixV(t *testing.T) {
	for given, want := range map[string]string{"": "", "1.36.3": "v1.36.3", "v1.36.3": "v1.36.3"} {
		got := given
		if filling.AddVersionPrefix(&got); got != want {
			t.Errorf("%q becomes %q, want %q", given, got, want)
		}
	}
}

func TestKeepOrphaning_KeepsTheFinalizerUntilReleased(t *testing.T) {
	stored := metav1.ObjectMeta{Finalizers: []string{"other", metav1.FinalizerOrphanDependents}, DeletionTimestamp: ptr.To(metav1.Now())}
	for name, tc := range map[string]struct {
		stored   metav1.ObjectMeta
		released bool
		want     bool
	}{
		"the garbage collector":                   {stored: stored, want: true},
		"after the controller set the annotation": {stored: stored, released: true},
		"before the deletion":                     {stored: metav1.ObjectMeta{Finalizers: stored.Finalizers}},
		"dependents are deleted too":              {stored: metav1.ObjectMeta{Finalizers: []string{"other"}, DeletionTimestamp: stored.DeletionTimestamp}},
	} {
		updated := metav1.ObjectMeta{Finalizers: []string{"other"}}
		if tc.released {
			updated.Annotations = map[string]string{clusterv1alpha1.ReleasedAnnotation: "true"}
		}
		filling.KeepOrphanFinalizer(&updated, &tc.stored)
		if got := slices.Contains(updated.Finalizers, metav1.FinalizerOrphanDependents); got != tc.want || updated.Finalizers[0] != "other" {
			t.Errorf("%s: finalizers are %v, want %s: %t", name, updated.Finalizers, metav1.FinalizerOrphanDependents, tc.want)
		}
	}
}
