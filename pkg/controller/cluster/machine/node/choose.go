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

// Choose returns the index of the Node of a Machine among those that have its provider ID, -1 if it is not known. There
// is more than one if a kubelet has registered again under another name. Then the Node is the one that is Ready, else
// the one with a name of the machine, else the one that the Machine already names.
func Choose(m *clusterv1alpha1.Machine, nodes []*corev1.Node) int {
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
	c := find(n, corev1.NodeReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

// isNameOf reports whether the guest of a Machine has a name, or its infrastructure object.
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

// twins is the message about Nodes that have one provider ID; of is the one of the Machine, nil if it is not known.
func twins(m *clusterv1alpha1.Machine, of *corev1.Node, nodes []*corev1.Node) string {
	var names, others []string
	for _, n := range nodes {
		status := corev1.ConditionUnknown
		if c := find(n, corev1.NodeReady); c != nil {
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
		return text + "; delete those that are not of this machine"
	}
	return fmt.Sprintf("%s; %s is the Node of this Machine, delete %s", text, of.Name, strings.Join(others, ", "))
}
