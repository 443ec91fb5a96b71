// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Images describes the sources in hypervisors from which virtual machines can be created. Its methods only read. An
// error is a NotUsableError if the hypervisor has responded. Any other error means that the state is unknown, except for
// the results that are returned with a PartialResultError.
type Images interface {
	// Items lists the items of a content library in no particular order. The name of the library must be unique.
	Items(ctx context.Context, library string) ([]LibraryItem, error)
	// DescribeItem describes the virtual machines that are deployed from an item, or reports that the item is an ISO
	// image. Items of other types are not usable.
	DescribeItem(ctx context.Context, item LibraryItem) (*ImageDescription, error)
	// DescribeTemplate describes the virtual machines that are deployed from the template at an inventory path.
	DescribeTemplate(ctx context.Context, inventoryPath string) (*ImageDescription, error)
}

// PartialResultError is returned together with partial results if some of several vCenters could not be queried.
type PartialResultError struct {
	// VCenters are the names of the vCenters that could not be queried.
	VCenters []string
	// HasResults is true if at least one other vCenter has the requested object.
	HasResults bool
	// Err is the cause.
	Err error
}

// Error implements error.
func (e *PartialResultError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *PartialResultError) Unwrap() error { return e.Err }

// ErrNotInUse is returned if there is no hypervisor to query: at the start of a process, or because none is configured.
var ErrNotInUse = errors.New("no hypervisor is in use")

// LibraryItem is an item of a content library.
type LibraryItem struct {
	// ID of the item. It does not change when the item is renamed.
	ID string
	// Library and Name are the names of the library and of the item.
	Library, Name string
	// Type is the type in vSphere, such as ovf, vm-template or iso.
	Type string
	// ContentVersion changes with the files of the item.
	ContentVersion string
	// Size is the size in bytes of the files on the library's datastore; nil if the datastore has no files.
	Size *resource.Quantity
	// VCenter is the name of the VCenter that has the item; empty if only one is in use.
	VCenter string
}

// IsImage reports whether the item can be used as an image: a virtual machine can be deployed from it, or a CD-ROM
// drive can mount it.
func (i LibraryItem) IsImage() bool {
	return slices.ContainsFunc([]string{"ovf", "vm-template", "iso"}, func(t string) bool { return strings.EqualFold(i.Type, t) })
}

// ImageDescription describes the virtual machines that are created from an image.
type ImageDescription struct {
	// Status is the description, without conditions. It is shared and must not be changed.
	Status vmv1alpha1.VirtualMachineImageStatus
	// Incomplete lists the information that Status omits because of its limits; empty for none.
	Incomplete string
	// NotApplied lists the settings of the image that its virtual machines do not get; empty for none.
	NotApplied string
	// Defaulted lists the choices of the image that Slipway does not offer to users; empty for none.
	Defaulted string
}

// NotUsableError is returned if a name does not identify exactly one usable object.
type NotUsableError struct {
	// Message is shown to users.
	Message string
	// Missing is true if the object does not exist.
	Missing bool
	// NotAllowed is true if an administrator does not allow virtual machines to use the object. In this case it was not
	// checked whether the object exists.
	NotAllowed bool
}

// Error implements error.
func (e *NotUsableError) Error() string { return e.Message }

// Unusable returns the Ready condition for an object whose reference could not be read or used because of err. The
// status is Unknown unless vSphere has responded.
func Unusable(err error) metav1.Condition {
	c := metav1.Condition{Type: vmv1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: vmv1alpha1.ReasonInvalid, Message: err.Error()}
	var unusable *NotUsableError
	switch {
	case !errors.As(err, &unusable):
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, vmv1alpha1.ReasonUnknownState, "vSphere could not be read: "+err.Error()
	case unusable.Missing:
		c.Reason = vmv1alpha1.ReasonNotFound
	case unusable.NotAllowed:
		c.Reason = vmv1alpha1.ReasonNotAllowed
	}
	return c
}
