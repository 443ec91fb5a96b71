// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package update

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// F143: what waits for a restart is computed from a comparison, never from one that
// could not be made.
func TestWhatNeedsARestartStaysWhileTheSpecIsUnknown(t *testing.T) {
	s := newScene()
	s.effective.CPU.Cores = 2
	st, _, err := Plan(s.input())
	if err != nil || len(st.RestartRequired) == 0 {
		t.Fatalf("restartRequired %v, error %v; want the cores", st.RestartRequired, err)
	}
	s.vm.Status = st
	s.effective = nil
	unknown, op, err := Plan(s.input())
	if err != nil || op != nil {
		t.Errorf("operation %+v, error %v; want none", op, err)
	}
	if diff := cmp.Diff(st.RestartRequired, unknown.RestartRequired); diff != "" {
		t.Errorf("restartRequired (-before +after):\n%s", diff)
	}
	c := meta.FindStatusCondition(unknown.Conditions, vmv1alpha1.ConditionConfigurationSynced)
	if c == nil || c.Status != metav1.ConditionFalse || c.Reason != vmv1alpha1.ReasonWaitingForPrerequisites {
		t.Errorf("condition %+v, want one that says that the spec cannot be resolved", c)
	}
}
