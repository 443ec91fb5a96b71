// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/conformance"
)

func TestConformance(t *testing.T) {
	conformance.Run(t, func(t *testing.T, createSlots int) *conformance.Target {
		p := New(createSlots)
		p.SetReadable(false)
		t.Cleanup(p.Close)
		return &conformance.Target{
			Provider: p,
			Start:    func() { p.SetReadable(true) },
			Request: func(name string) *provider.Request {
				return &provider.Request{
					VM: &vmv1alpha1.VirtualMachine{
						ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: uuid.NewUUID()},
					},
					Effective:          &vmv1alpha1.VirtualMachineInstanceSpec{},
					Image:              &vmv1alpha1.VirtualMachineImage{},
					PrerequisitesReady: true,
				}
			},
			Hold: p.Hold,
			Count: func(id string) int {
				if _, ok := p.VMs()[id]; ok {
					return 1
				}
				return 0
			},
			Calls: p.Calls,
		}
	})
}

func TestFailNextReachesTheHint(t *testing.T) {
	p := New(1)
	defer p.Close()
	p.FailNext("create", fmt.Errorf("no space"))
	ch, err := p.CreateOrUpdateVirtualMachineAsync(t.Context(), &provider.Request{
		VM:        &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "vm", UID: "u"}},
		Effective: &vmv1alpha1.VirtualMachineInstanceSpec{}, Image: &vmv1alpha1.VirtualMachineImage{}, PrerequisitesReady: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-ch; err == nil || err.Error() != "create: no space" {
		t.Errorf("result = %v, want create: no space", err)
	}
}
