// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// ErrNotConnected is what errors.Is finds in the errors of a workload cluster that is not
// connected, or does not answer.
var ErrNotConnected = errors.New("the workload cluster is not connected")

// NotConnectedError says why a workload cluster is not connected, and since when.
type NotConnectedError struct {
	// Cluster is the Cluster.
	Cluster types.NamespacedName
	// Reason is what was wrong the last time.
	Reason error
	// Since is when the last connection ended; without any, when it was asked for first.
	Since time.Time

	ended bool // of a connection: not only that it fails
}

// Error implements error. It has no time in it, so that it can be compared.
func (e *NotConnectedError) Error() string {
	return fmt.Sprintf("workload cluster %s is not connected: %v", e.Cluster, e.Reason)
}

// Unwrap lets errors.Is find ErrNotConnected and the reason.
func (e *NotConnectedError) Unwrap() []error { return []error{ErrNotConnected, e.Reason} }

// maxReason bounds the text that another server chose, in bytes.
const maxReason = 512

// shortError is an error whose text is bounded.
type shortError struct{ error }

// Error implements error.
func (e shortError) Error() string {
	text := e.error.Error()
	if len(text) <= maxReason {
		return text
	}
	return strings.ToValidUTF8(text[:maxReason], "") + "…"
}

// Unwrap returns the error itself.
func (e shortError) Unwrap() error { return e.error }
