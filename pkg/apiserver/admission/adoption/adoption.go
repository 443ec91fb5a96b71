// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package adoption is the admission check for the fields by which a VirtualMachine
// says which VM of vSphere it is: spec.instanceUUID takes one over that is there
// already, spec.providerID and spec.firmware.uuid assert an identity. The latter is what
// Kubernetes' drivers for vSphere know nodes by.
//
// Status, which has the managed object ID, is written by the server's controllers and, to recover
// objects, by privileged users.
//
// Guarantee: only privileged users may set or change them, whatever their roles permit. vSphere knows nothing of
// namespaces, so that anybody else could name, and then power off or delete, any VM
// that the server's account can reach, or pass for any VM of the vCenter, those that the
// account cannot see included. The BIOS UUID that the server itself gives a VM, which is
// made of the UID of the object, is everybody's.
package adoption

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype/apply"
)

// Admission refuses adoption by ordinary users.
type Admission struct {
	*admission.Handler
	privileged func(user.Info) bool
}

var _ admission.ValidationInterface = &Admission{}

// New makes the check; privileged tells who may adopt.
func New(privileged func(user.Info) bool) *Admission {
	return &Admission{Handler: admission.NewHandler(admission.Create, admission.Update), privileged: privileged}
}

// Validate refuses the request with a Forbidden that names the field.
func (a *Admission) Validate(_ context.Context, request admission.Attributes, _ admission.ObjectInterfaces) error {
	updated, ok := request.GetObject().(*vmv1alpha1.VirtualMachine)
	if !ok || a.privileged(request.GetUserInfo()) {
		return nil
	}
	if request.GetSubresource() == "status" {
		return admission.NewForbidden(request, errors.New("only controllers and privileged users may write status, which has the ID of the VM of vSphere"))
	}
	stored, ok := request.GetOldObject().(*vmv1alpha1.VirtualMachine)
	if !ok {
		stored = &vmv1alpha1.VirtualMachine{}
	}
	switch {
	case updated.Spec.InstanceUUID != stored.Spec.InstanceUUID:
		return refuse(request, "spec.instanceUUID")
	case updated.Spec.ProviderID != stored.Spec.ProviderID && updated.NamesAnotherVM():
		return refuse(request, "spec.providerID")
	case biosUUID(updated) != biosUUID(stored) && biosUUID(updated) != apply.FirmwareUUID(updated.UID):
		return refuse(request, "spec.firmware.uuid")
	}
	return nil
}

// biosUUID of v in lower case, empty if it has none.
func biosUUID(v *vmv1alpha1.VirtualMachine) string {
	if v.Spec.Firmware == nil {
		return ""
	}
	return strings.ToLower(v.Spec.Firmware.UUID)
}

func refuse(request admission.Attributes, field string) error {
	return admission.NewForbidden(request, fmt.Errorf("only privileged users may set %s, which says what VM of vSphere this is", field))
}
