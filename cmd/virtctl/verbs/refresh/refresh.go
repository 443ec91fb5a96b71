// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package refresh

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	vmclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// refreshCall is the client method of one kind of refresh.
type refreshCall func(vmclient.VirtualMachineInterface, context.Context, string, *vmv1alpha1.RefreshOptions, metav1.CreateOptions) (*vmv1alpha1.RefreshResult, error)

// refreshFlags are the flags of both refresh commands.
type refreshFlags struct {
	cli.Selection
	all     bool
	dryRun  cli.DryRun
	output  string
	wait    bool
	timeout time.Duration
}

// NewCommand returns the command.
func NewCommand(factory *cli.Factory) *cobra.Command {
	f := command{factory}
	cmd := &cobra.Command{
		Use:   "refresh",
		Short: "Update virtual machines to the latest instance type or preference",
		Args:  cobra.NoArgs,
		RunE:  cli.HelpFor,
	}
	cmd.AddCommand(
		newRefreshKindCommand(f, "instancetype", "instance type", vmclient.VirtualMachineInterface.RefreshInstancetype),
		newRefreshKindCommand(f, "preference", "preference", vmclient.VirtualMachineInterface.RefreshPreference),
	)
	return cmd
}

func newRefreshKindCommand(f command, kind, words string, call refreshCall) *cobra.Command {
	var flags refreshFlags
	cmd := &cobra.Command{
		Use:   kind + " VM...",
		Short: "Update virtual machines to the latest generation of their " + words,
		Long: fmt.Sprintf("Update virtual machines to the latest generation of their %s.\n\n"+
			"A refresh that fails (the %s is deleted, sizes conflict, requirements are not met) changes nothing.\n"+
			"It is no error if there is nothing to refresh.", words, words),
		Example: fmt.Sprintf("  %[1]s refresh %[2]s web-1 --dry-run\n  %[1]s refresh %[2]s -l app=web -o yaml\n  %[1]s refresh %[2]s --all --wait",
			f.Program, kind),
		ValidArgsFunction: f.CompleteVMs,
		RunE: func(cmd *cobra.Command, args []string) error {
			flags.Names = args
			if flags.all {
				if err := flags.SelectAll(); err != nil {
					return err
				}
			}
			if err := flags.Validate(); err != nil {
				return err
			}
			if flags.wait && flags.dryRun.On() {
				return fmt.Errorf("--wait and --dry-run are mutually exclusive")
			}
			return f.refresh(cmd.Context(), &flags, call)
		},
	}
	flags.AddFlags(cmd)
	cmd.Flags().BoolVar(&flags.all, "all", false, "All virtual machines of the namespace, or with -A of all namespaces")
	flags.dryRun.AddFlag(cmd, "Show what would change without changing it: server (default without a value) or none")
	cmd.Flags().StringVarP(&flags.output, "output", "o", cli.OutputTable, "Output format: table, yaml or json")
	cmd.Flags().BoolVar(&flags.wait, "wait", false, "Wait until status has the new revision, and show progress")
	cmd.Flags().DurationVar(&flags.timeout, "timeout", defaultRefreshTimeout, "Timeout of --wait for all virtual machines together")
	cli.CompleteFixed(cmd, "output", cli.OutputTable, cli.OutputYAML, cli.OutputJSON)
	return cmd
}

func (f command) refresh(ctx context.Context, flags *refreshFlags, call refreshCall) error {
	if err := cli.ValidateOutput(flags.output, cli.OutputTable, cli.OutputYAML, cli.OutputJSON); err != nil {
		return err
	}
	client, namespace, err := f.Client()
	if err != nil {
		return err
	}
	targets, err := flags.Resolve(ctx, client, namespace)
	if err != nil {
		return err
	}
	if len(targets) == 0 {
		if flags.all {
			fmt.Fprintln(f.Streams.ErrOut, "No virtual machines.")
		} else {
			fmt.Fprintf(f.Streams.ErrOut, "No virtual machines match selector %q.\n", flags.Selector)
		}
	}
	opts := &vmv1alpha1.RefreshOptions{DryRun: flags.dryRun.Options()}
	create := metav1.CreateOptions{DryRun: flags.dryRun.Options()}
	results := []vmv1alpha1.RefreshResult{}
	failed := f.Each(targets, client, func(c vmclient.VirtualMachineInterface, t cli.Target) error {
		result, err := call(c, ctx, t.Name, opts.DeepCopy(), create)
		if err != nil {
			return err
		}
		result.SetGroupVersionKind(vmv1alpha1.SchemeGroupVersion.WithKind("RefreshResult"))
		results = append(results, *result)
		return nil
	})
	if flags.wait {
		failed = cmp.Or(f.waitForCaptures(ctx, client.VmV1alpha1(), results, flags.timeout), failed)
	}
	if len(results) > 0 || flags.output != cli.OutputTable {
		if err := printRefresh(f.Streams.Out, flags.output, results); err != nil {
			return err
		}
	}
	return failed
}

// defaultRefreshTimeout is many times the usual duration of a refresh.
const defaultRefreshTimeout = 2 * time.Minute

// Unsynchronized returns why the references of vm cannot be resolved, or an empty string.
func Unsynchronized(vm *vmv1alpha1.VirtualMachine) string {
	if vm == nil {
		return ""
	}
	c := meta.FindStatusCondition(vm.Status.Conditions, vmv1alpha1.ConditionSynchronized)
	if c == nil || c.Status == metav1.ConditionTrue {
		return ""
	}
	return ": " + c.Message
}

// captured reports whether status has the announced revision or a newer one, because the instance type may have
// changed again since.
func captured(vm *vmv1alpha1.VirtualMachine, result *vmv1alpha1.RefreshResult) bool {
	ref := instancetype.StatusRef(vm, instancetype.Kind(result.SourceKind).Role())
	if ref == nil || ref.ControllerRevisionRef == nil {
		return false
	}
	name := ref.ControllerRevisionRef.Name
	return name == result.NewRevision || name != result.OldRevision
}

// printRefresh prints one object, a list of several, or the table.
func printRefresh(out io.Writer, format string, results []vmv1alpha1.RefreshResult) error {
	if format != cli.OutputTable {
		if len(results) == 1 {
			return cli.PrintObject(out, format, &results[0])
		}
		return cli.PrintObject(out, format, map[string]any{"apiVersion": "v1", "kind": "List", "items": results})
	}
	w := tabwriter.NewWriter(out, 0, 8, 3, ' ', 0)
	fmt.Fprintln(w, "NAMESPACE\tVM\tSOURCE\tGENERATION\tRESULT\tCHANGES")
	for i := range results {
		r := &results[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", cli.Cell(r.Namespace), cli.Cell(r.Name), cli.Cell(sources(r)), generations(r), verdict(r), cli.Cell(changes(r)))
	}
	return w.Flush()
}

// sources returns what the virtual machine uses, with both kinds and names if the source changes.
func sources(r *vmv1alpha1.RefreshResult) string {
	switch {
	case r.OldSourceName == "" || r.OldSourceName == r.SourceName && r.OldSourceKind == r.SourceKind:
		return r.SourceName
	case r.OldSourceKind == r.SourceKind:
		return r.OldSourceName + " → " + r.SourceName
	}
	return fmt.Sprintf("%s/%s → %s/%s", r.OldSourceKind, r.OldSourceName, r.SourceKind, r.SourceName)
}

func generations(r *vmv1alpha1.RefreshResult) string {
	another := r.OldSourceName != "" && (r.OldSourceName != r.SourceName || r.OldSourceKind != r.SourceKind)
	if r.OldGeneration == r.NewGeneration || r.OldGeneration == 0 || another {
		return fmt.Sprint(r.NewGeneration)
	}
	return fmt.Sprintf("%d → %d", r.OldGeneration, r.NewGeneration)
}

func verdict(r *vmv1alpha1.RefreshResult) string {
	switch {
	case !r.Changed:
		return "up to date"
	case r.DryRun:
		return "would refresh (dry run)"
	default:
		return "refreshed"
	}
}

func changes(r *vmv1alpha1.RefreshResult) string {
	parts := make([]string, 0, len(r.Fields)+1)
	for _, d := range r.Fields {
		part := fmt.Sprintf("%s: %s → %s", d.Path, orNone(d.Old), orNone(d.New))
		switch d.Effect {
		case vmv1alpha1.RefreshEffectRestart:
			part += " (restart)"
		case vmv1alpha1.RefreshEffectNone:
			part += " (no effect)"
		default: // immediate, which needs no remark
		}
		parts = append(parts, part)
	}
	if r.SpecPinCleared {
		parts = append(parts, "pin in spec cleared")
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

func orNone(s string) string {
	if s == "" {
		return "unset"
	}
	return s
}
