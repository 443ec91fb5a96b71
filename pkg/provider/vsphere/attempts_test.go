// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"errors"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	k8stypes "k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/provider/operation"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

func TestPausesGrowWithFailuresAndEndWithSuccess(t *testing.T) {
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	a := newAttempts(func() time.Time { return now })
	key, on := k8stypes.NamespacedName{Namespace: "ns", Name: "vm"}, operation.Info{Kind: operation.PowerOn}
	broken := errors.New("broken")

	for _, want := range []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 2 * time.Minute, 2 * time.Minute} {
		a.started(key, "same")
		a.ended(key, on, broken)
		if got, err := a.pause(key, "same"); got != want || !errors.Is(err, broken) {
			t.Errorf("pause = %s, %v; want %s and the failure", got, err, want)
		}
	}
	if got, _ := a.pause(key, "another"); got != 0 {
		t.Errorf("pause of another request = %s, want none", got)
	}
	now = now.Add(2 * time.Minute)
	if got, _ := a.pause(key, "same"); got != 0 {
		t.Errorf("pause after its time = %s, want none", got)
	}
	a.ended(key, operation.Info{Kind: operation.Check}, nil)
	now = now.Add(-time.Minute)
	if got, _ := a.pause(key, "same"); got != time.Minute {
		t.Errorf("pause after a check = %s, want what it was", got)
	}
	a.ended(key, on, nil)
	if got, _ := a.pause(key, "same"); got != 0 {
		t.Errorf("pause after success = %s, want none", got)
	}
}

func TestWhatPassesByItselfIsTriedSoon(t *testing.T) {
	busy := &vimfault.TaskError{Fault: &types.LocalizedMethodFault{Fault: &types.TaskInProgress{}}}
	if got := backoff(vimfault.KindOf(busy), 0); got != time.Second {
		t.Errorf("first pause after TaskInProgress = %s, want 1s", got)
	}
	if got := backoff(vimfault.WrongState, 0); got != 200*time.Millisecond {
		t.Errorf("first pause after a wrong state = %s, want 200ms", got)
	}
}

func TestWhatVSphereLacksIsLookedForAgainWithinAMinute(t *testing.T) {
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	a := newAttempts(func() time.Time { return now })
	key := k8stypes.NamespacedName{Namespace: "ns", Name: "vm"}
	lacks := errors.Join(&placement.NotUsableError{Message: `vSphere has no network "late"`, Missing: true})
	for range 10 {
		a.started(key, "same")
		a.ended(key, operation.Info{Kind: operation.Create}, lacks)
	}
	if got, _ := a.pause(key, "same"); got != time.Minute {
		t.Errorf("pause = %s, want a minute, as for a VM that exists", got)
	}
}
