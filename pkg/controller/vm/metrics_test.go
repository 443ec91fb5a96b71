// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func TestMetrics_RecordTheTimeToTheFirstAddressOnce(t *testing.T) {
	h := newHarness(t, fresh(func(vm *vmv1alpha1.VirtualMachine) { vm.Status.PowerState = vmv1alpha1.PoweredOff }), photon())
	h.api.edit("vm", func(vm *vmv1alpha1.VirtualMachine) {
		vm.CreationTimestamp = metav1.NewTime(h.clock.Add(-90 * time.Second))
	})
	measured := func() (uint64, float64) {
		var m dto.Metric
		if err := h.writer.metrics.address.Write(&m); err != nil {
			t.Fatal(err)
		}
		return m.GetHistogram().GetSampleCount(), m.GetHistogram().GetSampleSum()
	}
	h.mustReconcile()
	if n, _ := measured(); n != 0 {
		t.Errorf("%d values are recorded before there is an address", n)
	}
	has := func(ip string) {
		h.api.edit("vm", func(vm *vmv1alpha1.VirtualMachine) {
			running(func(now *vmv1alpha1.VirtualMachine) {
				provisioned := vm.Status.Initialization
				now.Status.DeepCopyInto(&vm.Status)
				vm.Status.Initialization = provisioned
				vm.Status.Network.PrimaryIP4 = ip
			})
		})
		h.mustReconcile()
	}
	has("192.0.2.7")
	want := h.clock.Sub(h.vm().CreationTimestamp.Time).Seconds()
	if n, sum := measured(); n != 1 || sum != want || want < 90 {
		t.Errorf("%d values of %v s are recorded, want one of %v", n, sum, want)
	}
	has("")
	has("192.0.2.8")
	if n, _ := measured(); n != 1 {
		t.Errorf("%d values are recorded, want only the first address", n)
	}
}
