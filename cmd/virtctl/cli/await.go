// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
)

// AwaitState polls ask until it returns true, and shows the state: on a terminal in one line with the remaining
// time, otherwise in one line per change. If the object is not found, it returns an error with the state from ask.
func (f *Factory) AwaitState(ctx context.Context, timeout time.Duration, unmet string, ask func(context.Context) (bool, string, error)) error {
	told, last := "", "state unknown"
	p, began := ProgressOn(f.Streams.ErrOut), time.Now()
	err := wait.PollUntilContextTimeout(ctx, WaitInterval, timeout, true, func(ctx context.Context) (bool, error) {
		done, state, err := ask(ctx)
		switch {
		case err != nil && ctx.Err() != nil:
			return false, nil // the wait has ended
		case apierrors.IsNotFound(err):
			last = cmp.Or(state, "not found")
			return false, err
		case err != nil:
			last = Reason(err) // may be transient
			return false, nil
		}
		if last = state; !done {
			told = p.State(last, told, time.Since(began).Round(time.Second).String())
		}
		return done, nil
	})
	p.End()
	if err != nil {
		ended := fmt.Sprintf("--timeout %s", timeout)
		if ctx.Err() != nil {
			ended = "interrupted"
		}
		return &ExitError{Code: 3, Err: fmt.Errorf("%s (%s): %s", unmet, ended, last)}
	}
	return nil
}

// WaitInterval is the poll interval of waits.
const WaitInterval = 2 * time.Second
