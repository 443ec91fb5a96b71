// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/test/integration/framework"
)

// describeImages creates the images of TestAdmission_RejectsAVMThatDoesNotFitItsImage.
func describeImages(t *testing.T, client versioned.Interface) {
	t.Helper()
	ready := metav1.Condition{Type: vmv1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Succeeded", LastTransitionTime: metav1.Now()}
	complete := ready
	complete.Type = vmv1alpha1.ConditionOVFReady
	appliance := vmv1alpha1.VirtualMachineImageStatus{
		Type: vmv1alpha1.ImageTypeOVF, Firmware: vmv1alpha1.BootloaderBIOS, Conditions: []metav1.Condition{ready, complete},
		Disks: []vmv1alpha1.VirtualMachineImageDisk{{Name: "Hard disk 1", Capacity: resource.NewQuantity(16<<30, resource.BinarySI)}},
		Properties: []vmv1alpha1.VirtualMachineImageProperty{
			{Key: "hostname", Type: "string", UserConfigurable: true}, {Key: "build", Type: "string"}, {Key: "password", Type: "password(1..)", UserConfigurable: true, Required: true},
		},
	}
	partly := *appliance.DeepCopy()
	partly.Conditions[1].Status = metav1.ConditionFalse
	unread := *appliance.DeepCopy()
	unread.Conditions[0].Status = metav1.ConditionUnknown
	vm := client.VmV1alpha1()
	for name, status := range map[string]vmv1alpha1.VirtualMachineImageStatus{
		"appliance": appliance, "partly": partly, "unread": unread, "new": {}, "iso": {Type: vmv1alpha1.ImageTypeISO, Conditions: []metav1.Condition{ready}},
	} {
		i := &vmv1alpha1.VirtualMachineImage{ObjectMeta: metav1.ObjectMeta{Name: name}}
		i.Spec.ContentLibrary = &vmv1alpha1.ContentLibraryImageSource{Library: "golden", Item: name}
		made, err := vm.VirtualMachineImages(namespace).Create(t.Context(), i, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		made.Status = status
		if _, err := vm.VirtualMachineImages(namespace).UpdateStatus(t.Context(), made, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	everywhere := &vmv1alpha1.ClusterVirtualMachineImage{ObjectMeta: metav1.ObjectMeta{Name: "everywhere"}}
	everywhere.Spec.ContentLibrary = &vmv1alpha1.ContentLibraryImageSource{Library: "golden", Item: "everywhere"}
	made, err := vm.ClusterVirtualMachineImages().Create(t.Context(), everywhere, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	made.Status = appliance
	if _, err := vm.ClusterVirtualMachineImages().UpdateStatus(t.Context(), made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestAdmission_RejectsAVMThatDoesNotFitItsImage(t *testing.T) {
	config := framework.StartStandalone(t).Config()
	client, vms := restClient(t, config), versioned.NewForConfigOrDie(config)
	describeImages(t, vms)
	const properties = "spec.bootstrap.vAppConfig.properties"
	vApp := func(values string) string { return "bootstrap: {vAppConfig: {" + values + "}}" }
	full := vApp("properties: {password: hunter2}")
	rows := 0
	for name, tc := range map[string]struct {
		image, spec string
		// field is the rejected field. It is empty if the VM is admitted. says is a part of the message.
		field, says string
	}{
		"sufficient":                                  {"appliance", full, "", ""},
		"a misspelt property":                         {"appliance", vApp("properties: {password: hunter2, hostnam: web}"), properties, "it has hostname, password"},
		"a property in another case":                  {"appliance", vApp("properties: {password: hunter2, Hostname: web}"), properties, `"Hostname"`},
		"a property of the image's own":               {"appliance", vApp("properties: {password: hunter2, build: '7'}"), properties, "is not user-configurable"},
		"a required property that is missing":         {"appliance", vApp("properties: {hostname: web}"), properties + "[password]", "requires this property"},
		"no properties where one is required":         {"appliance", "bootstrap: {}", properties + "[password]", "requires this property"},
		"a Secret that may have them":                 {"appliance", vApp("rawProperties: secret"), "", ""},
		"cloud-init":                                  {"appliance", "bootstrap: {cloudInit: {rawCloudConfig: {name: data}}}", "", ""},
		"an image whose properties are not all known": {"partly", vApp("properties: {any: x}"), "", ""},
		"an image that cannot be read now":            {"unread", vApp("properties: {any: x}") + ", bootDisk: {size: 1Gi}", "", ""},
		"an image that was not reconciled":            {"new", vApp("properties: {any: x}") + ", bootDisk: {size: 1Gi}", "", ""},
		"an image that is not there":                  {"none", vApp("properties: {any: x}"), "", ""},
		"a boot disk that is too small":               {"appliance", full + ", bootDisk: {size: 10Gi}", "spec.bootDisk.size", "at least 16Gi"},
		"a boot disk of the same size":                {"appliance", full + ", bootDisk: {size: 16Gi}", "", ""},
		"an ISO image":                                {"iso", "", "spec.image.name", "use it in a CD-ROM drive"},
		"secure boot on BIOS":                         {"appliance", full + ", firmware: {secureBoot: true}", "spec.firmware.secureBoot", "has BIOS"},
		"secure boot on EFI instead":                  {"appliance", full + ", firmware: {secureBoot: true, bootloader: EFI}", "", ""},
		"secure boot with a preference":               {"appliance", full + ", firmware: {secureBoot: true}, preference: {name: none}", "", ""},
		"an image of the cluster":                     {"everywhere, kind: ClusterVirtualMachineImage", vApp("properties: {a: b}"), properties, "does not have this property"},
	} {
		t.Run(name, func(t *testing.T) {
			body := fmt.Sprintf("{cpu: {sockets: 1}, memory: {guest: 1Gi}, image: {name: %s}, %s}", tc.image, tc.spec)
			rows++
			err := postYAML(t, client, machinesPath, manifest("VirtualMachine", fmt.Sprintf("row-%d", rows), body))
			switch {
			case tc.field == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.field == "":
			case !apierrors.IsInvalid(err) || !anyBelow(causes(err), tc.field) || !strings.Contains(err.Error(), tc.says):
				t.Errorf("answer %v, want 422 that names %s with message %q", err, tc.field, tc.says)
			case strings.Contains(err.Error(), "hunter2"):
				t.Errorf("the answer has a value: %v", err)
			}
		})
	}

	t.Run("an update is rejected for its changes, but not after the VM is created", func(t *testing.T) {
		machines := vms.VmV1alpha1().VirtualMachines(namespace)
		if err := postYAML(t, client, machinesPath, manifest("VirtualMachine", "late", "{cpu: {sockets: 1}, memory: {guest: 1Gi}, image: {name: appliance}, "+full+"}")); err != nil {
			t.Fatal(err)
		}
		patch := func(text string) error {
			_, err := machines.Patch(t.Context(), "late", types.MergePatchType, []byte(text), metav1.PatchOptions{})
			return err
		}
		small := `{"spec":{"bootDisk":{"size":"10Gi"}}}`
		if err := patch(small); !apierrors.IsInvalid(err) || !anyBelow(causes(err), "spec.bootDisk.size") {
			t.Errorf("a disk that is too small: %v", err)
		}
		if err := patch(`{"metadata":{"labels":{"a":"b"}}}`); err != nil {
			t.Errorf("a label: %v", err)
		}
		vm, err := machines.Get(t.Context(), "late", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		vm.Status.Conditions = []metav1.Condition{{Type: vmv1alpha1.ConditionCreated, Status: metav1.ConditionTrue, Reason: "Succeeded", LastTransitionTime: metav1.Now()}}
		if _, err := machines.UpdateStatus(t.Context(), vm, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := patch(small); err != nil {
			t.Errorf("of an existing VM: %v", err)
		}
	})
}
