// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machineset

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

func TestMachineSet_RemovesOwnerReferencesWhenOrphaningMachines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := run(t, theSet(2))
		defer func() { f.stop() }()
		f.edit(func(s *set) {
			s.DeletionTimestamp, s.Finalizers = ptr.To(metav1.Now()), []string{"elsewhere", metav1.FinalizerOrphanDependents}
		})
		for _, m := range f.machines() {
			if len(m.OwnerReferences) != 0 {
				t.Errorf("owners of %s are %v", m.Name, m.OwnerReferences)
			}
		}
		if n := len(f.names()); n != 2 {
			t.Errorf("there are %d Machines, want 2", n)
		}
		s := f.set()
		if diff := cmp.Diff([]string{"elsewhere"}, s.Finalizers); diff != "" || s.Annotations[clusterv1alpha1.ReleasedAnnotation] != "true" {
			t.Errorf("finalizers (-want +got):\n%s, annotations %v", diff, s.Annotations)
		}
	})
}
