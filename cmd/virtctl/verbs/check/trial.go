// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/describe"
	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/power"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	vmclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
)

const (
	// requestTimeout bounds a request that an interruption must not cut off: whether it was
	// done would not be known.
	requestTimeout = time.Minute
	// absentFor is how long something that the virtual machine refers to may be absent before
	// it is taken for missing. The server hears of what was just made within moments.
	absentFor = 10 * time.Second
)

// trial is a virtual machine that check makes and removes.
type trial struct {
	check *check
	vms   vmclient.VirtualMachineInterface
	vm    *vmv1alpha1.VirtualMachine
	// what it is, by kind, namespace and name.
	what string
}

// run makes it, waits for it, and removes it whatever happens meanwhile.
func (t *trial) run(ctx context.Context) {
	going := context.WithoutCancel(ctx)
	if err := t.make(ctx); err != nil {
		t.check.lacks("%v", err)
		t.explain(going)
	}
	if ctx.Err() != nil {
		fmt.Fprintf(t.check.f.Streams.ErrOut, "interrupted: %s is removed first; interrupted once more it is left there\n", t.what)
	}
	began := time.Now()
	there, err := t.remove(going)
	switch {
	case err != nil:
		t.check.lacks("%v; those of %s=%s are left by this command", err, tryLabel, tryValue)
	case there:
		t.check.ok("%s was removed after %s", t.what, time.Since(began).Round(time.Second))
	}
}

// make makes the virtual machine and waits until it is as wanted.
func (t *trial) make(ctx context.Context) error {
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	asked, err := t.vms.Create(asking, t.vm.DeepCopy(), createOptions)
	if err != nil {
		return fmt.Errorf("making %s: %s", t.what, cli.Reason(err))
	}
	began, off := time.Now(), asked.Spec.PowerState == vmv1alpha1.PoweredOff
	var now *vmv1alpha1.VirtualMachine
	var failed error
	var absent time.Time
	err = t.check.f.AwaitState(ctx, t.check.try.timeout, "a virtual machine is not made", func(ctx context.Context) (bool, string, error) {
		got, err := t.vms.Get(ctx, t.vm.Name, metav1.GetOptions{})
		if err != nil {
			return false, t.what + ": somebody has deleted it", err
		}
		now = got
		missing := absentee(got)
		switch {
		case missing == nil:
			absent = time.Time{}
		case absent.IsZero():
			absent = time.Now()
		case time.Since(absent) >= absentFor:
			failed = fmt.Errorf("%s is not made: %s: %s", t.what, missing.Type, cmp.Or(missing.Message, missing.Reason))
			return true, "", nil
		}
		done, doing, err := power.Settled(asked, got, off)
		if err != nil {
			failed = fmt.Errorf("%s is not made: %w", t.what, err)
		}
		return done || err != nil, t.what + ": " + doing, nil
	})
	if err = cmp.Or(failed, err); err != nil {
		return err
	}
	where := ""
	if now.Status.Zone != "" {
		where = " in zone " + now.Status.Zone
	}
	t.check.ok("%s is there%s, after %s: %s", t.what, where, time.Since(began).Round(time.Second), steps(now))
	return nil
}

// absentee is the condition that says that something is not there which the virtual machine
// refers to; nil if all is.
func absentee(vm *vmv1alpha1.VirtualMachine) *metav1.Condition {
	for i := range vm.Status.Conditions {
		c := &vm.Status.Conditions[i]
		if c.Status == metav1.ConditionFalse && c.Reason == vmv1alpha1.ReasonNotFound && slices.Contains(vmv1alpha1.CreatePrerequisites, c.Type) {
			return c
		}
	}
	return nil
}

// explain prints the conditions and the events that say why it is not as wanted.
func (t *trial) explain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	l, err := describe.NewLook(ctx, t.check.f, t.vm.Name)
	if err != nil {
		return // there is none to tell of
	}
	w := tabwriter.NewWriter(t.check.f.Streams.Out, 0, 0, 3, ' ', 0)
	l.Waiting(w)
	_ = w.Flush() // each part has columns of its own
	l.Newest(w)
	_ = w.Flush()
}

// remove removes it and waits until it is gone, and says whether it was there. Nothing is touched
// that was not made here.
func (t *trial) remove(ctx context.Context) (there bool, err error) {
	err = t.check.f.AwaitState(ctx, t.check.try.timeout, "a virtual machine is not seen gone", func(ctx context.Context) (bool, string, error) {
		now, err := t.vms.Get(ctx, t.vm.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return true, "", nil
		case err != nil:
			return false, "", err
		case now.Labels[tryLabel] != tryValue:
			return true, "", nil // ours is gone, and this is somebody else's
		}
		there = true
		if now.DeletionTimestamp == nil {
			err := t.vms.Delete(ctx, t.vm.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &now.UID}})
			if err != nil && !apierrors.IsNotFound(err) {
				return false, "", err
			}
		}
		return false, "removing " + t.what + ": " + describe.StateOf(now), nil
	})
	return there, err
}
