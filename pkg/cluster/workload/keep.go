// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// maxTwins is how many Nodes of one provider ID are kept. More than one is an error of the cluster: a kubelet has
// registered again under another name, for example.
const maxTwins = 4

// ProviderKey returns a provider ID in the form in which provider IDs are compared: the UUID of a virtual machine is
// the same in upper and lower case, and kubelets write either.
func ProviderKey(providerID string) string { return strings.ToLower(providerID) }

// idOf returns the key of the provider ID of a Node.
func idOf(node *Node) string { return ProviderKey(node.Spec.ProviderID) }

// wanted are the Nodes of one provider ID.
type wanted struct {
	// name is that of the Node as the Machine knows it, empty if it does not.
	name  string
	nodes []*Node
	// known is false until they were read.
	known bool
	// byName is true when the Node was read by its name, so that others of its provider ID are not known.
	byName bool
	// more is true when there are others than those that are kept.
	more bool
}

// add keeps a Node, and reports whether it differs from what is kept of it.
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

// remove forgets a Node. If there are more than those that are kept, they are to be read again.
func (w *wanted) remove(name string) {
	w.nodes = slices.DeleteFunc(slices.Clone(w.nodes), func(n *Node) bool { return n.Name == name })
	if w.more {
		w.known, w.more, w.name = false, false, ""
	}
}

// find returns the Nodes of a provider ID. They are read if they are not known, and the error is ErrReading. Without
// a name all of them are to be known.
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

// ask has run read what is not known.
func (n *nodes) ask() {
	select {
	case n.asked <- struct{}{}:
	default:
	}
}

// search forgets the Nodes that no Machine has any more, and returns an empty entry for each provider ID.
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

// settle keeps what was read, and reports what differs.
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

// take keeps the Node of an event, or forgets it, and returns it if a Machine has to know.
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
