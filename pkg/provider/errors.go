// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"errors"
	"fmt"
	"time"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

var (
	// ErrReconcileInProgress means that an operation of this virtual machine
	// runs. Its end is followed by a hint, so nobody needs to retry.
	ErrReconcileInProgress = errors.New("an operation of this virtual machine is in progress")
	// ErrTooManyCreates means that all create slots are taken. A hint follows
	// when one is free, so nobody needs to retry.
	ErrTooManyCreates = errors.New("too many virtual machines are being created")
	// ErrTooManyOperations means the same of another kind of operation.
	ErrTooManyOperations = errors.New("too many operations of this kind are in progress")
	// ErrPaused means that an administrator paused the virtual machine in the
	// hypervisor.
	ErrPaused = errors.New("the virtual machine is paused by an administrator in vSphere")
	// ErrUnknownState means that the hypervisor could not be read, so that it is
	// not known whether the virtual machine exists.
	ErrUnknownState = errors.New("the state of the virtual machine is not known")
)

// ImageCacheNotReadyError means that the image is not cached where the virtual
// machine goes.
type ImageCacheNotReadyError struct {
	// Name of the VirtualMachineImageCache, which need not exist.
	Name string
	// Source is the item that the copies are to be of.
	Source vmv1alpha1.ContentLibraryImageSource
	// Location is where they are to be, in the words of the spec of the cache.
	Location vmv1alpha1.VirtualMachineImageCacheLocation
	// DatastoreID and ProfileID are the managed object ID of the datastore and the ID of
	// the storage policy, empty without one.
	DatastoreID, ProfileID string
	// Stale is true when the cache says that it has the copies there, and it has not: a
	// file is gone, or the item has other content by now.
	Stale bool
	// Reason for people.
	Reason string
}

// Error implements error.
func (e *ImageCacheNotReadyError) Error() string {
	return fmt.Sprintf("image cache %q is not ready: %s", e.Name, e.Reason)
}

// Place is where the copies are to be.
func (e *ImageCacheNotReadyError) Place() CachePlace {
	return CachePlace{VCenter: e.Location.VCenter, DatastoreID: e.DatastoreID, ProfileID: e.ProfileID}
}

// UnreachableError means that a vCenter has not answered for some time, or refuses the connection.
type UnreachableError struct {
	// VCenter is its name.
	VCenter string
	// Err is the cause.
	Err error
}

// Error implements error.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("VCenter %q is not connected: %v", e.VCenter, e.Err)
}

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }

// RequeueError asks for another pass.
type RequeueError struct {
	// After is how long to wait; 0 means at once.
	After time.Duration
	// Reason for people.
	Reason string
}

// Error implements error.
func (e *RequeueError) Error() string {
	return fmt.Sprintf("look again after %s: %s", e.After, e.Reason)
}

// NoRequeueError means that a retry cannot help before something changes.
type NoRequeueError struct {
	// Err is the cause; nil when there is nothing wrong and the pass simply ends.
	Err error
}

// Error implements error.
func (e *NoRequeueError) Error() string {
	if e.Err == nil {
		return "nothing more to do in this pass"
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *NoRequeueError) Unwrap() error { return e.Err }

// AsRequeue returns how long to wait when err, or an error that it wraps, asks
// for another pass.
func AsRequeue(err error) (time.Duration, bool) {
	var r *RequeueError
	if errors.As(err, &r) {
		return r.After, true
	}
	return 0, false
}

// IsNoRequeue reports whether err, or an error that it wraps, says that a retry
// cannot help.
func IsNoRequeue(err error) bool {
	var n *NoRequeueError
	return errors.As(err, &n)
}
