// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/events"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

const (
	// describedEvents is the number of events shown, the newest ones.
	describedEvents = 10
	// describedMessage is the maximum length of a message in bytes. kubectl get -o yaml shows the whole message.
	describedMessage = 400
)

// NewCommand returns the command.
func NewCommand(f *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "describe VM",
		Short: "Show the state of a virtual machine on one screen",
		Long: "Show a virtual machine on one screen: its identity and location, unfulfilled conditions and their reasons,\n" +
			"its latest operations, desired and running configuration, changes that require a restart, whether its instance type and\n" +
			"preference have changed since they were pinned, disks, networks, and the newest events.\n" +
			"Messages are truncated to 400 bytes; kubectl get -o yaml shows all.",
		Example: fmt.Sprintf("  %[1]s describe web-1\n  watch %[1]s describe web-1", f.Program),
		Args:    cobra.ExactArgs(1), ValidArgsFunction: f.CompleteOneVM,
		RunE: func(cmd *cobra.Command, args []string) error {
			seen, err := NewLook(cmd.Context(), f, args[0])
			if err != nil {
				return err
			}
			return seen.print(f.Streams.Out)
		},
	}
}

// look is a virtual machine with its related objects.
type look struct {
	program string
	now     time.Time
	vm      *vmv1alpha1.VirtualMachine
	// instance is the running state, nil if there is none.
	instance *vmv1alpha1.VirtualMachineInstance
	// events are those of the virtual machine and of its related objects, the oldest first. unknown is the error of
	// reading them.
	events  []corev1.Event
	unknown error
}

// NewLook reads a virtual machine. It omits related objects that the user may not read.
func NewLook(ctx context.Context, f *cli.Factory, name string) (*look, error) {
	client, namespace, err := f.Client()
	if err != nil {
		return nil, err
	}
	host, err := f.Host()
	if err != nil {
		return nil, err
	}
	l := &look{program: f.Program, now: time.Now()}
	if n := f.Flags.Namespace; n != nil && *n != "" {
		l.program += " -n " + *n // so that the printed commands apply to the same VM
	}
	if l.vm, err = client.VmV1alpha1().VirtualMachines(namespace).Get(ctx, name, metav1.GetOptions{}); err != nil {
		return nil, fmt.Errorf("virtualmachine %s/%s: %s", namespace, name, cli.Reason(err))
	}
	instance, err := client.VmV1alpha1().VirtualMachineInstances(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil:
		l.instance = instance
	case !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err):
		return nil, fmt.Errorf("virtualmachineinstance %s/%s: %s", namespace, name, cli.Reason(err))
	}
	source := &events.EventSource{Host: host, Namespace: namespace, Belongs: events.NewBelongings(client, namespace, name)}
	all, _, err := source.List(ctx)
	l.unknown = err
	for i := range all {
		// A deleted virtual machine of the same name had other events.
		if of := &all[i].InvolvedObject; of.Kind != "VirtualMachine" || of.UID == "" || of.UID == l.vm.UID {
			l.events = append(l.events, all[i])
		}
	}
	return l, nil
}

// print writes one screen.
func (l *look) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	for _, part := range []func(io.Writer) bool{
		l.identity, l.Waiting, l.done, l.desired, l.disks, l.networks, l.Newest,
	} {
		if part(w) {
			// Each part has its own column widths. The last flush returns the error.
			_ = w.Flush()
			fmt.Fprintln(w)
		}
	}
	return w.Flush()
}

// since returns the age and the time of t.
func (l *look) since(t *metav1.Time) string {
	if t.IsZero() {
		return ""
	}
	return cli.Age(l.now, t) + " ago, " + cli.At(t)
}
