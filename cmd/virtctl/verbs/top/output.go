// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package top

import (
	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// machineUse is a line of "top vm" for programs. Unknown amounts are absent.
type machineUse struct {
	Namespace         string                `json:"namespace"`
	Name              string                `json:"name"`
	Zone              string                `json:"zone,omitempty"`
	PowerState        vmv1alpha1.PowerState `json:"powerState,omitempty"`
	VCPUs             *int64                `json:"vcpus,omitempty"`
	MemoryBytes       *int64                `json:"memoryBytes,omitempty"`
	StorageBytes      *int64                `json:"storageBytes,omitempty"`
	ProvisionedBytes  *int64                `json:"provisionedBytes,omitempty"`
	CPUUsedHertz      *int64                `json:"cpuUsedHertz,omitempty"`
	MemoryActiveBytes *int64                `json:"memoryActiveBytes,omitempty"`
	HostMemoryBytes   *int64                `json:"hostMemoryBytes,omitempty"`
}

// zoneUse is a line of "top zone" for programs. The last three are absent without permission to list virtual machines.
type zoneUse struct {
	Name                    string                    `json:"name"`
	VCenter                 string                    `json:"vCenter"`
	Ready                   string                    `json:"ready,omitempty"`
	Hosts                   int32                     `json:"hosts"`
	Capacity                *vmv1alpha1.ZoneResources `json:"capacity,omitempty"`
	Free                    *vmv1alpha1.ZoneResources `json:"free,omitempty"`
	VirtualMachines         int32                     `json:"virtualMachines"`
	VCPUs                   *int64                    `json:"vcpus,omitempty"`
	MachineMemoryBytes      *int64                    `json:"virtualMachineMemoryBytes,omitempty"`
	MachineProvisionedBytes *int64                    `json:"virtualMachineProvisionedBytes,omitempty"`
}

// amount returns nil for an unknown amount.
func amount(n int64) *int64 {
	if n == unknown {
		return nil
	}
	return &n
}

func takingEntries(all []taking) []cli.Entry {
	var entries []cli.Entry
	for _, t := range all {
		entries = append(entries, cli.Entry{Kind: cli.MachineKind, Name: t.key.Name, Object: machineUse{
			Namespace: t.key.Namespace, Name: t.key.Name, Zone: t.zone, PowerState: t.power,
			VCPUs: amount(t.vcpus), MemoryBytes: amount(t.memory), StorageBytes: amount(t.storage), ProvisionedBytes: amount(t.provisioned),
			CPUUsedHertz: amount(t.hertz), MemoryActiveBytes: amount(t.active), HostMemoryBytes: amount(t.host),
		}})
	}
	return entries
}

func zoneEntries(zones []vmv1alpha1.Zone, taken map[string]*taking) []cli.Entry {
	var entries []cli.Entry
	for i := range zones {
		z, s := &zones[i], &zones[i].Status
		u := zoneUse{
			Name: z.Name, VCenter: z.VCenterName(), Ready: conditions.ColumnValue(s.Conditions, vmv1alpha1.ConditionDeleting, vmv1alpha1.ConditionReady),
			Hosts: s.Hosts, Capacity: s.Capacity, Free: s.Free, VirtualMachines: s.VirtualMachines,
		}
		if taken != nil {
			t := taken[z.Name]
			if t == nil {
				t = &taking{}
			}
			u.VCPUs, u.MachineMemoryBytes, u.MachineProvisionedBytes = &t.vcpus, &t.memory, &t.provisioned
		}
		entries = append(entries, cli.Entry{Kind: vmv1alpha1.SchemeGroupVersion.WithKind("Zone").GroupKind(), Name: z.Name, Object: u})
	}
	return entries
}
