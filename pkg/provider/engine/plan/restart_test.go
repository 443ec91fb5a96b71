// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// Validation rejects such times; stored objects may have them.
func TestRestart_RejectsTimesThatCannotBeRecorded(t *testing.T) {
	for _, text := range []string{"0001-01-01T00:00:00Z", "0000-01-01T00:00:00+23:59", "1999-12-31T23:59:59Z"} {
		vm := &vmv1alpha1.VirtualMachine{}
		vm.Spec.NextRestartTime = text
		_, due, err := restartDue(&Input{VM: vm, Observation: provider.Observation{}, Now: now})
		var stop *provider.NoRequeueError
		if due || !errors.As(err, &stop) {
			t.Errorf("%s: due %t, error %v; want no restart and no retry", text, due, err)
		}
	}
}

func TestRestart_IsDueOnce(t *testing.T) {
	vm := &vmv1alpha1.VirtualMachine{}
	vm.Spec.NextRestartTime = now.Add(-time.Minute).Format(time.RFC3339)
	in := &Input{VM: vm, Observation: provider.Observation{}, Now: now}
	requested, due, err := restartDue(in)
	if !due || err != nil {
		t.Fatalf("due %t, error %v, want a restart", due, err)
	}
	in.Observation.LastRestart = &metav1.Time{Time: requested}
	if _, due, err = restartDue(in); due || err != nil {
		t.Errorf("due %t, error %v after the restart was recorded", due, err)
	}
}
