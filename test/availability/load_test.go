// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package availability

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	vmclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
)

const (
	loadObjects = 3
	// loadClients is the number of clients that write. Each pauses for loadPause after every operation.
	loadClients = 4
	loadPause   = 20 * time.Millisecond
	loadTimeout = 30 * time.Second
)

// load reads and writes through kube-apiserver until it is stopped.
type load struct {
	*testing.T
	classes vmclient.VirtualMachineClassInterface
	began   time.Time
	// stop ends the clients. stopWatch ends the watch.
	stop, stopWatch   context.CancelFunc
	running, watching sync.WaitGroup
	values            atomic.Int64
	requests          atomic.Int64

	mu      sync.Mutex
	history []porcupine.Operation
	// reads and writes are the times of responses, by client.
	reads, writes [loadClients][]time.Time
	// failures are the failures since the last call of during.
	failures map[failure]int
	// acked are the acknowledged values with their resource versions, by object.
	acked map[string]map[string]int64
	seen  watched
}

func newLoad(t *testing.T, config *rest.Config) *load {
	t.Helper()
	config = rest.CopyConfig(config)
	config.QPS, config.Timeout = -1, loadTimeout
	config.Wrap(recordAnswers)
	client, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	watching, stopWatch := context.WithCancel(t.Context())
	l := &load{
		T: t, classes: client.VmV1alpha1().VirtualMachineClasses(namespace), began: time.Now(), stop: stop, stopWatch: stopWatch,
		failures: map[failure]int{}, acked: map[string]map[string]int64{}, seen: watched{values: map[string][]string{}},
	}
	config.Timeout = 0
	if client, err = versioned.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	for i := range loadObjects {
		class := &vmv1alpha1.VirtualMachineClass{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("load-%d", i)},
			Spec:       vmv1alpha1.VirtualMachineClassSpec{CPU: vmv1alpha1.VirtualMachineCPU{Sockets: 1}, Memory: vmv1alpha1.VirtualMachineMemory{Guest: new(resource.MustParse("1Gi"))}},
		}
		if _, err := l.classes.Create(ctx, class, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	l.watching.Go(func() { l.seen.run(watching, client.VmV1alpha1().VirtualMachineClasses(namespace)) })
	for i := range loadClients {
		l.running.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				// A request that is running when the load stops is not canceled, because it might take effect after the
				// last read.
				l.turn(t.Context(), i, fmt.Sprintf("load-%d", n%loadObjects))
				select {
				case <-ctx.Done():
				case <-time.After(loadPause):
				}
			}
		})
	}
	t.Cleanup(func() {
		stop()
		stopWatch()
		l.running.Wait()
		l.watching.Wait()
	})
	return l
}

// turn reads an object and updates it with its resource version.
func (l *load) turn(ctx context.Context, client int, name string) {
	called := l.now()
	ctx, answered := withAnswer(ctx)
	l.requests.Add(1)
	class, err := l.classes.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		l.fails("read", err, *answered)
		return
	}
	l.add(client, called, operation{object: name, read: true}, outcome{value: class.Spec.Description}, &l.reads)
	o := operation{object: name, from: class.Spec.Description, to: strconv.FormatInt(l.values.Add(1), 10)}
	class.Spec.Description = o.to
	called = l.now()
	ctx, answered = withAnswer(ctx)
	l.requests.Add(1)
	written, err := l.classes.Update(ctx, class, metav1.UpdateOptions{})
	switch {
	case err == nil:
		version, _ := strconv.ParseInt(written.ResourceVersion, 10, 64) // 0 is reported as missing
		l.mu.Lock()
		if l.acked[name] == nil {
			l.acked[name] = map[string]int64{}
		}
		l.acked[name][o.to] = version
		l.mu.Unlock()
		l.add(client, called, o, outcome{}, &l.writes)
	case apierrors.IsConflict(err):
		l.add(client, called, o, outcome{conflict: true}, nil)
	default:
		l.fails("write", err, *answered)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.history = append(l.history, porcupine.Operation{ClientId: client, Input: o, Call: called, Output: outcome{unknown: true}, Return: math.MaxInt64})
	}
}

func (l *load) now() int64 { return int64(time.Since(l.began)) }

func (l *load) add(client int, called int64, in operation, out outcome, times *[loadClients][]time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.history = append(l.history, porcupine.Operation{ClientId: client, Input: in, Call: called, Output: out, Return: l.now()})
	if times != nil {
		times[client] = append(times[client], time.Now())
	}
}

func (l *load) fails(what string, err error, a answer) {
	f := failureOf(err, a)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failures[f]++; l.failures[f] == 1 || f == otherFailure {
		l.Logf("%s, %s: %d, Retry-After %t: %s", what, f, a.code, a.retryAfter, textOf(err))
	}
}

// during measures the availability of the API while f runs, and returns the longest time that a client waited for a
// read or a write. It fails the test if a request fails in a way that clients need not expect. Expected failures are
// closed connections, responses with Retry-After, and those in allowed.
func (l *load) during(what string, f func(), allowed ...failure) (longestWait time.Duration) {
	l.Helper()
	l.mu.Lock()
	l.failures = map[failure]int{}
	l.mu.Unlock()
	began := time.Now()
	f()
	ended := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	reads, writes := longest(l.reads[:], began, ended), longest(l.writes[:], began, ended)
	l.Logf("%-34s %5.1f s; longest wait of a client for a read %5.2f s, for a write %5.2f s; failed %v", what, ended.Sub(began).Seconds(), reads.Seconds(), writes.Seconds(), l.failures)
	for f, n := range l.failures {
		if !slices.Contains(append(allowed, asksAgain, connectionEnded, unreachable), f) {
			l.Errorf("%s: %d requests failed: %s", what, n, f)
		}
	}
	// Each client has one request at a time.
	if n := l.failures[cancelled]; n > loadClients {
		l.Errorf("%s: %d requests were cancelled, want at most one of each of %d clients", what, n, loadClients)
	}
	return max(reads, writes)
}

// longest returns the longest time without a response to any of several clients, between two times.
func longest(clients [][]time.Time, began, ended time.Time) (most time.Duration) {
	for _, times := range clients {
		before := began
		for _, at := range times {
			if at.After(began) && at.Before(ended) {
				most, before = max(most, at.Sub(before)), at
			}
		}
		most = max(most, ended.Sub(before))
	}
	return most
}

// flows waits until each client has an acknowledged write that started after the call.
func (l *load) flows() {
	l.Helper()
	began := time.Now()
	served := func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, times := range l.writes {
			if len(times) == 0 || times[len(times)-1].Before(began) {
				return false
			}
		}
		return true
	}
	for !served() {
		if time.Since(began) > deadline {
			l.Fatal("a client gets no more responses")
		}
		<-time.After(loadPause)
	}
}

// check stops the load and checks that no write was lost or applied twice.
func (l *load) check() {
	l.Helper()
	l.flows()
	l.stop()
	l.running.Wait()
	ctx := l.Context()
	writes, last := 0, map[string]string{}
	for i := range loadObjects {
		name := fmt.Sprintf("load-%d", i)
		called := l.now()
		class, err := l.classes.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			l.Fatal(err)
		}
		l.add(loadClients, called, operation{object: name, read: true}, outcome{value: class.Spec.Description}, nil)
		last[name] = class.Spec.Description
		writes += len(l.acked[name])
	}
	l.seen.await(l.T, last)
	l.stopWatch()
	l.watching.Wait()
	for name, acked := range l.acked {
		l.seen.check(l.T, name, acked)
	}
	history := observed(l.history)
	switch result := porcupine.CheckOperationsTimeout(register, history, deadline); result {
	case porcupine.Ok:
		l.Logf("%d operations are linearizable, with %d acknowledged writes", len(l.history), writes)
	case porcupine.Unknown:
		l.Errorf("the check whether %d operations are linearizable did not finish within %s", len(l.history), deadline)
	case porcupine.Illegal:
		l.Errorf("%d operations are not linearizable", len(l.history))
	}
}
