// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	vmapply "github.com/slipway-dev/slipway/pkg/generated/applyconfiguration/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype/apply"
	"github.com/slipway-dev/slipway/pkg/store/embedded"
	"github.com/slipway-dev/slipway/test/integration/framework"
)

func TestCreate_SetsIdentityAndDropsStatus(t *testing.T) {
	c := framework.StartStandalone(t).Client(t)
	asked := inlineVM("filled")
	asked.Status.Phase = vmv1alpha1.PhaseRunning
	got := createVM(t, c, asked)

	if got.Status.Phase != "" {
		t.Errorf("status.phase = %q, want it dropped", got.Status.Phase)
	}
	if got.Generation != 1 {
		t.Errorf("generation = %d, want 1", got.Generation)
	}
	if diff := cmp.Diff([]string{vmv1alpha1.VirtualMachineFinalizer}, got.Finalizers); diff != "" {
		t.Errorf("finalizers (-want +got):\n%s", diff)
	}
	// The controller would choose the same one for an object that lacks it.
	if want := apply.FirmwareUUID(got.UID); got.Spec.Firmware == nil || got.Spec.Firmware.UUID != want {
		t.Errorf("spec.firmware = %+v, want the UUID %s that follows from the UID %s", got.Spec.Firmware, want, got.UID)
	}
	if want := "vsphere://" + got.Spec.Firmware.UUID; got.Spec.ProviderID != want {
		t.Errorf("provider ID %q, want %q", got.Spec.ProviderID, want)
	}
	want := []vmv1alpha1.VirtualMachineNetworkInterface{{Name: "eth0"}}
	if got.Spec.Network == nil {
		t.Error("spec.network is nil, want the default interface")
	} else if diff := cmp.Diff(want, got.Spec.Network.Interfaces); diff != "" {
		t.Errorf("spec.network.interfaces (-want +got):\n%s", diff)
	}
	if got.Spec.PowerState != vmv1alpha1.PoweredOn {
		t.Errorf("spec.powerState = %q, want the default", got.Spec.PowerState)
	}
}

func TestCreate_KeepsValuesOfTheUser(t *testing.T) {
	c := framework.StartStandalone(t).Client(t)
	asked := inlineVM("given")
	asked.Spec.Firmware = &vmv1alpha1.VirtualMachineFirmware{UUID: "11111111-2222-4333-8444-555555555555"}
	asked.Spec.Network = &vmv1alpha1.VirtualMachineNetworkSpec{Disabled: true}
	got := createVM(t, c, asked)
	if got.Spec.Firmware.UUID != asked.Spec.Firmware.UUID {
		t.Errorf("spec.firmware.uuid = %q, want %q", got.Spec.Firmware.UUID, asked.Spec.Firmware.UUID)
	}
	if len(got.Spec.Network.Interfaces) != 0 {
		t.Errorf("a VM with network.disabled got interfaces %v", got.Spec.Network.Interfaces)
	}
}

// F156: status does not change through the main resource.
func TestMainEndpoint_KeepsStatusAndIncrementsGeneration(t *testing.T) {
	c := framework.StartStandalone(t).Client(t)
	vms := c.VmV1alpha1().VirtualMachines(namespace)
	vm := createVM(t, c, inlineVM("main"))

	vm.Status.Phase = vmv1alpha1.PhaseRunning
	vm.Labels = map[string]string{"a": "b"}
	vm, err := vms.Update(t.Context(), vm, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if vm.Status.Phase != "" || vm.Labels["a"] != "b" || vm.Generation != 1 {
		t.Errorf("after a change of status and labels: phase %q, labels %v, generation %d; want the status dropped and generation 1",
			vm.Status.Phase, vm.Labels, vm.Generation)
	}
	vm.Spec.CPU.Sockets = 4
	if vm, err = vms.Update(t.Context(), vm, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if vm.Generation != 2 {
		t.Errorf("generation after a change of spec = %d, want 2", vm.Generation)
	}
	vm.ResourceVersion = ""
	if _, err = vms.Update(t.Context(), vm, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("update without a resource version: %v, want Invalid", err)
	}
}

func TestStatusEndpoint_ChangesOnlyStatus(t *testing.T) {
	c := framework.StartStandalone(t).Client(t)
	vms := c.VmV1alpha1().VirtualMachines(namespace)
	created := createVM(t, c, inlineVM("status"))

	vm := created.DeepCopy()
	vm.Spec.CPU.Sockets = 8
	vm.Labels = map[string]string{"a": "b"}
	vm.Annotations = map[string]string{"a": "b"}
	vm.Finalizers = nil
	vm.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "y"}}
	vm.Status.Phase = vmv1alpha1.PhaseRunning
	got, err := vms.UpdateStatus(t.Context(), vm, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Status.Phase != vmv1alpha1.PhaseRunning || got.Generation != 1 {
		t.Errorf("phase %q, generation %d; want the status stored and generation 1", got.Status.Phase, got.Generation)
	}
	if diff := cmp.Diff(created.Spec, got.Spec); diff != "" {
		t.Errorf("the status endpoint changed spec (-before +after):\n%s", diff)
	}
	if len(got.Labels)+len(got.Annotations)+len(got.OwnerReferences) != 0 || len(got.Finalizers) != 1 {
		t.Errorf("the status endpoint changed metadata: %+v", got.ObjectMeta)
	}

	patch := []byte(`{"spec":{"guestID":"evil"},"status":{"nodeName":"esx-1"}}`)
	if got, err = vms.Patch(t.Context(), "status", types.MergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	if got.Spec.GuestID != "" || got.Status.NodeName != "esx-1" {
		t.Errorf("a patch of status gave guestID %q and nodeName %q", got.Spec.GuestID, got.Status.NodeName)
	}
}

func TestApply_MergesByKeyReportsConflictsAndOwnsNoStatus(t *testing.T) {
	c := framework.StartStandalone(t).Client(t)
	vms := c.VmV1alpha1().VirtualMachines(namespace)
	apply := func(manager string, spec *vmapply.VirtualMachineSpecApplyConfiguration) (*vmv1alpha1.VirtualMachine, error) {
		config := vmapply.VirtualMachine("applied", namespace).WithSpec(spec).
			WithStatus(vmapply.VirtualMachineStatus().WithNodeName("mine"))
		return vms.Apply(t.Context(), config, metav1.ApplyOptions{FieldManager: manager})
	}
	size := func() *vmapply.VirtualMachineSpecApplyConfiguration {
		return vmapply.VirtualMachineSpec().WithCPU(vmapply.VirtualMachineCPU().WithSockets(2)).
			WithMemory(vmapply.VirtualMachineMemory().WithGuest(resource.MustParse("1Gi")))
	}
	nic := func(name string) *vmapply.VirtualMachineNetworkInterfaceApplyConfiguration {
		return vmapply.VirtualMachineNetworkInterface().WithName(name)
	}
	if _, err := apply("first", size().WithNetwork(vmapply.VirtualMachineNetworkSpec().WithInterfaces(nic("a")))); err != nil {
		t.Fatal(err)
	}
	vm, err := apply("second", vmapply.VirtualMachineSpec().WithNetwork(vmapply.VirtualMachineNetworkSpec().WithInterfaces(nic("b"))))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, i := range vm.Spec.Network.Interfaces {
		names = append(names, i.Name)
	}
	if diff := cmp.Diff([]string{"a", "b"}, names); diff != "" {
		t.Errorf("interfaces after two appliers (-want +got):\n%s", diff)
	}
	if vm.Status.NodeName != "" {
		t.Errorf("apply wrote status.nodeName = %q", vm.Status.NodeName)
	}
	for _, entry := range vm.ManagedFields {
		if regexp.MustCompile(`"f:status"`).Match(entry.FieldsV1.GetRawBytes()) {
			t.Errorf("%s owns status by way of %q: %s", entry.Manager, entry.Subresource, entry.FieldsV1.GetRawString())
		}
	}
	_, err = apply("second", vmapply.VirtualMachineSpec().WithCPU(vmapply.VirtualMachineCPU().WithSockets(4)))
	if !apierrors.IsConflict(err) {
		t.Errorf("applying a field of another manager: %v, want a conflict", err)
	}
}

func TestFinalizer_KeepsTheObjectUntilTheControllerRemovesIt(t *testing.T) {
	c := framework.StartStandalone(t).Client(t)
	vms := c.VmV1alpha1().VirtualMachines(namespace)
	createVM(t, c, inlineVM("doomed"))
	if err := vms.Delete(t.Context(), "doomed", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	vm := getVM(t, c, "doomed")
	if vm.DeletionTimestamp == nil {
		t.Fatal("the VM has no deletion timestamp")
	}
	_, err := vms.Start(t.Context(), "doomed", &vmv1alpha1.PowerOptions{}, metav1.CreateOptions{})
	if !apierrors.IsConflict(err) {
		t.Errorf("starting a VM that is being deleted: %v, want a conflict", err)
	}
	vm.Finalizers = nil
	if _, err := vms.Update(t.Context(), vm, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := vms.Get(t.Context(), "doomed", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after the finalizer was removed: %v, want NotFound", err)
	}
}

func TestObjects_SurviveARestart(t *testing.T) {
	dir := t.TempDir()
	first, stop := framework.StartStandaloneUntil(t, dir)
	before := createVM(t, first.Client(t), inlineVM("kept"))
	stop()

	second := framework.StartStandaloneIn(t, dir)
	if diff := cmp.Diff(before, getVM(t, second.Client(t), "kept")); diff != "" {
		t.Errorf("after a restart (-before +after):\n%s", diff)
	}
}

func TestObjects_AreStoredInProtobuf(t *testing.T) {
	dir := t.TempDir()
	s, stop := framework.StartStandaloneUntil(t, dir)
	createVM(t, s.Client(t), inlineVM("kept"))
	createClusterInstancetype(t, s.Client(t), "small", 1, "1Gi")
	stop()

	etcd, err := embedded.Start(t.Context(), embedded.Options{Dir: dir, UnsafeNoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer etcd.Close()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{etcd.Endpoint()}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	for _, name := range []string{"/kept", "/small"} {
		found := false
		got, err := client.Get(t.Context(), "/registry/", clientv3.WithPrefix())
		if err != nil {
			t.Fatal(err)
		}
		for _, kv := range got.Kvs {
			if strings.HasSuffix(string(kv.Key), name) {
				found = true
				if !bytes.HasPrefix(kv.Value, []byte("k8s\x00")) {
					t.Errorf("%s is stored as %.20q, want Kubernetes' protobuf", kv.Key, kv.Value)
				}
			}
		}
		if !found {
			t.Errorf("nothing that ends in %s is stored", name)
		}
	}
}

func TestReplace_WithTheManifestKeepsValuesSetAtCreation(t *testing.T) {
	c := framework.StartStandalone(t).Client(t)
	created := createVM(t, c, inlineVM("replaced"))
	manifest := inlineVM("replaced")
	manifest.ResourceVersion = created.ResourceVersion
	manifest.Finalizers = created.Finalizers
	got, err := c.VmV1alpha1().VirtualMachines(namespace).Update(t.Context(), manifest, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(created.Spec, got.Spec); diff != "" {
		t.Errorf("spec after the replacement (-before +after):\n%s", diff)
	}
	if got.Generation != 1 {
		t.Errorf("generation = %d, want 1 because nothing changed", got.Generation)
	}
}
