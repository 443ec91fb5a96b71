// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
)

func ask(t *testing.T, g *Gate, resource bool) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/apis/vm.slipway.dev/v1alpha1/virtualmachines", nil)
	r = r.WithContext(genericapirequest.WithRequestInfo(r.Context(), &genericapirequest.RequestInfo{IsResourceRequest: resource, APIVersion: "v1"}))
	w := httptest.NewRecorder()
	g.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }), scheme.Codecs).ServeHTTP(w, r)
	return w
}

func TestGate_AnswersObjectsWith503UntilTheStoreIsKnown(t *testing.T) {
	host := fake.NewClientset(configMap("", data("theirs", "1")))
	g := newGate(storeOf(mine(1)), host, namespace)
	refusal := g.Compare(t.Context())
	if !errors.Is(refusal, errRefused) {
		t.Fatalf("another store: %v", refusal)
	}
	if got := ask(t, g, false).Code; got != http.StatusOK {
		t.Errorf("discovery and health: %d", got)
	}
	got := ask(t, g, true)
	var said metav1.Status
	if err := json.Unmarshal(got.Body.Bytes(), &said); err != nil {
		t.Fatal(err)
	}
	if got.Code != http.StatusServiceUnavailable || got.Header().Get("Retry-After") != "1" || said.Message != refusal.Error() || said.Reason != metav1.StatusReasonServiceUnavailable {
		t.Errorf("an object: %d, Retry-After %q, %+v", got.Code, got.Header().Get("Retry-After"), said)
	}
	if err := host.Tracker().Update(configMaps, configMap("mine", data("theirs", "1")), namespace); err != nil {
		t.Fatal(err)
	}
	if err := g.Compare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, g, true).Code; got != http.StatusOK || g.Err() != nil {
		t.Errorf("an object of an accepted store: %d, %v", got, g.Err())
	}
}

func TestGate_IsOpenWithoutAManagementCluster(t *testing.T) {
	var g *Gate
	if got := ask(t, g, true).Code; got != http.StatusOK || g.Err() != nil || g.Compare(t.Context()) != nil || g.Run(t.Context()) != nil || !g.Await(t.Context()) {
		t.Errorf("an object: %d", got)
	}
}

// running runs the gate until stop, which returns what Run has.
func running(t *testing.T, g *Gate) (stop func() error) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx) }()
	return func() error { cancel(); return <-ended }
}

func TestGate_ServesAnAcceptedStoreWithinSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := fake.NewClientset(configMap("", data("theirs", "1")))
		g := newGate(storeOf(mine(1)), host, namespace)
		_ = g.Compare(t.Context())
		stop := running(t, g)
		waiting, giveUp := context.WithCancel(t.Context())
		opened := make(chan bool, 1)
		go func() { opened <- g.Await(waiting) }()
		time.Sleep(5 * refresh)
		if g.Err() == nil || len(opened) > 0 {
			t.Fatal("another store is served after a while")
		}
		if err := host.Tracker().Update(configMaps, configMap("mine", data("theirs", "1")), namespace); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if err := g.Err(); err != nil || len(opened) > 0 {
			t.Errorf("an accepted store is refused: %v, and controllers act on it: %t", err, len(opened) > 0)
		}
		giveUp()
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestGate_StaysOpenWithoutTheManagementCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := fake.NewClientset()
		var revision atomic.Int64
		g := newGate(&fakeStore{now: func() (state, error) { return mine(revision.Add(1)), nil }}, host, namespace)
		if err := g.Compare(t.Context()); err != nil {
			t.Fatal(err)
		}
		var away atomic.Bool
		away.Store(true)
		host.PrependReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
			return away.Load(), nil, errors.New("connection refused")
		})
		stop := running(t, g)
		time.Sleep(5 * refresh)
		synctest.Wait()
		if err := g.Err(); err != nil {
			t.Errorf("while the management cluster is unreachable: %v", err)
		}
		away.Store(false)
		time.Sleep(refresh)
		synctest.Wait()
		if got, _ := known(t, host); got[revisionKey] == "1" {
			t.Errorf("the management cluster knows %v, and is back for a minute", got)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestGate_RecreatesADeletedConfigMap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := fake.NewClientset()
		g := newGate(storeOf(mine(1)), host, namespace)
		_ = g.Compare(t.Context())
		stop := running(t, g)
		if err := host.Tracker().Delete(configMaps, namespace, ConfigMapName); err != nil {
			t.Fatal(err)
		}
		time.Sleep(refresh)
		synctest.Wait()
		if got, _ := known(t, host); got[idKey] != "mine" {
			t.Errorf("the management cluster knows %v", got)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// An administrator has accepted the store of another replica.
func TestGate_RunEndsWhenAnotherStoreIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := fake.NewClientset()
		g := newGate(storeOf(mine(1)), host, namespace)
		_ = g.Compare(t.Context())
		stop := running(t, g)
		if err := host.Tracker().Update(configMaps, configMap("", data("theirs", "5")), namespace); err != nil {
			t.Fatal(err)
		}
		time.Sleep(refresh)
		synctest.Wait()
		if err := stop(); !errors.Is(err, errRefused) || !strings.Contains(err.Error(), "the management cluster expects theirs") {
			t.Errorf("it ended with %v", err)
		}
	})
}

func TestGate_ClosesWhenTheStoreIsReplacedWhileItIsServed(t *testing.T) {
	for name, tc := range map[string]struct {
		to       state
		accepted string
		says     string // of the process that served it
		next     string // of the next process; empty when it serves
		held     bool   // by the next process
	}{
		"another":                        {state{"theirs", "c", 1}, "", "the store has the ID theirs", "the management cluster expects mine", false},
		"another, further":               {state{"theirs", "c", 90}, "", "the store has the ID theirs", "the management cluster expects mine", false},
		"another, accepted before":       {state{"theirs", "c", 1}, "theirs", "the store has the ID theirs", "", true},
		"older than the known one":       {mine(9), "", "at revision 9, and was at 20 before", "was at 20 before", false},
		"older than was seen":            {mine(15), "", "at revision 15, and was at 20 before", "was at 20 before", false},
		"older than was seen, elsewhere": {state{"mine", "d", 15}, "", "at revision 15, and was at 20 before", "was at 20 before", false},
		"restored":                       {mine(1_000_000_015), "", "was restored", "", true},
		"restored to another cluster":    {state{"mine", "d", 20}, "", "in the etcd cluster d", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				host, now := fake.NewClientset(), atomic.Pointer[state]{}
				now.Store(new(mine(10)))
				g := newGate(&fakeStore{now: func() (state, error) { return *now.Load(), nil }}, host, namespace)
				if err := g.Compare(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := host.Tracker().Update(configMaps, configMap(tc.accepted, data("mine", "10")), namespace); err != nil {
					t.Fatal(err)
				}
				stop := running(t, g)
				now.Store(new(mine(20)))
				time.Sleep(retry)
				synctest.Wait()
				now.Store(&tc.to)
				time.Sleep(retry)
				synctest.Wait()
				if got := ask(t, g, true).Code; got != http.StatusServiceUnavailable {
					t.Errorf("an object: %d", got)
				}
				if err := stop(); !errors.Is(err, errRefused) || !strings.Contains(err.Error(), tc.says) {
					t.Errorf("it ended with %v, want %q", err, tc.says)
				}
				if err := g.Compare(t.Context()); !errors.Is(err, errRefused) { // as at the end of a process
					t.Errorf("the same process compares it again: %v", err)
				}
				store := storeOf(tc.to)
				next := newGate(store, host, namespace)
				if err := next.Compare(t.Context()); (err == nil) != (tc.next == "") || err != nil && !strings.Contains(err.Error(), tc.next) {
					t.Errorf("the next process: %v, want %q", err, tc.next)
				}
				if (store.held != "") != tc.held {
					t.Errorf("the controllers of the next process wait because of %q, want that they do: %t", store.held, tc.held)
				}
			})
		})
	}
}

// An etcd ends its connections when its data is replaced.
func TestGate_ComparesTheStoreBeforeANewConnectionIsUsed(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	away := errors.New("no leader")
	for name, tc := range map[string]struct {
		served bool // before
		now    state
		away   error
		says   string // empty if the connection is used
		closed bool
	}{
		"nothing was served":          {false, state{"theirs", "c", 1}, nil, "", true},
		"the store that was served":   {true, mine(20), nil, "", false},
		"another":                     {true, state{"theirs", "c", 90}, nil, "the store has the ID theirs", true},
		"an older copy":               {true, mine(9), nil, "at revision 9, and was at 10 before", true},
		"a store that cannot be read": {true, mine(20), away, "no leader", false},
	} {
		t.Run(name, func(t *testing.T) {
			now, broken := mine(10), error(nil)
			g := newGate(&fakeStore{now: func() (state, error) { return now, broken }}, fake.NewClientset(), namespace)
			if tc.served {
				if err := g.Compare(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			now, broken = tc.now, tc.away
			conn, err := g.Dial(t.Context(), "tcp", listener.Addr().String())
			if conn != nil {
				defer func() { _ = conn.Close() }()
			}
			if (conn != nil) != (tc.says == "") || (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("Dial = %v, %v, want %q", conn, err, tc.says)
			}
			if got := g.Err() != nil; got != tc.closed {
				t.Errorf("the gate is closed by %v, want that it is: %t", g.Err(), tc.closed)
			}
		})
	}
	if conn, err := (*Gate)(nil).Dial(t.Context(), "tcp", listener.Addr().String()); err != nil {
		t.Errorf("without a management cluster: %v", err)
	} else {
		_ = conn.Close()
	}
}

// The store is replaced between two reads of which the second one is that of a comparison.
func TestGate_ComparisonDoesNotServeAReplacedStore(t *testing.T) {
	host, now := fake.NewClientset(), mine(10)
	s := &fakeStore{now: func() (state, error) { return now, nil }}
	g := newGate(s, host, namespace)
	if err := g.Compare(t.Context()); err != nil {
		t.Fatal(err)
	}
	now.cluster = "d"
	if err := g.Compare(t.Context()); !errors.Is(err, errRefused) || g.Err() == nil || s.held != "" {
		t.Errorf("Compare = %v; the gate is closed by %v, and the store held by %q", err, g.Err(), s.held)
	}
	if got, _ := known(t, host); got[clusterKey] != "c" {
		t.Errorf("the known store is %v", got)
	}
}

func TestGate_ControllersWaitUntilTheStoreIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var held atomic.Bool
		held.Store(true)
		s := &releasable{fakeStore: storeOf(mine(1)), held: &held}
		g := newGate(s, fake.NewClientset(), namespace)
		if err := g.Compare(t.Context()); err != nil {
			t.Fatal(err)
		}
		stop := running(t, g)
		started := make(chan bool, 1)
		go func() { started <- g.Await(t.Context()) }()
		time.Sleep(5 * refresh)
		if g.Err() != nil || len(started) > 0 {
			t.Errorf("after a while the gate is closed by %v, and the controllers run: %t", g.Err(), len(started) > 0)
		}
		held.Store(false)
		time.Sleep(2 * retry)
		synctest.Wait()
		if len(started) == 0 || !<-started {
			t.Error("the controllers wait, and the store is released")
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// releasable is a store that is held until it is released.
type releasable struct {
	*fakeStore
	held *atomic.Bool
}

func (s *releasable) read(ctx context.Context) (state, string, error) {
	now, _, err := s.fakeStore.read(ctx)
	if s.held.Load() {
		return now, "restored", err
	}
	return now, "", err
}

func TestGate_StopEndsTheWait(t *testing.T) {
	g := newGate(storeOf(mine(1)), fake.NewClientset(), namespace)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if g.Await(ctx) {
		t.Error("the controllers of a store that is not known run")
	}
}

func TestGate_StaysOpenWhileTheStoreCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		g := newGate(&fakeStore{now: func() (state, error) {
			if away.Load() {
				return state{}, errors.New("no leader")
			}
			return mine(10), nil
		}}, fake.NewClientset(), namespace)
		if err := g.Compare(t.Context()); err != nil {
			t.Fatal(err)
		}
		stop := running(t, g)
		away.Store(true)
		time.Sleep(3 * refresh)
		away.Store(false)
		time.Sleep(retry)
		synctest.Wait()
		if err := errors.Join(g.Err(), stop()); err != nil {
			t.Error(err)
		}
	})
}
