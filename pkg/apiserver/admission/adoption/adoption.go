// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package adoption is the admission check for the fields that identify the vSphere VM of a VirtualMachine.
// spec.instanceUUID adopts an existing VM. spec.providerID and spec.firmware.uuid set the identity by which the
// Kubernetes drivers for vSphere find nodes.
//
// Guarantee: only privileged users can set or change these fields, regardless of their roles. vSphere has no
// namespaces. Another user could otherwise power off or delete any VM that the server's account can access, or assume
// the identity of any VM in the vCenter. The BIOS UUID that the server derives from the UID of the object is allowed
// for every user.
//
// Status contains the managed object ID. Only the server's controllers and, to recover objects, privileged users can
// write it.
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

// Admission rejects adoption by users who are not privileged.
type Admission struct {
	*admission.Handler
	privileged func(user.Info) bool
}

var _ admission.ValidationInterface = &Admission{}

// New returns the check. privileged reports whether a user may adopt VMs.
func New(privileged func(user.Info) bool) *Admission {
	return &Admission{Handler: admission.NewHandler(admission.Create, admission.Update), privileged: privileged}
}

// Validate rejects the request with a Forbidden error that names the field.
func (a *Admission) Validate(_ context.Context, request admission.Attributes, _ admission.ObjectInterfaces) error {
	updated, ok := request.GetObject().(*vmv1alpha1.VirtualMachine)
	if !ok || a.privileged(request.GetUserInfo()) {
		return nil
	}
	if request.GetSubresource() == "status" {
		return admission.NewForbidden(request, errors.New("only controllers and privileged users may write status, because it contains the ID of the vSphere VM"))
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

// biosUUID returns the BIOS UUID of v in lower case, or an empty string.
func biosUUID(v *vmv1alpha1.VirtualMachine) string {
	if v.Spec.Firmware == nil {
		return ""
	}
	return strings.ToLower(v.Spec.Firmware.UUID)
}

func refuse(request admission.Attributes, field string) error {
	return admission.NewForbidden(request, fmt.Errorf("only privileged users may set %s, because it identifies the vSphere VM", field))
}
