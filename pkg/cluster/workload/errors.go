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

// ErrNotConnected is returned when a workload cluster is not connected or does not answer.
var ErrNotConnected = errors.New("the workload cluster is not connected")

// NotConnectedError contains why a workload cluster is not connected, and since when.
type NotConnectedError struct {
	// Cluster is the namespace and name of the Cluster.
	Cluster types.NamespacedName
	// Reason is the error of the last attempt.
	Reason error
	// Since is when the last connection ended, or when the first connection was requested.
	Since time.Time

	ended bool // True if the connection was closed, and false if only its probes fail.
}

// Error implements error. It does not contain Since, so that messages can be compared.
func (e *NotConnectedError) Error() string {
	return fmt.Sprintf("workload cluster %s is not connected: %v", e.Cluster, e.Reason)
}

// Unwrap returns ErrNotConnected and the reason.
func (e *NotConnectedError) Unwrap() []error { return []error{ErrNotConnected, e.Reason} }

// maxReason is the maximum length of a text from another server, in bytes.
const maxReason = 512

// shortError limits the length of an error's text.
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
