// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// readBackoff are the delays between attempts of a read.
var readBackoff = []time.Duration{100 * time.Millisecond, 500 * time.Millisecond}

// transport is the SOAP round tripper of the session. It limits and counts calls, repeats reads,
// and logs in again.
type transport struct {
	s    *Session
	next soap.RoundTripper
	// ownVersion is true for an API with its own version.
	ownVersion bool
}

// RoundTrip implements soap.RoundTripper. A call that changes vSphere waits for permission before
// it takes a slot. It waits again if the permission ended before the call was sent.
func (t *transport) RoundTrip(ctx context.Context, req, res soap.HasFault) error {
	method := methodName(req)
	for {
		if isChange(method) {
			if err := t.s.opts.Permit.Wait(ctx); err != nil {
				return err
			}
		}
		err := t.callWithLimits(ctx, method, req, res)
		if !errors.Is(err, errNotPermitted) {
			return err
		}
		resetBody(res)
	}
}

// callWithLimits makes a call within the limits of the session: slots, timeout and attempts.
func (t *transport) callWithLimits(ctx context.Context, method string, req, res soap.HasFault) error {
	if method != "WaitForUpdatesEx" {
		select {
		case t.s.slots <- struct{}{}:
			defer func() { <-t.s.slots }()
		case <-ctx.Done():
			return ctx.Err()
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, t.s.opts.CallTimeout)
		defer cancel()
	}
	for try := 0; ; try++ {
		err := t.callAuthenticated(ctx, method, req, res)
		if err == nil || ctx.Err() != nil || !isRead(method) || !vimfault.IsUnreachable(err) || try == len(readBackoff) {
			return err
		}
		timer := time.NewTimer(readBackoff[try])
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
		resetBody(res)
	}
}

// callAuthenticated sends the request. If the session has ended, it logs in and sends the request once
// more.
func (t *transport) callAuthenticated(ctx context.Context, method string, req, res soap.HasFault) error {
	seenLogin := t.s.loginNumber()
	err := t.send(ctx, method, req, res)
	if !isNotAuthenticated(err, res) && !isUnknownVersion(err) {
		return err
	}
	if err := t.s.login(ctx, seenLogin); err != nil {
		return fmt.Errorf("the session with vCenter has ended: %w", err)
	}
	resetBody(res)
	return t.send(ctx, method, req, res)
}

func (t *transport) send(ctx context.Context, method string, req, res soap.HasFault) error {
	if isChange(method) && t.s.opts.Permit.Check() != nil {
		return errNotPermitted
	}
	if t.s.opts.OnCall != nil {
		t.s.opts.OnCall(method)
	}
	if !t.ownVersion {
		ctx = t.s.withAction(ctx)
	}
	began := time.Now()
	err := t.next.RoundTrip(ctx, req, res)
	if t.s.opts.OnResult != nil {
		t.s.opts.OnResult(method, err, time.Since(began))
	}
	vimfault.AddMissingPrivileges(err)
	if err == nil || soap.IsSoapFault(err) {
		_ = t.s.recordOutcome(nil)
	} else if ctx.Err() == nil {
		_ = t.s.recordOutcome(err)
	}
	return err
}

// isNotAuthenticated reports whether the session has ended. A read of properties then succeeds, but
// each property is missing with a NotAuthenticated fault.
func isNotAuthenticated(err error, res soap.HasFault) bool {
	if err != nil {
		return fault.Is(err, &types.NotAuthenticated{})
	}
	var objects []types.ObjectContent
	switch b := res.(type) {
	case *methods.RetrievePropertiesBody:
		objects = b.Res.Returnval
	case *methods.RetrievePropertiesExBody:
		if b.Res.Returnval != nil {
			objects = b.Res.Returnval.Objects
		}
	}
	for _, o := range objects {
		for _, m := range o.MissingSet {
			if _, ok := m.Fault.Fault.(*types.NotAuthenticated); ok {
				return true
			}
		}
	}
	return false
}

// methodName returns the method name: the type name of the request body without its suffix Body.
func methodName(req soap.HasFault) string {
	return strings.TrimSuffix(reflect.TypeOf(req).Elem().Name(), "Body")
}

// isRead reports whether the method is a read and can be repeated.
func isRead(method string) bool {
	if name, ok := strings.CutPrefix(method, "Pbm"); ok {
		return strings.HasPrefix(name, "Retrieve") || strings.HasPrefix(name, "Query") || strings.HasPrefix(name, "Fetch") || strings.HasPrefix(name, "Check")
	}
	return strings.HasPrefix(method, "Retrieve") || strings.HasPrefix(method, "Find") ||
		strings.HasPrefix(method, "Query") || method == "CurrentTime" || method == "ListKmipServers" || method == "ContinueRetrievePropertiesEx"
}

// resetBody clears a response body that a failed attempt has filled.
func resetBody(res soap.HasFault) { reflect.ValueOf(res).Elem().SetZero() }
