// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slipway-dev/slipway/test/localcluster/process"
)

// fault is a failure that the test injects.
type fault struct {
	name, says string
	// place prepares a file system for the data of the server if the fault needs one. If it returns an error,
	// preparation is not permitted and the fault is skipped.
	place func(t *testing.T, data string) error
	// begin starts the fault. It returns when the affected process has noticed the fault, if it can.
	begin func(ctx context.Context, e *environment) error
	// goesOn reports whether vSphere completes the requested operation before the fault ends.
	goesOn bool
	// end ends the fault.
	end func(ctx context.Context, e *environment) error
	// again is the maximum number of repeated calls for an operation in flight.
	again func(at moment) int
}

// faults are the rows of the matrix.
var faults = []fault{
	{
		name: "none", says: "nothing", goesOn: true, again: never,
		begin: func(context.Context, *environment) error { return nil },
		end:   func(context.Context, *environment) error { return nil },
	},
	{
		name: "kill", says: "SIGKILL of the server, and a start", again: whenForgotten,
		begin: func(_ context.Context, e *environment) error { return e.KillSlipway() },
		end:   func(ctx context.Context, e *environment) error { return e.RestartSlipway(ctx) },
	},
	{
		name: "term", says: "SIGTERM of the server, and a start", again: whenForgotten,
		begin: terminate,
		end:   func(ctx context.Context, e *environment) error { return e.RestartSlipway(ctx) },
	},
	{
		name: "stop", says: "SIGSTOP of the server until its Lease has run out, and SIGCONT", goesOn: true, again: never,
		begin: func(ctx context.Context, e *environment) error {
			if err := process.Freeze(e.PID(slipway)); err != nil {
				return err
			}
			return e.leaseRunsOut(ctx)
		},
		end: func(_ context.Context, e *environment) error { return process.Thaw(e.PID(slipway)) },
	},
	{
		name: "host", says: "kube-apiserver stopped until the controllers pause, and continued", goesOn: true, again: never,
		begin: func(ctx context.Context, e *environment) error {
			const says = "The Lease could not be renewed"
			before := strings.Count(e.log(), says)
			if err := process.Freeze(e.PID(kubeAPIServer)); err != nil {
				return err
			}
			return until(ctx, "the controllers pause", func(context.Context) error {
				if strings.Count(e.log(), says) == before {
					return errors.New("the log has no such line")
				}
				return nil
			})
		},
		end: func(_ context.Context, e *environment) error {
			return process.Thaw(e.PID(kubeAPIServer))
		},
	},
	{
		name: "vcenter", says: "all connections to vCenter closed until the server reports it, then allowed", again: whenBroken,
		begin: func(ctx context.Context, e *environment) error {
			if err := e.order(ctx, http.MethodPost, "/outage?seconds=3600", nil); err != nil {
				return err
			}
			return until(ctx, "the server reports that vCenter is unreachable", func(ctx context.Context) error {
				return e.unready(ctx, "vcenter-session")
			})
		},
		end: func(ctx context.Context, e *environment) error {
			return e.order(ctx, http.MethodPost, "/outage?seconds=0", nil)
		},
	},
	{name: "sick", says: "the server killed and its data damaged; a snapshot restored and released", again: whenForgotten, begin: sicken, end: heal},
	{name: "full", says: "etcd at its quota of 64 MiB, and room made", goesOn: true, again: never, begin: fillStore, end: emptyStore},
	{name: "disk", says: "the file system of the data filled, and written to until the server ends; a start; room made, and a start", place: ownFileSystem, again: whenForgotten, begin: fillDisk, end: emptyDisk},
}

// never is for faults after which the server knows the result of its calls.
func never(moment) int { return 0 }

// whenLost is for faults that end the connection to vCenter. A call that was not executed has to be repeated.
func whenLost(at moment) int {
	if at == asked {
		return 1
	}
	return 0
}

// refusals is the maximum number of repeated requests for a running task. The delays between attempts increase.
const refusals = 12

// whenForgotten is for faults after which the server does not know a running task: the process is new, or the
// connection for the response of a deployment broke. The server repeats the call, and vSphere rejects it while the task
// runs.
func whenForgotten(at moment) int {
	if at == running {
		return refusals
	}
	return whenLost(at)
}

// whenBroken is for faults after which the same process cannot know whether a call without a response was executed.
// vSphere rejects the repeated call if it was.
func whenBroken(at moment) int {
	if at == unanswered {
		return 1
	}
	return whenForgotten(at)
}

// terminate stops the server as kubelet does.
func terminate(ctx context.Context, e *environment) error {
	if err := syscall.Kill(e.PID(slipway), syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case err := <-e.Failed():
		if !strings.Contains(err.Error(), "ended by itself (exit status 0)") {
			return fmt.Errorf("it ends otherwise than with 0: %w", err)
		}
		return nil
	case <-time.After(deadline):
		return errors.New("the server does not stop")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leaseTime returns when another process may acquire the Lease of the controllers.
const leaseTime = 15 * time.Second

func (e *environment) leaseRunsOut(ctx context.Context) error {
	return until(ctx, "others may take the Lease", func(ctx context.Context) error {
		at, err := e.renewed(ctx)
		if err != nil {
			return err
		}
		if since := time.Since(at); since <= leaseTime {
			return fmt.Errorf("it was renewed %s ago", since)
		}
		return nil
	})
}
