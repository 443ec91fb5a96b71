// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/registry/table"
)

// newTable returns the columns of machines, which are Cluster API's.
func newTable() *table.Convertor[*clusterv1alpha1.Machine] {
	type machine = *clusterv1alpha1.Machine
	type column = table.Column[machine]
	return table.New(
		column{Name: "Cluster", Type: "string", Description: "Cluster that the machine belongs to.",
			Value: func(m machine) any { return m.Spec.ClusterName }},
		column{Name: "Node Name", Type: "string", Description: "Name of its Node.",
			Value: func(m machine) any { return m.Status.NodeRef.Name }},
		column{Name: "Failure Domain", Type: "string", Description: "Failure domain that it is in.",
			Value: func(m machine) any { return m.Status.FailureDomain }},
		status("Ready", "Whether it is well.", clusterv1alpha1.ReadyCondition, false),
		status("Available", "Whether it has been well for as long as it must.", clusterv1alpha1.AvailableCondition, false),
		status("Up-to-date", "Whether it is as its MachineDeployment says.", clusterv1alpha1.MachineUpToDateCondition, false),
		column{Name: "Phase", Type: "string", Description: "Sums up its state.",
			Value: func(m machine) any { return string(m.Status.Phase) }},
		column{Name: "Version", Type: "string", Description: "Version of Kubernetes that it shall have.",
			Value: func(m machine) any { return m.Spec.Version }},
		column{Name: "Provider ID", Type: "string", Wide: true, Description: "Provider ID, which its Node has, too.",
			Value: func(m machine) any { return m.Spec.ProviderID }},
		address("Internal-IP", "Address in its network.", clusterv1alpha1.MachineInternalIP),
		address("External-IP", "Address that can be reached from elsewhere.", clusterv1alpha1.MachineExternalIP),
		column{Name: "OS-Image", Type: "string", Wide: true, Description: "Operating system that the Node tells of.", Value: osImage},
		status("Paused", "Whether the controllers leave it alone.", clusterv1alpha1.PausedCondition, true),
	)
}

// status is a column of a condition.
func status(name, description, condition string, wide bool) table.Column[*clusterv1alpha1.Machine] {
	return table.Column[*clusterv1alpha1.Machine]{Name: name, Type: "string", Wide: wide, Description: description,
		Value: func(m *clusterv1alpha1.Machine) any { return table.Status(m.Status.Conditions, condition) }}
}

// address is a column of the first address of a type.
func address(name, description string, of clusterv1alpha1.MachineAddressType) table.Column[*clusterv1alpha1.Machine] {
	return table.Column[*clusterv1alpha1.Machine]{Name: name, Type: "string", Wide: true, Description: description, Value: func(m *clusterv1alpha1.Machine) any {
		for _, a := range m.Status.Addresses {
			if a.Type == of {
				return a.Address
			}
		}
		return nil
	}}
}

func osImage(m *clusterv1alpha1.Machine) any {
	if m.Status.NodeInfo == nil {
		return nil
	}
	return m.Status.NodeInfo.OSImage
}
