// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/registry/table"
)

// newTable returns the columns of machines, which are those of Cluster API.
func newTable() *table.Convertor[*clusterv1alpha1.Machine] {
	type machine = *clusterv1alpha1.Machine
	type column = table.Column[machine]
	return table.New(
		column{Name: "Cluster", Type: "string", Description: "Cluster that the machine belongs to.",
			Value: func(m machine) any { return m.Spec.ClusterName }},
		column{Name: "Node Name", Type: "string", Description: "Name of the Node.",
			Value: func(m machine) any { return m.Status.NodeRef.Name }},
		column{Name: "Failure Domain", Type: "string", Description: "Failure domain of the machine.",
			Value: func(m machine) any { return m.Status.FailureDomain }},
		status("Ready", "Whether the machine is ready.", clusterv1alpha1.ReadyCondition, false),
		status("Available", "Whether the machine has been ready for at least minReadySeconds.", clusterv1alpha1.AvailableCondition, false),
		status("Up-to-date", "Whether the machine matches its MachineDeployment.", clusterv1alpha1.MachineUpToDateCondition, false),
		column{Name: "Phase", Type: "string", Description: "Phase of the machine.",
			Value: func(m machine) any { return string(m.Status.Phase) }},
		column{Name: "Version", Type: "string", Description: "Desired Kubernetes version.",
			Value: func(m machine) any { return m.Spec.Version }},
		column{Name: "Provider ID", Type: "string", Wide: true, Description: "Provider ID of the machine and its Node.",
			Value: func(m machine) any { return m.Spec.ProviderID }},
		address("Internal-IP", "Internal IP address.", clusterv1alpha1.MachineInternalIP),
		address("External-IP", "External IP address.", clusterv1alpha1.MachineExternalIP),
		column{Name: "OS-Image", Type: "string", Wide: true, Description: "Operating system that the Node reports.", Value: osImage},
		status("Paused", "Whether reconciliation is paused.", clusterv1alpha1.PausedCondition, true),
	)
}

// status returns a column with the status of a condition.
func status(name, description, condition string, wide bool) table.Column[*clusterv1alpha1.Machine] {
	return table.Column[*clusterv1alpha1.Machine]{Name: name, Type: "string", Wide: wide, Description: description,
		Value: func(m *clusterv1alpha1.Machine) any { return table.Status(m.Status.Conditions, condition) }}
}

// address returns a column with the first address of a type.
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
