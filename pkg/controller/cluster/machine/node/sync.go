// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// Rules say what goes from Machines to Nodes besides what always does.
type Rules struct {
	// Labels and Annotations are the keys.
	Labels, Annotations []*regexp.Regexp
}

// Wanted is what a Node is made like.
type Wanted struct {
	Machine *clusterv1alpha1.Machine
	// Set owns the Machine and Deployment the Set; nil where there is none.
	Set        *clusterv1alpha1.MachineSet
	Deployment *clusterv1alpha1.MachineDeployment
	// Interruptible is what the infrastructure reports, nil if that is not known.
	Interruptible *bool
}

// Sum is a sum of all by which a Node is changed.
func (w *Wanted) Sum() []byte {
	m := w.Machine
	old, known := isOutdated(*w)
	// No error: all of it can be encoded.
	raw, _ := json.Marshal([]any{m.Spec.ClusterName, m.Labels, m.Annotations, m.Spec.Taints, metav1.GetControllerOfNoCopy(m), w.Interruptible, old, known})
	sum := sha256.Sum256(raw)
	return sum[:]
}

// common are the annotations that every Node of a Machine has, and that are not written down
// as coming from it.
var common = []string{
	clusterv1alpha1.ClusterNameAnnotation, clusterv1alpha1.ClusterNamespaceAnnotation, clusterv1alpha1.MachineAnnotation,
	clusterv1alpha1.OwnerKindAnnotation, clusterv1alpha1.OwnerNameAnnotation,
}

// Patch is the strategic merge patch that makes a Node as it is wanted, nil if it is. Server-side
// apply is not used: it fails on Nodes with two addresses of one type.
func (r *Rules) Patch(w Wanted, node *corev1.Node) ([]byte, error) {
	now := corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: node.Labels, Annotations: node.Annotations}, Spec: corev1.NodeSpec{Taints: node.Spec.Taints}}
	after := *now.DeepCopy()
	r.labels(w, &after)
	r.annotations(w, &after)
	taints(w, &after)
	if same(&now, &after) {
		return nil, nil
	}
	before, err := json.Marshal(&now)
	if err != nil {
		return nil, fmt.Errorf("encoding Node %s: %w", node.Name, err)
	}
	after.ResourceVersion = node.ResourceVersion // the server compares it
	wanted, err := json.Marshal(&after)
	if err != nil {
		return nil, fmt.Errorf("encoding Node %s: %w", node.Name, err)
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(before, wanted, corev1.Node{})
	if err != nil {
		return nil, fmt.Errorf("comparing Node %s with what it is wanted like: %w", node.Name, err)
	}
	return patch, nil
}

func same(a, b *corev1.Node) bool {
	return maps.Equal(a.Labels, b.Labels) && maps.Equal(a.Annotations, b.Annotations) && slices.EqualFunc(a.Spec.Taints, b.Spec.Taints, func(x, y corev1.Taint) bool {
		return x.Key == y.Key && x.Value == y.Value && x.Effect == y.Effect
	})
}

// labels makes the labels of a Node, and writes down which of them came from the Machine.
func (r *Rules) labels(w Wanted, node *corev1.Node) {
	from := map[string]string{}
	for key, value := range w.Machine.Labels {
		if domain(key) == clusterv1alpha1.NodeRoleLabelPrefix ||
			within(key, clusterv1alpha1.NodeRestrictionLabelDomain) || within(key, clusterv1alpha1.ManagedNodeLabelDomain) || matches(r.Labels, key) {
			from[key] = value
		}
	}
	tracked := list(node.Annotations[clusterv1alpha1.LabelsFromMachineAnnotation])
	interruptible := w.Interruptible != nil && *w.Interruptible
	if w.Interruptible == nil {
		interruptible = slices.Contains(tracked, clusterv1alpha1.InterruptibleLabel)
	}
	if interruptible {
		from[clusterv1alpha1.InterruptibleLabel] = ""
	}
	node.Labels = replace(node.Labels, tracked, from)
	annotate(node, clusterv1alpha1.LabelsFromMachineAnnotation, strings.Join(slices.Sorted(maps.Keys(from)), ","))
}

// annotations makes the annotations of a Node, and writes down which of them came from the
// Machine besides those that every one has.
func (r *Rules) annotations(w Wanted, node *corev1.Node) {
	m := w.Machine
	from := map[string]string{}
	for key, value := range m.Annotations {
		if within(key, clusterv1alpha1.ManagedNodeAnnotationDomain) || matches(r.Annotations, key) {
			from[key] = value
		}
	}
	for _, key := range tracking {
		delete(from, key) // a regular expression may name our own
	}
	from[clusterv1alpha1.ClusterNameAnnotation] = m.Spec.ClusterName
	from[clusterv1alpha1.ClusterNamespaceAnnotation] = m.Namespace
	from[clusterv1alpha1.MachineAnnotation] = m.Name
	delete(from, clusterv1alpha1.OwnerKindAnnotation)
	delete(from, clusterv1alpha1.OwnerNameAnnotation)
	if owner := metav1.GetControllerOfNoCopy(m); owner != nil {
		from[clusterv1alpha1.OwnerKindAnnotation], from[clusterv1alpha1.OwnerNameAnnotation] = owner.Kind, owner.Name
	}
	tracked := slices.DeleteFunc(list(node.Annotations[clusterv1alpha1.AnnotationsFromMachineAnnotation]), func(key string) bool {
		return slices.Contains(tracking, key)
	})
	node.Annotations = replace(node.Annotations, append(tracked, common...), from)
	for _, key := range common {
		delete(from, key)
	}
	annotate(node, clusterv1alpha1.AnnotationsFromMachineAnnotation, strings.Join(slices.Sorted(maps.Keys(from)), ","))
}

// tracking are the annotations in which is written down what came from a Machine.
var tracking = []string{
	clusterv1alpha1.LabelsFromMachineAnnotation, clusterv1alpha1.AnnotationsFromMachineAnnotation, clusterv1alpha1.TaintsFromMachineAnnotation,
}

// replace sets what comes from the Machine, and removes what came from it before.
func replace(all map[string]string, tracked []string, from map[string]string) map[string]string {
	for _, key := range tracked {
		if _, stays := from[key]; !stays {
			delete(all, key)
		}
	}
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, from)
	return all
}

func annotate(node *corev1.Node, key, value string) {
	if node.Annotations == nil {
		node.Annotations = map[string]string{}
	}
	node.Annotations[key] = value
}

// list are the entries of a tracking annotation.
func list(value string) []string {
	return slices.DeleteFunc(strings.Split(value, ","), func(s string) bool { return s == "" })
}

// domain is what of a key is before the slash.
func domain(key string) string {
	before, _, _ := strings.Cut(key, "/")
	return before
}

// within is true for keys of a domain and of those below it.
func within(key, of string) bool {
	d := domain(key)
	return d == of || strings.HasSuffix(d, "."+of)
}

func matches(all []*regexp.Regexp, key string) bool {
	return slices.ContainsFunc(all, func(r *regexp.Regexp) bool { return r.MatchString(key) })
}

// revision is the one that a MachineSet or MachineDeployment has; not known if it has none, or
// one that is no number.
func revision(o metav1.Object) (int64, bool) {
	n, err := strconv.ParseInt(o.GetAnnotations()[clusterv1alpha1.RevisionAnnotation], 10, 64)
	return n, err == nil
}
