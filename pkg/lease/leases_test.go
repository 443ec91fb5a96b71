// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"github.com/slipway-dev/slipway/pkg/lease/fence"
)

const namespace = "ns"

// fakeAPIServer is a fake API server for Leases. It rejects an update with an old resource version.
type fakeAPIServer struct {
	mu sync.Mutex
	// disconnected has the processes whose requests fail.
	disconnected map[string]bool
	all          map[string]*coordinationv1.Lease
}

func newFakeAPIServer() *fakeAPIServer {
	return &fakeAPIServer{disconnected: map[string]bool{}, all: map[string]*coordinationv1.Lease{}}
}

// client returns the client of a process. The process can be disconnected.
func (h *fakeAPIServer) client(identity string) *fake.Clientset {
	c := fake.NewClientset()
	c.PrependReactor("*", "leases", func(a clienttesting.Action) (bool, runtime.Object, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.disconnected[identity] {
			return true, nil, errors.New("the API server does not respond")
		}
		lease, err := h.handle(a)
		return true, lease, err
	})
	return c
}

func (h *fakeAPIServer) handle(a clienttesting.Action) (*coordinationv1.Lease, error) {
	resource := coordinationv1.Resource("leases")
	if get, ok := a.(clienttesting.GetAction); ok {
		if lease := h.all[get.GetName()]; lease != nil {
			return lease.DeepCopy(), nil
		}
		return nil, apierrors.NewNotFound(resource, get.GetName())
	}
	next := a.(clienttesting.CreateAction).GetObject().(*coordinationv1.Lease).DeepCopy()
	before := h.all[next.Name]
	switch {
	case a.GetVerb() == "create" && before != nil:
		return nil, apierrors.NewAlreadyExists(resource, next.Name)
	case a.GetVerb() == "update" && before.ResourceVersion != next.ResourceVersion:
		return nil, apierrors.NewConflict(resource, next.Name, errors.New("the Lease was changed"))
	}
	version := 0
	if before != nil {
		version, _ = strconv.Atoi(before.ResourceVersion)
	}
	next.ResourceVersion = strconv.Itoa(version + 1)
	h.all[next.Name] = next
	return next.DeepCopy(), nil
}

func holderOf(lease *coordinationv1.Lease) string { return ptr.Deref(lease.Spec.HolderIdentity, "") }

// holders returns the names of the Leases by holder.
func (h *fakeAPIServer) holders() map[string][]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	by := map[string][]string{}
	for name, lease := range h.all {
		by[holderOf(lease)] = append(by[holderOf(lease)], name)
	}
	for _, names := range by {
		slices.Sort(names)
	}
	return by
}

// change changes a Lease, as another client would.
func (h *fakeAPIServer) change(name string, change func(*coordinationv1.LeaseSpec)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	next := h.all[name].DeepCopy()
	change(&next.Spec)
	next.ResourceVersion += "0"
	h.all[name] = next
}

func (h *fakeAPIServer) setDisconnected(identity string, away bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.disconnected[identity] = away
}

// process is a process with Leases.
type process struct {
	*Leases
	failed chan error
}

func (h *fakeAPIServer) process(identity string, patience time.Duration) *process {
	p := &process{failed: make(chan error, 1)}
	p.Leases = New(&Options{
		Client: h.client(identity), Namespace: namespace, Identity: identity, Times: SharedTimes, Patience: patience,
		Fail: func(err error) { p.failed <- err },
	})
	return p
}

// contend starts processes that contend for Leases until the test ends.
func contend(t *testing.T, names []string, processes ...*process) {
	t.Helper()
	for _, p := range processes {
		for _, name := range names {
			p.Contend(t.Context(), name, true)
		}
	}
	t.Cleanup(func() {
		for _, p := range processes {
			p.Close()
		}
	})
}

func TestLeases_AreDividedEvenly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFakeAPIServer()
		one, two, three := h.process("one", Patience), h.process("two", Patience), h.process("three", Patience)
		contend(t, []string{"a", "b", "c", "d", "e", "f"}, one, two, three)
		time.Sleep(time.Minute)
		synctest.Wait()
		for identity, names := range h.holders() {
			if len(names) == 0 || len(names) > 3 {
				t.Errorf("%s has %v", identity, names)
			}
		}
		if all := h.holders(); len(all) != 3 {
			t.Errorf("holders %v, want three", all)
		}
		// A process without Leases acquires those that another process releases.
		stopped := h.holders()["one"]
		idle := h.process("idle", Patience)
		contend(t, []string{"a", "b", "c", "d", "e", "f"}, idle)
		time.Sleep(time.Minute)
		one.Close()
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := h.holders(); len(got["idle"]) == 0 || len(got["one"]) != 0 {
			t.Errorf("holders %v after the process with %v has stopped, want a Lease for the idle process", got, stopped)
		}
	})
}

// SharedTimes guarantee 20 seconds, regardless of how many Leases the other processes hold.
func TestLeases_AreAcquiredInTimeAfterAProcessDied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFakeAPIServer()
		one, two := h.process("one", Patience), h.process("two", Patience)
		names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
		contend(t, names, one, two)
		time.Sleep(time.Minute)
		synctest.Wait()
		h.setDisconnected("one", true)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if got := h.holders()["two"]; !slices.Equal(got, names) {
			t.Errorf("after 20 s the other process has %v, want all", got)
		}
		for _, name := range names {
			if one.Fence(name).Check() == nil {
				t.Errorf("the stopped process may act under %s", name)
			}
			if two.Fence(name).Check() != nil {
				t.Errorf("the other process may not act under %s", name)
			}
		}
	})
}

func TestLeases_AreAcquiredWithoutDelayByASingleProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFakeAPIServer()
		start, p := time.Now(), h.process("one", 0)
		contend(t, []string{"a", "b", "c"}, p)
		for _, name := range []string{"a", "b", "c"} {
			if err := p.Await(t.Context(), name); err != nil || !time.Now().Equal(start) {
				t.Errorf("%s is held after %s: %v", name, time.Since(start), err)
			}
		}
	})
}

func TestLeases_AreHeldWithoutElection(t *testing.T) {
	l := New(nil)
	if _, err := l.Bind(t.Context(), "a"); !errors.Is(err, ErrNotHeld) {
		t.Errorf("error %v before Contend", err)
	}
	l.Contend(t.Context(), "a", true)
	ctx, err := l.Bind(t.Context(), "a")
	if err != nil || ctx.Err() != nil || l.Held("a").IsZero() || l.Fence("a").Check() != nil {
		t.Errorf("not held: %v", err)
	}
	l.Withdraw("a")
	if !l.Held("a").IsZero() {
		t.Error("held after Withdraw")
	}
	l.Close()
}

func TestWatch_CallsForEveryLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeAPIServer().process("one", 0)
		contend(t, []string{"a"}, p)
		synctest.Wait()
		var mu sync.Mutex
		var gained []string
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			p.Watch(ctx, func(name string) { mu.Lock(); defer mu.Unlock(); gained = append(gained, name) })
			close(ended)
		}()
		synctest.Wait()
		contend(t, []string{"b"}, p)
		synctest.Wait()
		cancel()
		<-ended
		contend(t, []string{"c"}, p)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if diff := cmp.Diff([]string{"a", "b"}, gained); diff != "" {
			t.Errorf("watched names (-want +got):\n%s", diff)
		}
	})
}

func TestWithdraw_ReleasesALeaseThatCanBeAcquiredAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFakeAPIServer()
		p := h.process("one", 0)
		contend(t, []string{"a"}, p)
		synctest.Wait()
		bound := make(chan error, 1)
		h.setDisconnected("one", true)
		time.Sleep(SharedTimes.RenewDeadline)
		go func() { _, err := p.Bind(t.Context(), "a"); bound <- err }()
		synctest.Wait()
		if len(bound) != 0 {
			t.Error("Bind returned although the Lease was not renewed")
		}
		h.setDisconnected("one", false)
		p.Withdraw("a")
		if err := <-bound; err != nil && !errors.Is(err, fence.ErrClosed) {
			t.Errorf("the waiting Bind = %v", err)
		}
		if got := h.holders(); len(got["one"]) != 0 {
			t.Errorf("holders %v after Withdraw", got)
		}
		if _, err := p.Bind(t.Context(), "a"); !errors.Is(err, ErrNotHeld) {
			t.Errorf("Bind after Withdraw = %v, want ErrNotHeld", err)
		}
		contend(t, []string{"a"}, p)
		if err := p.Await(t.Context(), "a"); err != nil {
			t.Error(err)
		}
		if len(p.failed) != 0 {
			t.Errorf("Fail was called: %v", <-p.failed)
		}
	})
}

// While the API server does not respond, no other process can acquire the Lease.
func TestLease_PausesTheProcessWhileItCannotBeRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFakeAPIServer()
		p := h.process("one", 0)
		contend(t, []string{"a"}, p)
		if err := p.Await(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			h.setDisconnected("one", true)
			time.Sleep(3 * SharedTimes.RenewDeadline)
			synctest.Wait()
			if p.Fence("a").Check() == nil || p.Held("a").IsZero() {
				t.Fatal("the fence is open while the API server does not respond, or the Lease is not held")
			}
			h.setDisconnected("one", false)
			if _, err := p.Bind(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
		}
		if len(p.failed) != 0 {
			t.Errorf("Fail was called: %v", <-p.failed)
		}
	})
}

// The state of the process may be older than the work of the other holder.
func TestLease_EndsTheProcessAfterAnotherHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFakeAPIServer()
		p := h.process("one", 0)
		contend(t, []string{"a", "b"}, p)
		synctest.Wait()
		h.change("a", func(spec *coordinationv1.LeaseSpec) {
			spec.HolderIdentity, spec.RenewTime = ptr.To("other"), ptr.To(metav1.NowMicro())
			spec.LeaseTransitions = ptr.To(ptr.Deref(spec.LeaseTransitions, 0) + 1)
		})
		if err := <-p.failed; !strings.Contains(err.Error(), "other") {
			t.Errorf("Fail was called with %v, want the name of the holder", err)
		}
		if p.Fence("a").Check() == nil {
			t.Error("the fence is open")
		}
		if got := h.holders()["other"]; !slices.Equal(got, []string{"a"}) {
			t.Errorf("the other process has %v", got)
		}
	})
}
