// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package refresh

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	vmclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
)

// pending is a refresh whose revision is not in the status of its virtual machine yet.
type pending struct {
	*vmv1alpha1.RefreshResult
	// shown is the last printed line, last is the last observed state.
	shown, last string
}

func (p *pending) name() string { return fmt.Sprintf("virtualmachine %s/%s", p.Namespace, p.Name) }

// waitForCaptures waits until the statuses of all virtual machines have the revisions that the refreshes announced, and
// shows progress. Many virtual machines of a namespace are read by one list.
func (f command) waitForCaptures(ctx context.Context, client vmclient.VmV1alpha1Interface, results []vmv1alpha1.RefreshResult, timeout time.Duration) error {
	var all []*pending
	for i := range results {
		if results[i].Changed {
			all = append(all, &pending{RefreshResult: &results[i], last: "state unknown"})
		}
	}
	if len(all) == 0 {
		return nil
	}
	failed := false
	report := func(p *pending, why, state string) {
		failed = true
		fmt.Fprintf(f.Streams.ErrOut, "error: %s: %s: %s\n", p.name(), why, state)
	}
	p, count := cli.ProgressOn(f.Streams.ErrOut), len(all)
	err := wait.PollUntilContextTimeout(ctx, cli.WaitInterval, timeout, true, func(ctx context.Context) (bool, error) {
		seen := observe(ctx, client, all)
		if ctx.Err() != nil {
			return false, nil // the wait has ended
		}
		all = slices.DeleteFunc(all, func(a *pending) bool {
			o := seen[a.Namespace]
			vm, exists := o.vms[a.Name]
			switch {
			case o.err != nil: // may be transient
				a.last = cli.Reason(o.err)
				return false
			case !exists:
				p.End()
				report(a, notCaptured(a), "not found")
				return true
			case captured(vm, a.RefreshResult):
				return true
			}
			a.last = fmt.Sprintf("%s: waiting for revision %q in its status%s", a.name(), a.NewRevision, Unsynchronized(vm))
			a.shown = p.State(a.last, a.shown, fmt.Sprintf("%d of %d done", count-len(all), count))
			return false
		})
		return len(all) == 0, nil
	})
	p.End()
	if err != nil {
		ended := fmt.Sprintf("--timeout %s", timeout)
		if ctx.Err() != nil {
			ended = "interrupted"
		}
		for _, a := range all {
			report(a, fmt.Sprintf("%s (%s)", notCaptured(a), ended), a.last)
		}
		return &cli.ExitError{Code: 3, Err: cli.ErrReported}
	}
	if failed {
		return cli.ErrReported
	}
	return nil
}

func notCaptured(a *pending) string {
	return fmt.Sprintf("status does not have revision %q yet", a.NewRevision)
}

// observation is a read of a namespace.
type observation struct {
	vms map[string]*vmv1alpha1.VirtualMachine
	err error
}

// listAbove is the number of virtual machines of a namespace above which they are read by a list.
const listAbove = 10

// observe reads the virtual machines, by namespace and name.
func observe(ctx context.Context, client vmclient.VmV1alpha1Interface, all []*pending) map[string]observation {
	names := map[string][]string{}
	for _, a := range all {
		names[a.Namespace] = append(names[a.Namespace], a.Name)
	}
	seen := map[string]observation{}
	for namespace, wanted := range names {
		o := observation{vms: map[string]*vmv1alpha1.VirtualMachine{}}
		if len(wanted) <= listAbove {
			for _, name := range wanted {
				vm, err := client.VirtualMachines(namespace).Get(ctx, name, metav1.GetOptions{})
				switch {
				case err == nil:
					o.vms[name] = vm
				case !apierrors.IsNotFound(err):
					o.err = err
				}
			}
		} else if list, err := client.VirtualMachines(namespace).List(ctx, metav1.ListOptions{}); err != nil {
			o.err = err
		} else {
			for i := range list.Items {
				o.vms[list.Items[i].Name] = &list.Items[i]
			}
		}
		seen[namespace] = o
	}
	return seen
}
