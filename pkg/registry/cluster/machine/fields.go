// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"

// selectable are the field selectors of machines in addition to name and namespace. Each field has many different
// values.
var selectable = map[string]func(*clusterv1alpha1.Machine) string{
	"spec.clusterName":    func(m *clusterv1alpha1.Machine) string { return m.Spec.ClusterName },
	"spec.providerID":     func(m *clusterv1alpha1.Machine) string { return m.Spec.ProviderID },
	"status.nodeRef.name": func(m *clusterv1alpha1.Machine) string { return m.Status.NodeRef.Name },
}
