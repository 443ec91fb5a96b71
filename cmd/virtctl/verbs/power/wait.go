// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package power

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	"github.com/slipway-dev/slipway/pkg/apis/limits"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	vmclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
)

// defaultPowerTimeout is twice as long as a guest is given to shut down, by default.
const defaultPowerTimeout = 10 * time.Minute

// powerWait are the flags of a power verb about waiting.
type powerWait struct {
	on, ready bool
	timeout   time.Duration
}

func (w *powerWait) addFlags(cmd *cobra.Command, v powerVerb) {
	cmd.Flags().BoolVar(&w.on, "wait", false, "Wait until the server says that it is done; exits with 3 if --timeout expires first")
	cmd.Flags().DurationVar(&w.timeout, "timeout", defaultPowerTimeout, "How long --wait waits, for all together")
	if v.needsSize {
		cmd.Flags().BoolVar(&w.ready, "ready", false, "With --wait: until each, or each member of a group, is Ready, with an address and as its readiness probe says, and not only powered on")
	}
}

func (w *powerWait) validate(dry cli.DryRun) error {
	switch {
	case w.ready && !w.on:
		return errors.New("--ready goes with --wait")
	case w.on && dry.On():
		return errors.New("--wait and --dry-run exclude each other: nothing happens that could be waited for")
	case w.on && w.timeout <= 0:
		return fmt.Errorf("--timeout: %s: must be more than nothing", w.timeout)
	}
	return nil
}

// settling says whether what was read is as was asked for, and what it is or does. The error is
// why it will not become so before somebody does something.
type settling func() (done bool, doing string, err error)

// awaited is what is waited for.
type awaited struct {
	// what it is, by kind, namespace and name.
	what string
	look func(context.Context) (settling, error)
	// told is the line that was printed of it, and last what was seen, with a colon before.
	told, last string
}

// awaitMachine waits for a virtual machine, as the server answered the request.
func awaitMachine(client vmclient.VirtualMachineInterface, asked *vmv1alpha1.VirtualMachine, t cli.Target, ready bool) *awaited {
	return &awaited{what: "virtualmachine " + t.Namespace + "/" + t.Name, look: func(ctx context.Context) (settling, error) {
		now, err := client.Get(ctx, t.Name, metav1.GetOptions{})
		return func() (bool, string, error) { return Settled(asked, now, ready) }, err
	}}
}

// await waits until all are as was asked for, and tells how far each has come.
func (f command) await(ctx context.Context, all []*awaited, w *powerWait) error {
	p, count, failed := f.NewProgress(), len(all), false
	defer p.End()
	err := wait.PollUntilContextTimeout(ctx, cli.WaitInterval, w.timeout, true, func(ctx context.Context) (bool, error) {
		all = slices.DeleteFunc(all, func(a *awaited) bool {
			seen, err := a.look(ctx)
			done, doing := false, ""
			switch {
			case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
			case ctx.Err() != nil:
				return false
			case err != nil: // it may pass
				doing, err = cli.Reason(err), nil
			default:
				done, doing, err = seen()
			}
			switch {
			case err != nil:
				failed = true
				p.End()
				fmt.Fprintf(f.Streams.ErrOut, "error: %s: %s\n", a.what, cli.Reason(err))
			case done:
				p.Say("%s is %s", a.what, doing)
			default:
				a.last = ": " + doing
				a.told = p.State(a.what+": "+doing, a.told, fmt.Sprintf("%d of %d done", count-len(all), count))
			}
			return done || err != nil
		})
		return len(all) == 0, nil
	})
	if err != nil {
		p.End()
		for _, a := range all {
			fmt.Fprintf(f.Streams.ErrOut, "error: %s: not done within --timeout %s, and the server goes on%s\n", a.what, w.timeout, a.last)
		}
		return &cli.ExitError{Code: 3, Err: cli.ErrReported}
	}
	if failed {
		return cli.ErrReported
	}
	return nil
}

// Settled says whether vm is as asked, which is the answer to the request, and what it is or
// does. The error is why it will not become so before somebody does something.
func Settled(asked, vm *vmv1alpha1.VirtualMachine, ready bool) (done bool, doing string, err error) {
	if err := overtaken(asked, vm, asked.Spec.PowerState, vm.Spec.PowerState); err != nil {
		return false, "", err
	}
	current := func(conditionType string) *metav1.Condition {
		return Current(vm.Status.Conditions, asked.Generation, conditionType)
	}
	power := current(vmv1alpha1.ConditionPowerStateSynced)
	_, requested := vm.Annotations[vmv1alpha1.AnnotationStartRequested]
	for _, conditionType := range []string{vmv1alpha1.ConditionStalled, vmv1alpha1.ConditionPaused} {
		if conditionType == vmv1alpha1.ConditionStalled && (requested || goesOn(power)) {
			continue
		}
		if c := current(conditionType); c != nil && c.Status == metav1.ConditionTrue {
			return false, "", fmt.Errorf("%s: %s", conditionType, cmp.Or(c.Message, c.Reason))
		}
	}
	switch {
	case power == nil:
		return false, progressOf(vm), nil
	case power.Status == metav1.ConditionFalse && power.Reason == vmv1alpha1.ReasonError:
		return false, "", errors.New(cmp.Or(power.Message, power.Reason) + "; the server tries again")
	case power.Status != metav1.ConditionTrue:
		return false, cmp.Or(power.Message, power.Reason), nil
	case !restarted(asked, vm):
		return false, vmv1alpha1.ReasonRestarting, nil
	case !ready:
		return true, string(vm.Status.PowerState), nil
	}
	if c := current(vmv1alpha1.ConditionReady); c == nil || c.Status != metav1.ConditionTrue {
		return false, progressOf(vm), nil
	}
	return true, "Ready", nil
}

// goesOn is true for a power state that is as desired or about to be, whatever else of the virtual
// machine is refused.
func goesOn(power *metav1.Condition) bool {
	return power != nil && (power.Status == metav1.ConditionTrue || slices.Contains(goingOn, power.Reason))
}

// goingOn are the reasons of a power state that becomes as desired by itself.
var goingOn = []string{
	vmv1alpha1.ReasonPoweringOn, vmv1alpha1.ReasonPoweringOff, vmv1alpha1.ReasonSuspending, vmv1alpha1.ReasonRestarting,
	vmv1alpha1.ReasonTooManyOperations, vmv1alpha1.ReasonBackOff, vmv1alpha1.ReasonDelayed,
}

// overtaken is why what was asked for is no more what the server works on.
func overtaken(asked, now metav1.Object, askedState, nowState vmv1alpha1.PowerState) error {
	switch {
	case now.GetUID() != asked.GetUID():
		return errors.New("it was deleted, and another one has its name")
	case now.GetDeletionTimestamp() != nil:
		return errors.New("it is being deleted")
	case nowState != askedState:
		return fmt.Errorf("somebody asks for another power state meanwhile: %s", nowState)
	}
	return nil
}

// Current is a condition that tells of a generation or a later one, nil if there is none.
func Current(all []metav1.Condition, generation int64, conditionType string) *metav1.Condition {
	c := meta.FindStatusCondition(all, conditionType)
	if c == nil || c.ObservedGeneration < generation {
		return nil
	}
	return c
}

// waitingForServer is said of what the server has not told of yet.
const waitingForServer = "waiting for the server"

// progressOf is what is known of one that nothing else is said of yet.
func progressOf(vm *vmv1alpha1.VirtualMachine) string {
	return cmp.Or(vm.Status.PrintableStatus, waitingForServer)
}

// restarted is true when the restart that was asked for was made, or none was.
func restarted(asked, vm *vmv1alpha1.VirtualMachine) bool {
	at, ok := limits.ParseTime(asked.Spec.NextRestartTime)
	return !ok || vm.Status.LastRestartTime != nil && !vm.Status.LastRestartTime.Time.Before(at.Truncate(time.Second))
}
