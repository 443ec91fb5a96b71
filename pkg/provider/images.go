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

// Images tells what hypervisors have that virtual machines are made from. Its methods
// only read. An error is a NotUsableError where the hypervisor has answered, and any
// other where it has not: then nothing is known, but for what is beside an UnreadError.
type Images interface {
	// Items lists the content library called library, which must be the only one of
	// that name, in no order.
	Items(ctx context.Context, library string) ([]LibraryItem, error)
	// DescribeItem says what virtual machines are like that are made from an item, and of
	// an ISO image that it is one. Items of other types are not usable.
	DescribeItem(ctx context.Context, item LibraryItem) (*ImageDescription, error)
	// DescribeTemplate says the same of the template at an inventory path.
	DescribeTemplate(ctx context.Context, inventoryPath string) (*ImageDescription, error)
}

// UnreadError means that some of several vCenters could not be asked. What the others have
// is returned with it.
type UnreadError struct {
	// VCenters are the names of those.
	VCenters []string
	// Answered is true if others have what was asked for.
	Answered bool
	// Err is why.
	Err error
}

// Error implements error.
func (e *UnreadError) Error() string { return e.Err.Error() }

// Unwrap returns why.
func (e *UnreadError) Unwrap() error { return e.Err }

// ErrNotInUse means that there is no hypervisor to ask: at the start of a process, or
// because none is described.
var ErrNotInUse = errors.New("no hypervisor is in use")

// LibraryItem is an item of a content library.
type LibraryItem struct {
	// ID of the item, which it keeps when it is renamed.
	ID string
	// Library and Name are the names of its library and of the item.
	Library, Name string
	// Type in vSphere's words: ovf, vm-template, iso, or any other.
	Type string
	// ContentVersion changes with the files of the item.
	ContentVersion string
	// Size of the files on the datastore of the library, in bytes; nil for none.
	Size *resource.Quantity
	// VCenter is the name of the vCenter that has it, empty where there is only one to ask.
	VCenter string
}

// IsImage is true for an item that an image can name: that virtual machines can be deployed
// from, or that a CD-ROM drive takes.
func (i LibraryItem) IsImage() bool {
	return slices.ContainsFunc([]string{"ovf", "vm-template", "iso"}, func(t string) bool { return strings.EqualFold(i.Type, t) })
}

// ImageDescription is what an image says of the virtual machines that are made from it.
type ImageDescription struct {
	// Status says it, without conditions. It is shared and must not be changed.
	Status vmv1alpha1.VirtualMachineImageStatus
	// Incomplete says what Status has left out for being too long or too many, empty for
	// nothing.
	Incomplete string
	// NotApplied names what the image requests and its virtual machines do not get, empty
	// for nothing.
	NotApplied string
	// Defaulted names what the image lets its users choose and Slipway does not, empty for
	// nothing.
	Defaulted string
}

// NotUsableError means that a name does not lead to exactly one usable object.
type NotUsableError struct {
	// Message for people.
	Message string
	// Missing is true when there is no such object.
	Missing bool
	// NotAllowed is true when an administrator does not let virtual machines use it;
	// whether it exists was not asked then.
	NotAllowed bool
}

// Error implements error.
func (e *NotUsableError) Error() string { return e.Message }

// Unusable is the condition Ready of an object that names what could not be read, or
// cannot be used, because of err. Only what vSphere has answered makes it False.
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
