// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// ChooseNode returns the index of the Machine's Node among the Nodes with its provider ID, or -1 if it cannot be
// determined. There are several if a kubelet has registered again under another name. Choose then prefers a Node that
// is Ready, then one with a name of the machine, then the current nodeRef.
func ChooseNode(m *clusterv1alpha1.Machine, nodes []*corev1.Node) int {
	var all []int
	for i := range nodes {
		all = append(all, i)
	}
	only := func(is func(*corev1.Node) bool) {
		if left := slices.DeleteFunc(slices.Clone(all), func(i int) bool { return !is(nodes[i]) }); len(left) > 0 {
			all = left
		}
	}
	only(isReady)
	if len(all) > 1 {
		only(func(n *corev1.Node) bool { return isNameOf(m, n.Name) })
	}
	if len(all) > 1 {
		only(func(n *corev1.Node) bool { return n.Name == m.Status.NodeRef.Name })
	}
	if len(all) != 1 {
		return -1
	}
	return all[0]
}

func isReady(n *corev1.Node) bool {
	c := findCondition(n, corev1.NodeReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

// isNameOf reports whether name is a name of the Machine's guest or of its infrastructure object.
func isNameOf(m *clusterv1alpha1.Machine, name string) bool {
	return m.Spec.InfrastructureRef.Name == name || slices.ContainsFunc(m.Status.Addresses, func(a clusterv1alpha1.MachineAddress) bool {
		switch a.Type {
		case clusterv1alpha1.MachineHostName, clusterv1alpha1.MachineInternalDNS, clusterv1alpha1.MachineExternalDNS:
			return strings.EqualFold(a.Address, name)
		case clusterv1alpha1.MachineInternalIP, clusterv1alpha1.MachineExternalIP:
		}
		return false
	})
}

// duplicatesMessage returns the message about several Nodes with one provider ID. of is the Machine's Node, or nil if
// it is not known.
func duplicatesMessage(m *clusterv1alpha1.Machine, of *corev1.Node, nodes []*corev1.Node) string {
	var names, others []string
	for _, n := range nodes {
		status := corev1.ConditionUnknown
		if c := findCondition(n, corev1.NodeReady); c != nil {
			status = c.Status
		}
		names = append(names, fmt.Sprintf("%s (Ready=%s)", n.Name, status))
		if of != nil && n != of {
			others = append(others, n.Name)
		}
	}
	slices.Sort(names)
	slices.Sort(others)
	text := fmt.Sprintf("%d Nodes have provider ID %s: %s", len(nodes), m.Spec.ProviderID, strings.Join(names, ", "))
	if of == nil {
		return text + "; delete the Nodes that do not belong to this Machine"
	}
	return fmt.Sprintf("%s; %s is the Node of this Machine, delete %s", text, of.Name, strings.Join(others, ", "))
}
