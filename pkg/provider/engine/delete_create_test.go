// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/fake"
)

// searchRecorder is a driver that records the identity of the last search.
type searchRecorder struct {
	*fake.Driver
	last driver.Identity
}

func (d *searchRecorder) Search(ctx context.Context, id driver.Identity) (driver.SearchResult, error) {
	d.last = id
	return d.Driver.Search(ctx, id)
}

// A create may continue in the hypervisor if its response was lost, or if an earlier process has started it. The
// status at the time of the deletion does not show this.
func TestDeletion_WaitsForACreateWhoseOutcomeIsUnknown(t *testing.T) {
	for name, tc := range map[string]struct {
		earlierProcess, fails, notReady bool
		created                         string
		want                            bool
	}{
		"no create":     {notReady: true, created: "False WaitingForPrerequisites"},
		"response lost": {fails: true, created: "False Error", want: true},
		"response lost, then the image is missing":   {fails: true, notReady: true, created: "False WaitingForPrerequisites", want: true},
		"earlier process, then the image is missing": {earlierProcess: true, notReady: true, created: "False WaitingForPrerequisites", want: true},
		"earlier process without a status":           {earlierProcess: true, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &searchRecorder{Driver: fake.New()}
				s := &testSetup{t: t, driver: d.Driver, Engine: engine.New(engine.Options{Driver: d})}
				run(t, s.Engine)
				synctest.Wait()
				req := newRequest("vm")
				if !tc.earlierProcess {
					req.VM.CreationTimestamp = metav1.NewTime(time.Now().Add(time.Second))
				}
				if tc.fails {
					d.FailNext(driver.KindCreate, errors.New("no response"))
					s.reconcileWithDelays(req)
				}
				if tc.notReady {
					req.PrerequisitesReady = false
					s.reconcileWithDelays(req)
				}
				if got := created(req); got != tc.created {
					t.Fatalf("Created %q before the deletion, want %q", got, tc.created)
				}
				req.VM.DeletionTimestamp = new(metav1.Now())
				if err := s.remove(req); err != nil {
					t.Fatal(err)
				}
				if d.last.MayHaveStartedCreate != tc.want {
					t.Errorf("MayHaveStartedCreate = %v in the search, want %v", d.last.MayHaveStartedCreate, tc.want)
				}
			})
		})
	}
}

// reconcileWithDelays reconciles until a requeue with a delay or success.
func (s *testSetup) reconcileWithDelays(req *provider.Request) {
	s.t.Helper()
	if err := s.reconcile(req); err != nil {
		if _, again := provider.AsRequeue(err); !again {
			s.t.Fatal(err)
		}
	}
}
