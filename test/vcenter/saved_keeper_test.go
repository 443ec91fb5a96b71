// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/vcenter/saved"
)

func TestKeeper_SavesShortlyAfterAChange(t *testing.T) {
	machine := types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-1"}
	for name, tc := range map[string]struct {
		changes []time.Duration // since the start
		takes   time.Duration
		want    []time.Duration
	}{
		"nothing changed":           {nil, 0, nil},
		"one change":                {[]time.Duration{time.Second}, 0, []time.Duration{1200 * time.Millisecond}},
		"changes that belong":       {[]time.Duration{time.Second, 1100 * time.Millisecond}, 0, []time.Duration{1300 * time.Millisecond}},
		"changes without end":       {every(100*time.Millisecond, 15), 0, []time.Duration{1100 * time.Millisecond, 1700 * time.Millisecond}},
		"a save that takes a while": {[]time.Duration{0, time.Second}, time.Second, []time.Duration{200 * time.Millisecond, 10400 * time.Millisecond}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var got []time.Duration
				k := saved.Keep(t.Context(), simulator.NewRegistry(), func() error {
					got = append(got, time.Since(began))
					<-time.After(tc.takes)
					return errors.New("a failure stops nothing")
				})
				for _, at := range tc.changes {
					<-time.After(at - time.Since(began))
					k.RemoveObject(nil, types.ManagedObjectReference{Type: "SessionManager"}) // not a saved kind
					k.RemoveObject(nil, machine)
				}
				<-time.After(time.Minute)
				k.Close()
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("saves (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func every(step time.Duration, n int) (at []time.Duration) {
	for i := range n {
		at = append(at, time.Duration(i+1)*step)
	}
	return at
}

func TestKeeper_CompletesItsSaveBeforeCloseReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		saving, ended := make(chan struct{}), false
		k := saved.Keep(ctx, simulator.NewRegistry(), func() error {
			close(saving)
			<-time.After(time.Hour)
			ended = true
			return nil
		})
		k.RemoveObject(nil, types.ManagedObjectReference{Type: "Folder"})
		<-saving
		k.Close()
		if !ended {
			t.Error("Close returned while a save ran")
		}
	})
}
