// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	"github.com/slipway-dev/slipway/pkg/apis/vm/orphans"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
)

// NewCommand returns the command.
func NewCommand(f *cli.Factory) *cobra.Command {
	r := &recovery{f: f}
	cmd := &cobra.Command{
		Use:   "recover [VM...]",
		Short: "Recreate virtual machines that were lost with the store",
		Long: "Recreate or update VirtualMachine objects from the records in their vSphere VMs, after the\n" +
			"server's store was lost or was restored from a backup. Without names and --all, only list the VMs whose\n" +
			"object is Missing, Older than its record, or Newer, which the server corrects itself. A recreated virtual machine\n" +
			"keeps its UID, instance type and preference, and its VM is neither restarted nor changed. Groups that\n" +
			"do not exist are recreated before their members. The command can be interrupted and run again. Only\n" +
			"the server's privileged users may read records and recover.",
		Example: fmt.Sprintf("  %[1]s recover -A\n  %[1]s recover --all -A --dry-run\n  %[1]s recover --all -A\n  %[1]s recover -n team-a web-1 web-2", f.Program),
		RunE: func(cmd *cobra.Command, names []string) error {
			r.names = names
			if err := r.validate(); err != nil {
				return err
			}
			client, namespace, err := f.Client()
			if err != nil {
				return err
			}
			if r.client = client; !r.allNamespaces {
				r.namespace = namespace
			}
			return r.run(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&r.all, "all", false, "Recover all virtual machines that are missing or older")
	cmd.Flags().BoolVarP(&r.allNamespaces, "all-namespaces", "A", false, "Include all namespaces")
	r.dryRun.AddFlag(cmd, "Only validate on the server, without storing anything")
	return cmd
}

// recovery is one run of the command.
type recovery struct {
	f             *cli.Factory
	client        versioned.Interface
	names         []string
	namespace     string
	all           bool
	allNamespaces bool
	dryRun        cli.DryRun
	// revisions are the existing revisions, as namespace and name.
	revisions map[string]bool
	// groups are the existing groups, as namespace and name.
	groups map[string]bool
	failed bool
	// progress shows the number of recovered objects on a terminal.
	progress  *cli.Progress
	recovered int
}

func (r *recovery) validate() error {
	switch {
	case len(r.names) > 0 && r.all:
		return fmt.Errorf("names and --all are mutually exclusive: got %d name(s)", len(r.names))
	case len(r.names) > 0 && r.allNamespaces:
		return errors.New("--all-namespaces cannot be combined with names")
	}
	return nil
}

func (r *recovery) run(ctx context.Context) error {
	if len(r.names) == 0 && !r.all {
		return r.list(ctx)
	}
	r.revisions, r.groups, r.progress = map[string]bool{}, map[string]bool{}, r.f.NewProgress()
	defer r.progress.End()
	names := r.names
	if r.all {
		names = []string{""}
	}
	var unknown error
	found, vcenter := false, ""
	for _, name := range names {
		// VMs that claim the same name are adjacent.
		var group []orphans.RecordedVM
		last, err := r.each(ctx, orphans.RecordsWithContent, name, func(k orphans.RecordedVM) {
			if len(group) > 0 && (group[0].Namespace != k.Namespace || group[0].Name != k.Name) {
				r.recover(ctx, group)
				group = nil
			}
			group = append(group, k)
		})
		if err != nil {
			return err
		}
		unknown, vcenter = cli.Uncovered(last), last.VCenter
		switch {
		case len(group) > 0:
			found = true
			r.recover(ctx, group)
		case name != "" && unknown == nil:
			r.fail(r.namespace, name, "nothing to recover: no vSphere VM claims to be this virtual machine, or the object matches its record")
		}
	}
	if !found && !r.failed && unknown == nil {
		fmt.Fprintf(r.f.Streams.Out, "Nothing to recover in vCenter %s.\n", cli.Printable(vcenter))
	}
	if r.failed && unknown != nil {
		fmt.Fprintf(r.f.Streams.ErrOut, "error: %s\n", unknown)
	}
	if r.failed {
		return cli.ErrReported
	}
	return unknown
}

// each reads all pages and returns the last report.
func (r *recovery) each(ctx context.Context, records, name string, do func(orphans.RecordedVM)) (*orphans.Report, error) {
	var next string
	for {
		answer := r.client.VmV1alpha1().RESTClient().Get().AbsPath(orphans.Path).Param(orphans.ParamRecords, records).
			Param(orphans.ParamNamespace, r.namespace).Param(orphans.ParamName, name).Param(orphans.ParamContinue, next).Do(ctx)
		data, _ := answer.Raw() // an error has the reason in the body
		if err := answer.Error(); err != nil {
			if said := strings.TrimSpace(string(data)); said != "" && !strings.HasPrefix(said, "{") {
				return nil, fmt.Errorf("reading the records in VMs: %s", cli.Printable(said))
			}
			return nil, fmt.Errorf("reading the records of virtual machines in vSphere: %s", cli.Reason(err))
		}
		report := &orphans.Report{}
		if err := json.Unmarshal(data, report); err != nil {
			return nil, fmt.Errorf("reading the records of virtual machines in vSphere: %w", err)
		}
		for _, k := range report.Kept {
			do(k)
		}
		if next = report.Continue; next == "" {
			return report, nil
		}
	}
}

// list prints the virtual machines that can be recovered.
func (r *recovery) list(ctx context.Context) error {
	w := tabwriter.NewWriter(r.f.Streams.Out, 0, 0, 3, ' ', 0)
	found := false
	last, err := r.each(ctx, orphans.RecordsWithoutContent, "", func(k orphans.RecordedVM) {
		if !found {
			cli.Row(w, "NAMESPACE", "NAME", "STATE", "RECORD", "OBJECT", "VCENTER", "VM")
			found = true
		}
		cli.Row(w, k.Namespace, k.Name, string(k.State), generation(k.Recorded), generation(k.Generation), k.VCenter, k.UniqueID)
	})
	if err != nil {
		return err
	}
	if !found {
		fmt.Fprintf(r.f.Streams.Out, "Nothing to recover in vCenter %s.\n", cli.Printable(last.VCenter))
	}
	return errors.Join(w.Flush(), cli.Uncovered(last))
}

// generation formats a generation for the table; 0 means none.
func generation(n int64) string {
	if n == 0 {
		return "none"
	}
	return fmt.Sprint(n)
}

func (r *recovery) fail(namespace, name, why string) {
	r.failed = true
	r.progress.End()
	fmt.Fprintf(r.f.Streams.ErrOut, "error: virtualmachine %s/%s: %s\n", cli.Printable(namespace), cli.Printable(name), cli.Printable(why))
}

func (r *recovery) done(kind, namespace, name, what string) {
	if r.dryRun.On() {
		what += " (server dry run)"
	}
	r.recovered++
	r.progress.Say("%s %s/%s %s", kind, cli.Printable(namespace), cli.Printable(name), what)
	r.progress.Far("%d objects so far", r.recovered)
}

func (r *recovery) createOptions() metav1.CreateOptions {
	return metav1.CreateOptions{DryRun: r.dryRun.Options()}
}

func (r *recovery) updateOptions() metav1.UpdateOptions {
	return metav1.UpdateOptions{DryRun: r.dryRun.Options()}
}
