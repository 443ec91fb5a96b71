// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// commonOf returns the annotations of the Node, including the tracking annotations.
func commonOf(labels, annotations string, more ...string) map[string]string {
	all := map[string]string{
		"cluster.x-k8s.io/cluster-name": "c", "cluster.x-k8s.io/cluster-namespace": "ns", "cluster.x-k8s.io/machine": "m",
		"cluster.x-k8s.io/labels-from-machine": labels, "cluster.x-k8s.io/annotations-from-machine": annotations,
		"cluster.x-k8s.io/taints-from-machine": "",
	}
	for i := 0; i < len(more); i += 2 {
		all[more[i]] = more[i+1]
	}
	return all
}

func wantedOf(change ...func(*clusterv1alpha1.Machine)) Source {
	m := &clusterv1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m"}, Spec: clusterv1alpha1.MachineSpec{ClusterName: "c"}}
	for _, f := range change {
		f(m)
	}
	return Source{Machine: m, Interruptible: ptr.To(false)}
}

func labelled(labels ...string) func(*clusterv1alpha1.Machine) {
	return func(m *clusterv1alpha1.Machine) { m.Labels = pairs(labels...) }
}

func annotated(annotations ...string) func(*clusterv1alpha1.Machine) {
	return func(m *clusterv1alpha1.Machine) { m.Annotations = pairs(annotations...) }
}

func tainted(taints ...clusterv1alpha1.MachineTaint) func(*clusterv1alpha1.Machine) {
	return func(m *clusterv1alpha1.Machine) { m.Spec.Taints = taints }
}

func pairs(all ...string) map[string]string {
	m := map[string]string{}
	for i := 0; i < len(all); i += 2 {
		m[all[i]] = all[i+1]
	}
	return m
}

// apply creates and applies the patch. It checks that the patch has a resource version, and that a second patch is
// empty.
func apply(t *testing.T, r Rules, w Source, node *corev1.Node) *corev1.Node {
	t.Helper()
	node = node.DeepCopy()
	node.Name, node.ResourceVersion = "n", "7"
	before := node.DeepCopy()
	patch, err := r.Patch(w, node)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, node); diff != "" {
		t.Fatalf("Patch has changed the Node (-was +is):\n%s", diff)
	}
	if patch == nil {
		return node
	}
	if !strings.Contains(string(patch), `"resourceVersion":"7"`) {
		t.Errorf("the patch has no resource version: %s", patch)
	}
	after := merge(t, node, patch)
	if again, err := r.Patch(w, after); err != nil || again != nil {
		t.Errorf("the second patch is %s, %v, want none", again, err)
	}
	return after
}

func merge(t *testing.T, node *corev1.Node, patch []byte) *corev1.Node {
	t.Helper()
	raw, err := json.Marshal(node)
	if err != nil {
		t.Fatal(err)
	}
	merged, err := strategicpatch.StrategicMergePatch(raw, patch, corev1.Node{})
	if err != nil {
		t.Fatal(err)
	}
	after := &corev1.Node{}
	if err := json.Unmarshal(merged, after); err != nil {
		t.Fatal(err)
	}
	return after
}

func TestPatch_CopiesManagedLabels(t *testing.T) { // Behaviors MB70 of test/behaviours.
	w := wantedOf(labelled(
		"node-role.kubernetes.io/anything", "", "node-restriction.kubernetes.io/a", "1", "custom.node-restriction.kubernetes.io/a", "2",
		"node.cluster.x-k8s.io/a", "3", "custom.node.cluster.x-k8s.io/a", "4", "node.cluster.x-k8s.io", "5", "foo/bar", "6", "example.org/x", "7",
		"sub.node-role.kubernetes.io/worker", "no", "xnode-restriction.kubernetes.io/a", "no", "cluster.x-k8s.io/cluster-name", "no", "plain", "no", "foo", "no",
	))
	rules := Rules{Labels: []*regexp.Regexp{regexp.MustCompile(`^foo/`), regexp.MustCompile(`^example\.org/`)}}
	got := apply(t, rules, w, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: pairs("kubernetes.io/hostname", "n")}})
	want := pairs("kubernetes.io/hostname", "n", "node-role.kubernetes.io/anything", "", "node-restriction.kubernetes.io/a", "1",
		"custom.node-restriction.kubernetes.io/a", "2", "node.cluster.x-k8s.io/a", "3", "custom.node.cluster.x-k8s.io/a", "4",
		"node.cluster.x-k8s.io", "5", "foo/bar", "6", "example.org/x", "7")
	if diff := cmp.Diff(want, got.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	tracked := "custom.node-restriction.kubernetes.io/a,custom.node.cluster.x-k8s.io/a,example.org/x,foo/bar,node-restriction.kubernetes.io/a," +
		"node-role.kubernetes.io/anything,node.cluster.x-k8s.io,node.cluster.x-k8s.io/a"
	if diff := cmp.Diff(commonOf(tracked, ""), got.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}

func TestPatch_ChangesOnlyMetadataFromTheMachine(t *testing.T) {
	const own, other = "node.cluster.x-k8s.io/a", "example.org/other"
	labels := clusterv1alpha1.LabelsFromMachineAnnotation
	for name, test := range map[string]struct {
		machine      Source
		labels       map[string]string
		annotations  map[string]string
		wantLabels   map[string]string
		wantAnnotate map[string]string
	}{
		"a label of the Node is overwritten, others stay": { // Behaviors MB71 of test/behaviours.
			wantedOf(labelled(own, "new")), pairs(own, "old", other, "x"), nil, pairs(own, "new", other, "x"), commonOf(own, ""),
		},
		"a label is tracked, and later removed": { // Behaviors MB72, MB77 of test/behaviours.
			wantedOf(), pairs(own, "v", other, "x"), pairs(labels, own), pairs(other, "x"), commonOf("", ""),
		},
		"a label changes": { // Behaviors MB77 of test/behaviours.
			wantedOf(labelled(own, "2")), pairs(own, "1"), commonOf(own, ""), pairs(own, "2"), commonOf(own, ""),
		},
		"a label that was removed is no longer tracked": { // Behaviors MB77 of test/behaviours.
			wantedOf(), pairs(other, "x"), commonOf(own, ""), pairs(other, "x"), commonOf("", ""),
		},
		"a label that was removed is set again": {
			wantedOf(labelled(own, "1")), pairs(other, "x"), commonOf(own, ""), pairs(own, "1", other, "x"), commonOf(own, ""),
		},
		"no labels of the Machine": { // Behaviors MB75 of test/behaviours.
			wantedOf(), pairs(other, "x"), nil, pairs(other, "x"), commonOf("", ""),
		},
		"annotations are added to existing ones": { // Behaviors MB76 of test/behaviours.
			wantedOf(annotated(own, "1", other, "no")), nil, pairs(other, "x"), nil, commonOf("", own, own, "1", other, "x"),
		},
		"an annotation that was removed from the Machine is removed": { // Behaviors MB79 of test/behaviours.
			wantedOf(), nil, commonOf("", own, own, "1", other, "x"), nil, commonOf("", "", other, "x"),
		},
		"invalid tracking annotations are corrected": { // Behaviors MB79 of test/behaviours: common annotations are never tracked.
			wantedOf(), nil, commonOf("", "cluster.x-k8s.io/machine,cluster.x-k8s.io/labels-from-machine,,x"), nil, commonOf("", ""),
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := apply(t, Rules{}, test.machine, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: test.labels, Annotations: test.annotations}})
			if diff := cmp.Diff(test.wantLabels, got.Labels); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.wantAnnotate, got.Annotations); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPatch_AnnotatesMachineClusterAndOwner(t *testing.T) { // Behaviors MB78 of test/behaviours.
	rules := Rules{Annotations: []*regexp.Regexp{regexp.MustCompile(`^(example\.org/|cluster\.x-k8s\.io/)`)}}
	w := wantedOf(annotated("example.org/a", "1", "custom.node.cluster.x-k8s.io/a", "2", "plain", "no",
		"cluster.x-k8s.io/machine", "liar", "cluster.x-k8s.io/taints-from-machine", "liar", "cluster.x-k8s.io/owner-name", "liar"))
	w.Machine.OwnerReferences = []metav1.OwnerReference{{Kind: "Cluster", Name: "c"}, {Kind: "MachineSet", Name: "ms", Controller: ptr.To(true)}}
	owned := apply(t, rules, w, &corev1.Node{})
	want := commonOf("", "custom.node.cluster.x-k8s.io/a,example.org/a", "cluster.x-k8s.io/owner-kind", "MachineSet",
		"cluster.x-k8s.io/owner-name", "ms", "example.org/a", "1", "custom.node.cluster.x-k8s.io/a", "2")
	if diff := cmp.Diff(want, owned.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	w.Machine.OwnerReferences, w.Machine.Annotations = nil, nil
	if diff := cmp.Diff(commonOf("", ""), apply(t, rules, w, owned).Annotations); diff != "" {
		t.Errorf("annotations without owner (-want +got):\n%s", diff)
	}
}

func TestPatch_SetsTheInterruptibleLabelByInfrastructure(t *testing.T) { // Behaviors MB73 of test/behaviours.
	const label = clusterv1alpha1.InterruptibleLabel
	w := wantedOf()
	w.Interruptible = ptr.To(true)
	node := apply(t, Rules{}, w, &corev1.Node{})
	if _, has := node.Labels[label]; !has || node.Annotations[clusterv1alpha1.LabelsFromMachineAnnotation] != label {
		t.Fatalf("labels %v, annotations %v", node.Labels, node.Annotations)
	}
	w.Interruptible = nil // It could not be read.
	node = apply(t, Rules{}, w, node)
	if _, has := node.Labels[label]; !has {
		t.Error("an unknown value was treated as false")
	}
	w.Interruptible = ptr.To(false)
	if _, has := apply(t, Rules{}, w, node).Labels[label]; has {
		t.Error("the label was not removed")
	}
	w.Interruptible = nil
	if _, has := apply(t, Rules{}, w, &corev1.Node{}).Labels[label]; has {
		t.Error("an unknown value was treated as true")
	}
}

func TestPatch_IsEmptyWithoutDifferences(t *testing.T) { // Behaviors MB85 of test/behaviours.
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1", Labels: pairs("node.cluster.x-k8s.io/a", "1"), Annotations: commonOf("node.cluster.x-k8s.io/a", "")}}
	var r Rules
	if patch, err := r.Patch(wantedOf(labelled("node.cluster.x-k8s.io/a", "1")), node); err != nil || patch != nil {
		t.Errorf("patch %s, %v", patch, err)
	}
}

func TestPatch_ContainsOnlyDifferences(t *testing.T) {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", ResourceVersion: "1", Annotations: commonOf("", "")},
		Spec:       corev1.NodeSpec{ProviderID: "x", Taints: []corev1.Taint{{Key: "a", Effect: "NoSchedule"}}},
		Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: "InternalIP", Address: "a"}, {Type: "InternalIP", Address: "b"}}}, // Behaviors MB74 of test/behaviours.
	}
	var r Rules
	patch, err := r.Patch(wantedOf(labelled("node.cluster.x-k8s.io/a", "1")), node)
	want := `{"metadata":{"annotations":{"cluster.x-k8s.io/labels-from-machine":"node.cluster.x-k8s.io/a"},"labels":{"node.cluster.x-k8s.io/a":"1"},"resourceVersion":"1"}}`
	if err != nil || string(patch) != want {
		t.Errorf("patch %s, %v, want %s", patch, err, want)
	}
}
