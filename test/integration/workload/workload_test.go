// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"github.com/slipway-dev/slipway/pkg/cluster/workload"
	"github.com/slipway-dev/slipway/pkg/networks"
	"github.com/slipway-dev/slipway/test/workloadcluster"
)

// cluster is the workload cluster of all tests. It is also the management cluster with its Secret: a cluster that
// manages itself.
var cluster *workloadcluster.Cluster

func TestMain(m *testing.M) {
	workloadcluster.Main(m, func(c *workloadcluster.Cluster) { cluster = c })
}

// patience is the time limit for every wait.
const patience = time.Minute

// world is a running workload.Clusters.
type world struct {
	*workload.Clusters
	namespace string
	news      chan struct{}

	mu       sync.Mutex
	nodes    []string
	requests map[string]int
}

// namespace creates a namespace.
func namespace(t *testing.T) string {
	t.Helper()
	made, err := cluster.Client().CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "workload-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made.Name
}

// start runs Clusters for a namespace of the test.
func start(t *testing.T) *world {
	t.Helper()
	versions, err := metadata.NewForConfig(cluster.RestConfig())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{namespace: namespace(t), news: make(chan struct{}, 1), requests: map[string]int{}}
	w.Clusters = workload.New(workload.Options{
		Host: cluster.Client(), Metadata: versions, IsNeeded: func(types.NamespacedName) bool { return true },
		Networks: networks.Networks{Allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
		Wrap: func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) { w.count(r); return next.RoundTrip(r) })
		},
	})
	w.OnCluster(func(types.NamespacedName) { w.tell() })
	w.OnNode(func(_ types.NamespacedName, n *corev1.Node) {
		w.mu.Lock()
		w.nodes = append(w.nodes, n.Name)
		w.mu.Unlock()
		w.tell()
	})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { w.Run(ctx) })
	t.Cleanup(running.Wait)
	t.Cleanup(cancel)
	return w
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (w *world) count(r *http.Request) {
	what := r.Method + " " + r.URL.Path
	if r.URL.Query().Get("watch") != "" {
		what = "WATCH " + r.URL.Path
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests[what]++
}

func (w *world) tell() {
	select {
	case w.news <- struct{}{}:
	default:
	}
}

func (w *world) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: w.namespace, Name: name}
}

// until waits for condition, which is evaluated after every event and twice a second.
func (w *world) until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	again := time.NewTicker(500 * time.Millisecond)
	defer again.Stop()
	for !condition() {
		select {
		case <-w.news:
		case <-again.C:
		case <-deadline.C:
			t.Fatalf("%s: not within %s", what, patience)
		}
	}
}

// connected waits for the connection to a cluster.
func (w *world) connected(t *testing.T, name string) *workload.Connection {
	t.Helper()
	var conn *workload.Connection
	var err error
	w.until(t, "connected", func() bool {
		conn, err = w.Connection(w.key(name))
		return err == nil
	})
	return conn
}

func (w *world) secret(t *testing.T, name string, kubeconfig []byte) {
	t.Helper()
	secret(t, w.key(name), kubeconfig)
}

// secret creates or updates the Secret of a cluster.
func secret(t *testing.T, of types.NamespacedName, kubeconfig []byte) {
	t.Helper()
	s := cluster.Secret(of.Namespace, of.Name)
	s.Data["value"] = kubeconfig
	secrets := cluster.Client().CoreV1().Secrets(of.Namespace)
	_, err := secrets.Create(t.Context(), s, metav1.CreateOptions{})
	if err != nil {
		_, err = secrets.Update(t.Context(), s, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// node creates a Node that is deleted at the end of the test.
func (w *world) node(t *testing.T, name, id string) *corev1.Node {
	t.Helper()
	node, err := cluster.AddNode(t.Context(), w.namespace+name, id, func(n *corev1.Node) {
		n.Status.Images = []corev1.ContainerImage{{Names: []string{"image"}, SizeBytes: 1}}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cluster.Client().CoreV1().Nodes().Delete(context.Background(), node.Name, metav1.DeleteOptions{})
	})
	return node
}

func names(nodes []*workload.Node) []string {
	var all []string
	for _, n := range nodes {
		all = append(all, n.Name)
	}
	return all
}

func TestWorkloadCluster_FindsNodesByProviderID(t *testing.T) {
	w := start(t)
	a := w.node(t, "a", "vsphere://"+w.namespace)
	if _, err := w.Connection(w.key("blue")); !errors.Is(err, workload.ErrNotConnected) {
		t.Fatalf("Connection without a Secret: %v", err)
	}
	w.until(t, "the Secret is missed", func() bool {
		_, err := w.Connection(w.key("blue"))
		return strings.Contains(fmt.Sprint(err), "does not exist")
	})
	w.secret(t, "blue", cluster.Kubeconfig()) // without any label
	conn := w.connected(t, "blue")
	found := func(id string) []string {
		var nodes []*workload.Node
		w.until(t, "the Node is read", func() (known bool) {
			var err error
			nodes, err = conn.Nodes(id, "")
			if err != nil && !errors.Is(err, workload.ErrReading) {
				t.Fatal(err)
			}
			return err == nil
		})
		return names(nodes)
	}
	if diff := cmp.Diff([]string{a.Name}, found("vsphere://"+w.namespace)); diff != "" {
		t.Errorf("Nodes by ID (-want +got):\n%s", diff)
	}
	if got := found(""); got != nil {
		t.Errorf("Nodes without ID: %v", got)
	}
	nodes, err := conn.Nodes("vsphere://"+w.namespace, a.Name)
	if err != nil || len(nodes) != 1 || nodes[0].UID != a.UID || nodes[0].Status.NodeInfo.KubeletVersion == "" || len(nodes[0].Status.Conditions) == 0 {
		t.Errorf("Nodes %v, %v", nodes, err)
	}
	b := w.node(t, "b", "vsphere://"+w.namespace)
	w.until(t, "two Nodes have one ID", func() bool { return len(found("vsphere://"+w.namespace)) == 2 })
	if err := cluster.Client().CoreV1().Nodes().Delete(t.Context(), b.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.until(t, "one is deleted", func() bool { return len(found("vsphere://"+w.namespace)) == 1 })
	if last, failures := w.Probe(w.key("blue")); last.IsZero() || failures != 0 {
		t.Errorf("last probe %s, %d failures", last, failures)
	}
}

func TestWorkloadCluster_SendsEventsForNodeChangesButNotForHeartbeats(t *testing.T) {
	w := start(t)
	a := w.node(t, "a", "vsphere://"+w.namespace)
	w.node(t, "stranger", "vsphere://stranger-"+w.namespace)
	w.secret(t, "blue", cluster.Kubeconfig())
	conn := w.connected(t, "blue")
	w.until(t, "the Node is read", func() bool { _, err := conn.Nodes("vsphere://"+w.namespace, ""); return err == nil })
	beat := func(change func(*corev1.Node)) {
		t.Helper()
		node, err := cluster.Client().CoreV1().Nodes().Get(t.Context(), a.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		change(node)
		if _, err := cluster.Client().CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	beat(func(n *corev1.Node) {
		n.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(time.Now().Add(time.Hour))
	})
	beat(func(n *corev1.Node) { n.Status.Images = nil })
	if err := cluster.SetReady(t.Context(), a.Name, corev1.ConditionFalse); err != nil {
		t.Fatal(err)
	}
	told := func() []string {
		w.mu.Lock()
		defer w.mu.Unlock()
		var own []string
		for _, n := range w.nodes {
			if strings.HasPrefix(n, w.namespace) {
				own = append(own, n)
			}
		}
		return own
	}
	w.until(t, "the change is reported", func() bool { return len(told()) > 0 })
	if err := cluster.Client().CoreV1().Nodes().Delete(t.Context(), a.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.until(t, "the end is reported", func() bool { return len(told()) > 1 })
	if diff := cmp.Diff([]string{a.Name, a.Name}, told()); diff != "" {
		t.Errorf("reported (-want +got):\n%s", diff)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if got := w.requests["GET /api/v1/nodes"]; got != 2 {
		t.Errorf("%d pages were listed, want that of the version and that of the Node", got)
	}
}

func TestWorkloadCluster_UsesAChangedKubeconfigAfterARejection(t *testing.T) {
	w := start(t)
	bad := strings.Replace(string(cluster.Kubeconfig()), "client-certificate-data", "client-certificate-dat", 1)
	bad = strings.Replace(bad, "client-key-data", "token", 1)
	w.secret(t, "blue", []byte(bad))
	w.until(t, "refused", func() bool {
		_, err := w.Connection(w.key("blue"))
		return strings.Contains(fmt.Sprint(err), "401")
	})
	w.secret(t, "blue", cluster.Kubeconfig())
	w.connected(t, "blue")
}

func TestWorkloadCluster_ReportsTheUserThatMayNotListNodes(t *testing.T) {
	w := start(t)
	kubeconfig, err := cluster.UserKubeconfig("guest")
	if err != nil {
		t.Fatal(err)
	}
	w.secret(t, "blue", kubeconfig)
	w.until(t, "the reason is shown", func() bool {
		_, err := w.Connection(w.key("blue"))
		return strings.Contains(fmt.Sprint(err), `User "guest" cannot`)
	})
}

func TestWorkloadCluster_CallersDoNotWaitForASilentCluster(t *testing.T) {
	w := start(t)
	w.secret(t, "blue", cluster.Kubeconfig())
	conn := w.connected(t, "blue")
	if err := cluster.Freeze(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cluster.Thaw() })
	w.until(t, "a probe has failed", func() bool { _, failures := w.Probe(w.key("blue")); return failures > 0 })
	if _, err := conn.Client().CoreV1().Pods(w.namespace).List(t.Context(), metav1.ListOptions{}); !errors.Is(err, workload.ErrNotConnected) {
		t.Errorf("a request failed with %v, want ErrNotConnected", err)
	}
	if err := cluster.Thaw(); err != nil {
		t.Fatal(err)
	}
	w.until(t, "requests pass", func() bool {
		_, err := w.connected(t, "blue").Client().CoreV1().Pods(w.namespace).List(t.Context(), metav1.ListOptions{})
		return err == nil
	})
}
