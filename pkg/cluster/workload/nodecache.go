// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// maxTwins is the maximum number of Nodes that are cached per provider ID. More than one is a fault of the cluster: for
// example, a kubelet has registered again under another name.
const maxTwins = 4

// ProviderKey returns the canonical form of a provider ID. Kubelets write the UUID of a virtual machine in upper or
// lower case.
func ProviderKey(providerID string) string { return strings.ToLower(providerID) }

// idOf returns the canonical provider ID of a Node.
func idOf(node *Node) string { return ProviderKey(node.Spec.ProviderID) }

// wanted is the cache entry of one provider ID.
type wanted struct {
	// name is the name of the Node if the Machine knows it.
	name  string
	nodes []*Node
	// known reports whether the Nodes have been read.
	known bool
	// byName is true if the Node was read by name. Other Nodes with the provider ID may exist then.
	byName bool
	// more is true if there are Nodes beyond maxTwins.
	more bool
}

// add adds or replaces a Node and reports whether the entry has changed.
func (w *wanted) add(node *Node) bool {
	at := slices.IndexFunc(w.nodes, func(n *Node) bool { return n.Name == node.Name })
	switch {
	case at >= 0:
		differs := !equality.Semantic.DeepEqual(w.nodes[at], node)
		w.nodes[at] = node
		return differs
	case len(w.nodes) == maxTwins:
		w.more = true
		return false
	}
	w.nodes = append(w.nodes, node)
	return true
}

// remove removes a Node. If there were Nodes beyond maxTwins, the entry must be read again.
func (w *wanted) remove(name string) {
	w.nodes = slices.DeleteFunc(slices.Clone(w.nodes), func(n *Node) bool { return n.Name == name })
	if w.more {
		w.known, w.more, w.name = false, false, ""
	}
}

// find returns the Nodes of a provider ID. If they have not been read, it requests them and returns ErrReading. If name
// is empty, the entry must contain all Nodes with the provider ID.
func (n *nodes) find(providerID, name string) ([]*Node, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	id := ProviderKey(providerID)
	w := n.byID[id]
	if w == nil {
		w = &wanted{name: name}
		n.byID[id] = w
	}
	if name == "" && (w.byName || !w.known) {
		w.known, w.byName, w.name = false, false, ""
	}
	if w.known {
		return slices.Clone(w.nodes), nil
	}
	n.ask()
	return nil, ErrReading
}

// ask makes run read the entries that have not been read.
func (n *nodes) ask() {
	select {
	case n.asked <- struct{}{}:
	default:
	}
}

// search removes the Nodes without a Machine and returns an empty entry for each remaining provider ID.
func (n *nodes) search() map[string]*wanted {
	n.mu.Lock()
	defer n.mu.Unlock()
	found := map[string]*wanted{}
	for id, w := range n.byID {
		if w.known && !n.isWanted(id) {
			delete(n.byID, id)
			for _, node := range w.nodes {
				delete(n.ids, node.Name)
			}
			continue
		}
		found[id] = &wanted{}
	}
	return found
}

// settle stores entries that were read and calls changed for those that differ.
func (n *nodes) settle(found map[string]*wanted) {
	var changes []*corev1.Node
	n.mu.Lock()
	for id, next := range found {
		was := n.byID[id]
		if was == nil {
			continue
		}
		for _, node := range was.nodes {
			delete(n.ids, node.Name)
		}
		for _, node := range next.nodes {
			n.ids[node.Name] = id
		}
		if !was.known || !equality.Semantic.DeepEqual(was.nodes, next.nodes) {
			changes = append(changes, &corev1.Node{Spec: corev1.NodeSpec{ProviderID: id}})
		}
		was.nodes, was.more, was.known, was.byName = next.nodes, next.more, true, next.byName
	}
	n.mu.Unlock()
	for _, node := range changes {
		n.changed(node)
	}
}

// take applies a watch event. It returns the Node if an entry has changed.
func (n *nodes) take(node *Node, deleted bool) *corev1.Node {
	n.mu.Lock()
	defer n.mu.Unlock()
	before, differs := n.ids[node.Name], false
	if was := n.byID[before]; was != nil && (deleted || before != idOf(node)) {
		was.remove(node.Name)
		delete(n.ids, node.Name)
		differs = true
		if !was.known {
			n.ask()
		}
	}
	w := n.byID[idOf(node)]
	if !deleted && w != nil && w.known && node.Spec.ProviderID != "" {
		differs = w.add(node) || differs
		if slices.Contains(w.nodes, node) {
			n.ids[node.Name] = idOf(node)
		}
	}
	if !differs {
		return nil
	}
	return &node.Node
}
