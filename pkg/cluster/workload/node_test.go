// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// readFrom decodes a Node from an object.
func readFrom(t *testing.T, obj any) *Node {
	t.Helper()
	raw, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	r, err := readNode(newStream(strings.NewReader(string(raw))))
	if err != nil {
		t.Fatal(err)
	}
	node, err := r.cachedNode()
	if err != nil {
		t.Fatal(err)
	}
	return node
}

func TestNode_ContainsTheFieldsOfMachinesAndHealthChecks(t *testing.T) {
	since := metav1.NewTime(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	info := corev1.NodeSystemInfo{
		MachineID: "m", SystemUUID: "s", BootID: "b", KernelVersion: "6.1", OSImage: "Photon \"5\"", ContainerRuntimeVersion: "c",
		KubeletVersion: "v1.36.3", OperatingSystem: "linux", Architecture: "amd64",
	}
	full := nodeOf("n", "vsphere://1")
	full.UID, full.Labels, full.Finalizers = "u", map[string]string{"a": "b"}, []string{"x"}
	full.Status.NodeInfo = info
	full.Status.Conditions = []corev1.NodeCondition{
		{Type: "Other", Status: "False", Message: "reported by the problem detector", LastTransitionTime: since},
		{Type: "Ready", Status: "True", Message: "kubelet is posting", Reason: "KubeletReady", LastHeartbeatTime: since, LastTransitionTime: since},
		{Type: "DiskPressure", Status: "not a status"},
	}
	full.Status.Images = []corev1.ContainerImage{{Names: []string{"image"}}}
	got := readFrom(t, full)
	want := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u"}, Spec: corev1.NodeSpec{ProviderID: "vsphere://1"}}
	want.Status.NodeInfo = info
	want.Status.Conditions = []corev1.NodeCondition{
		{Type: "Other", Status: "False", LastTransitionTime: since},
		{Type: "Ready", Status: "True", Message: "kubelet is posting", LastTransitionTime: since},
		{Type: "DiskPressure", Status: "Unknown"},
	}
	if diff := gocmp.Diff(want, got.Node); diff != "" {
		t.Errorf("Node (-want +got):\n%s", diff)
	}
}

func TestNode_ChangesItsSumWithSynchronizedFields(t *testing.T) {
	first := readFrom(t, nodeOf("n", "1")).Sum
	for name, test := range map[string]struct {
		change  func(*corev1.Node)
		differs bool
	}{
		"a label":       {func(n *corev1.Node) { n.Labels = map[string]string{"a": "b"} }, true},
		"an annotation": {func(n *corev1.Node) { n.Annotations = map[string]string{"a": "b"} }, true},
		"a taint":       {func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "a"}} }, true},
		"a heartbeat":   {func(n *corev1.Node) { n.Status.Conditions = []corev1.NodeCondition{{Type: "Ready"}} }, false},
		"a finalizer":   {func(n *corev1.Node) { n.Finalizers = []string{"a"} }, false},
	} {
		n := nodeOf("n", "1")
		test.change(n)
		if differs := readFrom(t, n).Sum != first; differs != test.differs {
			t.Errorf("%s: the sum differs: %t, want %t", name, differs, test.differs)
		}
	}
}

func TestNode_HasAtMostFourKiB(t *testing.T) {
	long := strings.Repeat("é", 5_000)
	n := nodeOf(strings.Repeat("n", 253), strings.Repeat("p", 512))
	for i := range 100 {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeConditionType(fmt.Sprintf("%060d", i)), Message: long})
	}
	for range 100 {
		for _, kind := range healthConditions {
			n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeConditionType(kind), Message: long})
		}
	}
	i := &n.Status.NodeInfo
	for _, text := range []*string{&i.MachineID, &i.SystemUUID, &i.BootID, &i.KernelVersion, &i.OSImage, &i.ContainerRuntimeVersion, &i.KubeletVersion, &i.OperatingSystem, &i.Architecture} {
		*text = long
	}
	got := readFrom(t, n)
	size := int(unsafe.Sizeof(*got)) + len(got.Name) + len(got.UID) + len(got.Spec.ProviderID) + cap(got.Status.Conditions)*int(unsafe.Sizeof(corev1.NodeCondition{}))
	for _, c := range got.Status.Conditions {
		size += len(c.Type) + len(c.Message)
	}
	i = &got.Status.NodeInfo
	size += len(i.MachineID + i.SystemUUID + i.BootID + i.KernelVersion + i.OSImage + i.ContainerRuntimeVersion + i.KubeletVersion + i.OperatingSystem + i.Architecture)
	if size > maxNode || unsafe.Sizeof(*got) > nodeSize || unsafe.Sizeof(corev1.NodeCondition{}) > conditionSize {
		t.Errorf("a Node has %d bytes, of which %d without texts, and a condition %d", size, unsafe.Sizeof(*got), unsafe.Sizeof(corev1.NodeCondition{}))
	}
	for _, kind := range healthConditions {
		if !strings.Contains(fmt.Sprint(got.Status.Conditions), kind) {
			t.Errorf("%s is not cached", kind)
		}
	}
}

// heap returns the size of the heap in bytes.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A tenant's server may send Nodes with any number of empty entries. Each entry takes 3 bytes of JSON and 16 bytes of
// memory.
func TestNodes_CacheOnlyNodesOfMachines(t *testing.T) {
	empty := strings.Repeat(`"",`, 15_500) + `""`
	s := newHostileServer(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/":
		case r.URL.Query().Get("watch") != "":
			holdOpen(w, r)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprint(w, `{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[`)
			for i := range 400 {
				_, _ = fmt.Fprintf(w, `{"metadata":{"name":"n%d","finalizers":[%s]},"spec":{"providerID":"id%d"}},`, i, empty, i)
			}
			_, _ = fmt.Fprint(w, `{"metadata":{"name":"last"}}]}`)
		}
	})
	before := heap()
	c, err := s.connect(t, onLoopback, s.URL)
	if err != nil {
		t.Fatal(err)
	}
	for !c.isSynced() {
		<-s.woken
	}
	_, _ = c.Nodes("id7", "")
	if got := <-s.changes; got != "id7" {
		t.Fatalf("the Node of %s was read, want the Node of id7", got)
	}
	if kept := heap() - before; kept > 4<<20 {
		t.Errorf("%d MiB are used for 399 Nodes without Machines", kept>>20)
	}
}
