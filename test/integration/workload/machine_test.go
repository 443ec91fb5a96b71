// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
)

const (
	nodeReady   = clusterv1alpha1.MachineNodeReadyCondition
	nodeHealthy = clusterv1alpha1.MachineNodeHealthyCondition
)

// uninitialized is the taint that a kubelet registers with, so that no pod is scheduled before the first
// synchronization.
func uninitialized(n *corev1.Node) {
	n.Spec.Taints = []corev1.Taint{{Key: clusterv1alpha1.NodeUninitializedTaintKey, Effect: corev1.TaintEffectNoSchedule}}
}

// twoAddresses have the same type, which server-side apply does not support.
func twoAddresses(n *corev1.Node) {
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}, {Type: corev1.NodeInternalIP, Address: "192.0.2.2"}}
}

// taintsOf are the keys of the taints of a Node, without the one that every new Node gets by
// admission.
func taintsOf(n *corev1.Node) []string {
	var keys []string
	for _, taint := range n.Spec.Taints {
		if taint.Key != corev1.TaintNodeNotReady {
			keys = append(keys, taint.Key)
		}
	}
	return keys
}

// MB22, MB63, MB65-66, MB74, MB80, MB88, MB93: a new Node has no annotations of Slipway.
func TestNode_IsClaimedByItsMachine(t *testing.T) {
	f := newFleet(t)
	f.machine("a")
	f.awaitCondition("a", nodeReady, "Unknown InspectionFailed", "Waiting for ExampleMachine to report spec.providerID")
	f.provisioned("a")
	f.awaitCondition("a", nodeHealthy, "Unknown InspectionFailed", "Waiting for a Node with spec.providerID "+f.id("a")+" to exist")
	f.node("n", "a", uninitialized, twoAddresses)
	f.awaitCondition("a", nodeHealthy, "True NodeHealthy", "")
	f.awaitCondition("a", nodeReady, "True NodeReady", "")
	m := f.read("a")
	if m.Status.NodeRef.Name != f.name("n") || m.Status.NodeInfo == nil || m.Status.NodeInfo.KubeletVersion != "v1.37.2" || m.Status.Phase != clusterv1alpha1.MachinePhaseRunning {
		t.Errorf("nodeRef %v, nodeInfo %v, phase %s", m.Status.NodeRef, m.Status.NodeInfo, m.Status.Phase)
	}
	n := f.readNode("n")
	if taints := taintsOf(n); taints != nil || len(n.Status.Addresses) != 2 {
		t.Errorf("taints %v, addresses %v", taints, n.Status.Addresses)
	}
	want := conditions.Find(m.Status.Conditions, nodeReady)
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady && !c.LastTransitionTime.Equal(&want.LastTransitionTime) {
			t.Errorf("NodeReady is of %s, and the Node's of %s", want.LastTransitionTime, c.LastTransitionTime)
		}
	}
	f.must(cluster.SetReady(t.Context(), f.name("n"), corev1.ConditionFalse))
	f.awaitCondition("a", nodeReady, "False NodeNotReady", "* Node.Ready: set by the test")
	f.awaitCondition("a", nodeHealthy, "False NodeNotHealthy", "* Node.Ready: set by the test")
}

// MB70-72, MB75-79, MB83, MB85
func TestNode_LabelsAnnotationsAndTaintsFollowTheMachine(t *testing.T) {
	f := newFleet(t)
	f.machine("a", func(m *clusterv1alpha1.Machine) {
		m.Labels = map[string]string{"node-role.kubernetes.io/worker": "", "node.cluster.x-k8s.io/a": "1", "example.org/b": "2", "plain": "no"}
		m.Annotations = map[string]string{"node.cluster.x-k8s.io/c": "3", "plain": "no"}
		m.Spec.Taints = []clusterv1alpha1.MachineTaint{
			{Key: "example.org/always", Effect: "NoSchedule", Propagation: clusterv1alpha1.MachineTaintPropagationAlways},
			{Key: "example.org/once", Effect: "NoSchedule", Propagation: clusterv1alpha1.MachineTaintPropagationOnInitialization},
		}
	})
	f.provisioned("a")
	f.node("n", "a", func(n *corev1.Node) {
		n.Labels["node.cluster.x-k8s.io/a"], n.Labels["example.org/other"] = "old", "x"
		n.Annotations = map[string]string{"example.org/other": "x"}
		n.Spec.Taints = []corev1.Taint{{Key: "example.org/other", Effect: "NoSchedule"}}
	})
	f.awaitCondition("a", nodeHealthy, "True NodeHealthy", "")
	type state struct {
		labels, annotations map[string]string
		taints              []string
	}
	now := func() state {
		n := f.readNode("n")
		return state{n.Labels, n.Annotations, taintsOf(n)}
	}
	own := map[string]string{"kubernetes.io/hostname": f.name("n"), "kubernetes.io/os": "linux", "example.org/other": "x"}
	with := func(base map[string]string, more ...string) map[string]string {
		all := map[string]string{}
		for k, v := range base {
			all[k] = v
		}
		for i := 0; i < len(more); i += 2 {
			all[more[i]] = more[i+1]
		}
		return all
	}
	always := with(nil, "example.org/other", "x", "cluster.x-k8s.io/cluster-name", "blue", "cluster.x-k8s.io/cluster-namespace", f.namespace,
		"cluster.x-k8s.io/machine", "a", "cluster.x-k8s.io/labels-from-machine", "", "cluster.x-k8s.io/annotations-from-machine", "",
		"cluster.x-k8s.io/taints-from-machine", "")
	is := func(want state) {
		t.Helper()
		if diff := cmp.Diff(want, now(), cmp.AllowUnexported(state{})); diff != "" {
			t.Errorf("the Node (-want +got):\n%s", diff)
		}
	}
	is(state{
		with(own, "node-role.kubernetes.io/worker", "", "node.cluster.x-k8s.io/a", "1", "example.org/b", "2"),
		with(always, "node.cluster.x-k8s.io/c", "3", "cluster.x-k8s.io/annotations-from-machine", "node.cluster.x-k8s.io/c",
			"cluster.x-k8s.io/labels-from-machine", "example.org/b,node-role.kubernetes.io/worker,node.cluster.x-k8s.io/a",
			"cluster.x-k8s.io/taints-from-machine", "example.org/always:NoSchedule"),
		[]string{"example.org/other", "example.org/always", "example.org/once"},
	})

	version := f.readNode("n").ResourceVersion
	f.change("a", `{"metadata":{"labels":{"plain":"changed"}}}`)
	f.change("a", `{"metadata":{"labels":{"node-role.kubernetes.io/worker":null,"node.cluster.x-k8s.io/a":"new"},"annotations":{"node.cluster.x-k8s.io/c":null}},"spec":{"taints":null}}`)
	f.until("the Node is changed", func() bool {
		s := now()
		return s.labels["node.cluster.x-k8s.io/a"] == "new" && len(s.taints) == 2
	})
	is(state{
		with(own, "node.cluster.x-k8s.io/a", "new", "example.org/b", "2"),
		with(always, "cluster.x-k8s.io/labels-from-machine", "example.org/b,node.cluster.x-k8s.io/a"),
		[]string{"example.org/other", "example.org/once"},
	})
	// A change of the Machine that affects the Node is one write of the Node. Another change is none.
	if writes := f.writesSince("n", version); writes != 1 {
		t.Errorf("%d writes of the Node, want 1", writes)
	}
}

// writesSince counts the versions of a Node after version, until now.
func (f *fleet) writesSince(name, version string) int {
	f.t.Helper()
	w, err := cluster.Client().CoreV1().Nodes().Watch(f.t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + f.name(name), ResourceVersion: version})
	f.must(err)
	defer w.Stop()
	last := f.readNode(name).ResourceVersion
	for n := 1; ; n++ {
		e := <-w.ResultChan()
		node, ok := e.Object.(*corev1.Node)
		if !ok {
			f.t.Fatalf("the watch of the Node returned %v", e.Object)
		}
		if node.ResourceVersion == last {
			return n
		}
	}
}

// MB18, MB67-68, MB91-92
func TestNode_DeletionIsReportedUntilTheMachineIsDeleted(t *testing.T) {
	f := newFleet(t)
	f.machine("a")
	f.provisioned("a")
	f.node("n", "a")
	f.awaitCondition("a", nodeHealthy, "True NodeHealthy", "")
	f.removeNode("n")
	f.awaitCondition("a", nodeHealthy, "False NodeDeleted", "Node "+f.name("n")+" has been deleted while the Machine still exists")
	f.must(f.client.ClusterV1alpha1().Machines(f.namespace).Delete(t.Context(), "a", metav1.DeleteOptions{}))
	f.until("the Machine is deleted", func() bool {
		list, err := f.client.ClusterV1alpha1().Machines(f.namespace).List(t.Context(), metav1.ListOptions{})
		f.must(err)
		return len(list.Items) == 0
	})
}

// MB69, MB95
func TestNode_IsUsedOnlyIfItsProviderIDIsUnique(t *testing.T) {
	f := newFleet(t)
	f.machine("a")
	f.node("n1", "a")
	f.node("n2", "a")
	f.provisioned("a")
	f.awaitCondition("a", nodeHealthy, "Unknown NodeAmbiguous", "2 Nodes have provider ID example://"+f.name("a")+": "+f.name("n1")+" (Ready=True), "+f.name("n2")+
		" (Ready=True); delete the Nodes that do not belong to this Machine")
	if ref := f.read("a").Status.NodeRef.Name; ref != "" {
		t.Errorf("nodeRef is %s", ref)
	}
	f.removeNode("n2")
	f.awaitCondition("a", nodeHealthy, "True NodeHealthy", "")
}

// MB73
func TestNode_OfAnInterruptibleMachineHasTheLabel(t *testing.T) {
	f := newFleet(t)
	f.machine("a")
	f.provisioned("a")
	f.node("n", "a")
	has := func() bool { _, has := f.readNode("n").Labels[clusterv1alpha1.InterruptibleLabel]; return has }
	f.reports("a", map[string]any{"interruptible": true})
	f.until("the label is there", has)
	f.reports("a", map[string]any{"interruptible": nil})
	f.until("the label is deleted", func() bool { return !has() })
}

// MB78, MB82
func TestNode_OfAnEarlierRevisionIsTainted(t *testing.T) {
	f := newFleet(t)
	template := clusterv1alpha1.MachineTemplateSpec{
		Metadata: clusterv1alpha1.ObjectMeta{Labels: map[string]string{"x": "y"}},
		Spec: clusterv1alpha1.MachineSpec{
			ClusterName: "blue", Bootstrap: clusterv1alpha1.Bootstrap{DataSecretName: ptr.To("data")},
			InfrastructureRef: clusterv1alpha1.ContractVersionedObjectReference{APIGroup: infras.Group, Kind: "ExampleMachineTemplate", Name: "t"},
		},
	}
	selector := metav1.LabelSelector{MatchLabels: map[string]string{"x": "y"}}
	revision := func(r string) map[string]string { return map[string]string{clusterv1alpha1.RevisionAnnotation: r} }
	v1 := f.client.ClusterV1alpha1()
	_, err := v1.MachineDeployments(f.namespace).Create(t.Context(), &clusterv1alpha1.MachineDeployment{
		ObjectMeta: metav1.ObjectMeta{Name: "md", Annotations: revision("1")},
		Spec:       clusterv1alpha1.MachineDeploymentSpec{ClusterName: "blue", Selector: selector, Template: template},
	}, metav1.CreateOptions{})
	f.must(err)
	set, err := v1.MachineSets(f.namespace).Create(t.Context(), &clusterv1alpha1.MachineSet{
		ObjectMeta: metav1.ObjectMeta{Name: "ms", Annotations: revision("1"), Labels: map[string]string{clusterv1alpha1.MachineDeploymentNameLabel: "md"}},
		Spec:       clusterv1alpha1.MachineSetSpec{ClusterName: "blue", Selector: selector, Template: template},
	}, metav1.CreateOptions{})
	f.must(err)
	f.machine("a", func(m *clusterv1alpha1.Machine) {
		m.Labels = map[string]string{clusterv1alpha1.MachineDeploymentNameLabel: "md"}
		m.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, clusterv1alpha1.SchemeGroupVersion.WithKind("MachineSet"))}
	})
	f.provisioned("a")
	f.node("n", "a")
	f.awaitCondition("a", nodeHealthy, "True NodeHealthy", "")
	n := f.readNode("n")
	if n.Annotations[clusterv1alpha1.OwnerKindAnnotation] != "MachineSet" || n.Annotations[clusterv1alpha1.OwnerNameAnnotation] != "ms" || taintsOf(n) != nil {
		t.Errorf("annotations %v, taints %v", n.Annotations, n.Spec.Taints)
	}
	tainted := func() bool {
		return slices.Contains(taintsOf(f.readNode("n")), clusterv1alpha1.NodeOutdatedRevisionTaintKey)
	}
	md, err := v1.MachineDeployments(f.namespace).Get(t.Context(), "md", metav1.GetOptions{})
	f.must(err)
	md.Annotations = revision("2")
	md, err = v1.MachineDeployments(f.namespace).Update(t.Context(), md, metav1.UpdateOptions{})
	f.must(err)
	f.until("the Node is tainted", tainted)
	md.Annotations = revision("1")
	_, err = v1.MachineDeployments(f.namespace).Update(t.Context(), md, metav1.UpdateOptions{})
	f.must(err)
	f.until("the taint is deleted", func() bool { return !tainted() })
}
