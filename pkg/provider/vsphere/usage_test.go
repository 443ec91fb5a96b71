// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	k8stypes "k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// The simulated guest uses 100 MHz and a quarter of its memory. Its host uses half of the VM's memory.
func TestUsage_IsReadByObjectName(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	req := newRequest("busy", templateImage())
	l := newLoop(t, p)
	l.until("the VM runs", isRunning(req), req)
	key := k8stypes.NamespacedName{Namespace: req.VM.Namespace, Name: "busy"}
	memory := int32(req.Effective.Memory.Guest.Value() >> 20)
	check := func(want Usage) {
		t.Helper()
		got, err := p.driver.Usage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[k8stypes.NamespacedName]Usage{key: want}, got); diff != "" {
			t.Errorf("usage (-want +got):\n%s", diff)
		}
	}
	check(Usage{CPU: 100, Active: memory / 4, Host: memory / 2})
	req.VM.Spec.PowerState, req.VM.Spec.PowerOffMode = vmv1alpha1.PoweredOff, vmv1alpha1.PowerOpModeHard
	l.until("the VM is off", func() bool { return req.VM.Status.PowerState == vmv1alpha1.PoweredOff }, req)
	check(Usage{})
}
