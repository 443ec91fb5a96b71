// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apiserver/admission/adoption"
	"github.com/slipway-dev/slipway/pkg/instancetype/apply"
)

// Status contains the managed object ID of the VM. A role that allows the write does not suffice.
func TestAdoption_AllowsOnlyPrivilegedUsersToWriteStatus(t *testing.T) {
	a := adoption.New(func(who user.Info) bool { return who.GetName() == "operator" })
	stored, updated := &vmv1alpha1.VirtualMachine{}, &vmv1alpha1.VirtualMachine{Status: vmv1alpha1.VirtualMachineStatus{UniqueID: "vm-42"}}
	for who, want := range map[string]bool{"operator": true, "alice": false} {
		err := a.Validate(t.Context(), admission.NewAttributesRecord(updated, stored, schema.GroupVersionKind{}, "ns", "vm",
			vmv1alpha1.SchemeGroupVersion.WithResource("virtualmachines"), "status", admission.Update, nil, false, &user.DefaultInfo{Name: who}), nil)
		if (err == nil) != want || err != nil && !(apierrors.IsForbidden(err) && strings.Contains(err.Error(), "only controllers and privileged users may write status")) {
			t.Errorf("%s: %v, want allowed %t", who, err, want)
		}
	}
}

func TestAdoption_AllowsOnlyPrivilegedUsersToIdentifyAVM(t *testing.T) {
	a := adoption.New(func(who user.Info) bool { return who.GetName() == "operator" })
	machine := func(instanceUUID, providerID string) runtime.Object {
		return &vmv1alpha1.VirtualMachine{Spec: vmv1alpha1.VirtualMachineSpec{InstanceUUID: instanceUUID, ProviderID: providerID}}
	}
	bios := func(uuid string, uid types.UID) runtime.Object {
		return &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{UID: uid}, Spec: vmv1alpha1.VirtualMachineSpec{Firmware: &vmv1alpha1.VirtualMachineFirmware{UUID: uuid}}}
	}
	for name, tc := range map[string]struct {
		updated, stored runtime.Object
		refused         string
	}{
		"creation without":               {machine("", ""), nil, ""},
		"creation with a UUID":           {machine("u", ""), nil, "spec.instanceUUID"},
		"creation with a provider ID":    {machine("", "p"), nil, "spec.providerID"},
		"update that sets a UUID":        {machine("u", ""), machine("", ""), "spec.instanceUUID"},
		"update that sets a provider ID": {machine("", "p"), machine("", ""), "spec.providerID"},
		"creation with its own provider ID": {&vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{UID: "uid"}, Spec: vmv1alpha1.VirtualMachineSpec{
			ProviderID: "vsphere://" + apply.FirmwareUUID("uid"), Firmware: &vmv1alpha1.VirtualMachineFirmware{UUID: apply.FirmwareUUID("uid")}}}, nil, ""},
		"update that keeps both":              {machine("u", "p"), machine("u", "p"), ""},
		"creation with a BIOS UUID":           {bios("b", ""), nil, "spec.firmware.uuid"},
		"creation with the derived BIOS UUID": {bios(apply.FirmwareUUID("uid"), "uid"), nil, ""},
		"creation with another BIOS UUID":     {bios(apply.FirmwareUUID("other"), "uid"), nil, "spec.firmware.uuid"},
		"update that keeps the UUID":          {bios("B", ""), bios("b", ""), ""},
		"the body of a subresource":           {&vmv1alpha1.PowerOptions{}, nil, ""},
		"an object of another resource":       {&vmv1alpha1.VirtualMachineClass{}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			operation := admission.Create
			if tc.stored != nil {
				operation = admission.Update
			}
			validate := func(who string) error {
				return a.Validate(t.Context(), admission.NewAttributesRecord(tc.updated, tc.stored, schema.GroupVersionKind{}, "ns", "vm",
					vmv1alpha1.SchemeGroupVersion.WithResource("virtualmachines"), "", operation, nil, false, &user.DefaultInfo{Name: who}), nil)
			}
			if err := validate("operator"); err != nil {
				t.Errorf("as a privileged user: %v", err)
			}
			err := validate("alice")
			if tc.refused == "" && err != nil || tc.refused != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tc.refused)) {
				t.Errorf("as an ordinary user: %v, want %q rejected", err, tc.refused)
			}
		})
	}
}
