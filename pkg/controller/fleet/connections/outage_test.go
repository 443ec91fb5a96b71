// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"errors"
	"testing"
	"time"

	"github.com/slipway-dev/slipway/pkg/provider/engine"
	"github.com/slipway-dev/slipway/pkg/provider/fake"
)

func TestOutage_IsReportedAfterItsLimitUntilVCenterResponds(t *testing.T) {
	refused, unread := errors.New("connection refused"), errors.New("the inventory cannot be read")
	// observation is one of the periodic observations of a vCenter.
	type observation struct {
		at               time.Duration
		connected, ready error
		starting         bool
		// want is the error of the outage that VMs report after the observation.
		want error
	}
	for name, observations := range map[string][]observation{
		"vCenter answers": {{}, {at: time.Hour}},
		"vCenter does not answer": {
			{connected: refused, ready: refused},
			{at: unreachableAfter - 1, connected: refused, ready: refused},
			{at: unreachableAfter, connected: refused, ready: refused, want: refused},
			{at: time.Hour, connected: refused, ready: refused, want: refused},
			{at: time.Hour},
		},
		"vCenter never answered": {
			{connected: refused, ready: refused, starting: true},
			{at: unreachableAfter, connected: refused, ready: refused, starting: true, want: refused},
		},
		"two short interruptions": {
			{connected: refused, ready: refused},
			{at: unreachableAfter - 1},
			{at: unreachableAfter, connected: refused, ready: refused},
			{at: 2*unreachableAfter - 1, connected: refused, ready: refused},
			{at: 2 * unreachableAfter, connected: refused, ready: refused, want: refused},
		},
		"the inventory cannot be read": {
			{ready: unread},
			{at: unreadAfter - 1, ready: unread},
			{at: unreadAfter, ready: unread, want: unread},
			{at: unreadAfter},
		},
		"the inventory is read for the first time": {
			{ready: unread, starting: true},
			{at: time.Hour, ready: unread, starting: true},
		},
		"vCenter answers and is read again": {
			{connected: refused, ready: refused},
			{at: unreachableAfter, connected: refused, ready: refused, want: refused},
			{at: unreachableAfter + 1, ready: unread, want: refused},
			{at: unreadAfter, ready: unread, want: refused},
			{at: unreadAfter + 1},
		},
		"vCenter answers before its limit and cannot be read": {
			{connected: refused, ready: refused},
			{at: unreachableAfter - 1, ready: unread},
			{at: unreadAfter - 1, ready: unread},
			{at: unreadAfter, ready: unread, want: unread},
		},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Unix(1000, 0)
			now := start
			m := &usedVCenter{Engine: engine.New(engine.Options{Driver: fake.New(), Now: func() time.Time { return now }})}
			for i, o := range observations {
				now = start.Add(o.at)
				m.observeConnection("one", o.connected, o.ready, o.starting)
				var got error
				if reported := m.Unreachable(); reported != nil {
					got = reported.Err
				}
				if !errors.Is(got, o.want) {
					t.Errorf("observation %d after %s: VMs report %v, want %v", i, o.at, got, o.want)
				}
			}
		})
	}
}
