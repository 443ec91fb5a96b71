// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vimfault

// ChangedError is returned when an object has changed since the operation was planned. Its Kind is
// WrongState.
type ChangedError struct {
	// Message is the text for users.
	Message string
}

// BusyError is returned when another operation must end first. Its Kind is Temporary.
type BusyError struct {
	// Message is the text for users.
	Message string
}

// Error implements error.
func (e *BusyError) Error() string { return e.Message }

// Error implements error.
func (e *ChangedError) Error() string { return e.Message }
