// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype_test

import (
	"errors"
	"testing"

	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// Drift is determined from the live object. A failed read keeps the previous values. If the live object does not exist,
// there is no newer generation.
func TestCapture_ReportsDriftFromTheLiveObject(t *testing.T) {
	w, vm := outdated(t, size(4), "{}")
	capture := func() (generation int64, outdated bool) {
		t.Helper()
		ref, create, err := capture(vm, it, w)
		if err != nil || create != nil {
			t.Fatalf("capturing a stored revision: revision %v, error %v", create, err)
		}
		instancetype.SetStatusRef(vm, it, ref)
		return ref.LatestGeneration, ref.Outdated
	}
	if generation, outdated := capture(); generation != 2 || !outdated {
		t.Errorf("latest generation %d, outdated %t; want 2 and true", generation, outdated)
	}
	w.broken = errors.New("timeout")
	if generation, outdated := capture(); generation != 2 || !outdated {
		t.Errorf("after a failed read: latest generation %d, outdated %t; want 2 and true, unchanged", generation, outdated)
	}
	w.broken = nil
	w.remove(w.sources[string(clusterIT)+"//small"])
	if generation, outdated := capture(); generation != 0 || outdated {
		t.Errorf("after its deletion: latest generation %d, outdated %t; want 0 and false", generation, outdated)
	}
}
