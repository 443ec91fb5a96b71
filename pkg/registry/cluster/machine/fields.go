// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"

// selectable are the fields that machines can be selected by, beside name and namespace. All
// have many values.
var selectable = map[string]func(*clusterv1alpha1.Machine) string{
	"spec.clusterName":    func(m *clusterv1alpha1.Machine) string { return m.Spec.ClusterName },
	"spec.providerID":     func(m *clusterv1alpha1.Machine) string { return m.Spec.ProviderID },
	"status.nodeRef.name": func(m *clusterv1alpha1.Machine) string { return m.Status.NodeRef.Name },
}
