// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vimfault

import (
	"iter"

	"github.com/vmware/govmomi/vim25/types"
)

// IsNotFound reports whether err means that ref was not found. A ManagedObjectNotFound for another
// object, such as the task, is not sufficient.
func IsNotFound(err error, ref types.ManagedObjectReference) bool {
	for f := range faultsOf(err) {
		for ; f != nil; f = causeOf(f) {
			missing, ok := f.(*types.ManagedObjectNotFound)
			if ok && missing.Obj.Type == ref.Type && missing.Obj.Value == ref.Value {
				return true
			}
		}
	}
	return false
}

// IsInvalidBacking reports whether the backing of a device is invalid, such as a network that was
// deleted or recreated with another key.
func IsInvalidBacking(err error) bool {
	for f := range faultsOf(err) {
		for ; f != nil; f = causeOf(f) {
			if isType[*types.InvalidDeviceBacking](f) {
				return true
			}
		}
	}
	return false
}

// IsNoSpace reports whether err is caused by too little free space on a datastore.
func IsNoSpace(err error) bool {
	for f := range faultsOf(err) {
		for ; f != nil; f = causeOf(f) {
			if isType[*types.NoDiskSpace](f) {
				return true
			}
		}
	}
	return false
}

// faultsOf iterates over the faults in the tree of err, without their causes. govmomi's own function
// checks only the first of several joined errors.
func faultsOf(err error) iter.Seq[types.BaseMethodFault] {
	return func(yield func(types.BaseMethodFault) bool) { walkFaults(err, yield) }
}

// walkFaults returns false if yield has returned false.
func walkFaults(err error, yield func(types.BaseMethodFault) bool) bool {
	for err != nil {
		switch e := err.(type) { //nolint:errorlint // walk unwraps each error itself
		case types.HasLocalizedMethodFault:
			if f := e.GetLocalizedMethodFault(); f != nil && f.Fault != nil {
				return yield(f.Fault)
			}
			return true
		case interface{ Fault() types.BaseMethodFault }:
			if f := e.Fault(); f != nil {
				return yield(f)
			}
			return true
		case interface{ Unwrap() error }:
			err = e.Unwrap()
		case interface{ Unwrap() []error }:
			for _, inner := range e.Unwrap() {
				if !walkFaults(inner, yield) {
					return false
				}
			}
			return true
		default:
			return true
		}
	}
	return true
}

// causeOf returns the cause of f, or nil.
func causeOf(f types.BaseMethodFault) types.BaseMethodFault {
	if m := f.GetMethodFault(); m != nil && m.FaultCause != nil {
		return m.FaultCause.Fault
	}
	return nil
}
