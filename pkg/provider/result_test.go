// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

func TestResult_AppliesTheObservationToTheStatus(t *testing.T) {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	first := vmv1alpha1.VirtualMachineSnapshotNode{UniqueID: "snapshot-1", Name: "manual"}
	second := vmv1alpha1.VirtualMachineSnapshotNode{UniqueID: "snapshot-2", Name: "uid", SnapshotName: "nightly", Parent: "snapshot-1"}
	guest := &vmv1alpha1.VirtualMachineGuestStatus{HostName: "web"}
	bootstrap := &vmv1alpha1.VirtualMachineBootstrapStatus{InstanceID: "uid-1"}
	network := &vmv1alpha1.VirtualMachineNetworkStatus{PrimaryIP4: "192.0.2.8"}
	storage := &vmv1alpha1.VirtualMachineStorageStatus{Committed: resource.NewQuantity(100, resource.BinarySI)}
	volumes := []vmv1alpha1.VirtualMachineVolumeStatus{{Name: "data", Attached: true}}
	vcenter, created := "cc-3", &metav1.Time{Time: at.Add(-time.Hour)}
	r := provider.Result{Zone: "west", Observation: &provider.Observation{
		UniqueID: "vm-42", BiosUUID: "aa-1", InstanceUUID: "bb-2", VCenterInstanceUUID: "cc-3", HardwareVersion: 21, PowerState: vmv1alpha1.PoweredOn, NodeName: "esx-1",
		Guest: guest, Bootstrap: bootstrap, Network: network, Storage: storage, Volumes: volumes,
		LastRestart: &metav1.Time{Time: at.Add(5 * time.Nanosecond)}, CreationTime: created,
		Snapshots: []provider.ObservedSnapshot{{VirtualMachineSnapshotNode: first}, {VirtualMachineSnapshotNode: second, Current: true}},
	}}
	st := vmv1alpha1.VirtualMachineStatus{CurrentSnapshot: "previous", PowerState: vmv1alpha1.PoweredOff}
	r.Apply(&st, 7, at)
	want := vmv1alpha1.VirtualMachineStatus{
		Zone: "west", UniqueID: "vm-42", BiosUUID: "aa-1", InstanceUUID: "bb-2", VCenterInstanceUUID: &vcenter, HardwareVersion: 21, PowerState: vmv1alpha1.PoweredOn, NodeName: "esx-1",
		Guest: guest, Bootstrap: bootstrap, Network: network, Storage: storage, Volumes: volumes, LastRestartTime: &metav1.Time{Time: at},
		FirstStartTime: &metav1.Time{Time: at}, CreationTime: created,
		CurrentSnapshot: "nightly", RootSnapshots: []string{"manual"}, Snapshots: []vmv1alpha1.VirtualMachineSnapshotNode{first, second},
	}
	if diff := cmp.Diff(want, st); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}
