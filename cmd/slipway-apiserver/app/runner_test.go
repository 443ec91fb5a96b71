// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"

	"github.com/slipway-dev/slipway/pkg/controller/fleet/connections"
	"github.com/slipway-dev/slipway/pkg/lease"
	"github.com/slipway-dev/slipway/pkg/store/identity"
)

// deadline bounds waits for other goroutines.
const deadline = time.Minute

// newRunner runs a controller with short times.
func newRunner(host *fake.Clientset, elect bool, start func(ctx context.Context, l *lease.Leases) error) (*runner, chan error) {
	failed := make(chan error, 1)
	r := &runner{fail: func(err error) { failed <- err }, leases: lease.New(nil)}
	if elect {
		r.leases = lease.New(&lease.Options{Client: host, Namespace: defaultNamespace, Identity: "test", Times: lease.AloneTimes, Fail: r.fail})
	}
	r.start = func(ctx context.Context) error { return start(ctx, r.leases) }
	return r, failed
}

// holder returns the holder of the controllers' Lease, or an empty string.
func holder(host *fake.Clientset) string {
	held, err := host.CoordinationV1().Leases(defaultNamespace).Get(context.Background(), connections.ControllersLease, metav1.GetOptions{})
	if err != nil {
		return ""
	}
	return ptr.Deref(held.Spec.HolderIdentity, "")
}

// An operation in vCenter may outlast the HTTP server. The process ends when run returns.
func TestRunner_HoldsLeasesUntilTheControllersHaveEnded(t *testing.T) {
	host := fake.NewClientset()
	started, finish := make(chan struct{}), make(chan struct{})
	r, failed := newRunner(host, true, func(ctx context.Context, l *lease.Leases) error {
		l.Contend(ctx, connections.ControllersLease, false)
		if err := l.Await(ctx, connections.ControllersLease); err != nil {
			return err
		}
		close(started)
		<-ctx.Done()
		<-finish // the last reconcile takes some time
		return ctx.Err()
	})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan struct{})
	go func() { r.run(ctx); close(ended) }()
	wait := func(what string, done <-chan struct{}) {
		t.Helper()
		select {
		case <-done:
		case <-time.After(deadline):
			t.Fatal(what)
		}
	}
	wait("the controller did not start", started)
	stop()
	if holder(host) == "" {
		t.Error("the Lease was released while the controller was working")
	}
	close(finish)
	wait("the process does not end", ended)
	if who := holder(host); who != "" {
		t.Errorf("the process may end, and the Lease is still held by %s: the next replica waits until it has run out", who)
	}
	select {
	case err := <-failed:
		t.Errorf("an orderly end was reported as a failure: %v", err)
	default:
	}
}

// Users are served while the controllers end, which takes seconds.
func TestRunner_EndsControllersAndReleasesLeasesWhileTheServerServes(t *testing.T) {
	host := fake.NewClientset()
	started := make(chan struct{})
	r, failed := newRunner(host, true, func(ctx context.Context, l *lease.Leases) error {
		l.Contend(ctx, connections.ControllersLease, false)
		if err := l.Await(ctx, connections.ControllersLease); err != nil {
			return err
		}
		close(started)
		<-ctx.Done()
		return ctx.Err()
	})
	var atStart genericapiserver.PostStartHookFunc
	var atStop genericapiserver.PreShutdownHookFunc
	if err := r.hook(
		func(_ string, f genericapiserver.PostStartHookFunc) error { atStart = f; return nil },
		func(_ string, f genericapiserver.PreShutdownHookFunc) error { atStop = f; return nil },
	); err != nil {
		t.Fatal(err)
	}
	serving := genericapiserver.PostStartHookContext{Context: t.Context()} // until the server no longer listens
	if err := atStart(serving); err != nil {
		t.Fatal(err)
	}
	<-started
	if err := atStop(); err != nil {
		t.Fatal(err)
	}
	if who := holder(host); who != "" {
		t.Errorf("the Lease is still held by %s", who)
	}
	if err := atStart(serving); err != nil { // the server was stopped before its hooks ran
		t.Fatal(err)
	}
	r.running.Wait()
	select {
	case err := <-failed:
		t.Errorf("an orderly end was reported as a failure: %v", err)
	default:
	}
}

func TestRunner_FailedControllerEndsTheProcess(t *testing.T) {
	cause := errors.New("bad CA")
	r, failed := newRunner(fake.NewClientset(), false, func(context.Context, *lease.Leases) error { return cause })
	r.run(t.Context())
	select {
	case err := <-failed:
		if !errors.Is(err, cause) {
			t.Errorf("failed with %v, want %v", err, cause)
		}
	case <-time.After(deadline):
		t.Fatal("the failure was not reported")
	}
}

func TestControllers_OfAStoreThatIsNotServedTakeNoLease(t *testing.T) {
	host := fake.NewClientset()
	gate, err := identity.NewGate(clientv3.Config{Endpoints: []string{"unix:///nowhere"}}, etcdPrefix, host, defaultNamespace)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gate.Close)
	synctest.Test(t, func(t *testing.T) {
		r, _ := newRunner(host, true, func(context.Context, *lease.Leases) error {
			t.Error("the controllers run")
			return nil
		})
		r.store = gate
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { r.run(ctx); close(ended) }()
		time.Sleep(deadline)
		synctest.Wait()
		if calls := host.Actions(); len(calls) > 0 {
			t.Errorf("calls to the management cluster: %v", calls)
		}
		stop()
		<-ended
	})
}
