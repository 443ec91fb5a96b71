// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Node returns the Node of a Cluster that has a provider ID and a name, nil if there is none. An error means
// that it cannot be known now.
func (c *Clusters) Node(of types.NamespacedName, providerID, name string) (*corev1.Node, error) {
	nodes, err := c.nodesOf(of, providerID, name)
	for _, node := range nodes {
		if node.Name == name {
			return &node.Node, err
		}
	}
	return nil, err
}

// Registered reports whether a Cluster has a Node of a provider ID. An error means that it cannot be known now.
func (c *Clusters) Registered(of types.NamespacedName, providerID string) (bool, error) {
	nodes, err := c.nodesOf(of, providerID, "")
	return len(nodes) > 0, err
}

func (c *Clusters) nodesOf(of types.NamespacedName, providerID, name string) ([]*Node, error) {
	connection, err := c.Connection(of)
	if err != nil {
		return nil, err
	}
	return connection.Nodes(providerID, name)
}

// Silent reports whether a Cluster does not answer and its Nodes are as they were seen last.
func (c *Clusters) Silent(of types.NamespacedName) bool {
	_, failures := c.Probe(of)
	return failures > 0
}

// Connected returns why a Cluster is not connected to, nil if it is.
func (c *Clusters) Connected(of types.NamespacedName) error {
	_, err := c.Connection(of)
	return err
}
