// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	runtimepkg "runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"

	"github.com/slipway-dev/slipway/pkg/storeidentity"
)

// patience bounds waits for other goroutines.
const patience = time.Minute

func newLeadership(host *fake.Clientset, elect bool) (*leadership, chan error) {
	failed := make(chan error, 1)
	o := NewOptions()
	o.Controllers.LeaderElect = elect
	return makeLeadership(&controllerDeps{options: o, host: host, health: newHealth(true)},
		leaseTimes{duration: 300 * time.Millisecond, renewDeadline: 200 * time.Millisecond, retryPeriod: 10 * time.Millisecond},
		func(err error) { failed <- err }), failed
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

// A host cluster that is away ends nothing: nobody else can have taken the Lease.
func TestF7ALeaseThatCannotBeRenewedPauses(t *testing.T) {
	host := fake.NewClientset()
	var away atomic.Bool
	var asked atomic.Int64
	refuse := func(clienttesting.Action) (bool, runtime.Object, error) {
		asked.Store(time.Now().UnixNano())
		return away.Load(), nil, errors.New("the host cluster is away")
	}
	host.PrependReactor("update", "leases", refuse)
	host.PrependReactor("get", "leases", refuse)
	l, failed := newLeadership(host, true)
	l.electing.Go(func() { l.elect(t.Context()) })
	<-l.elected
	if err := l.deps.fence.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		away.Store(true)
		for l.deps.fence.Check() == nil {
			runtimepkg.Gosched()
		}
		// The elector gives up a deadline after it began to try; then the election is run again.
		closed := time.Now()
		for time.Unix(0, asked.Load()).Sub(closed) < 2*l.times.renewDeadline {
			if time.Since(closed) > patience {
				t.Fatal("the election is not run again")
			}
			runtimepkg.Gosched()
		}
		away.Store(false)
		if err := l.deps.fence.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case err := <-failed:
		t.Errorf("the process was ended: %v", err)
	default:
	}
}

// What the process knows is of before the other one's work.
func TestF2AnotherHolderEndsTheProcess(t *testing.T) {
	host := fake.NewClientset()
	// A real API server refuses an update of what the writer has not seen.
	var taken atomic.Bool
	host.PrependReactor("update", "leases", func(a clienttesting.Action) (bool, runtime.Object, error) {
		lease := a.(clienttesting.UpdateAction).GetObject().(*coordinationv1.Lease)
		if ptr.Deref(lease.Spec.HolderIdentity, "") == "other" {
			taken.Store(true)
		} else if taken.Load() {
			return true, nil, apierrors.NewConflict(coordinationv1.Resource("leases"), lease.Name, errors.New("it was changed"))
		}
		return false, nil, nil
	})
	l, failed := newLeadership(host, true)
	l.electing.Go(func() { l.elect(t.Context()) })
	<-l.elected
	if err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		lease, err := host.CoordinationV1().Leases(defaultNamespace).Get(t.Context(), leaseName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = ptr.To("other"), ptr.To[int32](15)
		lease.Spec.LeaseTransitions = ptr.To(ptr.Deref(lease.Spec.LeaseTransitions, 0) + 1)
		_, err = host.CoordinationV1().Leases(defaultNamespace).Update(t.Context(), lease, metav1.UpdateOptions{})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-failed:
		if !strings.Contains(err.Error(), "other") {
			t.Errorf("the process was ended by %v, want the name of the holder", err)
		}
	case <-time.After(patience):
		t.Fatal("the process went on without the Lease")
	}
	if err := l.deps.fence.Check(); err == nil {
		t.Error("something may still be started")
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

func TestF3StoreThatIsNotServedTakesNoLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := fake.NewClientset()
		l, _ := newLeadership(host, true)
		l.deps.store = storeidentity.NewGate(clientv3.Config{}, etcdPrefix, host, defaultNamespace)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { l.elect(ctx); close(ended) }()
		time.Sleep(patience)
		synctest.Wait()
		select {
		case <-l.elected:
			t.Error("the controllers run")
		default:
		}
		if calls := host.Actions(); len(calls) > 0 {
			t.Errorf("calls to the host cluster: %v", calls)
		}
		stop()
		<-ended
	})
}
