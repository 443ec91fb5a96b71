// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import "errors"

// ErrNotPoweredOn means that a virtual machine has no console, because it does not run.
var ErrNotPoweredOn = errors.New("the virtual machine is not powered on")

// Console is a ticket for one connection to the console of a virtual machine. It is a
// secret: neither logged nor kept.
type Console struct {
	// URL of the WebSocket, with the ticket.
	URL string
	// Host and Port of the hypervisor that serves it.
	Host string
	Port int32
	// Ticket to connect with.
	Ticket string
	// Thumbprint and ThumbprintSHA256 are those of the certificate of the host, empty if not
	// told.
	Thumbprint, ThumbprintSHA256 string
	// RemoteConsoleURL opens the console for who has an account of the hypervisor's own. It
	// has no ticket.
	RemoteConsoleURL string
}
