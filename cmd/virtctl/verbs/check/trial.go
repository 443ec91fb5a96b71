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
	// requestTimeout bounds a request that an interrupt must not cancel, because its outcome would be unknown.
	requestTimeout = time.Minute
	// absentFor is how long an object that the virtual machine refers to may be absent before it is reported as
	// missing. The server receives new objects within moments.
	absentFor = 10 * time.Second
)

// trial is a virtual machine that check creates and deletes.
type trial struct {
	check *check
	vms   vmclient.VirtualMachineInterface
	vm    *vmv1alpha1.VirtualMachine
	// what identifies it, by kind, namespace and name.
	what string
}

// run creates the virtual machine, waits for it, and always deletes it.
func (t *trial) run(ctx context.Context) {
	going := context.WithoutCancel(ctx)
	if err := t.make(ctx); err != nil {
		t.check.lacks("%v", err)
		t.explain(going)
	}
	if ctx.Err() != nil {
		fmt.Fprintf(t.check.f.Streams.ErrOut, "interrupted: deleting %s; interrupt again to leave it\n", t.what)
	}
	began := time.Now()
	there, err := t.remove(going)
	switch {
	case err != nil:
		t.check.lacks("%v; delete the virtual machines with label %s=%s", err, tryLabel, tryValue)
	case there:
		t.check.ok("%s was deleted after %s", t.what, time.Since(began).Round(time.Second))
	}
}

// make creates the virtual machine and waits until it is in the desired state.
func (t *trial) make(ctx context.Context) error {
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	asked, err := t.vms.Create(asking, t.vm.DeepCopy(), createOptions)
	if err != nil {
		return fmt.Errorf("creating %s: %s", t.what, cli.Reason(err))
	}
	began, off := time.Now(), asked.Spec.PowerState == vmv1alpha1.PoweredOff
	var now *vmv1alpha1.VirtualMachine
	var failed error
	var absent time.Time
	err = t.check.f.AwaitState(ctx, t.check.try.timeout, "the virtual machine was not created", func(ctx context.Context) (bool, string, error) {
		got, err := t.vms.Get(ctx, t.vm.Name, metav1.GetOptions{})
		if err != nil {
			return false, t.what + ": another client deleted it", err
		}
		now = got
		missing := absentee(got)
		switch {
		case missing == nil:
			absent = time.Time{}
		case absent.IsZero():
			absent = time.Now()
		case time.Since(absent) >= absentFor:
			failed = fmt.Errorf("%s was not created: %s: %s", t.what, missing.Type, cmp.Or(missing.Message, missing.Reason))
			return true, "", nil
		}
		done, doing, err := power.Settled(asked, got, off)
		if err != nil {
			failed = fmt.Errorf("%s was not created: %w", t.what, err)
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
	t.check.ok("%s was created%s after %s: %s", t.what, where, time.Since(began).Round(time.Second), steps(now))
	return nil
}

// absentee returns the condition that reports a missing referenced object, or nil.
func absentee(vm *vmv1alpha1.VirtualMachine) *metav1.Condition {
	for i := range vm.Status.Conditions {
		c := &vm.Status.Conditions[i]
		if c.Status == metav1.ConditionFalse && c.Reason == vmv1alpha1.ReasonNotFound && slices.Contains(vmv1alpha1.CreatePrerequisites, c.Type) {
			return c
		}
	}
	return nil
}

// explain prints the conditions and events that explain why the virtual machine is not in the desired state.
func (t *trial) explain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	l, err := describe.NewLook(ctx, t.check.f, t.vm.Name)
	if err != nil {
		return // it does not exist
	}
	w := tabwriter.NewWriter(t.check.f.Streams.Out, 0, 0, 3, ' ', 0)
	l.Waiting(w)
	_ = w.Flush() // each part has its own column widths
	l.Newest(w)
	_ = w.Flush()
}

// remove deletes the virtual machine, waits until it does not exist, and reports whether it existed. It deletes only
// the object that this trial created.
func (t *trial) remove(ctx context.Context) (there bool, err error) {
	err = t.check.f.AwaitState(ctx, t.check.try.timeout, "the virtual machine was not deleted", func(ctx context.Context) (bool, string, error) {
		now, err := t.vms.Get(ctx, t.vm.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return true, "", nil
		case err != nil:
			return false, "", err
		case now.Labels[tryLabel] != tryValue:
			return true, "", nil // another client has created a new one
		}
		there = true
		if now.DeletionTimestamp == nil {
			err := t.vms.Delete(ctx, t.vm.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &now.UID}})
			if err != nil && !apierrors.IsNotFound(err) {
				return false, "", err
			}
		}
		return false, "deleting " + t.what + ": " + describe.StateOf(now), nil
	})
	return there, err
}
