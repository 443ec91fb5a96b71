// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"

	"github.com/slipway-dev/slipway/pkg/lease"
)

const (
	namespace = "slipway-system"
	// deadline is the time limit for other goroutines.
	deadline = time.Minute
)

// contending returns the Manager of a process that holds the Leases of the controllers and of the default vCenter.
func contending(t *testing.T, host *fake.Clientset) *Manager {
	t.Helper()
	leases := lease.New(&lease.Options{
		Client: host, Namespace: namespace, Identity: "test", Times: lease.AloneTimes, Fail: func(err error) { t.Error(err) },
	})
	t.Cleanup(leases.Close)
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	for _, name := range []string{ControllersLease, leaseOf("default")} {
		leases.Contend(t.Context(), name, name != ControllersLease)
		if err := leases.Await(ctx, name); err != nil {
			t.Fatalf("the Lease %s is not held: %v", name, err)
		}
	}
	return newManager(t, Options{Leases: leases, Host: host})
}

func TestLease_IsHeldAsLongAsTheVCenterExists(t *testing.T) {
	host := fake.NewClientset()
	v := contending(t, host)
	gained := make(chan string, 10)
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	go v.Watch(ctx, func(name string) { gained <- name })
	if _, err := v.Bind(ctx, "east"); err != nil && !errors.Is(err, lease.ErrNotHeld) {
		t.Fatal(err)
	}
	for name := ""; name != "east"; {
		select {
		case name = <-gained:
		case <-ctx.Done():
			t.Fatal("no watcher was called for the vCenter of this replica")
		}
	}
	if _, err := v.Bind(ctx, "east"); err != nil {
		t.Errorf("the vCenter cannot be bound: %v", err)
	}
	holder := func() string {
		held, err := host.CoordinationV1().Leases(namespace).Get(ctx, "slipway-vcenter-east", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return ptr.Deref(held.Spec.HolderIdentity, "")
	}
	if holder() == "" {
		t.Error("the Lease is not held")
	}
	if err := v.Leave(ctx, "east"); err != nil {
		t.Error(err)
	}
	if who := holder(); who != "" {
		t.Errorf("the Lease is still held by %s", who)
	}
}

func TestShard_DividesVMsByTheirVCenters(t *testing.T) {
	v := contending(t, fake.NewClientset())
	s := shard{leases: v.leases}
	for vcenter, want := range map[string]struct {
		share string
		held  bool
	}{
		"default": {"slipway-vcenter-default", true},
		"east":    {"slipway-vcenter-east", false},
		"":        {"slipway-controllers", true},
	} {
		share := s.leaseFor(vcenter)
		if held := s.IsOwned(vcenter); share != want.share || held != want.held {
			t.Errorf("VMs of vCenter %q are of %s, held %t; want %s, %t", vcenter, share, held, want.share, want.held)
		}
	}
}

func TestSessions_AreKnownWithoutAVCenter(t *testing.T) {
	v := newManager(t, Options{})
	if ask, known := v.Sessions(); len(ask) != 0 || !known {
		t.Errorf("%d sessions, known %t; want none", len(ask), known)
	}
	v.leases.Contend(t.Context(), leaseOf("default"), true)
	if _, known := v.Sessions(); known {
		t.Error("the vCenter of this replica is known before it is used")
	}
}
