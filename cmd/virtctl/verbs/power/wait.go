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

// defaultPowerTimeout is twice the default timeout of a guest shutdown.
const defaultPowerTimeout = 10 * time.Minute

// powerWait holds the wait flags of a power verb.
type powerWait struct {
	on, ready bool
	timeout   time.Duration
}

func (w *powerWait) addFlags(cmd *cobra.Command, v powerVerb) {
	cmd.Flags().BoolVar(&w.on, "wait", false, "Wait until the server reports completion; exit status 3 if --timeout expires first")
	cmd.Flags().DurationVar(&w.timeout, "timeout", defaultPowerTimeout, "Timeout of --wait for all virtual machines together")
	if v.needsSize {
		cmd.Flags().BoolVar(&w.ready, "ready", false, "With --wait: wait until each virtual machine or group member is Ready, not only powered on")
	}
}

func (w *powerWait) validate(dry cli.DryRun) error {
	switch {
	case w.ready && !w.on:
		return errors.New("--ready requires --wait")
	case w.on && dry.On():
		return errors.New("--wait and --dry-run are mutually exclusive")
	case w.on && w.timeout <= 0:
		return fmt.Errorf("--timeout %s: must be more than 0s", w.timeout)
	}
	return nil
}

// settling reports whether the observed state is the requested one, and describes the state. An error means that the
// request cannot succeed without a further change by a user.
type settling func() (done bool, doing string, err error)

// awaited is an object to wait for.
type awaited struct {
	// what identifies it, by kind, namespace and name.
	what string
	look func(context.Context) (settling, error)
	// shown is the last printed line, last is the last observed state, preceded by a colon.
	shown, last string
}

// awaitMachine returns a wait for a virtual machine, based on the server's response.
func awaitMachine(client vmclient.VirtualMachineInterface, asked *vmv1alpha1.VirtualMachine, t cli.Target, ready bool) *awaited {
	return &awaited{what: "virtualmachine " + t.Namespace + "/" + t.Name, look: func(ctx context.Context) (settling, error) {
		now, err := client.Get(ctx, t.Name, metav1.GetOptions{})
		return func() (bool, string, error) { return Settled(asked, now, ready) }, err
	}}
}

// await waits until all objects have the requested state, and shows progress.
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
			case err != nil: // may be transient
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
				a.shown = p.State(a.what+": "+doing, a.shown, fmt.Sprintf("%d of %d done", count-len(all), count))
			}
			return done || err != nil
		})
		return len(all) == 0, nil
	})
	if err != nil {
		p.End()
		for _, a := range all {
			fmt.Fprintf(f.Streams.ErrOut, "error: %s: not completed within --timeout %s; the server continues%s\n", a.what, w.timeout, a.last)
		}
		return &cli.ExitError{Code: 3, Err: cli.ErrReported}
	}
	if failed {
		return cli.ErrReported
	}
	return nil
}

// Settled reports whether vm has the state of asked, which is the response to the request, and describes the state.
// An error means that the request cannot succeed without a further change by a user.
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
		return false, "", errors.New(cmp.Or(power.Message, power.Reason) + "; the server will retry")
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

// goesOn reports whether the power state is reached or in progress, even if other parts of the configuration are
// rejected.
func goesOn(power *metav1.Condition) bool {
	return power != nil && (power.Status == metav1.ConditionTrue || slices.Contains(goingOn, power.Reason))
}

// goingOn are the reasons of a power state that is still in progress.
var goingOn = []string{
	vmv1alpha1.ReasonPoweringOn, vmv1alpha1.ReasonPoweringOff, vmv1alpha1.ReasonSuspending, vmv1alpha1.ReasonRestarting,
	vmv1alpha1.ReasonTooManyOperations, vmv1alpha1.ReasonBackOff, vmv1alpha1.ReasonDelayed,
}

// overtaken returns an error if the request is obsolete.
func overtaken(asked, now metav1.Object, askedState, nowState vmv1alpha1.PowerState) error {
	switch {
	case now.GetUID() != asked.GetUID():
		return errors.New("it was deleted, and a new object has the same name")
	case now.GetDeletionTimestamp() != nil:
		return errors.New("it is being deleted")
	case nowState != askedState:
		return fmt.Errorf("another client has requested a different power state: %s", nowState)
	}
	return nil
}

// Current returns a condition that was observed at this generation or later, or nil.
func Current(all []metav1.Condition, generation int64, conditionType string) *metav1.Condition {
	c := meta.FindStatusCondition(all, conditionType)
	if c == nil || c.ObservedGeneration < generation {
		return nil
	}
	return c
}

// waitingForServer is the state of an object that the server has not reconciled yet.
const waitingForServer = "waiting for the server"

// progressOf returns the state of an object whose power condition gives no details.
func progressOf(vm *vmv1alpha1.VirtualMachine) string {
	return cmp.Or(vm.Status.PrintableStatus, waitingForServer)
}

// restarted reports whether the requested restart was done, or none was requested.
func restarted(asked, vm *vmv1alpha1.VirtualMachine) bool {
	at, ok := limits.ParseTime(asked.Spec.NextRestartTime)
	return !ok || vm.Status.LastRestartTime != nil && !vm.Status.LastRestartTime.Time.Before(at.Truncate(time.Second))
}
