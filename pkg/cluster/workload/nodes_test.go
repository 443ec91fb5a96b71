// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// holdOpen sends the response so far and keeps the connection open.
func holdOpen(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// nodeServer is an API server with Nodes.
type nodeServer struct {
	*hostileServer

	mu    sync.Mutex
	nodes map[string]*corev1.Node
	// requested contains the requests for Nodes.
	requested []string
	// events are sent by the next watch, which then ends.
	events chan string
}

func newNodeServer(t *testing.T, nodes ...*corev1.Node) *nodeServer {
	s := &nodeServer{nodes: map[string]*corev1.Node{}, events: make(chan string, 100)}
	for _, n := range nodes {
		s.nodes[n.Name] = n
	}
	s.hostileServer = newHostileServer(t, s.respond)
	return s
}

// nodeOf returns a Node with a provider ID.
func nodeOf(name, id string) *corev1.Node {
	return &corev1.Node{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: "1"}, Spec: corev1.NodeSpec{ProviderID: id},
	}
}

func (s *nodeServer) respond(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if r.URL.Path == "/" {
		return
	}
	s.mu.Lock()
	s.requested = append(s.requested, strings.TrimSpace(strings.TrimPrefix(r.URL.Path, "/api/v1/nodes")+" "+cmp.Or(q.Get("watch"), q.Get("limit"))))
	_, name, isOne := strings.Cut(strings.TrimPrefix(r.URL.Path, "/api/v1"), "nodes/")
	node := s.nodes[name]
	list := &corev1.NodeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
	for _, key := range slices.Sorted(maps.Keys(s.nodes)) {
		if key > q.Get("continue") {
			list.Items = append(list.Items, *s.nodes[key])
		}
	}
	s.mu.Unlock()
	switch {
	case q.Get("watch") != "":
		_ = http.NewResponseController(w).Flush()
		for {
			select {
			case e := <-s.events:
				if e == "" {
					return
				}
				_, _ = fmt.Fprintln(w, e)
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	case isOne && node == nil:
		w.WriteHeader(http.StatusNotFound)
		write(w, &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound})
	case isOne:
		write(w, node)
	default:
		if limit := 0; len(list.Items) > 0 {
			_, _ = fmt.Sscan(q.Get("limit"), &limit)
			if limit < len(list.Items) {
				list.Items = list.Items[:limit]
				list.Continue = list.Items[limit-1].Name
			}
		}
		write(w, list)
	}
}

// requests returns the requests since the last call.
func (s *nodeServer) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	requested := s.requested
	s.requested = nil
	return requested
}

// change waits for a change of a Node with a provider ID.
func (s *nodeServer) change(t *testing.T, id string) {
	t.Helper()
	select {
	case got := <-s.changes:
		if got != id {
			t.Fatalf("a change of the Node with provider ID %q, want %q", got, id)
		}
	case <-time.After(time.Minute):
		t.Fatalf("no change of the Node with provider ID %q", id)
	}
}

// connected returns a connection whose Nodes can be queried.
func (s *nodeServer) connected(t *testing.T) *Connection {
	t.Helper()
	c, err := s.connect(t, onLoopback, s.URL)
	if err != nil {
		t.Fatal(err)
	}
	for !c.isSynced() {
		<-s.woken
	}
	return c
}

// names returns the names of the Nodes with a provider ID.
func names(t *testing.T, c *Connection, id, name string) string {
	t.Helper()
	found, err := c.Nodes(id, name)
	if err != nil {
		return err.Error()
	}
	var all []string
	for _, n := range found {
		all = append(all, n.Name)
	}
	return strings.Join(all, " ")
}

const reading = "workload cluster ns/blue is not connected: its Node is being read"

func event(kind, name, id string) string {
	return fmt.Sprintf(`{"type":%q,"object":{"kind":"Node","metadata":{"name":%q,"resourceVersion":"7"},"spec":{"providerID":%q}}}`, kind, name, id)
}

func TestNodes_AreReadByNameOrInPages(t *testing.T) {
	many := []*corev1.Node{nodeOf("twin1", "twins"), nodeOf("twin2", "twins")}
	for i := range 150 {
		many = append(many, nodeOf(fmt.Sprintf("n%03d", i), fmt.Sprint("id", i)))
	}
	for name, test := range map[string]struct {
		id, name string
		want     string
		requests []string
	}{
		"a name":                       {"id149", "n149", "n149", []string{"/n149"}},
		"no name":                      {"id149", "", "n149", []string{"100", "100"}},
		"a name that no Node has":      {"id149", "other", "n149", []string{"/other", "100", "100"}},
		"a name that another Node has": {"id149", "n148", "n149", []string{"/n148", "100", "100"}},
		"two Nodes":                    {"twins", "", "twin1 twin2", []string{"100", "100"}},
		"an ID in upper case":          {"ID149", "", "n149", []string{"100", "100"}},
		"a name, an ID in upper case":  {"ID149", "n149", "n149", []string{"/n149"}},
		"no Node":                      {"missing", "", "", []string{"100", "100"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newNodeServer(t, many...)
			c := s.connected(t)
			if got := names(t, c, test.id, test.name); got != reading {
				t.Errorf("first result %q, want that the Node is being read", got)
			}
			s.change(t, strings.ToLower(test.id))
			if got := names(t, c, test.id, test.name); got != test.want {
				t.Errorf("Nodes %q, want %q", got, test.want)
			}
			requested := slices.DeleteFunc(s.requests(), func(r string) bool { return r == "true" || r == "1" })
			if diff := gocmp.Diff(test.requests, requested); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if got := names(t, c, "", ""); got != "" {
				t.Errorf("Nodes without a provider ID: %q", got)
			}
		})
	}
}

func TestNodes_AreUpdatedByTheWatchAndListedAfterAnError(t *testing.T) {
	s := newNodeServer(t, nodeOf("n1", "a"))
	c := s.connected(t)
	_, _ = c.Nodes("a", "")
	s.change(t, "a")
	expect := func(want string) {
		t.Helper()
		s.change(t, "a")
		if got := names(t, c, "a", ""); got != want {
			t.Errorf("Nodes %q, want %q", got, want)
		}
	}
	s.events <- event("ADDED", "stranger", "b")
	s.events <- event("MODIFIED", "n2", "a")
	expect("n1 n2")
	s.events <- event("MODIFIED", "n2", "a") // Already known.
	s.events <- event("DELETED", "n1", "a")
	expect("n2")
	s.events <- event("ADDED", "n1", "a")
	expect("n2 n1")
	kept := "n2 n1"
	for i := 2; i < maxDuplicates; i++ {
		kept += fmt.Sprint(" more", i)
		s.events <- event("ADDED", fmt.Sprint("more", i), "A")
		s.change(t, "A")
		if got := names(t, c, "a", ""); got != kept {
			t.Errorf("Nodes %q, want %q", got, kept)
		}
	}
	s.events <- event("ADDED", "last", "a")
	s.events <- event("DELETED", "n2", "a") // The last Node was not cached, so the Nodes are read again.
	s.change(t, "a")
	s.change(t, "a")
	if got := names(t, c, "a", ""); got != "n1" {
		t.Errorf("Nodes %q, want the one of the server", got)
	}
	s.events <- `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}`
	s.events <- ""
	s.requests()
	s.mu.Lock()
	s.nodes = map[string]*corev1.Node{"n4": nodeOf("n4", "a")}
	s.mu.Unlock()
	s.events <- `{"type":"ERROR","object":{"kind":"Status","status":"Failure","code":410,"message":"too old"}}`
	expect("n4")
	requested := slices.DeleteFunc(s.requests(), func(r string) bool { return r == "true" })
	if diff := gocmp.Diff([]string{"100"}, requested); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// All Nodes of a deleted Machine's VM must be found, not only the Node in its nodeRef.
func TestNodes_AreAllReadWithoutAName(t *testing.T) {
	s := newNodeServer(t, nodeOf("twin1", "twins"), nodeOf("twin2", "twins"))
	c := s.connected(t)
	_, _ = c.Nodes("twins", "twin1")
	s.change(t, "twins")
	if got := names(t, c, "twins", "twin1"); got != "twin1" {
		t.Errorf("Nodes %q, want the one that was read by name", got)
	}
	if got := names(t, c, "twins", ""); got != reading {
		t.Errorf("Nodes %q, want that the Nodes are being read", got)
	}
	s.change(t, "twins")
	for _, name := range []string{"", "twin1"} {
		if got := names(t, c, "twins", name); got != "twin1 twin2" {
			t.Errorf("Nodes %q, want both", got)
		}
	}
}

func TestNodes_AreRemovedWithTheirMachines(t *testing.T) {
	s := newNodeServer(t, nodeOf("n", unwantedID))
	c := s.connected(t)
	for _, id := range []string{unwantedID, "a", "b"} {
		_, _ = c.Nodes(id, "")
		s.change(t, id)
	}
	c.nodes.mu.Lock()
	defer c.nodes.mu.Unlock()
	if len(c.nodes.byID) != 2 || len(c.nodes.idByName) != 0 {
		t.Errorf("%d provider IDs and %d names are cached, want 2 and none", len(c.nodes.byID), len(c.nodes.idByName))
	}
}

// No API server sends these responses.
func TestNodes_CloseTheConnectionOnInvalidResponses(t *testing.T) {
	long := strings.Repeat("x", 2*maxText)
	const list = `{"metadata":{"resourceVersion":"1"},"items":[`
	for name, test := range map[string]struct {
		list, event string
		want        error
	}{
		"an endless list of pages":     {list: `{"metadata":{"resourceVersion":"1","continue":"more"}}`, want: errTooManyNodes},
		"too many Nodes in a page":     {list: list + strings.Repeat(`{"metadata":{"name":"n"}},`, 20_000) + `{"metadata":{"name":"n"}}]}`, want: errTooManyNodes},
		"a long string in a list":      {list: list + `{"metadata":{"name":"` + long + `"}}]}`, want: errText},
		"a long skipped string":        {list: list + `{"other":"` + long + `"}]}`, want: errText},
		"a long Node name":             {list: list + `{"metadata":{"name":"` + long[:300] + `"}}]}`, want: errNode},
		"a Node without a name":        {list: list + `{}]}`, want: errNode},
		"depth":                        {list: list + strings.Repeat(`[`, 10_000), want: errDepth},
		"a list that is not JSON":      {list: "k8s\x00", want: errSyntax},
		"no resource version":          {list: `{}`, want: errNode},
		"a large event":                {event: `{"type":"ADDED","object":{"a":[` + strings.Repeat(`"",`, maxObject/2) + `""]}}`, want: errObject},
		"a long string in an event":    {event: `{"type":"ADDED","object":{"metadata":{"name":"` + long + `"}}}`, want: errText},
		"a value that is not an event": {event: `1`, want: errSyntax},
		"an event without a Node":      {event: `{"type":"ADDED"}`, want: errSyntax},
		"deeply nested labels":         {event: `{"type":"ADDED","object":{"metadata":{"labels":` + strings.Repeat(`{"a":`, 1000), want: errDepth},
		"a long Status message":        {event: `{"type":"ERROR","object":{"status":"Failure","message":"` + long + `"}}`, want: errText},
		"a long resource version":      {event: `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"` + long[:100] + `"}}}`, want: errNode},
		"an event that is not JSON":    {event: `}`, want: errSyntax},
	} {
		t.Run(name, func(t *testing.T) {
			s := newHostileServer(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				switch q := r.URL.Query(); {
				case r.URL.Path == "/":
				case q.Get("watch") != "":
					_, _ = fmt.Fprintln(w, test.event)
					holdOpen(w, r)
				case test.list != "" && q.Get("limit") != "1":
					_, _ = fmt.Fprint(w, test.list)
				default:
					_, _ = fmt.Fprint(w, `{"metadata":{"resourceVersion":"1"}}`)
				}
			})
			c, err := s.connect(t, onLoopback, s.URL)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = c.Nodes("a", "")
			if err := s.waitForFatalError(t, c); !errors.Is(err, test.want) {
				t.Errorf("closed with %v, want %v", err, test.want)
			}
		})
	}
}

func TestNodes_CloseTheConnectionOnEndlessLists(t *testing.T) {
	s := newHostileServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"metadata":{"resourceVersion":"1"},"items":[`)
		for i := 0; r.Context().Err() == nil; i++ {
			if _, err := fmt.Fprintf(w, `{"metadata":{"name":"n"},"other":%q},`, strings.Repeat("x", 64<<10)); err != nil {
				return
			}
		}
	})
	c, err := s.connect(t, onLoopback, s.URL)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.waitForFatalError(t, c); !errors.Is(err, errTooLarge) {
		t.Errorf("closed with %v, want %v", err, errTooLarge)
	}
}
