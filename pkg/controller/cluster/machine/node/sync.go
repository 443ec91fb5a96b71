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

// Rules select the labels and annotations of Machines that are copied to Nodes in addition to the built-in ones.
type Rules struct {
	// Labels and Annotations are regular expressions for keys.
	Labels, Annotations []*regexp.Regexp
}

// Source contains the sources of a Node's desired metadata.
type Source struct {
	Machine *clusterv1alpha1.Machine
	// Set is the owner of the Machine, and Deployment the owner of Set. They are nil if there is none.
	Set        *clusterv1alpha1.MachineSet
	Deployment *clusterv1alpha1.MachineDeployment
	// Interruptible is the value that the infrastructure reports, or nil if it is not known.
	Interruptible *bool
}

// Checksum returns a checksum of all values that the patch depends on.
func (w *Source) Checksum() []byte {
	m := w.Machine
	old, known := isOutdated(*w)
	// All values can be encoded.
	raw, _ := json.Marshal([]any{m.Spec.ClusterName, m.Labels, m.Annotations, m.Spec.Taints, metav1.GetControllerOfNoCopy(m), w.Interruptible, old, known})
	sum := sha256.Sum256(raw)
	return sum[:]
}

// commonAnnotations are the annotations that every Node of a Machine has. They are not recorded as coming from the
// Machine.
var commonAnnotations = []string{
	clusterv1alpha1.ClusterNameAnnotation, clusterv1alpha1.ClusterNamespaceAnnotation, clusterv1alpha1.MachineAnnotation,
	clusterv1alpha1.OwnerKindAnnotation, clusterv1alpha1.OwnerNameAnnotation,
}

// Patch returns the strategic merge patch for a Node, or nil if it is up to date. Server-side apply is not used,
// because it fails for Nodes with two addresses of one type.
func (r *Rules) Patch(w Source, node *corev1.Node) ([]byte, error) {
	now := corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: node.Labels, Annotations: node.Annotations}, Spec: corev1.NodeSpec{Taints: node.Spec.Taints}}
	after := *now.DeepCopy()
	r.setLabels(w, &after)
	r.setAnnotations(w, &after)
	setTaints(w, &after)
	if equalMetadata(&now, &after) {
		return nil, nil
	}
	beforeJSON, err := json.Marshal(&now)
	if err != nil {
		return nil, fmt.Errorf("encoding Node %s: %w", node.Name, err)
	}
	after.ResourceVersion = node.ResourceVersion // Checked by the server.
	afterJSON, err := json.Marshal(&after)
	if err != nil {
		return nil, fmt.Errorf("encoding Node %s: %w", node.Name, err)
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(beforeJSON, afterJSON, corev1.Node{})
	if err != nil {
		return nil, fmt.Errorf("creating the patch of Node %s: %w", node.Name, err)
	}
	return patch, nil
}

func equalMetadata(a, b *corev1.Node) bool {
	return maps.Equal(a.Labels, b.Labels) && maps.Equal(a.Annotations, b.Annotations) && slices.EqualFunc(a.Spec.Taints, b.Spec.Taints, func(x, y corev1.Taint) bool {
		return x.Key == y.Key && x.Value == y.Value && x.Effect == y.Effect
	})
}

// setLabels sets the labels of a Node, and records which of them came from the Machine.
func (r *Rules) setLabels(w Source, node *corev1.Node) {
	from := map[string]string{}
	for key, value := range w.Machine.Labels {
		if domain(key) == clusterv1alpha1.NodeRoleLabelPrefix ||
			isInDomain(key, clusterv1alpha1.NodeRestrictionLabelDomain) || isInDomain(key, clusterv1alpha1.ManagedNodeLabelDomain) || matches(r.Labels, key) {
			from[key] = value
		}
	}
	tracked := splitList(node.Annotations[clusterv1alpha1.LabelsFromMachineAnnotation])
	interruptible := w.Interruptible != nil && *w.Interruptible
	if w.Interruptible == nil {
		interruptible = slices.Contains(tracked, clusterv1alpha1.InterruptibleLabel)
	}
	if interruptible {
		from[clusterv1alpha1.InterruptibleLabel] = ""
	}
	node.Labels = replaceTracked(node.Labels, tracked, from)
	annotate(node, clusterv1alpha1.LabelsFromMachineAnnotation, strings.Join(slices.Sorted(maps.Keys(from)), ","))
}

// setAnnotations sets the annotations of a Node, and records which of them came from the Machine. It does not record
// the common ones.
func (r *Rules) setAnnotations(w Source, node *corev1.Node) {
	m := w.Machine
	from := map[string]string{}
	for key, value := range m.Annotations {
		if isInDomain(key, clusterv1alpha1.ManagedNodeAnnotationDomain) || matches(r.Annotations, key) {
			from[key] = value
		}
	}
	for _, key := range trackingAnnotations {
		delete(from, key) // A regular expression may match them.
	}
	from[clusterv1alpha1.ClusterNameAnnotation] = m.Spec.ClusterName
	from[clusterv1alpha1.ClusterNamespaceAnnotation] = m.Namespace
	from[clusterv1alpha1.MachineAnnotation] = m.Name
	delete(from, clusterv1alpha1.OwnerKindAnnotation)
	delete(from, clusterv1alpha1.OwnerNameAnnotation)
	if owner := metav1.GetControllerOfNoCopy(m); owner != nil {
		from[clusterv1alpha1.OwnerKindAnnotation], from[clusterv1alpha1.OwnerNameAnnotation] = owner.Kind, owner.Name
	}
	tracked := slices.DeleteFunc(splitList(node.Annotations[clusterv1alpha1.AnnotationsFromMachineAnnotation]), func(key string) bool {
		return slices.Contains(trackingAnnotations, key)
	})
	node.Annotations = replaceTracked(node.Annotations, append(tracked, commonAnnotations...), from)
	for _, key := range commonAnnotations {
		delete(from, key)
	}
	annotate(node, clusterv1alpha1.AnnotationsFromMachineAnnotation, strings.Join(slices.Sorted(maps.Keys(from)), ","))
}

// trackingAnnotations are the annotations that record what came from a Machine.
var trackingAnnotations = []string{
	clusterv1alpha1.LabelsFromMachineAnnotation, clusterv1alpha1.AnnotationsFromMachineAnnotation, clusterv1alpha1.TaintsFromMachineAnnotation,
}

// replaceTracked sets the entries that come from the Machine, and removes those that came from it before.
func replaceTracked(all map[string]string, tracked []string, from map[string]string) map[string]string {
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

// splitList returns the entries of a tracking annotation.
func splitList(value string) []string {
	return slices.DeleteFunc(strings.Split(value, ","), func(s string) bool { return s == "" })
}

// domain returns the part of a key before the slash.
func domain(key string) string {
	before, _, _ := strings.Cut(key, "/")
	return before
}

// isInDomain reports whether a key belongs to a domain or one of its subdomains.
func isInDomain(key, of string) bool {
	d := domain(key)
	return d == of || strings.HasSuffix(d, "."+of)
}

func matches(all []*regexp.Regexp, key string) bool {
	return slices.ContainsFunc(all, func(r *regexp.Regexp) bool { return r.MatchString(key) })
}

// revision returns the revision of a MachineSet or MachineDeployment. It returns false if the annotation is missing or
// not a number.
func revision(o metav1.Object) (int64, bool) {
	n, err := strconv.ParseInt(o.GetAnnotations()[clusterv1alpha1.RevisionAnnotation], 10, 64)
	return n, err == nil
}
