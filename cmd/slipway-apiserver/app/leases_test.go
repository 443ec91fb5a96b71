// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"

	leases "github.com/slipway-dev/slipway/pkg/lease"
)

func TestAVCenterHasALeaseForAsLongAsItIsThere(t *testing.T) {
	host := fake.NewClientset()
	v := contending(t, host, t.TempDir(), true)
	gained := make(chan string, 10)
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	go v.Watch(ctx, func(name string) { gained <- name })
	if _, err := v.Bind(ctx, "east"); err != nil && !errors.Is(err, leases.ErrNotHeld) {
		t.Fatal(err)
	}
	for name := ""; name != "east"; {
		select {
		case name = <-gained:
		case <-ctx.Done():
			t.Fatal("nobody is told that the vCenter is this replica's")
		}
	}
	if _, err := v.Bind(ctx, "east"); err != nil {
		t.Errorf("it may not be passed over: %v", err)
	}
	holder := func() string {
		lease, err := host.CoordinationV1().Leases(defaultNamespace).Get(ctx, "slipway-vcenter-east", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return ptr.Deref(lease.Spec.HolderIdentity, "")
	}
	if holder() == "" {
		t.Error("nobody holds its Lease")
	}
	if err := v.Leave(ctx, "east"); err != nil {
		t.Error(err)
	}
	if who := holder(); who != "" {
		t.Errorf("its Lease is still held by %s", who)
	}
}

func TestVirtualMachinesAreDividedByTheirVCenters(t *testing.T) {
	v := contending(t, fake.NewClientset(), "", true)
	s := shard{leases: v.deps.leases}
	for vcenter, want := range map[string]struct {
		share string
		held  bool
	}{
		"default": {"slipway-vcenter-default", true},
		"east":    {"slipway-vcenter-east", false},
		"":        {"slipway-controllers", true},
	} {
		share := s.lease(vcenter)
		if held := s.Held(vcenter); share != want.share || held != want.held {
			t.Errorf("VMs of vCenter %q are of %s, held %t; want %s, %t", vcenter, share, held, want.share, want.held)
		}
	}
}

func TestAReplicaIsReadyWithoutAVCenterOfItsOwn(t *testing.T) {
	o := NewOptions()
	v := newVCenters(&controllerDeps{options: o, leases: leases.New(nil)}, noZones(o))
	if ask, known := v.sessions(); len(ask) != 0 || !known {
		t.Errorf("%d sessions, known %t; want none to ask for", len(ask), known)
	}
	v.deps.leases.Contend(t.Context(), leaseOf("default"), true)
	if _, known := v.sessions(); known {
		t.Error("the vCenter of this replica is known before it is used")
	}
}
