// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"encoding/json"
	"errors"
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

// gateOf is a gate in front of a store.
func gateOf(host *fake.Clientset, now store) *Gate {
	g := &Gate{host: host, namespace: namespace, read: is(now)}
	g.set(errors.New("not compared yet"))
	return g
}

func ask(t *testing.T, g *Gate, resource bool) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/apis/vm.slipway.dev/v1alpha1/virtualmachines", nil)
	r = r.WithContext(genericapirequest.WithRequestInfo(r.Context(), &genericapirequest.RequestInfo{IsResourceRequest: resource, APIVersion: "v1"}))
	w := httptest.NewRecorder()
	g.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }), scheme.Codecs).ServeHTTP(w, r)
	return w
}

func TestF3ObjectsAre503UntilTheStoreIsKnown(t *testing.T) {
	host := fake.NewClientset(configMap("", data("theirs", "1")))
	g := gateOf(host, store{id: "mine", revision: 1})
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

func TestF3WithoutAHostClusterEverythingIsServed(t *testing.T) {
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

func TestF3AcceptedStoreIsServedWithinSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := fake.NewClientset(configMap("", data("theirs", "1")))
		g := gateOf(host, store{id: "mine", revision: 1})
		_ = g.Compare(t.Context())
		stop := running(t, g)
		opened := make(chan bool, 1)
		go func() { opened <- g.Await(t.Context()) }()
		time.Sleep(5 * refresh)
		if g.Err() == nil || len(opened) > 0 {
			t.Fatal("another store is served after a while")
		}
		if err := host.Tracker().Update(configMaps, configMap("mine", data("theirs", "1")), namespace); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if err := g.Err(); err != nil || len(opened) == 0 || !<-opened {
			t.Errorf("an accepted store is not served: %v", err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestF7HostClusterThatIsAwayClosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := fake.NewClientset()
		var revision atomic.Int64
		g := gateOf(host, store{})
		g.read = func(context.Context) (store, error) { return store{id: "mine", revision: revision.Add(1)}, nil }
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
			t.Errorf("while the host cluster is away: %v", err)
		}
		away.Store(false)
		time.Sleep(refresh)
		synctest.Wait()
		if got, _ := known(t, host); got[revisionKey] == "1" {
			t.Errorf("the host cluster knows %v, and is back for a minute", got)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestF3DeletedConfigMapIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := fake.NewClientset()
		g := gateOf(host, store{id: "mine", revision: 1})
		_ = g.Compare(t.Context())
		stop := running(t, g)
		if err := host.Tracker().Delete(configMaps, namespace, ConfigMapName); err != nil {
			t.Fatal(err)
		}
		time.Sleep(refresh)
		synctest.Wait()
		if got, _ := known(t, host); got[idKey] != "mine" {
			t.Errorf("the host cluster knows %v", got)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// An administrator has accepted the store of another replica: there is one store.
func TestF3ServerWhoseStoreWasReplacedEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := fake.NewClientset()
		g := gateOf(host, store{id: "mine", revision: 1})
		_ = g.Compare(t.Context())
		stop := running(t, g)
		if err := host.Tracker().Update(configMaps, configMap("", data("theirs", "5")), namespace); err != nil {
			t.Fatal(err)
		}
		time.Sleep(refresh)
		synctest.Wait()
		if err := stop(); !errors.Is(err, errRefused) || !strings.Contains(err.Error(), "the host cluster expects theirs") {
			t.Errorf("it ended with %v", err)
		}
	})
}

func TestF3StoreThatIsReplacedWhileItIsServedIsNotServedAnyMore(t *testing.T) {
	for name, tc := range map[string]struct {
		to       store
		accepted string
		says     string // of the process that served
		next     string // of the one that follows; empty when it serves
	}{
		"another":                           {store{"theirs", 1}, "", "it has the ID theirs", "the host cluster expects mine"},
		"another, further":                  {store{"theirs", 90}, "", "it has the ID theirs", "the host cluster expects mine"},
		"another, accepted before":          {store{"theirs", 1}, "theirs", "it has the ID theirs", ""},
		"older than the host cluster knows": {store{"mine", 9}, "", "at revision 9, and was at 20 before", "was at 20 before"},
		"older than was seen":               {store{"mine", 15}, "", "at revision 15, and was at 20 before", "was at 20 before"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				host, now := fake.NewClientset(), atomic.Pointer[store]{}
				now.Store(&store{"mine", 10})
				read := func(context.Context) (store, error) { return *now.Load(), nil }
				g := gateOf(host, store{})
				g.read = read
				if err := g.Compare(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := host.Tracker().Update(configMaps, configMap(tc.accepted, data("mine", "10")), namespace); err != nil {
					t.Fatal(err)
				}
				stop := running(t, g)
				now.Store(&store{"mine", 20})
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
				_ = g.Compare(t.Context()) // as at the end of a process
				next := gateOf(host, tc.to)
				if err := next.Compare(t.Context()); (err == nil) != (tc.next == "") || err != nil && !strings.Contains(err.Error(), tc.next) {
					t.Errorf("the next process: %v, want %q", err, tc.next)
				}
			})
		})
	}
}

func TestF3StoreThatCannotBeReadForAWhileIsServedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		g := gateOf(fake.NewClientset(), store{})
		g.read = func(context.Context) (store, error) {
			if away.Load() {
				return store{}, errors.New("no leader")
			}
			return store{"mine", 10}, nil
		}
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
