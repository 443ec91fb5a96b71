// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package networks

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
)

// ErrNotRead is returned by Networks.Check while the addresses of the management cluster have
// not been read yet.
var ErrNotRead = errors.New("the addresses of the management cluster have not been read yet")

// UnreadableError is returned by Networks.Check if the addresses of the management cluster
// cannot be read.
type UnreadableError struct {
	Kind  string
	Cause error
}

// Error implements error.
func (e *UnreadableError) Error() string {
	return fmt.Sprintf("cannot check the address, because the %s of the management cluster could not be read: %v", e.Kind, e.Cause)
}

// Unwrap returns the cause.
func (e *UnreadableError) Unwrap() error { return e.Cause }

// ManagementAddresses contains the addresses of the management cluster: those of Services, nodes and Pods.
type ManagementAddresses struct {
	mu sync.RWMutex
	// ranges are the addresses by the object that contains them.
	ranges map[string][]netip.Prefix
	// unread has an error for each kind of objects that has not been read.
	unread map[string]error
}

// NewManagementAddresses returns a Management that waits for all objects of the kinds.
func NewManagementAddresses(kinds ...string) *ManagementAddresses {
	m := &ManagementAddresses{ranges: map[string][]netip.Prefix{}, unread: map[string]error{}}
	for _, kind := range kinds {
		m.unread[kind] = ErrNotRead
	}
	return m
}

// Set replaces the addresses of an object. Without ranges it removes the object.
func (m *ManagementAddresses) Set(object string, ranges ...netip.Prefix) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(ranges) == 0 {
		delete(m.ranges, object)
		return
	}
	m.ranges[object] = ranges
}

// MarkRead records that all objects of a kind have been read, or the error if they cannot be read.
func (m *ManagementAddresses) MarkRead(kind string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil {
		delete(m.unread, kind)
		return
	}
	m.unread[kind] = &UnreadableError{Kind: kind, Cause: err}
}

// check returns a DeniedError if the management cluster contains a or inner, which are two forms of one address.
func (m *ManagementAddresses) check(a, inner netip.Addr) error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, ranges := range m.ranges {
		if contains(ranges, a) || contains(ranges, inner) {
			return &DeniedError{Address: a, reason: reasonDenied}
		}
	}
	pending := false
	for _, err := range m.unread {
		if !errors.Is(err, ErrNotRead) {
			return err
		}
		pending = true
	}
	if pending {
		return ErrNotRead
	}
	return nil
}
