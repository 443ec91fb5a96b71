// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import "errors"

// ErrNotPoweredOn is returned if a virtual machine has no console because it is not running.
var ErrNotPoweredOn = errors.New("the virtual machine is not powered on")

// Console is a ticket for one connection to the console of a virtual machine. It is a secret and must be neither logged
// nor stored.
type Console struct {
	// URL of the WebSocket, including the ticket.
	URL string
	// Host and Port of the hypervisor that serves the console.
	Host string
	Port int32
	// Ticket is the one-time password of the connection.
	Ticket string
	// Thumbprint and ThumbprintSHA256 are the thumbprints of the host's certificate; empty if the hypervisor does not
	// report them.
	Thumbprint, ThumbprintSHA256 string
	// RemoteConsoleURL opens the console for users with an account in the hypervisor. It does not include the ticket.
	RemoteConsoleURL string
}
