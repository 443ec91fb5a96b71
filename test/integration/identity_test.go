// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	vmclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/integration/framework"
)

func TestFinalizer_CannotBeRemovedByAnEditor(t *testing.T) {
	s := startWithOperator(t)
	alice := framework.Client(t, s.ConfigFor("alice")).VmV1alpha1().VirtualMachines(namespace)
	operator := framework.Client(t, s.ConfigFor("operator")).VmV1alpha1().VirtualMachines(namespace)
	createVM(t, s.Client(t), inlineVM("kept"))
	strip := func(in vmclient.VirtualMachineInterface) error {
		_, err := in.Patch(t.Context(), "kept", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		return err
	}

	if err := strip(alice); err != nil {
		t.Errorf("a manifest without finalizers: %v, want that they are kept", err)
	}
	if got := getVM(t, s.Client(t), "kept").Finalizers; !slices.Contains(got, vmv1alpha1.VirtualMachineFinalizer) {
		t.Fatalf("finalizers of a VM that is not being deleted: %q, want the server's kept", got)
	}
	if err := alice.Delete(t.Context(), "kept", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := strip(alice); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), vmv1alpha1.VirtualMachineFinalizer) {
		t.Errorf("removal by an editor: %v, want Forbidden that names the finalizer", err)
	}
	if got := getVM(t, s.Client(t), "kept"); got.DeletionTimestamp == nil {
		t.Error("the VM is not being deleted")
	}
	if err := strip(operator); err != nil {
		t.Errorf("removal by a privileged user: %v", err)
	}
	if _, err := operator.Get(t.Context(), "kept", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after that: %v, want NotFound", err)
	}
}

// The garbage collector and the deletion of a namespace act as ordinary users: they add their own finalizers to an
// object and remove them.
func TestFinalizer_OthersCanBeAddedAndRemoved(t *testing.T) {
	s := startWithOperator(t)
	alice := framework.Client(t, s.ConfigFor("alice")).VmV1alpha1().VirtualMachines(namespace)
	createVM(t, s.Client(t), inlineVM("owner"))
	foreground := metav1.DeletePropagationForeground
	if err := alice.DeleteCollection(t.Context(), metav1.DeleteOptions{PropagationPolicy: &foreground}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	got := getVM(t, s.Client(t), "owner")
	if want := []string{vmv1alpha1.VirtualMachineFinalizer, metav1.FinalizerDeleteDependents}; !slices.Equal(got.Finalizers, want) {
		t.Fatalf("finalizers %q, want %q", got.Finalizers, want)
	}
	got.Finalizers = []string{vmv1alpha1.VirtualMachineFinalizer}
	if _, err := alice.Update(t.Context(), got, metav1.UpdateOptions{}); err != nil {
		t.Errorf("removing the finalizer of the garbage collector: %v", err)
	}
}

func TestOwnership_CannotBeForgedByAnyVerb(t *testing.T) {
	s := startWithOperator(t)
	vm := createVM(t, s.Client(t), inlineVM("web"))
	owner := func(uid types.UID) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: vmv1alpha1.SchemeGroupVersion.String(), Kind: "VirtualMachine", Name: vm.Name, UID: uid}
	}
	of := func(user string) vmclient.VirtualMachineSnapshotInterface {
		return framework.Client(t, s.ConfigFor(user)).VmV1alpha1().VirtualMachineSnapshots(namespace)
	}
	alice, collector := of("alice"), of("system:serviceaccount:kube-system:generic-garbage-collector")
	snapshot := &vmv1alpha1.VirtualMachineSnapshot{
		ObjectMeta: metav1.ObjectMeta{Name: "now", OwnerReferences: []metav1.OwnerReference{owner(vm.UID)}},
		Spec:       vmv1alpha1.VirtualMachineSnapshotSpec{VMName: vm.Name},
	}
	stored, err := of("operator").Create(t.Context(), snapshot, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	patch := func(in vmclient.VirtualMachineSnapshotInterface, kind types.PatchType, text string) error {
		_, err := in.Patch(t.Context(), "now", kind, []byte(text), metav1.PatchOptions{FieldManager: "test"})
		return err
	}
	const forged = `{"apiVersion":"vm.slipway.dev/v1alpha1","kind":"VirtualMachine","name":"web","uid":"forged"}`
	for way, write := range map[string]func() error{
		"merge patch": func() error {
			return patch(alice, types.MergePatchType, `{"metadata":{"ownerReferences":[`+forged+`]}}`)
		},
		"strategic merge patch": func() error {
			return patch(alice, types.StrategicMergePatchType, `{"metadata":{"ownerReferences":[`+forged+`]}}`)
		},
		"JSON patch": func() error {
			return patch(alice, types.JSONPatchType, `[{"op":"replace","path":"/metadata/ownerReferences/0/uid","value":"forged"}]`)
		},
		"apply": func() error {
			return patch(alice, types.ApplyPatchType, `{"apiVersion":"vm.slipway.dev/v1alpha1","kind":"VirtualMachineSnapshot","metadata":{"name":"now","ownerReferences":[`+forged+`]}}`)
		},
		"PUT": func() error {
			changed := stored.DeepCopy()
			changed.OwnerReferences[0].UID = "forged"
			_, err := alice.Update(t.Context(), changed, metav1.UpdateOptions{})
			return err
		},
	} {
		if err := write(); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "metadata.ownerReferences[VirtualMachine web]") {
			t.Errorf("%s: %v, want Forbidden that names the owner", way, err)
		}
	}
	if err := patch(alice, types.MergePatchType, `{"metadata":{"ownerReferences":null,"labels":{"a":"b"}}}`); err != nil {
		t.Errorf("a manifest without owners: %v", err)
	}
	got, err := alice.Get(t.Context(), "now", metav1.GetOptions{})
	if err != nil || got.Labels["a"] != "b" || !slices.Equal(got.OwnerReferences, []metav1.OwnerReference{owner(vm.UID)}) {
		t.Errorf("after a manifest without owners (%v): labels %v, owners %v; want the previous owner", err, got.Labels, got.OwnerReferences)
	}
	if err := patch(collector, types.MergePatchType, `{"metadata":{"ownerReferences":null}}`); err != nil {
		t.Errorf("the garbage collector: %v", err)
	}
}

func TestInstanceUUID_OfAnotherVMIsRejected(t *testing.T) {
	s := startWithOperator(t)
	victim := createVM(t, s.Client(t), inlineVM("victim"))
	named := func(name, uuid string) *vmv1alpha1.VirtualMachine {
		vm := inlineVM(name)
		vm.Spec.Firmware = &vmv1alpha1.VirtualMachineFirmware{UUID: uuid}
		return vm
	}
	create := func(user string, vm *vmv1alpha1.VirtualMachine) error {
		vm.Namespace = "another"
		_, err := framework.Client(t, s.ConfigFor(user)).VmV1alpha1().VirtualMachines("another").Create(t.Context(), vm, metav1.CreateOptions{})
		return err
	}

	for what, uuid := range map[string]string{
		"another VM's":                   victim.Spec.Firmware.UUID,
		"another VM's in capitals":       strings.ToUpper(victim.Spec.Firmware.UUID),
		"that of a VM without object":    "420f3c1a-6f5b-4b8e-9d1c-2f6a7e8b9c0d",
		"the UUID for another VM's name": string(victim.UID),
	} {
		if err := create("alice", named("impostor", uuid)); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "spec.firmware.uuid") {
			t.Errorf("%s: %v, want Forbidden that names spec.firmware.uuid", what, err)
		}
	}
	if err := create("alice", inlineVM("of-her-own")); err != nil {
		t.Errorf("without a UUID: %v", err)
	}
	if err := create("operator", named("moved-here", "420f3c1a-6f5b-4b8e-9d1c-2f6a7e8b9c0d")); err != nil {
		t.Errorf("by a privileged user: %v", err)
	}
	for _, none := range []string{"00000000-0000-0000-0000-000000000000", "ffffffff-ffff-FFFF-ffff-ffffffffffff"} {
		if err := create("operator", named("missing", none)); !apierrors.IsInvalid(err) || !anyBelow(causes(err), "spec.firmware.uuid") {
			t.Errorf("%s: %v, want Invalid that names spec.firmware.uuid", none, err)
		}
	}
}

func TestInstanceUUID_IsKeptWhenTheManifestIsApplied(t *testing.T) {
	s := startWithOperator(t)
	createVM(t, s.Client(t), inlineVM("exported"))
	alice := framework.Client(t, s.ConfigFor("alice")).VmV1alpha1().VirtualMachines(namespace)
	exported := getVM(t, s.Client(t), "exported")
	exported.Spec.PowerState = vmv1alpha1.PoweredOff
	if _, err := alice.Update(t.Context(), exported, metav1.UpdateOptions{}); err != nil {
		t.Errorf("an update that names the UUID the VM has: %v", err)
	}
}
