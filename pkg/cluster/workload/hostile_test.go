// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/networks"
)

var onLoopback = networks.Networks{Allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}

// hostileServer is the server of a tenant.
type hostileServer struct {
	*httptest.Server
	woken chan struct{}
	// changes receives the provider IDs of Nodes that have changed.
	changes chan string
}

// unwantedID is a provider ID without a Machine.
const unwantedID = "unwanted"

func newHostileServer(t *testing.T, handler http.HandlerFunc) *hostileServer {
	s := &hostileServer{Server: httptest.NewTLSServer(handler), woken: make(chan struct{}, 100), changes: make(chan string, 100)}
	t.Cleanup(s.Close)
	t.Cleanup(s.CloseClientConnections) // Before Close, which waits for them.
	return s
}

func (s *hostileServer) kubeconfig(url string) []byte {
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %s}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`, url, ca)
}

// connect opens a connection like Clusters.
func (s *hostileServer) connect(t *testing.T, allowed networks.Networks, url string) (*Connection, error) {
	t.Helper()
	config, err := parseKubeconfig(s.kubeconfig(url))
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Networks: allowed}
	c, err := dial(t.Context(), dialOptions{
		cluster: blue, config: o.configure(config, newReadLimits().limiters(blue.Namespace)),
		wake: func() { s.woken <- struct{}{} }, onNode: func(n *corev1.Node) { s.changes <- n.Spec.ProviderID },
		hasMachine: func(id string) bool { return id != unwantedID }, listSlots: newListSlots(),
	})
	if err == nil {
		t.Cleanup(func() { c.close(&NotConnectedError{Cluster: blue, Reason: errStopped, ended: true}) })
	}
	return c, err
}

// waitForFatalError waits until the connection has a fatal error and returns it.
func (s *hostileServer) waitForFatalError(t *testing.T, c *Connection) error {
	t.Helper()
	for {
		select {
		case <-s.woken:
			if fatal, _ := c.lastErrors(); fatal != nil {
				return fatal
			}
		case <-time.After(time.Minute):
			fatal, watching := c.lastErrors()
			t.Fatalf("the connection is still open: %v, %v", fatal, watching)
		}
	}
}

func write(w http.ResponseWriter, obj any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(obj)
}

func TestConnection_ConnectsOnlyToAllowedAddresses(t *testing.T) {
	var asked atomic.Int32
	s := newHostileServer(t, func(w http.ResponseWriter, _ *http.Request) { asked.Add(1) })
	_, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "https://"), ":")
	management := networks.NewManagement()
	management.Set("ServiceCIDR kubernetes", netip.MustParsePrefix("10.96.0.0/12"))
	management.Set("Node a", netip.MustParsePrefix("192.0.2.10/32"), netip.MustParsePrefix("10.244.1.0/24"))
	for url, want := range map[string]string{
		s.URL:                                      "127.0.0.1 is not an address that the server may connect to",
		"https://localhost:" + port:                "is not an address that the server may connect to", // A host name.
		"https://[::ffff:127.0.0.1]:" + port:       "127.0.0.1 is not an address",
		"https://0.0.0.0:" + port:                  "0.0.0.0 is not an address",
		"https://169.254.169.254/latest/meta-data": "169.254.169.254 is not an address",
		"https://10.96.0.1":                        "10.96.0.1 is not an address",
		"https://192.0.2.10:6443":                  "192.0.2.10 is not an address",
		"https://10.244.1.5:9093":                  "10.244.1.5 is not an address",
		"https://[fd00:ec2::254]":                  "fd00:ec2::254 is not an address",
	} {
		if _, err := s.connect(t, networks.Networks{Management: management}, url); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the server received %d requests", n)
	}
	// If the management cluster manages itself, the flag contains one of its own addresses.
	management.Set("Node b", netip.MustParsePrefix("127.0.0.1/32"))
	itself := networks.Networks{Allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Management: management}
	if _, err := s.connect(t, itself, s.URL); asked.Load() == 0 {
		t.Errorf("cannot connect to an address that the flag allows: %v", err)
	}
}

func TestConnection_DoesNotFollowRedirects(t *testing.T) {
	var asked atomic.Int32
	other := newHostileServer(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	s := newHostileServer(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, http.StatusFound) })
	if _, err := s.connect(t, onLoopback, s.URL); err == nil || !strings.Contains(err.Error(), "302") {
		t.Errorf("%v, want status 302", err)
	}
	if asked.Load() != 0 {
		t.Error("the other server received a request")
	}
}

func TestConnection_RejectsServersOfOtherAuthorities(t *testing.T) {
	var asked atomic.Int32
	other := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(other.Close)
	s := newHostileServer(t, func(http.ResponseWriter, *http.Request) {})
	s.Certificate().Raw[len(s.Certificate().Raw)-1] ^= 1 // Only in the kubeconfig.
	if _, err := s.connect(t, onLoopback, other.URL); err == nil {
		t.Error("connected")
	}
	if asked.Load() != 0 {
		t.Error("the server received a request")
	}
}

func TestProbe_ReturnsErrorsOfTheServer(t *testing.T) {
	for code, want := range map[int]string{
		http.StatusOK: "", http.StatusForbidden: "",
		http.StatusUnauthorized:        errUnauthorized.Error(),
		http.StatusInternalServerError: "GET / returned status 500",
		http.StatusNotFound:            "GET / returned status 404",
	} {
		s := newHostileServer(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/" {
				w.WriteHeader(code)
				_, _ = w.Write([]byte("secret of another user"))
			}
		})
		_, err := s.connect(t, onLoopback, s.URL)
		if got := fmt.Sprint(err); want != "" && got != want || want == "" && err != nil {
			t.Errorf("%d: %v, want %q", code, err, want)
		}
		if code == http.StatusUnauthorized && !errors.Is(err, errUnauthorized) {
			t.Errorf("%v is not errUnauthorized", err)
		}
	}
}

func TestConnection_StopsReadingEndlessResponses(t *testing.T) {
	s := newHostileServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			<-r.Context().Done()
			return
		}
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
	})
	o := Options{}
	config, err := parseKubeconfig(s.kubeconfig(s.URL))
	if err != nil {
		t.Fatal(err)
	}
	o.Networks = onLoopback
	config = o.configure(config, newReadLimits().limiters(blue.Namespace))
	config.WrapTransport = nil
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return limitedTransport{next: next, maxBytes: 1 << 20} })
	_, err = dial(t.Context(), dialOptions{cluster: blue, config: config, wake: func() {}, listSlots: newListSlots()})
	if !errors.Is(err, errTooLarge) && (err == nil || !strings.Contains(err.Error(), errTooLarge.Error())) {
		t.Errorf("%v, want %v", err, errTooLarge)
	}
}

func TestConnection_ClosesAllTCPConnections(t *testing.T) {
	var open atomic.Int32
	closed := make(chan struct{}, 100)
	s := &hostileServer{woken: make(chan struct{}, 100), changes: make(chan string, 100), Server: httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") != "" {
			holdOpen(w, r)
		}
	}))}
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed:
			open.Add(-1)
			closed <- struct{}{}
		}
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	t.Cleanup(s.CloseClientConnections) // Before Close, which waits for them.
	c, err := s.connect(t, onLoopback, s.URL)
	if err != nil || open.Load() == 0 {
		t.Fatalf("%v, with %d connections", err, open.Load())
	}
	c.close(&NotConnectedError{Cluster: blue, Reason: errStopped, ended: true})
	soon := time.After(5 * time.Second)
	for open.Load() > 0 {
		select {
		case <-closed:
		case <-soon:
			t.Fatalf("%d connections are still open", open.Load())
		}
	}
}

func TestConnection_RejectsRequestsWhileTheClusterDoesNotAnswer(t *testing.T) {
	s := newHostileServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") != "" {
			<-r.Context().Done()
		}
	})
	c, err := s.connect(t, onLoopback, s.URL)
	if err != nil {
		t.Fatal(err)
	}
	c.rejection.Store(&NotConnectedError{Cluster: blue, Reason: errNo})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if _, err := c.Client().CoreV1().Pods("ns").List(ctx, metav1.ListOptions{}); !errors.Is(err, ErrNotConnected) || !errors.Is(err, errNo) {
		t.Errorf("a request failed with %v, want ErrNotConnected with its reason", err)
	}
	if err := c.probe(ctx); err != nil {
		t.Errorf("a probe failed with %v", err)
	}
	c.rejection.Store(nil)
	s.CloseClientConnections()
	if err := s.Listener.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Client().CoreV1().Pods("ns").List(ctx, metav1.ListOptions{}); err == nil {
		t.Error("the server still answers")
	}
	select {
	case <-s.woken:
	case <-time.After(time.Minute):
		t.Error("a request without a response did not trigger a probe")
	}
}

func TestConnection_LimitsErrorMessages(t *testing.T) {
	long := metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Message: strings.Repeat("x", 1<<20)}
	s := newHostileServer(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/namespaces") {
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusConflict)
		write(w, &long)
	})
	c, err := s.connect(t, onLoopback, s.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Client().CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{}); err == nil || len(err.Error()) > 2*maxErrorResponse {
		t.Errorf("the error has %d bytes", len(fmt.Sprint(err)))
	}
}

// Responses are limited by their decoded size. The first case is a list of Pods of usual size.
func TestConnection_LimitsResponsesByTheirEntries(t *testing.T) {
	pod := `{"metadata":{"name":"p","labels":{"a":"[[[[{{{{,,,,\\\",,,"}},"spec":{"containers":[{"env":[` + strings.Repeat(`{"name":"A","value":"b"},`, 30) + `{}]}]}}`
	const list, containers = `{"kind":"PodList","apiVersion":"v1","items":[`, `{"kind":"PodList","apiVersion":"v1","items":[{"spec":{"containers":[`
	for name, test := range map[string]struct {
		kind, answer string
		fails        bool
	}{
		"100 Pods":         {"application/json", list + strings.Repeat(pod+",", 99) + pod + "]}", false},
		"empty containers": {"application/json", containers + strings.Repeat("{},", 100_000) + "{}]}}]}", true},
		"null entries":     {"application/json", containers + strings.Repeat("null,", 100_000) + "null]}}]}", true},
		"empty labels":     {"application/json", list + `{"metadata":{"labels":{` + strings.Repeat(`"":"",`, 600_000) + `"":""}}}]}`, true},
		"a long string":    {"application/json", list + `{"metadata":{"name":"` + strings.Repeat("x", maxCallerResponse) + `"}}]}`, true},
		"not JSON":         {"application/vnd.kubernetes.protobuf", "k8s\x00", true},
		"deep nesting":     {"application/json", list + `{"metadata":` + strings.Repeat(`{"a":`, 1000), true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newHostileServer(t, func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/pods") {
					w.Header().Set("Content-Type", test.kind)
					_, _ = fmt.Fprint(w, test.answer)
				}
			})
			c, err := s.connect(t, onLoopback, s.URL)
			if err != nil {
				t.Fatal(err)
			}
			pods, err := c.Client().CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
			if test.fails != (err != nil) || test.fails && !errors.Is(err, errTooLarge) && !errors.Is(err, errSyntax) {
				t.Errorf("%v, want an error: %t", err, test.fails)
			}
			if !test.fails && len(pods.Items) != 100 {
				t.Errorf("%d Pods were read, want 100", len(pods.Items))
			}
		})
	}
}
