// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/conformance"
	"github.com/slipway-dev/slipway/pkg/provider/engine"
	"github.com/slipway-dev/slipway/pkg/provider/fake"
)

// run runs an engine until the test ends.
func run(t *testing.T, e *engine.Engine) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { e.Run(ctx); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended })
}

func newRequest(name string) *provider.Request {
	return &provider.Request{Desired: provider.Desired{Effective: &vmv1alpha1.VirtualMachineInstanceSpec{}, Image: &vmv1alpha1.VirtualMachineImage{}}, VM: &vmv1alpha1.VirtualMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: uuid.NewUUID()},
	}, CanStartCreate: true}
}

func TestConformance(t *testing.T) {
	conformance.Run(t, func(t *testing.T, creates int) *conformance.Target {
		d := fake.New()
		d.SetReadable(false)
		e := engine.New(engine.Options{Driver: d, Limits: engine.Limits{Creates: creates}})
		run(t, e)
		return &conformance.Target{
			Provider: e,
			Start:    func() { d.SetReadable(true) },
			Request:  newRequest,
			Hold:     d.Block,
			Count: func(id string) int {
				if _, ok := d.VMs()[id]; ok {
					return 1
				}
				return 0
			},
			Calls: d.Calls,
		}
	})
}
