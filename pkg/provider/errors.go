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
	// ErrReconcileInProgress is returned while an operation of this virtual machine runs. An event follows when it
	// ends, so the caller need not retry.
	ErrReconcileInProgress = errors.New("an operation of this virtual machine is in progress")
	// ErrTooManyCreates is returned if all create slots are in use. An event follows when a slot is free, so the caller
	// need not retry.
	ErrTooManyCreates = errors.New("too many virtual machines are being created")
	// ErrTooManyOperations is returned if all slots of another kind of operation are in use. An event follows when a
	// slot is free.
	ErrTooManyOperations = errors.New("too many operations of this kind are in progress")
	// ErrPaused is returned if an administrator paused the virtual machine in the hypervisor.
	ErrPaused = errors.New("the virtual machine is paused by an administrator in vSphere")
	// ErrUnknownState is returned if the hypervisor could not be read, so that it is not known whether the virtual
	// machine exists.
	ErrUnknownState = errors.New("the state of the virtual machine is not known")
)

// ImageCacheNotReadyError is returned if the image is not cached on the datastore of the virtual machine.
type ImageCacheNotReadyError struct {
	// Name of the VirtualMachineImageCache. The object may not exist.
	Name string
	// Source is the content library item to copy.
	Source vmv1alpha1.ContentLibraryImageSource
	// Location is the location of the copies, as in the spec of the cache.
	Location vmv1alpha1.VirtualMachineImageCacheLocation
	// DatastoreID is the managed object ID of the datastore. ProfileID is the ID of the storage policy, or empty.
	DatastoreID, ProfileID string
	// Stale is true if the status of the cache lists copies that are not usable: a file is missing, or the item has new
	// content.
	Stale bool
	// Reason is a message for users.
	Reason string
}

// Error implements error.
func (e *ImageCacheNotReadyError) Error() string {
	return fmt.Sprintf("image cache %q is not ready: %s", e.Name, e.Reason)
}

// Place returns the location of the copies.
func (e *ImageCacheNotReadyError) Place() CacheLocation {
	return CacheLocation{VCenter: e.Location.VCenter, DatastoreID: e.DatastoreID, ProfileID: e.ProfileID}
}

// UnreachableError is returned if a vCenter has not responded for some time or refuses the connection.
type UnreachableError struct {
	// VCenter is the name of the VCenter.
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

// RequeueError requests another reconcile.
type RequeueError struct {
	// After is the delay; 0 means immediately.
	After time.Duration
	// Reason is a message for users.
	Reason string
}

// Error implements error.
func (e *RequeueError) Error() string {
	return fmt.Sprintf("requeue after %s: %s", e.After, e.Reason)
}

// NoRequeueError is returned if a retry does not help until something changes.
type NoRequeueError struct {
	// Err is the cause. It is nil if the reconcile ends without a failure.
	Err error
}

// Error implements error.
func (e *NoRequeueError) Error() string {
	if e.Err == nil {
		return "nothing more to do in this reconcile"
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *NoRequeueError) Unwrap() error { return e.Err }

// AsRequeue returns the delay if err is or wraps a RequeueError.
func AsRequeue(err error) (time.Duration, bool) {
	var r *RequeueError
	if errors.As(err, &r) {
		return r.After, true
	}
	return 0, false
}

// IsNoRequeue reports whether err is or wraps a NoRequeueError.
func IsNoRequeue(err error) bool {
	var n *NoRequeueError
	return errors.As(err, &n)
}
