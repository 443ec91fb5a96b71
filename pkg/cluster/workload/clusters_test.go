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
	// kubeconfig and version are the content and the resource version of every Secret.
	kubeconfig, version string
	noSecret            error
	// connecting and probing are the results of connection attempts and probes.
	connecting, probing error
	unwanted, unknown   bool

	startTime       time.Time
	attempts        []time.Duration // Durations since startTime.
	callbacks       []string
	openConnections int
	probes          int
	unresponsive    bool
	maxConcurrent   int
	concurrent      int
}

// runClusters runs body together with Clusters in a synctest bubble.
func runClusters(t *testing.T, o Options, body func(t *testing.T, fx *fixture)) {
	synctest.Test(t, func(t *testing.T) {
		fx := &fixture{startTime: time.Now(), kubeconfig: "a", version: "1"}
		o.IsNeeded = func(types.NamespacedName) bool { fx.mu.Lock(); defer fx.mu.Unlock(); return !fx.unwanted }
		fx.Clusters = New(o)
		fx.readSecret = func(context.Context, types.NamespacedName) ([]byte, string, error) {
			fx.mu.Lock()
			defer fx.mu.Unlock()
			return []byte(fx.kubeconfig), fx.version, fx.noSecret
		}
		fx.connect = fx.fake
		fx.OnCluster(func(c types.NamespacedName) {
			_, err := fx.Connection(c)
			fx.mu.Lock()
			defer fx.mu.Unlock()
			fx.callbacks = append(fx.callbacks, fmt.Sprintf("%s connected=%t", c.Name, err == nil))
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); fx.Run(ctx) }()
		body(t, fx)
		cancel()
		<-ended
		if fx.openConnections != 0 {
			t.Errorf("%d connections are still open", fx.openConnections)
		}
	})
}

// fake returns a fake connection.
func (fx *fixture) fake(ctx context.Context, cluster types.NamespacedName, _ []byte) (*Connection, error) {
	fx.mu.Lock()
	defer fx.mu.Unlock()
	fx.attempts = append(fx.attempts, time.Since(fx.startTime))
	fx.concurrent++
	fx.maxConcurrent = max(fx.maxConcurrent, fx.concurrent)
	if fx.unresponsive {
		fx.mu.Unlock()
		select {
		case <-time.After(probeTimeout):
		case <-ctx.Done():
		}
		fx.mu.Lock()
	}
	fx.concurrent--
	if err := cmp.Or(fx.connecting, fx.probing); err != nil {
		return nil, err
	}
	fx.openConnections++
	time.AfterFunc(time.Millisecond, func() { fx.queue.Add(cluster) })
	return &Connection{
		cluster: cluster, startedAt: time.Now(),
		probe: func(context.Context) error {
			fx.mu.Lock()
			defer fx.mu.Unlock()
			fx.probes++
			return fx.probing
		},
		isSynced: func() bool { fx.mu.Lock(); defer fx.mu.Unlock(); return !fx.unknown },
		stop:     func() { fx.mu.Lock(); defer fx.mu.Unlock(); fx.openConnections-- },
	}, nil
}

func (fx *fixture) change(f func()) {
	fx.mu.Lock()
	defer fx.mu.Unlock()
	f()
}

// expectCallbacks waits for d and compares the callbacks since the last call.
func (fx *fixture) expectCallbacks(t *testing.T, d time.Duration, want ...string) {
	t.Helper()
	time.Sleep(d)
	synctest.Wait()
	fx.mu.Lock()
	defer fx.mu.Unlock()
	if diff := gocmp.Diff(want, fx.callbacks); diff != "" {
		t.Errorf("callbacks (-want +got):\n%s", diff)
	}
	fx.callbacks = nil
}

func (fx *fixture) reason(t *testing.T) string {
	t.Helper()
	_, err := fx.Connection(blue)
	var not *NotConnectedError
	if err == nil || !errors.Is(err, ErrNotConnected) || !errors.As(err, &not) {
		t.Fatalf("Connection: %v, want ErrNotConnected", err)
	}
	return not.Reason.Error()
}

var errNo = errors.New("no")

func TestClusters_ConnectOnRequestAndReturnTheConnectionAfterNodesAreRead(t *testing.T) {
	runClusters(t, Options{}, func(t *testing.T, fx *fixture) {
		fx.unknown = true
		fx.expectCallbacks(t, time.Minute)
		if len(fx.attempts) != 0 {
			t.Fatalf("connected %d times before the first request", len(fx.attempts))
		}
		if got, want := fx.reason(t), errNotAttempted.Error(); got != want {
			t.Errorf("reason %q, want %q", got, want)
		}
		fx.expectCallbacks(t, time.Second)
		if got, want := fx.reason(t), errSyncing.Error(); got != want {
			t.Errorf("reason %q, want %q", got, want)
		}
		fx.change(func() { fx.unknown = false })
		fx.queue.Add(blue)
		fx.expectCallbacks(t, time.Second, "blue connected=true")
		if _, err := fx.Connection(blue); err != nil {
			t.Errorf("Connection: %v", err)
		}
		if len(fx.attempts) != 1 {
			t.Errorf("connected %d times, want once", len(fx.attempts))
		}
	})
}

func TestClusters_DisconnectIfNodesCannotBeRead(t *testing.T) {
	runClusters(t, Options{}, func(t *testing.T, fx *fixture) {
		fx.unknown = true
		_, _ = fx.Connection(blue)
		fx.expectCallbacks(t, time.Minute)
		fx.states[blue].conn.setWatchError(errNo)
		fx.expectCallbacks(t, syncTimeout)
		if got, want := fx.attempts[len(fx.attempts)-1], syncTimeout; got < want {
			t.Errorf("the last attempt was after %s, want after %s", got, want)
		}
		if !slices.Equal(fx.attempts[:1], []time.Duration{0}) || len(fx.attempts) != 2 {
			t.Errorf("attempts at %s, want two", fx.attempts)
		}
	})
}

func TestClusters_BackOffUntilTheSecretChanges(t *testing.T) {
	runClusters(t, Options{}, func(t *testing.T, fx *fixture) {
		fx.connecting = errNo
		_, _ = fx.Connection(blue)
		fx.expectCallbacks(t, 2*time.Minute)
		var want []time.Duration
		for _, s := range []int{0, 1, 3, 7, 15, 31, 61, 91} {
			want = append(want, time.Duration(s)*time.Second)
		}
		if diff := gocmp.Diff(want, fx.attempts); diff != "" {
			t.Errorf("attempts (-want +got):\n%s", diff)
		}
		fx.onSecretVersion(types.NamespacedName{Namespace: "ns", Name: "blue-kubeconfig"}, "1") // Already read.
		fx.onSecretVersion(types.NamespacedName{Namespace: "ns", Name: "blue"}, "2")
		fx.expectCallbacks(t, 0)
		if len(fx.attempts) != len(want) {
			t.Errorf("an attempt without a change of the Secret")
		}
		if got := fx.reason(t); got != "no" {
			t.Errorf("reason %q", got)
		}
		fx.change(func() { fx.version, fx.connecting = "2", nil })
		fx.onSecretVersion(types.NamespacedName{Namespace: "ns", Name: "blue-kubeconfig"}, "2")
		fx.expectCallbacks(t, time.Millisecond, "blue connected=true")
	})
}

func TestClusters_ConnectWhenTheSecretIsCreated(t *testing.T) {
	runClusters(t, Options{}, func(t *testing.T, fx *fixture) {
		fx.noSecret, fx.version = errNo, ""
		_, _ = fx.Connection(blue)
		fx.expectCallbacks(t, 50*time.Second)
		fx.change(func() { fx.noSecret, fx.version = nil, "7" })
		fx.onSecretVersion(types.NamespacedName{Namespace: "ns", Name: "blue-kubeconfig"}, "7")
		fx.expectCallbacks(t, time.Millisecond, "blue connected=true")
	})
}

func TestClusters_DisconnectAfterFiveFailedProbesAndRejectRequestsAfterOne(t *testing.T) {
	runClusters(t, Options{}, func(t *testing.T, fx *fixture) {
		_, _ = fx.Connection(blue)
		fx.expectCallbacks(t, time.Second, "blue connected=true")
		conn, err := fx.Connection(blue)
		if err != nil {
			t.Fatal(err)
		}
		success := time.Now()
		fx.change(func() { fx.probing, fx.connecting, fx.probes = errNo, errNo, 0 })
		fx.expectCallbacks(t, 4*period)
		if why := conn.rejection.Load(); why == nil || why.ended || fx.probes != 4 {
			t.Errorf("after %d probes requests are rejected with %v", fx.probes, why)
		}
		if _, err := fx.Connection(blue); err != nil {
			t.Errorf("after four failures: %v", err)
		}
		fx.expectCallbacks(t, period, "blue connected=false")
		if got, want := fx.reason(t), "5 consecutive probes have failed; last error: no"; got != want {
			t.Errorf("reason %q, want %q", got, want)
		}
		if conn.endedError() == nil {
			t.Error("the old connection is still open")
		}
		last, failures := fx.Probe(blue)
		if failures != 5 || success.Sub(last) > time.Second {
			t.Errorf("%d failures since %s, want 5 since %s", failures, last, success)
		}
		fx.change(func() { fx.probing, fx.connecting = nil, nil })
		fx.expectCallbacks(t, 2*time.Second, "blue connected=true")
		if _, failures := fx.Probe(blue); failures != 0 {
			t.Errorf("%d failures although the cluster answers", failures)
		}
	})
}

func TestClusters_ResetFailuresAfterASuccessfulProbe(t *testing.T) {
	runClusters(t, Options{}, func(t *testing.T, fx *fixture) {
		_, _ = fx.Connection(blue)
		fx.expectCallbacks(t, time.Second, "blue connected=true")
		for range 5 {
			fx.change(func() { fx.probing = errNo })
			fx.expectCallbacks(t, 4*period)
			fx.change(func() { fx.probing = nil })
			fx.expectCallbacks(t, period)
		}
		if conn, err := fx.Connection(blue); err != nil || conn.rejection.Load() != nil {
			t.Errorf("Connection: %v, requests rejected with %v", err, conn.rejection.Load())
		}
	})
}

func TestClusters_ReconnectImmediatelyAfterUnauthorized(t *testing.T) {
	runClusters(t, Options{}, func(t *testing.T, fx *fixture) {
		_, _ = fx.Connection(blue)
		fx.expectCallbacks(t, time.Second, "blue connected=true")
		fx.change(func() { fx.probing = errUnauthorized })
		fx.expectCallbacks(t, period, "blue connected=false")
		if len(fx.attempts) != 2 {
			t.Errorf("attempts at %s, want one at the disconnect", fx.attempts)
		}
		if got := fx.reason(t); got != errUnauthorized.Error() {
			t.Errorf("reason %q", got)
		}
		fx.change(func() { fx.probing = nil })
		fx.expectCallbacks(t, time.Second, "blue connected=true")
	})
}

func TestClusters_ReconnectOnlyIfTheKubeconfigChanges(t *testing.T) {
	runClusters(t, Options{}, func(t *testing.T, fx *fixture) {
		_, _ = fx.Connection(blue)
		fx.expectCallbacks(t, time.Second, "blue connected=true")
		before, _ := fx.Connection(blue)
		seen := func(version string) {
			fx.change(func() { fx.version = version })
			fx.onSecretVersion(types.NamespacedName{Namespace: "ns", Name: "blue-kubeconfig"}, version)
		}
		seen("2")
		fx.expectCallbacks(t, time.Second)
		if after, _ := fx.Connection(blue); after != before {
			t.Error("a changed label of the Secret has closed the connection")
		}
		fx.change(func() { fx.kubeconfig = "b" })
		seen("3")
		fx.expectCallbacks(t, 20*time.Millisecond, "blue connected=false", "blue connected=true")
		if before.endedError() == nil {
			t.Error("the old connection is still open")
		}
		fx.change(func() { fx.noSecret = errNo })
		seen("4")
		fx.expectCallbacks(t, time.Minute)
		fx.change(func() { fx.noSecret, fx.kubeconfig = nil, "c" })
		fx.expectCallbacks(t, period+time.Second, "blue connected=false", "blue connected=true")
	})
}

func TestClusters_DisconnectUnneededClusters(t *testing.T) {
	runClusters(t, Options{}, func(t *testing.T, fx *fixture) {
		_, _ = fx.Connection(blue)
		fx.expectCallbacks(t, time.Second, "blue connected=true")
		conn, _ := fx.Connection(blue)
		fx.change(func() { fx.unwanted = true })
		fx.expectCallbacks(t, period)
		if fx.openConnections != 0 || len(fx.states) != 0 || conn.endedError() == nil {
			t.Errorf("%d connections and %d states remain", fx.openConnections, len(fx.states))
		}
		fx.change(func() { fx.unwanted = false })
		_, _ = fx.Connection(blue)
		fx.expectCallbacks(t, time.Second, "blue connected=true")
	})
}

func TestClusters_ReportTheEndOfTheGracePeriodOnce(t *testing.T) {
	runClusters(t, Options{}, func(t *testing.T, fx *fixture) {
		fx.connecting = errNo
		_, _ = fx.Connection(blue)
		fx.expectCallbacks(t, DefaultGrace)
		fx.expectCallbacks(t, retryMax, "blue connected=false")
		fx.expectCallbacks(t, time.Hour)
	})
}

func TestClusters_DisconnectImmediatelyOnFatalErrors(t *testing.T) {
	runClusters(t, Options{}, func(t *testing.T, fx *fixture) {
		_, _ = fx.Connection(blue)
		fx.expectCallbacks(t, time.Second, "blue connected=true")
		conn, _ := fx.Connection(blue)
		fx.change(func() { fx.connecting = errNo })
		conn.setFatal(errTooLarge)
		fx.queue.Add(blue)
		fx.expectCallbacks(t, 0, "blue connected=false")
		if got := fx.reason(t); got != errTooLarge.Error() {
			t.Errorf("reason %q", got)
		}
	})
}

func TestClusters_LimitConcurrentConnectionAttempts(t *testing.T) {
	runClusters(t, Options{MaxConcurrent: 3}, func(t *testing.T, fx *fixture) {
		fx.unresponsive, fx.connecting = true, errNo
		for i := range 50 {
			_, _ = fx.Connection(types.NamespacedName{Namespace: "ns", Name: fmt.Sprint(i)})
		}
		fx.expectCallbacks(t, DefaultGrace-time.Second)
		if fx.maxConcurrent != 3 {
			t.Errorf("%d concurrently, want 3", fx.maxConcurrent)
		}
	})
}

func TestClusters_ProcessConnectedClustersFirst(t *testing.T) {
	runClusters(t, Options{MaxConcurrent: 1}, func(t *testing.T, fx *fixture) {
		_, _ = fx.Connection(blue)
		fx.expectCallbacks(t, time.Second, "blue connected=true")
		fx.change(func() { fx.unresponsive, fx.connecting, fx.probes = true, errNo, 0 })
		for i := range 50 {
			_, _ = fx.Connection(types.NamespacedName{Namespace: "ns", Name: fmt.Sprint(i)})
		}
		fx.expectCallbacks(t, 2*time.Minute)
		// Before each probe there may be one attempt for another cluster.
		if want := int(2 * time.Minute / (period + probeTimeout)); fx.probes < want {
			t.Errorf("%d probes in two minutes, want %d or more", fx.probes, want)
		}
	})
}
