// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Every step must be triggered by an event: the resync period is ten minutes.
func TestVM_FollowsTheMachineThatOwnsIt(t *testing.T) {
	w := newVMWorld(t)
	w.image()
	w.size(1, "1Gi")
	if _, err := w.host.CoreV1().Secrets(vmNamespace).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: vmNamespace, Name: "data"},
		Data: map[string][]byte{"value": []byte("#cloud-config\n")}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	waits := func(reason string) func(*vmv1alpha1.VirtualMachine) bool {
		return func(vm *vmv1alpha1.VirtualMachine) bool {
			c := meta.FindStatusCondition(vm.Status.Conditions, vmv1alpha1.ConditionMachineReady)
			return c != nil && c.Reason == reason
		}
	}
	vms, clusters, machines := w.VmV1alpha1().VirtualMachines(vmNamespace), w.ClusterV1alpha1().Clusters(vmNamespace), w.ClusterV1alpha1().Machines(vmNamespace)
	w.create("node", func(vm *vmv1alpha1.VirtualMachine) {
		vm.Labels = map[string]string{clusterv1alpha1.ClusterNameLabel: "shop"}
	})
	w.until("node", "waits for a Machine", waits(vmv1alpha1.ReasonWaitingForMachine))

	bootstrap := clusterv1alpha1.ContractVersionedObjectReference{APIGroup: "bootstrap.example.org", Kind: "Config", Name: "node"}
	machine, err := machines.Create(t.Context(), &clusterv1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "node"}, Spec: clusterv1alpha1.MachineSpec{
		ClusterName: "shop", Bootstrap: clusterv1alpha1.Bootstrap{ConfigRef: bootstrap},
		InfrastructureRef: clusterv1alpha1.ContractVersionedObjectReference{APIGroup: vmv1alpha1.GroupName, Kind: "VirtualMachine", Name: "node"}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	vm := w.vm("node")
	vm.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(machine, clusterv1alpha1.SchemeGroupVersion.WithKind("Machine"))}
	if _, err := vms.Update(t.Context(), vm, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.until("node", "waits for the Cluster", waits(vmv1alpha1.ReasonWaitingForClusterInfrastructure))

	cluster, err := clusters.Create(t.Context(), &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	yes := true
	cluster.Status.Initialization.InfrastructureProvisioned = &yes
	if cluster, err = clusters.UpdateStatus(t.Context(), cluster, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.until("node", "waits for data", waits(vmv1alpha1.ReasonWaitingForBootstrapData))

	secret := "data"
	machine.Spec.Bootstrap.DataSecretName = &secret
	if _, err := machines.Update(t.Context(), machine, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	vm = w.until("node", "is provisioned", func(vm *vmv1alpha1.VirtualMachine) bool { return vm.Status.Initialization != nil })
	if m := vm.Status.Machine; m == nil || m.DataSecretName != "data" || m.DataFormat != "cloud-config" || vm.Spec.ProviderID != "vsphere://"+vm.Status.BiosUUID {
		t.Errorf("status.machine is %v, provider ID %s of BIOS UUID %s", m, vm.Spec.ProviderID, vm.Status.BiosUUID)
	}
	if got := w.events.of("node"); !slices.Contains(got, "MachineFound") {
		t.Errorf("events %v", got)
	}

	cluster.Spec.Paused = &yes
	if _, err := clusters.Update(t.Context(), cluster, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.until("node", "is paused", func(vm *vmv1alpha1.VirtualMachine) bool {
		return meta.IsStatusConditionTrue(vm.Status.Conditions, vmv1alpha1.ConditionPaused)
	})
}
