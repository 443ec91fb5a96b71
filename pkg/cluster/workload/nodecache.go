// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// maxDuplicates is the maximum number of Nodes that are cached per provider ID. More than one is a fault of the
// cluster: for example, a kubelet has registered again under another name.
const maxDuplicates = 4

// ProviderKey returns the canonical form of a provider ID. Kubelets write the UUID of a virtual machine in upper or
// lower case.
func ProviderKey(providerID string) string { return strings.ToLower(providerID) }

// idOf returns the canonical provider ID of a Node.
func idOf(node *Node) string { return ProviderKey(node.Spec.ProviderID) }

// nodeEntry is the cache entry of one provider ID.
type nodeEntry struct {
	// name is the name of the Machine's Node if it is known.
	name  string
	nodes []*Node
	// isRead is true if the Nodes have been read.
	isRead bool
	// readByName is true if the Node was read by name, so that other Nodes with the provider ID may exist.
	readByName bool
	// hasMore is true if there are Nodes beyond maxDuplicates.
	hasMore bool
}

// add adds or replaces a Node and reports whether the entry has changed.
func (w *nodeEntry) add(node *Node) bool {
	at := slices.IndexFunc(w.nodes, func(n *Node) bool { return n.Name == node.Name })
	switch {
	case at >= 0:
		differs := !equality.Semantic.DeepEqual(w.nodes[at], node)
		w.nodes[at] = node
		return differs
	case len(w.nodes) == maxDuplicates:
		w.hasMore = true
		return false
	}
	w.nodes = append(w.nodes, node)
	return true
}

// remove removes a Node. If there were Nodes beyond maxDuplicates, the entry must be read again.
func (w *nodeEntry) remove(name string) {
	w.nodes = slices.DeleteFunc(slices.Clone(w.nodes), func(n *Node) bool { return n.Name == name })
	if w.hasMore {
		w.isRead, w.hasMore, w.name = false, false, ""
	}
}

// lookup returns the Nodes of a provider ID. If they have not been read, it requests them and returns ErrReading. If
// name is empty, the entry must contain all Nodes with the provider ID.
func (n *nodeCache) lookup(providerID, name string) ([]*Node, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	id := ProviderKey(providerID)
	w := n.byID[id]
	if w == nil {
		w = &nodeEntry{name: name}
		n.byID[id] = w
	}
	if name == "" && (w.readByName || !w.isRead) {
		w.isRead, w.readByName, w.name = false, false, ""
	}
	if w.isRead {
		return slices.Clone(w.nodes), nil
	}
	n.requestRead()
	return nil, ErrReading
}

// requestRead makes run read the entries that have not been read.
func (n *nodeCache) requestRead() {
	select {
	case n.readRequests <- struct{}{}:
	default:
	}
}

// newEntries removes the Nodes without a Machine and returns an empty entry for each remaining provider ID.
func (n *nodeCache) newEntries() map[string]*nodeEntry {
	n.mu.Lock()
	defer n.mu.Unlock()
	found := map[string]*nodeEntry{}
	for id, w := range n.byID {
		if w.isRead && !n.hasMachine(id) {
			delete(n.byID, id)
			for _, node := range w.nodes {
				delete(n.idByName, node.Name)
			}
			continue
		}
		found[id] = &nodeEntry{}
	}
	return found
}

// storeEntries stores entries that were read and calls changed for those that differ.
func (n *nodeCache) storeEntries(found map[string]*nodeEntry) {
	var changes []*corev1.Node
	n.mu.Lock()
	for id, next := range found {
		entry := n.byID[id]
		if entry == nil {
			continue
		}
		for _, node := range entry.nodes {
			delete(n.idByName, node.Name)
		}
		for _, node := range next.nodes {
			n.idByName[node.Name] = id
		}
		if !entry.isRead || !equality.Semantic.DeepEqual(entry.nodes, next.nodes) {
			changes = append(changes, &corev1.Node{Spec: corev1.NodeSpec{ProviderID: id}})
		}
		entry.nodes, entry.hasMore, entry.isRead, entry.readByName = next.nodes, next.hasMore, true, next.readByName
	}
	n.mu.Unlock()
	for _, node := range changes {
		n.onChange(node)
	}
}

// applyEvent applies a watch event. It returns the Node if an entry has changed.
func (n *nodeCache) applyEvent(node *Node, deleted bool) *corev1.Node {
	n.mu.Lock()
	defer n.mu.Unlock()
	previousID, differs := n.idByName[node.Name], false
	if previous := n.byID[previousID]; previous != nil && (deleted || previousID != idOf(node)) {
		previous.remove(node.Name)
		delete(n.idByName, node.Name)
		differs = true
		if !previous.isRead {
			n.requestRead()
		}
	}
	w := n.byID[idOf(node)]
	if !deleted && w != nil && w.isRead && node.Spec.ProviderID != "" {
		differs = w.add(node) || differs
		if slices.Contains(w.nodes, node) {
			n.idByName[node.Name] = idOf(node)
		}
	}
	if !differs {
		return nil
	}
	return &node.Node
}
