// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/simulated"
)

func TestBlockingWorkers_ReachTheSameResult(t *testing.T) {
	w := newVMWorld(t, func(w *vmWorld) { w.blocking = true })
	w.size(2, "1Gi")
	w.image()
	w.create("web")
	w.until("web", "is ready", isVMReady)
	vms := w.VmV1alpha1().VirtualMachines(vmNamespace)
	if _, err := vms.Stop(t.Context(), "web", &vmv1alpha1.PowerOptions{}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.until("web", "is powered off", poweredOff)
	if err := vms.Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	simulated.Eventually(t, "the virtual machine is deleted", func() bool { return w.vm("web") == nil })
	if names := w.inVCenter(); len(names) != 0 {
		t.Errorf("vCenter has %q, want none", names)
	}
}
