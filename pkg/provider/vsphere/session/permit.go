// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"strings"
)

// Permit reports whether this process may change vSphere now.
type Permit interface {
	// Check returns an error if changes are not permitted now.
	Check() error
	// Wait returns nil when changes are permitted. It returns the error of ctx if ctx is done
	// before.
	Wait(ctx context.Context) error
}

// alwaysPermit permits all changes.
type alwaysPermit struct{}

// Check implements Permit.
func (alwaysPermit) Check() error { return nil }

// Wait implements Permit.
func (alwaysPermit) Wait(context.Context) error { return nil }

// errNotPermitted is returned when the permission ended while the call waited for a slot. The call
// was not sent.
var errNotPermitted = errors.New("changes are no longer permitted")

// sessionMethods change only state of this session: its views, filters and login.
var sessionMethods = map[string]bool{
	"WaitForUpdatesEx": true, "CancelWaitForUpdates": true,
	"CreatePropertyCollector": true, "DestroyPropertyCollector": true, "CreateFilter": true, "DestroyPropertyFilter": true,
	"CreateContainerView": true, "CreateListView": true, "ModifyListView": true, "ResetListView": true, "DestroyView": true,
	"AcquireTicket":          true, // valid for one console connection; does not change the VM
	"HasPrivilegeOnEntities": true, "Login": true, "Logout": true,
}

// isChange reports whether a call changes state that other clients see. Unknown methods do.
func isChange(method string) bool {
	if name, ok := strings.CutPrefix(method, "rest."); ok {
		return !strings.HasPrefix(name, "Get") && !strings.HasPrefix(name, "Find") && !strings.HasPrefix(name, "Download")
	}
	return !isRead(method) && !sessionMethods[method]
}
