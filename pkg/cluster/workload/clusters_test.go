// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

var blue = types.NamespacedName{Namespace: "ns", Name: "blue"}

// fixture is the environment of Clusters in a test: Secrets and workload clusters.
type fixture struct {
	*Clusters

	mu sync.Mutex
	// kubeconfig and version of every Secret.
	kubeconfig, version string
	noSecret            error
	// connecting and probe are the results of connection attempts and probes.
	connecting, probing error
	unwanted, unknown   bool

	begun  time.Time
	tries  []time.Duration // Since begun.
	told   []string
	alive  int
	probes int
	hang   bool
	most   int
	trying int
}

// runClusters runs body together with Clusters in a synctest bubble.
func runClusters(t *testing.T, o Options, body func(t *testing.T, w *fixture)) {
	synctest.Test(t, func(t *testing.T) {
		w := &fixture{begun: time.Now(), kubeconfig: "a", version: "1"}
		o.IsNeeded = func(types.NamespacedName) bool { w.mu.Lock(); defer w.mu.Unlock(); return !w.unwanted }
		w.Clusters = New(o)
		w.readSecret = func(context.Context, types.NamespacedName) ([]byte, string, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			return []byte(w.kubeconfig), w.version, w.noSecret
		}
		w.connect = w.fake
		w.OnCluster(func(c types.NamespacedName) {
			_, err := w.Connection(c)
			w.mu.Lock()
			defer w.mu.Unlock()
			w.told = append(w.told, fmt.Sprintf("%s connected=%t", c.Name, err == nil))
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); w.Run(ctx) }()
		body(t, w)
		cancel()
		<-ended
		if w.alive != 0 {
			t.Errorf("%d connections are still open", w.alive)
		}
	})
}

// fake returns a fake connection.
func (w *fixture) fake(ctx context.Context, cluster types.NamespacedName, _ []byte) (*Connection, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tries = append(w.tries, time.Since(w.begun))
	w.trying++
	w.most = max(w.most, w.trying)
	if w.hang {
		w.mu.Unlock()
		select {
		case <-time.After(probeTimeout):
		case <-ctx.Done():
		}
		w.mu.Lock()
	}
	w.trying--
	if err := cmp.Or(w.connecting, w.probing); err != nil {
		return nil, err
	}
	w.alive++
	time.AfterFunc(time.Millisecond, func() { w.queue.Add(cluster) })
	return &Connection{
		cluster: cluster, startedAt: time.Now(),
		probe: func(context.Context) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.probes++
			return w.probing
		},
		isSynced: func() bool { w.mu.Lock(); defer w.mu.Unlock(); return !w.unknown },
		stop:     func() { w.mu.Lock(); defer w.mu.Unlock(); w.alive-- },
	}, nil
}

func (w *fixture) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// expectCallbacks waits for d and compares the callbacks since the last call.
func (w *fixture) expectCallbacks(t *testing.T, d time.Duration, want ...string) {
	t.Helper()
	time.Sleep(d)
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if diff := gocmp.Diff(want, w.told); diff != "" {
		t.Errorf("callbacks (-want +got):\n%s", diff)
	}
	w.told = nil
}

func (w *fixture) reason(t *testing.T) string {
	t.Helper()
	_, err := w.Connection(blue)
	var not *NotConnectedError
	if err == nil || !errors.Is(err, ErrNotConnected) || !errors.As(err, &not) {
		t.Fatalf("Connection: %v, want ErrNotConnected", err)
	}
	return not.Reason.Error()
}

var errNo = errors.New("no")

func TestClusters_ConnectOnRequestAndReturnTheConnectionAfterNodesAreRead(t *testing.T) {
	runClusters(t, Options{}, func(t *testing.T, w *fixture) {
		w.unknown = true
		w.expectCallbacks(t, time.Minute)
		if len(w.tries) != 0 {
			t.Fatalf("connected %d times before the first request", len(w.tries))
		}
		if got, want := w.reason(t), errNotAttempted.Error(); got != want {
			t.Errorf("reason %q, want %q", got, want)
		}
		w.expectCallbacks(t, time.Second)
		if got, want := w.reason(t), errSyncing.Error(); got != want {
			t.Errorf("reason %q, want %q", got, want)
		}
		w.change(func() { w.unknown = false })
		w.queue.Add(blue)
		w.expectCallbacks(t, time.Second, "blue connected=true")
		if _, err := w.Connection(blue); err != nil {
			t.Errorf("Connection: %v", err)
		}
		if len(w.tries) != 1 {
			t.Errorf("connected %d times, want once", len(w.tries))
		}
	})
}

func TestClusters_DisconnectIfNodesCannotBeRead(t *testing.T) {
	runClusters(t, Options{}, func(t *testing.T, w *fixture) {
		w.unknown = true
		_, _ = w.Connection(blue)
		w.expectCallbacks(t, time.Minute)
		w.states[blue].conn.setWatchError(errNo)
		w.expectCallbacks(t, syncTimeout)
		if got, want := w.tries[len(w.tries)-1], syncTimeout; got < want {
			t.Errorf("the last attempt was after %s, want after %s", got, want)
		}
		if !slices.Equal(w.tries[:1], []time.Duration{0}) || len(w.tries) != 2 {
			t.Errorf("attempts at %s, want two", w.tries)
		}
	})
}

func TestClusters_BackOffUntilTheSecretChanges(t *testing.T) {
	runClusters(t, Options{}, func(t *testing.T, w *fixture) {
		w.connecting = errNo
		_, _ = w.Connection(blue)
		w.expectCallbacks(t, 2*time.Minute)
		var want []time.Duration
		for _, s := range []int{0, 1, 3, 7, 15, 31, 61, 91} {
			want = append(want, time.Duration(s)*time.Second)
		}
		if diff := gocmp.Diff(want, w.tries); diff != "" {
			t.Errorf("attempts (-want +got):\n%s", diff)
		}
		w.onSecretVersion(types.NamespacedName{Namespace: "ns", Name: "blue-kubeconfig"}, "1") // Already read.
		w.onSecretVersion(types.NamespacedName{Namespace: "ns", Name: "blue"}, "2")
		w.expectCallbacks(t, 0)
		if len(w.tries) != len(want) {
			t.Errorf("an attempt without a change of the Secret")
		}
		if got := w.reason(t); got != "no" {
			t.Errorf("reason %q", got)
		}
		w.change(func() { w.version, w.connecting = "2", nil })
		w.onSecretVersion(types.NamespacedName{Namespace: "ns", Name: "blue-kubeconfig"}, "2")
		w.expectCallbacks(t, time.Millisecond, "blue connected=true")
	})
}

func TestClusters_ConnectWhenTheSecretIsCreated(t *testing.T) {
	runClusters(t, Options{}, func(t *testing.T, w *fixture) {
		w.noSecret, w.version = errNo, ""
		_, _ = w.Connection(blue)
		w.expectCallbacks(t, 50*time.Second)
		w.change(func() { w.noSecret, w.version = nil, "7" })
		w.onSecretVersion(types.NamespacedName{Namespace: "ns", Name: "blue-kubeconfig"}, "7")
		w.expectCallbacks(t, time.Millisecond, "blue connected=true")
	})
}

func TestClusters_DisconnectAfterFiveFailedProbesAndRejectRequestsAfterOne(t *testing.T) {
	runClusters(t, Options{}, func(t *testing.T, w *fixture) {
		_, _ = w.Connection(blue)
		w.expectCallbacks(t, time.Second, "blue connected=true")
		conn, err := w.Connection(blue)
		if err != nil {
			t.Fatal(err)
		}
		success := time.Now()
		w.change(func() { w.probing, w.connecting, w.probes = errNo, errNo, 0 })
		w.expectCallbacks(t, 4*period)
		if why := conn.rejection.Load(); why == nil || why.ended || w.probes != 4 {
			t.Errorf("after %d probes requests are rejected with %v", w.probes, why)
		}
		if _, err := w.Connection(blue); err != nil {
			t.Errorf("after four failures: %v", err)
		}
		w.expectCallbacks(t, period, "blue connected=false")
		if got, want := w.reason(t), "5 consecutive probes have failed; last error: no"; got != want {
			t.Errorf("reason %q, want %q", got, want)
		}
		if conn.endedError() == nil {
			t.Error("the old connection is still open")
		}
		last, failures := w.Probe(blue)
		if failures != 5 || success.Sub(last) > time.Second {
			t.Errorf("%d failures since %s, want 5 since %s", failures, last, success)
		}
		w.change(func() { w.probing, w.connecting = nil, nil })
		w.expectCallbacks(t, 2*time.Second, "blue connected=true")
		if _, failures := w.Probe(blue); failures != 0 {
			t.Errorf("%d failures although the cluster answers", failures)
		}
	})
}

func TestClusters_ResetFailuresAfterASuccessfulProbe(t *testing.T) {
	runClusters(t, Options{}, func(t *testing.T, w *fixture) {
		_, _ = w.Connection(blue)
		w.expectCallbacks(t, time.Second, "blue connected=true")
		for range 5 {
			w.change(func() { w.probing = errNo })
			w.expectCallbacks(t, 4*period)
			w.change(func() { w.probing = nil })
			w.expectCallbacks(t, period)
		}
		if conn, err := w.Connection(blue); err != nil || conn.rejection.Load() != nil {
			t.Errorf("Connection: %v, requests rejected with %v", err, conn.rejection.Load())
		}
	})
}

func TestClusters_ReconnectImmediatelyAfterUnauthorized(t *testing.T) {
	runClusters(t, Options{}, func(t *testing.T, w *fixture) {
		_, _ = w.Connection(blue)
		w.expectCallbacks(t, time.Second, "blue connected=true")
		w.change(func() { w.probing = errUnauthorized })
		w.expectCallbacks(t, period, "blue connected=false")
		if len(w.tries) != 2 {
			t.Errorf("attempts at %s, want one at the disconnect", w.tries)
		}
		if got := w.reason(t); got != errUnauthorized.Error() {
			t.Errorf("reason %q", got)
		}
		w.change(func() { w.probing = nil })
		w.expectCallbacks(t, time.Second, "blue connected=true")
	})
}

func TestClusters_ReconnectOnlyIfTheKubeconfigChanges(t *testing.T) {
	runClusters(t, Options{}, func(t *testing.T, w *fixture) {
		_, _ = w.Connection(blue)
		w.expectCallbacks(t, time.Second, "blue connected=true")
		before, _ := w.Connection(blue)
		seen := func(version string) {
			w.change(func() { w.version = version })
			w.onSecretVersion(types.NamespacedName{Namespace: "ns", Name: "blue-kubeconfig"}, version)
		}
		seen("2")
		w.expectCallbacks(t, time.Second)
		if after, _ := w.Connection(blue); after != before {
			t.Error("a changed label of the Secret has closed the connection")
		}
		w.change(func() { w.kubeconfig = "b" })
		seen("3")
		w.expectCallbacks(t, 20*time.Millisecond, "blue connected=false", "blue connected=true")
		if before.endedError() == nil {
			t.Error("the old connection is still open")
		}
		w.change(func() { w.noSecret = errNo })
		seen("4")
		w.expectCallbacks(t, time.Minute)
		w.change(func() { w.noSecret, w.kubeconfig = nil, "c" })
		w.expectCallbacks(t, period+time.Second, "blue connected=false", "blue connected=true")
	})
}

func TestClusters_DisconnectUnneededClusters(t *testing.T) {
	runClusters(t, Options{}, func(t *testing.T, w *fixture) {
		_, _ = w.Connection(blue)
		w.expectCallbacks(t, time.Second, "blue connected=true")
		conn, _ := w.Connection(blue)
		w.change(func() { w.unwanted = true })
		w.expectCallbacks(t, period)
		if w.alive != 0 || len(w.states) != 0 || conn.endedError() == nil {
			t.Errorf("%d connections and %d states remain", w.alive, len(w.states))
		}
		w.change(func() { w.unwanted = false })
		_, _ = w.Connection(blue)
		w.expectCallbacks(t, time.Second, "blue connected=true")
	})
}

func TestClusters_ReportTheEndOfTheGracePeriodOnce(t *testing.T) {
	runClusters(t, Options{}, func(t *testing.T, w *fixture) {
		w.connecting = errNo
		_, _ = w.Connection(blue)
		w.expectCallbacks(t, DefaultGrace)
		w.expectCallbacks(t, retryMax, "blue connected=false")
		w.expectCallbacks(t, time.Hour)
	})
}

func TestClusters_DisconnectImmediatelyOnFatalErrors(t *testing.T) {
	runClusters(t, Options{}, func(t *testing.T, w *fixture) {
		_, _ = w.Connection(blue)
		w.expectCallbacks(t, time.Second, "blue connected=true")
		conn, _ := w.Connection(blue)
		w.change(func() { w.connecting = errNo })
		conn.setFatal(errTooLarge)
		w.queue.Add(blue)
		w.expectCallbacks(t, 0, "blue connected=false")
		if got := w.reason(t); got != errTooLarge.Error() {
			t.Errorf("reason %q", got)
		}
	})
}

func TestClusters_LimitConcurrentConnectionAttempts(t *testing.T) {
	runClusters(t, Options{MaxConcurrent: 3}, func(t *testing.T, w *fixture) {
		w.hang, w.connecting = true, errNo
		for i := range 50 {
			_, _ = w.Connection(types.NamespacedName{Namespace: "ns", Name: fmt.Sprint(i)})
		}
		w.expectCallbacks(t, DefaultGrace-time.Second)
		if w.most != 3 {
			t.Errorf("%d concurrently, want 3", w.most)
		}
	})
}

func TestClusters_ProcessConnectedClustersFirst(t *testing.T) {
	runClusters(t, Options{MaxConcurrent: 1}, func(t *testing.T, w *fixture) {
		_, _ = w.Connection(blue)
		w.expectCallbacks(t, time.Second, "blue connected=true")
		w.change(func() { w.hang, w.connecting, w.probes = true, errNo, 0 })
		for i := range 50 {
			_, _ = w.Connection(types.NamespacedName{Namespace: "ns", Name: fmt.Sprint(i)})
		}
		w.expectCallbacks(t, 2*time.Minute)
		// Before each probe there may be one attempt for another cluster.
		if want := int(2 * time.Minute / (period + probeTimeout)); w.probes < want {
			t.Errorf("%d probes in two minutes, want %d or more", w.probes, want)
		}
	})
}
