// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-dev/slipway/pkg/provider"
)

// The virtual machine that is offered a slot may have been deleted or paused since
// it was refused. Nothing else runs that could wake the next one then.
func TestOfferThatNobodyTakesWakesTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{}
		r := NewRunner(rec.options(1))
		release := make(chan struct{})
		first, err := r.StartCreate(t.Context(), key("first"), 0, func(context.Context) error { <-release; return nil })
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"paused", "deleted", "last"} {
			if _, err := r.StartCreate(t.Context(), key(name), 0, nil); !errors.Is(err, provider.ErrTooManyCreates) {
				t.Fatalf("%s: got %v, want ErrTooManyCreates", name, err)
			}
		}
		close(release)
		<-first
		time.Sleep(2*r.opts.OfferTimeout + time.Second)
		synctest.Wait()
		r.Shutdown(t.Context())
		time.Sleep(2 * r.opts.OfferTimeout)
		synctest.Wait()
		if diff := cmp.Diff([]string{"paused", "deleted", "last"}, rec.free); diff != "" {
			t.Errorf("offers, none of them after the shutdown (-want +got):\n%s", diff)
		}
	})
}
