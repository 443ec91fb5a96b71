// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// eventPage is the page size of a list request.
const eventPage = 500

// eventFlags are the flags of events.
type eventFlags struct {
	watch, allNamespaces bool
	kind                 string
	output               cli.Listing
}

// NewCommand returns the command.
func NewCommand(factory *cli.Factory) *cobra.Command {
	f := command{factory}
	var flags eventFlags
	cmd := &cobra.Command{
		Use:   "events [VM]",
		Short: "List events of a virtual machine and of its related objects",
		Long: "List events of a virtual machine, its instance, its snapshots and its publish\n" +
			"requests, the newest last. Without a name, list those of all kinds of vm.slipway.dev in the namespace.\n" +
			"By default a cluster retains events for one hour. Events of deleted virtual machines are listed as\n" +
			"well; those of deleted snapshots and publish requests are not, because their virtual machine is not\n" +
			"known.",
		Example: fmt.Sprintf("  %[1]s events web-1\n  %[1]s events web-1 --watch\n  %[1]s events -A --type Warning", f.Program),
		Args:    cobra.MaximumNArgs(1), ValidArgsFunction: f.CompleteOneVM,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case flags.allNamespaces && len(args) > 0:
				return fmt.Errorf("--all-namespaces cannot be combined with a name: got %q", args[0])
			case flags.watch && !flags.output.Table():
				return errors.New("--watch and --output are mutually exclusive")
			case flags.kind != "" && flags.kind != corev1.EventTypeNormal && flags.kind != corev1.EventTypeWarning:
				return fmt.Errorf("--type %q: must be %s or %s", flags.kind, corev1.EventTypeNormal, corev1.EventTypeWarning)
			}
			return f.events(cmd.Context(), append(args, "")[0], &flags)
		},
	}
	cmd.Flags().BoolVarP(&flags.watch, "watch", "w", false, "Also print new events until interrupted")
	cmd.Flags().BoolVarP(&flags.allNamespaces, "all-namespaces", "A", false, "Include all namespaces")
	cmd.Flags().StringVar(&flags.kind, "type", "", "Only events of this type: Normal or Warning")
	flags.output.AddFlag(cmd)
	cli.CompleteFixed(cmd, "type", corev1.EventTypeNormal, corev1.EventTypeWarning)
	return cmd
}

func (f command) events(ctx context.Context, vm string, flags *eventFlags) error {
	client, namespace, err := f.Client()
	if err != nil {
		return err
	}
	host, err := f.Host()
	if err != nil {
		return err
	}
	if flags.allNamespaces {
		namespace = metav1.NamespaceAll
	}
	source := &EventSource{Host: host, Namespace: namespace, kind: flags.kind}
	if vm != "" {
		source.Belongs = NewBelongings(client, namespace, vm)
	}
	all, version, err := source.List(ctx)
	if err != nil {
		return err
	}
	if !flags.output.Table() {
		var entries []cli.Entry
		for i := range all {
			entries = append(entries, cli.EntryOf(&all[i], all[i].Name, corev1.SchemeGroupVersion.WithKind("Event")))
		}
		return flags.output.Print(f.Streams.Out, entries)
	}
	table := newEventTable(f.Streams.Out, flags.allNamespaces, all)
	switch {
	case len(all) > 0:
		table.print(all...)
	case vm != "":
		fmt.Fprintf(f.Streams.ErrOut, "No events of virtualmachine %s/%s.\n", namespace, vm)
	default:
		fmt.Fprintln(f.Streams.ErrOut, "No events of virtual machines.")
	}
	if !flags.watch {
		return nil
	}
	// An interrupt is the normal end of --watch.
	if err := source.follow(ctx, all, version, table); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// EventSource reads events about objects of Slipway's kinds.
type EventSource struct {
	Host      kubernetes.Interface
	Namespace string
	// kind is the type of events to read, empty for all.
	kind string
	// Belongs selects events; nil selects all.
	Belongs *belongings
}

// selector is the field selector for the API server, which reduces the transferred data.
func (s *EventSource) selector() string {
	set := fields.Set{"involvedObject.apiVersion": vmv1alpha1.SchemeGroupVersion.String()}
	if s.kind != "" {
		set["type"] = s.kind
	}
	return set.String()
}

// List returns the existing events, the oldest first, and the resource version to watch from.
func (s *EventSource) List(ctx context.Context) ([]corev1.Event, string, error) {
	if s.Belongs != nil {
		if err := s.Belongs.read(ctx); err != nil {
			return nil, "", err
		}
	}
	var all []corev1.Event
	options := metav1.ListOptions{FieldSelector: s.selector(), Limit: eventPage}
	for {
		page, err := s.Host.CoreV1().Events(s.Namespace).List(ctx, options)
		if err != nil {
			return nil, "", fmt.Errorf("listing events: %s", cli.Reason(err))
		}
		for i := range page.Items {
			if s.Belongs.has(ctx, &page.Items[i]) {
				all = append(all, page.Items[i])
			}
		}
		if options.Continue = page.Continue; options.Continue == "" {
			slices.SortStableFunc(all, func(a, b corev1.Event) int {
				return cmp.Or(EventTime(&a).Compare(EventTime(&b)), cmp.Compare(a.Name, b.Name))
			})
			return all, page.ResourceVersion, nil
		}
	}
}
