// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machineset

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/slipway-dev/slipway/pkg/controller"
)

// The garbage collector would delete the Machine.
func TestMachineSet_AdoptsNothingAfterItsDeletion(t *testing.T) {
	for name, change := range map[string]func(*set){
		"deleted":       func(s *set) { s.Name = "other" },
		"recreated":     func(s *set) { s.UID = "another" },
		"being deleted": func(s *set) { s.DeletionTimestamp, s.Finalizers = ptr.To(metav1.Now()), []string{"x/y"} },
	} {
		known := theSet(1)
		known.OwnerReferences = []metav1.OwnerReference{{APIVersion: "cluster.slipway.dev/v1alpha1", Kind: "Cluster", Name: "c", UID: "c"}}
		stored := known.DeepCopy()
		change(stored)
		m := &machine{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "m", UID: "m", Labels: map[string]string{"app": "ms"}}}
		m.Spec.ClusterName = "c"
		f := serve(t, stored, m)
		c := f.behind(known, m)
		_, _ = c.reconcile.Reconcile(context.Background(), controller.KeyOf(known))
		for _, m := range f.machines() {
			if len(m.OwnerReferences) > 0 {
				t.Errorf("%s: owners of Machine %s are %v", name, m.Name, m.OwnerReferences)
			}
		}
	}
}
