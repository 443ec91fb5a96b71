// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/registry/cluster/machine"
)

func TestMachineTable_HasTheColumnsOfClusterAPI(t *testing.T) {
	m := &clusterv1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m"}}
	cells := func() []any {
		t.Helper()
		table, err := machine.Kind().Table.ConvertToTable(t.Context(), m, nil)
		if err != nil {
			t.Fatal(err)
		}
		c := table.Rows[0].Cells
		return append(c[:9:9], c[10:]...) // omits the age
	}
	if diff := cmp.Diff([]any{"m", "", "", "", "", "", "", "", "", "", "", "", "", ""}, cells()); diff != "" {
		t.Errorf("empty machine (-want +got):\n%s", diff)
	}
	m.Spec.ClusterName, m.Spec.Version, m.Spec.ProviderID = "shop", "v1.36.3", "vsphere://1"
	m.Status.NodeRef.Name, m.Status.FailureDomain, m.Status.Phase = "node-1", "zone-1", clusterv1alpha1.MachinePhaseRunning
	m.Status.NodeInfo = &clusterv1alpha1.NodeSystemInfo{OSImage: "Photon OS 5"}
	m.Status.Addresses = []clusterv1alpha1.MachineAddress{{Type: "Hostname", Address: "node-1"}, {Type: "InternalIP", Address: "10.0.0.1"}, {Type: "ExternalIP", Address: "1.2.3.4"}, {Type: "InternalIP", Address: "10.0.0.2"}}
	m.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "True"}, {Type: "Available", Status: "False"}, {Type: "UpToDate", Status: "Unknown"}, {Type: "Paused", Status: "False"}}
	want := []any{"m", "shop", "node-1", "zone-1", "True", "False", "Unknown", "Running", "v1.36.3", "vsphere://1", "10.0.0.1", "1.2.3.4", "Photon OS 5", "False"}
	if diff := cmp.Diff(want, cells()); diff != "" {
		t.Errorf("running machine (-want +got):\n%s", diff)
	}
}
