// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vimfault

import (
	"iter"

	"github.com/vmware/govmomi/vim25/types"
)

// Gone reports whether err says that ref is gone: a ManagedObjectNotFound that names
// another object, such as the task that was waited for, says nothing about ref.
func Gone(err error, ref types.ManagedObjectReference) bool {
	for f := range faults(err) {
		for ; f != nil; f = cause(f) {
			missing, ok := f.(*types.ManagedObjectNotFound)
			if ok && missing.Obj.Type == ref.Type && missing.Obj.Value == ref.Value {
				return true
			}
		}
	}
	return false
}

// InvalidBacking reports whether err says that the backing of a device, such as the
// network of an adapter, is none: it was deleted, or made again and has another key.
func InvalidBacking(err error) bool {
	for f := range faults(err) {
		for ; f != nil; f = cause(f) {
			if is[*types.InvalidDeviceBacking](f) {
				return true
			}
		}
	}
	return false
}

// NoSpace reports whether err says that a datastore has too little free space.
func NoSpace(err error) bool {
	for f := range faults(err) {
		for ; f != nil; f = cause(f) {
			if is[*types.NoDiskSpace](f) {
				return true
			}
		}
	}
	return false
}

// faults are those in the tree of err, without what caused them. The library's own
// walk looks at the first of several joined errors only.
func faults(err error) iter.Seq[types.BaseMethodFault] {
	return func(yield func(types.BaseMethodFault) bool) { walk(err, yield) }
}

// walk is false when yield was.
func walk(err error, yield func(types.BaseMethodFault) bool) bool {
	for err != nil {
		switch e := err.(type) { //nolint:errorlint // this is the walk: each error is looked at by itself
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
				if !walk(inner, yield) {
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

// cause is the fault that caused f, nil if there is none.
func cause(f types.BaseMethodFault) types.BaseMethodFault {
	if m := f.GetMethodFault(); m != nil && m.FaultCause != nil {
		return m.FaultCause.Fault
	}
	return nil
}
