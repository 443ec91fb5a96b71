// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"strings"
)

// Permit says whether what others see may be changed now.
type Permit interface {
	// Check returns an error unless it may.
	Check() error
	// Wait returns nil as soon as it may, and the error of ctx when that is done before.
	Wait(ctx context.Context) error
}

// always permits everything.
type always struct{}

// Check implements Permit.
func (always) Check() error { return nil }

// Wait implements Permit.
func (always) Wait(context.Context) error { return nil }

// errNotPermitted is for a call that was permitted, and is not any more when its turn
// has come. Nothing was sent.
var errNotPermitted = errors.New("it is not permitted any more to change anything")

// ownMethods change only what this session has for itself: what it reads with, and its
// login.
var ownMethods = map[string]bool{
	"WaitForUpdatesEx": true, "CancelWaitForUpdates": true,
	"CreatePropertyCollector": true, "DestroyPropertyCollector": true, "CreateFilter": true, "DestroyPropertyFilter": true,
	"CreateContainerView": true, "CreateListView": true, "ModifyListView": true, "ResetListView": true, "DestroyView": true,
	"AcquireTicket":          true, // good for one connection to a console, and changes no VM
	"HasPrivilegeOnEntities": true, "Login": true, "Logout": true,
}

// changes reports whether a call changes what others see. One that is not known does.
func changes(method string) bool {
	if name, ok := strings.CutPrefix(method, "rest."); ok {
		return !strings.HasPrefix(name, "Get") && !strings.HasPrefix(name, "Find") && !strings.HasPrefix(name, "Download")
	}
	return !isRead(method) && !ownMethods[method]
}
