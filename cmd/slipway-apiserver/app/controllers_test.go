// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// patience bounds waits for other goroutines.
const patience = time.Minute

func newLeadership(host *fake.Clientset, elect bool) (*leadership, chan error) {
	failed := make(chan error, 1)
	o := NewOptions()
	o.Controllers.LeaderElect = elect
	return &leadership{
		deps:    &controllerDeps{options: o, host: host, health: newHealth(true)},
		fail:    func(err error) { failed <- err },
		elected: make(chan struct{}),
		times:   leaseTimes{duration: 300 * time.Millisecond, renewDeadline: 200 * time.Millisecond, retryPeriod: 10 * time.Millisecond},
	}, failed
}

func TestLeaseIsHeldUntilControllersHaveEnded(t *testing.T) {
	host := fake.NewClientset()
	l, failed := newLeadership(host, true)
	holder := func() string {
		lease, err := host.CoordinationV1().Leases(defaultNamespace).Get(t.Context(), leaseName, metav1.GetOptions{})
		if err != nil || lease.Spec.HolderIdentity == nil {
			return ""
		}
		return *lease.Spec.HolderIdentity
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	started, finish := make(chan string, 1), make(chan struct{})
	hook := genericapiserver.PostStartHookContext{Context: ctx}
	if err := l.hook("c", func(ctx context.Context, _ *controllerDeps) error {
		started <- holder()
		<-ctx.Done()
		<-finish // the last pass takes its time
		return ctx.Err()
	})(hook); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { l.elect(ctx); close(ended) }()

	select {
	case who := <-started:
		if who == "" {
			t.Error("the controller started without the Lease")
		}
	case <-time.After(patience):
		t.Fatal("the controller did not start")
	}
	stop()
	if holder() == "" {
		t.Error("the Lease was released while the controller was working")
	}
	close(finish)
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("the election did not end")
	}
	if who := holder(); who != "" {
		t.Errorf("the Lease is still held by %s", who)
	}
	select {
	case err := <-failed:
		t.Errorf("an orderly end was reported as a failure: %v", err)
	default:
	}
}

// An operation in vCenter may outlast the HTTP server. The process ends when wait returns.
func TestTheLeaseIsBackWhenTheProcessMayEnd(t *testing.T) {
	host := fake.NewClientset()
	var gaveBack atomic.Bool
	stopped := make(chan struct{})
	host.PrependReactor("update", "leases", func(a clienttesting.Action) (bool, runtime.Object, error) {
		lease := a.(clienttesting.UpdateAction).GetObject().(*coordinationv1.Lease)
		if lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity == "" {
			<-stopped // a host cluster that takes its time
			gaveBack.Store(true)
		}
		return false, nil, nil
	})
	l, _ := newLeadership(host, true)
	l.times = defaultLeaseTimes
	ctx, stop := context.WithCancel(t.Context())
	hook := genericapiserver.PostStartHookContext{Context: ctx}
	if err := l.hook("c", func(ctx context.Context, _ *controllerDeps) error {
		<-ctx.Done()
		return ctx.Err()
	})(hook); err != nil {
		t.Fatal(err)
	}
	l.electing.Go(func() { l.elect(ctx) })
	<-l.elected
	stop()
	ended := make(chan bool, 1)
	go func() { l.wait(); ended <- gaveBack.Load() }()
	l.running.Wait()
	close(stopped)
	select {
	case ok := <-ended:
		if !ok {
			t.Error("the process may end, and the Lease is still held: the next replica waits until it has run out")
		}
	case <-time.After(patience):
		t.Fatal("the Lease was not given back")
	}
}

func TestLostLeaseEndsTheProcess(t *testing.T) {
	host := fake.NewClientset()
	var away atomic.Bool
	host.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		return away.Load(), nil, errors.New("the host cluster is away")
	})
	l, failed := newLeadership(host, true)
	go l.elect(t.Context())
	<-l.elected
	away.Store(true)
	select {
	case err := <-failed:
		if err == nil {
			t.Error("the loss of the Lease was reported without an error")
		}
	case <-time.After(patience):
		t.Fatal("the process went on without the Lease")
	}
}

func TestFailedControllerEndsTheProcess(t *testing.T) {
	l, failed := newLeadership(fake.NewClientset(), false)
	cause := errors.New("bad CA")
	if err := l.hook("c", func(context.Context, *controllerDeps) error { return cause })(genericapiserver.PostStartHookContext{Context: t.Context()}); err != nil {
		t.Fatal(err)
	}
	l.elect(t.Context())
	select {
	case err := <-failed:
		if !errors.Is(err, cause) {
			t.Errorf("failed with %v, want %v", err, cause)
		}
	case <-time.After(patience):
		t.Fatal("the failure was not reported")
	}
}
