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

// asked is a hypervisor that notes what it is told of the VM that it is to search.
type asked struct {
	*fake.Driver
	last driver.Identity
}

func (d *asked) Search(ctx context.Context, id driver.Identity) (driver.Finding, error) {
	d.last = id
	return d.Driver.Search(ctx, id)
}

// A create whose answer was lost goes on in the hypervisor, and so does that of a process
// before: what the status says by the time of the deletion does not end it.
func TestDeletion_WaitsForACreateWhoseOutcomeIsUnknown(t *testing.T) {
	for name, tc := range map[string]struct {
		old, fails, lacks bool
		created           string
		want              bool
	}{
		"nobody has tried":                                      {lacks: true, created: "False WaitingForPrerequisites"},
		"its answer was lost":                                   {fails: true, created: "False Error", want: true},
		"its answer was lost, and then the image was":           {fails: true, lacks: true, created: "False WaitingForPrerequisites", want: true},
		"a process before may have tried, and lost the image":   {old: true, lacks: true, created: "False WaitingForPrerequisites", want: true},
		"a process before may have tried, and no status has it": {old: true, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &asked{Driver: fake.New()}
				s := &scene{t: t, driver: d.Driver, Engine: engine.New(engine.Options{Driver: d})}
				run(t, s.Engine)
				synctest.Wait()
				req := newRequest("vm")
				if !tc.old {
					req.VM.CreationTimestamp = metav1.NewTime(time.Now().Add(time.Second))
				}
				if tc.fails {
					d.FailNext(driver.KindCreate, errors.New("no answer"))
					s.retried(req)
				}
				if tc.lacks {
					req.PrerequisitesReady = false
					s.retried(req)
				}
				if got := created(req); got != tc.created {
					t.Fatalf("Created %q before the deletion, want %q", got, tc.created)
				}
				req.VM.DeletionTimestamp = new(metav1.Now())
				if err := s.remove(req); err != nil {
					t.Fatal(err)
				}
				if d.last.Attempted != tc.want {
					t.Errorf("the search is told that a create was begun: %v, want %v", d.last.Attempted, tc.want)
				}
			})
		})
	}
}

// retried makes passes until there is nothing to do for a while.
func (s *scene) retried(req *provider.Request) {
	s.t.Helper()
	if err := s.pass(req); err != nil {
		if _, again := provider.AsRequeue(err); !again {
			s.t.Fatal(err)
		}
	}
}
