// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"strconv"
	"strings"
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
	// loadClients write; each has a pause of loadPause after every operation.
	loadClients = 4
	loadPause   = 20 * time.Millisecond
	loadTimeout = 10 * time.Second
)

// load reads and writes through kube-apiserver until it is stopped.
type load struct {
	*testing.T
	classes vmclient.VirtualMachineClassInterface
	began   time.Time
	// stop ends the clients, and stopWatch the one that watches.
	stop, stopWatch   context.CancelFunc
	running, watching sync.WaitGroup
	values            atomic.Int64

	mu      sync.Mutex
	history []porcupine.Operation
	// reads and writes are when one was done, and failures how many were not.
	reads, writes []time.Time
	failures      map[string]int
	// acked are the values that were acknowledged with their versions, by object.
	acked map[string]map[string]int64
	seen  watched
}

func newLoad(t *testing.T, config *rest.Config) *load {
	t.Helper()
	config = rest.CopyConfig(config)
	config.QPS, config.Timeout = -1, loadTimeout
	config.Wrap(withoutRetries)
	client, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	watching, stopWatch := context.WithCancel(t.Context())
	l := &load{
		T: t, classes: client.VmV1alpha1().VirtualMachineClasses(namespace), began: time.Now(), stop: stop, stopWatch: stopWatch,
		failures: map[string]int{}, acked: map[string]map[string]int64{}, seen: watched{values: map[string][]string{}},
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
				// What is under way when the load stops is waited for: cut off, it might be done
				// after what was read last.
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

// withoutRetries keeps a client from sending a request again by itself: one that was done and
// failed all the same would then look as if another client had come first.
func withoutRetries(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err == nil {
			resp.Header.Del("Retry-After")
		}
		return resp, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// turn reads an object and writes it on the condition that it was not changed since.
func (l *load) turn(ctx context.Context, client int, name string) {
	called := l.now()
	class, err := l.classes.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		l.fails(ctx, "read: ", err)
		return
	}
	l.add(client, called, operation{object: name, read: true}, outcome{value: class.Spec.Description}, &l.reads)
	o := operation{object: name, from: class.Spec.Description, to: strconv.FormatInt(l.values.Add(1), 10)}
	class.Spec.Description = o.to
	called = l.now()
	written, err := l.classes.Update(ctx, class, metav1.UpdateOptions{})
	switch {
	case err == nil:
		version, _ := strconv.ParseInt(written.ResourceVersion, 10, 64) // 0 is found missing
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
		l.fails(ctx, "write: ", err)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.history = append(l.history, porcupine.Operation{ClientId: client, Input: o, Call: called, Output: outcome{unknown: true}, Return: math.MaxInt64})
	}
}

func (l *load) now() int64 { return int64(time.Since(l.began)) }

func (l *load) add(client int, called int64, in operation, out outcome, times *[]time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.history = append(l.history, porcupine.Operation{ClientId: client, Input: in, Call: called, Output: out, Return: l.now()})
	if times != nil {
		*times = append(*times, time.Now())
	}
}

func (l *load) fails(ctx context.Context, what string, err error) {
	if ctx.Err() != nil {
		return
	}
	reason, details := "no answer", (*metav1.StatusDetails)(nil)
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		reason, details = fmt.Sprintf("%d %s", status.Status().Code, status.Status().Reason), status.Status().Details
	}
	if details != nil && len(details.Causes) == 1 && strings.Contains(details.Causes[0].Message, "GOAWAY] after Request.Body was written") {
		reason = crossed
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failures[what+reason]++; l.failures[what+reason] == 1 {
		l.Logf("%s %v %+v", what, err, details)
	}
}

// during measures what f does to service.
func (l *load) during(what string, f func()) (reads, writes time.Duration) {
	l.Helper()
	l.mu.Lock()
	l.failures = map[string]int{}
	l.mu.Unlock()
	began := time.Now()
	f()
	ended := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	reads, writes = longest(l.reads, began, ended), longest(l.writes, began, ended)
	l.Logf("%-34s %5.1f s; longest without a read %5.2f s, without a write %5.2f s; failed %v", what, ended.Sub(began).Seconds(), reads.Seconds(), writes.Seconds(), l.failures)
	return reads, writes
}

// crossed is the reason of a write that kube-apiserver sent while the replica told it that the
// connection ends. The replica has not taken it up; net/http ends connections of HTTP/2 in one
// step, and who passes on the body of a request cannot send it again.
const crossed = "crossed the end of its connection"

// failed are the requests that failed during what was measured last, but for those that
// crossed the end of their connection.
func (l *load) failed() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := maps.Clone(l.failures)
	delete(all, "write: "+crossed)
	return all
}

// longest is the longest time between two moments, of those that touch the time given.
func longest(times []time.Time, began, ended time.Time) time.Duration {
	before, most := began, time.Duration(0)
	for _, at := range times {
		if at.After(began) && at.Before(ended) {
			most, before = max(most, at.Sub(before)), at
		}
	}
	return max(most, ended.Sub(before))
}

// flows waits until some writes were acknowledged from now on.
func (l *load) flows() {
	l.Helper()
	began := time.Now()
	for enough := 0; enough < 10; {
		if time.Since(began) > deadline {
			l.Fatal("nothing is written any more")
		}
		<-time.After(loadPause)
		l.mu.Lock()
		enough = 0
		for i := len(l.writes) - 1; i >= 0 && l.writes[i].After(began); i-- {
			enough++
		}
		l.mu.Unlock()
	}
}

// check ends the load, and looks for what was lost or came twice.
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
		l.Errorf("whether %d operations are linearizable was not found out within %s", len(l.history), deadline)
	case porcupine.Illegal:
		l.Errorf("%d operations are not linearizable", len(l.history))
	}
}
