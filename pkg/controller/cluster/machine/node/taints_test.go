// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

const tracked = clusterv1alpha1.TaintsFromMachineAnnotation

func always(key, value string, effect clusterv1alpha1.TaintEffect) clusterv1alpha1.MachineTaint {
	return clusterv1alpha1.MachineTaint{Key: key, Value: value, Effect: effect, Propagation: clusterv1alpha1.MachineTaintPropagationAlways}
}

func once(key, value string, effect clusterv1alpha1.TaintEffect) clusterv1alpha1.MachineTaint {
	return clusterv1alpha1.MachineTaint{Key: key, Value: value, Effect: effect, Propagation: clusterv1alpha1.MachineTaintPropagationOnInitialization}
}

func taint(key, value string, effect corev1.TaintEffect) corev1.Taint {
	return corev1.Taint{Key: key, Value: value, Effect: effect}
}

func TestPatch_CopiesTaints(t *testing.T) { // Behaviors MB83, MB84 of test/behaviours.
	none := (*string)(nil)
	is := func(s string) *string { return &s }
	const no = "NoSchedule"
	other := taint("other", "x", no)
	for name, test := range map[string]struct {
		machine []clusterv1alpha1.MachineTaint
		written *string
		node    []corev1.Taint
		want    []corev1.Taint
		down    string
	}{
		"no taints: recorded":                {nil, none, nil, nil, ""},
		"no taints: still recorded":          {nil, is(""), nil, nil, ""},
		"no taints: the record is corrected": {nil, is("gone:NoSchedule"), nil, nil, ""},
		"always: added":                      {[]clusterv1alpha1.MachineTaint{always("a", "1", no)}, none, nil, []corev1.Taint{taint("a", "1", no)}, "a:NoSchedule"},
		"always: recorded":                   {[]clusterv1alpha1.MachineTaint{always("a", "1", no)}, is(""), []corev1.Taint{taint("a", "1", no)}, []corev1.Taint{taint("a", "1", no)}, "a:NoSchedule"},
		"always: deleted":                    {nil, is("a:NoSchedule"), []corev1.Taint{taint("a", "1", no)}, nil, ""},
		"always: added again":                {[]clusterv1alpha1.MachineTaint{always("a", "1", no)}, is("a:NoSchedule"), nil, []corev1.Taint{taint("a", "1", no)}, "a:NoSchedule"},
		"once: added":                        {[]clusterv1alpha1.MachineTaint{once("a", "1", no)}, none, nil, []corev1.Taint{taint("a", "1", no)}, ""},
		"once: not added again":              {[]clusterv1alpha1.MachineTaint{once("a", "1", no)}, is(""), nil, nil, ""},
		"once: not deleted":                  {nil, is(""), []corev1.Taint{taint("a", "1", no)}, []corev1.Taint{taint("a", "1", no)}, ""},
		"once becomes always: kept":          {[]clusterv1alpha1.MachineTaint{always("a", "1", no)}, is(""), []corev1.Taint{taint("a", "1", no)}, []corev1.Taint{taint("a", "1", no)}, "a:NoSchedule"},
		"once becomes always: added again":   {[]clusterv1alpha1.MachineTaint{always("a", "1", no)}, is(""), nil, []corev1.Taint{taint("a", "1", no)}, "a:NoSchedule"},
		"always becomes once: kept":          {[]clusterv1alpha1.MachineTaint{once("a", "1", no)}, is("a:NoSchedule"), []corev1.Taint{taint("a", "1", no)}, []corev1.Taint{taint("a", "1", no)}, ""},
		"another value":                      {[]clusterv1alpha1.MachineTaint{always("a", "2", no)}, is("a:NoSchedule"), []corev1.Taint{taint("a", "1", no)}, []corev1.Taint{taint("a", "2", no)}, "a:NoSchedule"},
		"another effect":                     {[]clusterv1alpha1.MachineTaint{always("a", "1", "NoExecute")}, is("a:NoSchedule"), []corev1.Taint{taint("a", "1", no)}, []corev1.Taint{taint("a", "1", "NoExecute")}, "a:NoExecute"},
		"others stay":                        {[]clusterv1alpha1.MachineTaint{always("a", "1", no)}, none, []corev1.Taint{other}, []corev1.Taint{other, taint("a", "1", no)}, "a:NoSchedule"},
		"an existing taint is updated":       {[]clusterv1alpha1.MachineTaint{always("a", "1", no)}, none, []corev1.Taint{taint("a", "0", no), other}, []corev1.Taint{taint("a", "1", no), other}, "a:NoSchedule"},
		"an invalid record":                  {[]clusterv1alpha1.MachineTaint{always("a", "1", no)}, is(",,x,:,b:NoSchedule"), []corev1.Taint{other, taint("b", "", no)}, []corev1.Taint{other, taint("a", "1", no)}, "a:NoSchedule"},
		"many, in order":                     {[]clusterv1alpha1.MachineTaint{always("b", "", no), always("a", "", "NoExecute"), always("a", "", no)}, none, nil, []corev1.Taint{taint("b", "", no), taint("a", "", "NoExecute"), taint("a", "", no)}, "a:NoExecute,a:NoSchedule,b:NoSchedule"},
	} {
		t.Run(name, func(t *testing.T) {
			node := &corev1.Node{Spec: corev1.NodeSpec{Taints: test.node}}
			if test.written != nil {
				node.Annotations = pairs(tracked, *test.written)
			}
			got := apply(t, Rules{}, wantedOf(tainted(test.machine...)), node)
			if diff := cmp.Diff(test.want, got.Spec.Taints); diff != "" {
				t.Errorf("taints (-want +got):\n%s", diff)
			}
			if down, written := got.Annotations[tracked]; down != test.down || !written {
				t.Errorf("recorded %q (%t), want %q", down, written, test.down)
			}
		})
	}
}

func TestPatch_InitializesTheNode(t *testing.T) { // Behaviors MB80, MB81 of test/behaviours.
	node := &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{taint("x", "", "NoExecute"), uninitializedTaint}}}
	got := apply(t, Rules{}, wantedOf(labelled("node.cluster.x-k8s.io/a", "1")), node)
	if diff := cmp.Diff([]corev1.Taint{taint("x", "", "NoExecute")}, got.Spec.Taints); diff != "" {
		t.Errorf("taints (-want +got):\n%s", diff)
	}
	if got.Labels["node.cluster.x-k8s.io/a"] != "1" {
		t.Errorf("labels %v", got.Labels)
	}
}

func TestPatch_TaintsNodesOfOlderTemplates(t *testing.T) { // Behaviors MB82 of test/behaviours.
	revised := func(r string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Annotations: pairs(clusterv1alpha1.RevisionAnnotation, r)}
	}
	set := func(r string) *clusterv1alpha1.MachineSet { return &clusterv1alpha1.MachineSet{ObjectMeta: revised(r)} }
	deployment := func(r string) *clusterv1alpha1.MachineDeployment {
		return &clusterv1alpha1.MachineDeployment{ObjectMeta: revised(r)}
	}
	was := []corev1.Taint{outdatedTaint}
	for name, test := range map[string]struct {
		set        *clusterv1alpha1.MachineSet
		deployment *clusterv1alpha1.MachineDeployment
		node, want []corev1.Taint
	}{
		"older":                          {set("1"), deployment("2"), nil, was},
		"older, by number":               {set("9"), deployment("10"), nil, was},
		"the newest":                     {set("2"), deployment("2"), was, nil},
		"a standalone MachineSet":        {set("1"), nil, was, nil},
		"a standalone Machine":           {nil, nil, was, nil},
		"no revision yet: not added":     {set(""), deployment("2"), nil, nil},
		"no revision yet: not removed":   {set("1"), deployment(""), was, was},
		"an invalid revision: not added": {set("x"), deployment("2"), was, was},
	} {
		w := wantedOf()
		w.Set, w.Deployment = test.set, test.deployment
		got := apply(t, Rules{}, w, &corev1.Node{Spec: corev1.NodeSpec{Taints: test.node}})
		if diff := cmp.Diff(test.want, got.Spec.Taints); diff != "" {
			t.Errorf("%s: taints (-want +got):\n%s", name, diff)
		}
	}
}
