// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	"github.com/slipway-dev/slipway/cmd/virtctl/foreign"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
)

// adoptInterval is the poll interval of the adoption.
const adoptInterval = time.Second

func lowerUUID(id string) string { return strings.ToLower(id) }

// printAdoption prints a document for each VM, preceded by its notes.
func (f command) printAdoption(candidates []*foreign.Candidate) error {
	for i, c := range candidates {
		if i > 0 {
			fmt.Fprintln(f.Streams.Out, "---")
		}
		fmt.Fprintf(f.Streams.Out, "# %s\n", cli.Printable(c.Path))
		for _, n := range c.Notes {
			fmt.Fprintf(f.Streams.Out, "# - %s\n", cli.Printable(n))
		}
		if err := cli.PrintManifests(f.Streams.Out, c.Object); err != nil {
			return err
		}
	}
	return nil
}

// showAdoption validates the objects on the server and compares the result with the VMs.
func (f command) showAdoption(ctx context.Context, client versioned.Interface, candidates []*foreign.Candidate) error {
	w := tabwriter.NewWriter(f.Streams.Out, 0, 0, 3, ' ', 0)
	cli.Row(w, "VM", "NAME", "ZONE", "POWER", "CHANGES")
	failed := false
	for _, c := range candidates {
		stored, err := client.VmV1alpha1().VirtualMachines(c.Object.Namespace).Create(ctx, c.Object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		var changes []string
		switch {
		case apierrors.IsAlreadyExists(err):
			changes = []string{"the object exists already"}
		case err != nil:
			failed, changes = true, []string{"refused: " + cli.Reason(err)}
		default:
			if changes, err = c.Changes(stored); err != nil {
				failed, changes = true, []string{"not possible: " + err.Error()}
			}
		}
		if len(changes) == 0 {
			changes = []string{"none"}
		}
		cli.Row(w, c.Path, c.Object.Name, c.Object.Spec.Zone, string(c.Object.Spec.PowerState), strings.Join(changes, "; "))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	printNotes(f.Streams.ErrOut, candidates)
	if failed {
		return cli.ErrReported
	}
	return nil
}

func printNotes(out io.Writer, candidates []*foreign.Candidate) {
	for _, c := range candidates {
		for _, n := range c.Notes {
			fmt.Fprintf(out, "note: %s: %s\n", cli.Printable(c.Path), cli.Printable(n))
		}
	}
}

// takeOver creates the objects and waits for the adoption. A failure does not affect the other VMs.
func (f command) takeOver(ctx context.Context, client versioned.Interface, candidates []*foreign.Candidate, timeout time.Duration) error {
	printNotes(f.Streams.ErrOut, candidates)
	failed := false
	waiting := map[string]*foreign.Candidate{}
	p := f.NewProgress()
	for i, c := range candidates {
		p.Far("creating objects (%d of %d)", i, len(candidates))
		if err := adoptOne(ctx, client, c); err != nil {
			failed = true
			p.End()
			fmt.Fprintf(f.Streams.ErrOut, "error: %s: %s\n", cli.Printable(c.Path), cli.Printable(cli.Reason(err)))
			continue
		}
		waiting[c.Object.Name] = c
	}
	last, told := map[string]string{}, map[string]string{}
	err := wait.PollUntilContextTimeout(ctx, adoptInterval, timeout, true, func(ctx context.Context) (bool, error) {
		list, err := client.VmV1alpha1().VirtualMachines(candidates[0].Object.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, nil // may be transient; the timeout reports it
		}
		for i := range list.Items {
			vm := &list.Items[i]
			c := waiting[vm.Name]
			if c == nil {
				continue
			}
			if last[vm.Name] = lacking(vm, c); last[vm.Name] == "" {
				p.Say("%s is adopted as VirtualMachine %s/%s", cli.Printable(c.Path), vm.Namespace, vm.Name)
				delete(waiting, vm.Name)
				continue
			}
			told[vm.Name] = p.State(cli.Printable(c.Path)+": "+cli.Printable(last[vm.Name]), told[vm.Name], fmt.Sprintf("%d of %d adopted", len(candidates)-len(waiting), len(candidates)))
		}
		return len(waiting) == 0, nil
	})
	p.End()
	for _, c := range candidates {
		if waiting[c.Object.Name] == c {
			fmt.Fprintf(f.Streams.ErrOut, "error: %s: not adopted yet: %s\n", cli.Printable(c.Path), cli.Printable(last[c.Object.Name]))
		}
	}
	switch {
	case len(waiting) > 0:
		return &cli.ExitError{Code: 3, Err: fmt.Errorf("%d of %d virtual machines are not adopted: %w", len(waiting), len(candidates), err)}
	case failed:
		return cli.ErrReported
	}
	return nil
}

// adoptOne creates the object of a VM. An existing object for the same VM is accepted.
func adoptOne(ctx context.Context, client versioned.Interface, c *foreign.Candidate) error {
	api := client.VmV1alpha1().VirtualMachines(c.Object.Namespace)
	_, err := api.Create(ctx, c.Object, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	have, err := api.Get(ctx, c.Object.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if !strings.EqualFold(have.Spec.InstanceUUID, c.Object.Spec.InstanceUUID) {
		return fmt.Errorf("VirtualMachine %s exists and belongs to another VM", c.Object.Name)
	}
	return nil
}

// lacking returns what is missing until a VM is adopted, or an empty string.
func lacking(vm *vmv1alpha1.VirtualMachine, c *foreign.Candidate) string {
	for _, kind := range []string{vmv1alpha1.ConditionCreated, vmv1alpha1.ConditionConfigurationSynced} {
		condition := meta.FindStatusCondition(vm.Status.Conditions, kind)
		switch {
		case condition == nil:
			return "no status yet"
		case condition.Status != metav1.ConditionTrue:
			return fmt.Sprintf("%s is %s: %s %s", kind, condition.Status, condition.Reason, condition.Message)
		}
	}
	if vm.Status.UniqueID != c.VM.Self.Value {
		return fmt.Sprintf("the object has VM %s, not %s", vm.Status.UniqueID, c.VM.Self.Value)
	}
	return ""
}
