// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vimfault

// ChangedError means that an object is no longer as it was when the operation was
// planned; KindOf sorts it as WrongState.
type ChangedError struct {
	// Message for people.
	Message string
}

// BusyError means that something has to end first; KindOf sorts it as Temporary.
type BusyError struct {
	// Message for people.
	Message string
}

// Error implements error.
func (e *BusyError) Error() string { return e.Message }

// Error implements error.
func (e *ChangedError) Error() string { return e.Message }
