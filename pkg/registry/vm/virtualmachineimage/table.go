// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachineimage

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/registry/table"
)

func columns[T runtime.Object](image func(T) *vmv1alpha1.VirtualMachineImage) rest.TableConvertor {
	type column = table.Column[T]
	text := func(name, description string, wide bool, value func(*vmv1alpha1.VirtualMachineImage) string) column {
		return column{Name: name, Type: "string", Description: description, Wide: wide, Value: func(o T) any { return value(image(o)) }}
	}
	return table.New(
		text("Source", "Kind of the source.", false, func(i *vmv1alpha1.VirtualMachineImage) string { kind, _ := i.Spec.Location(); return kind }),
		text("Location", "Library item or inventory path.", false, func(i *vmv1alpha1.VirtualMachineImage) string { _, where := i.Spec.Location(); return where }),
		text("Ready", "True if virtual machines can be created from the image; otherwise the reason.", false, func(i *vmv1alpha1.VirtualMachineImage) string { return i.Status.Readiness() }),
		text("Guest", "vSphere identifier of the guest operating system.", false, func(i *vmv1alpha1.VirtualMachineImage) string { return i.Status.GuestID }),
		text("Disk", "Capacity of the boot disk.", false, func(i *vmv1alpha1.VirtualMachineImage) string { return amount(i.Status.BootDiskCapacity()) }),
		text("Firmware", "BIOS or EFI.", true, func(i *vmv1alpha1.VirtualMachineImage) string { return string(i.Status.Firmware) }),
		text("Hardware", "Virtual hardware version.", true, func(i *vmv1alpha1.VirtualMachineImage) string { return i.Status.HardwareVersionName() }),
		column{Name: "Size", Type: "string", Wide: true, Description: "Size of the image on its datastore.", Value: func(o T) any { return table.Bytes(image(o).Status.ContentSize) }},
		text("Version", "Version of the content.", true, func(i *vmv1alpha1.VirtualMachineImage) string { return i.Status.ContentVersion }),
		text("vCenters", "VCenters that have the image.", true, func(i *vmv1alpha1.VirtualMachineImage) string { return strings.Join(i.Status.VCenters, ",") }),
	)
}

// amount formats a quantity; nil is empty.
func amount(q *resource.Quantity) string {
	if q == nil {
		return ""
	}
	return q.String()
}
