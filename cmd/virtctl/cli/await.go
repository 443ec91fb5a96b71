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

// AwaitState asks until something is so, and tells what it waits for: on a terminal in one line,
// with how long it has, else in a line for each state. What is gone is an error at once, with what
// ask says of that.
func (f *Factory) AwaitState(ctx context.Context, timeout time.Duration, unmet string, ask func(context.Context) (bool, string, error)) error {
	told, last := "", "nothing is known of it"
	p, began := ProgressOn(f.Streams.ErrOut), time.Now()
	err := wait.PollUntilContextTimeout(ctx, WaitInterval, timeout, true, func(ctx context.Context) (bool, error) {
		done, state, err := ask(ctx)
		switch {
		case err != nil && ctx.Err() != nil:
			return false, nil // the end of the wait, not an answer
		case apierrors.IsNotFound(err):
			last = cmp.Or(state, "it is gone")
			return false, err
		case err != nil:
			last = Reason(err) // it may pass
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

// WaitInterval is how often a state that is waited for is read.
const WaitInterval = 2 * time.Second
