// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// defaultRolloutTimeout allows for the replacement of some machines one after another.
const defaultRolloutTimeout = time.Hour

// NewCommand returns the command.
func NewCommand(factory *cli.Factory) *cobra.Command {
	f := command{factory}
	cmd := &cobra.Command{
		Use:   "rollout",
		Short: "Follow, pause, restart and undo rollouts of MachineDeployments",
		Long: "Follow, pause, restart and undo rollouts of MachineDeployments.\n\n" +
			"kubectl rollout supports only built-in kinds; this command does the same for MachineDeployments.",
		Args: cobra.NoArgs,
		RunE: cli.HelpFor,
	}
	verb := func(use, short string, run func(ctx context.Context, name string) error) *cobra.Command {
		return &cobra.Command{
			Use: use + " [machinedeployment/]NAME", Short: short, Args: cobra.ExactArgs(1),
			Example: fmt.Sprintf("  %s rollout %s machinedeployment/workers", f.Program, use),
			RunE: func(cmd *cobra.Command, args []string) error {
				name, err := deploymentName(args[0])
				if err != nil {
					return err
				}
				return run(cmd.Context(), name)
			},
		}
	}
	var revision int64
	undo := verb("undo", "Roll back to a previous revision", func(ctx context.Context, name string) error { return f.undoRollout(ctx, name, revision) })
	undo.Flags().Int64Var(&revision, "to-revision", 0, "Revision to roll back to (default: the previous one)")
	var timeout time.Duration
	status := verb("status", "Wait until a rollout is complete", func(ctx context.Context, name string) error { return f.awaitRollout(ctx, name, timeout) })
	status.Flags().DurationVar(&timeout, "timeout", defaultRolloutTimeout, "How long to wait")
	cmd.AddCommand(undo, status,
		verb("history", "Show the available revisions", f.rolloutHistory),
		verb("pause", "Pause the rollout of a new template", func(ctx context.Context, name string) error {
			return f.changeRollout(ctx, name, "paused", func(d *clusterv1alpha1.MachineDeployment) error { return pause(d, true) })
		}),
		verb("resume", "Resume a paused rollout", func(ctx context.Context, name string) error {
			return f.changeRollout(ctx, name, "resumed", func(d *clusterv1alpha1.MachineDeployment) error { return pause(d, false) })
		}),
		verb("restart", "Replace all machines with the same template", func(ctx context.Context, name string) error {
			return f.changeRollout(ctx, name, "restarted", func(d *clusterv1alpha1.MachineDeployment) error {
				if ptr.Deref(d.Spec.Paused, false) {
					return fmt.Errorf("the rollout is paused: resume it first")
				}
				d.Spec.Rollout.After = ptr.To(metav1.NewTime(time.Now().Truncate(time.Second)))
				return nil
			})
		}),
	)
	return cmd
}

// deploymentName returns the name of a MachineDeployment from kubectl's TYPE/NAME form.
func deploymentName(arg string) (string, error) {
	kind, name, both := strings.Cut(arg, "/")
	if !both {
		return arg, nil
	}
	switch strings.ToLower(strings.TrimSuffix(kind, "."+clusterv1alpha1.GroupName)) {
	case "machinedeployment", "machinedeployments", "md":
		return name, nil
	}
	return "", fmt.Errorf("%q is not supported: use machinedeployment/NAME", arg)
}

func pause(d *clusterv1alpha1.MachineDeployment, wanted bool) error {
	switch is := ptr.Deref(d.Spec.Paused, false); {
	case is && wanted:
		return fmt.Errorf("the rollout is already paused")
	case !is && !wanted:
		return fmt.Errorf("the rollout is not paused")
	}
	d.Spec.Paused = ptr.To(wanted)
	return nil
}

// changeRollout updates a deployment and prints the result.
func (f command) changeRollout(ctx context.Context, name, done string, change func(*clusterv1alpha1.MachineDeployment) error) error {
	client, namespace, err := f.Client()
	if err != nil {
		return err
	}
	deployments := client.ClusterV1alpha1().MachineDeployments(namespace)
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		d, err := deployments.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if err := change(d); err != nil {
			return err
		}
		_, err = deployments.Update(ctx, d, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("machinedeployment %s/%s: %s", namespace, name, cli.Reason(err))
	}
	fmt.Fprintf(f.Streams.Out, "machinedeployment %s/%s %s\n", namespace, name, done)
	return nil
}

// revisionsOf returns a deployment and its MachineSets.
func (f command) revisionsOf(ctx context.Context, name string) (*clusterv1alpha1.MachineDeployment, []revision, error) {
	client, namespace, err := f.Client()
	if err != nil {
		return nil, nil, err
	}
	d, err := client.ClusterV1alpha1().MachineDeployments(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("machinedeployment %s/%s: %s", namespace, name, cli.Reason(err))
	}
	sets, err := client.ClusterV1alpha1().MachineSets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("machinesets of namespace %s: %s", namespace, cli.Reason(err))
	}
	return d, revisions(d, sets.Items), nil
}

func (f command) rolloutHistory(ctx context.Context, name string) error {
	_, all, err := f.revisionsOf(ctx, name)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(f.Streams.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "REVISION\tMACHINESET\tREPLICAS\tTEMPLATE\tCHANGE-CAUSE")
	for _, r := range all {
		ref := r.set.Spec.Template.Spec.InfrastructureRef
		fmt.Fprintf(w, "%d\t%s\t%d\t%s/%s\t%s\n", r.number, r.set.Name, ptr.Deref(r.set.Status.Replicas, 0), strings.ToLower(ref.Kind), ref.Name, r.cause())
	}
	return w.Flush()
}

func (f command) undoRollout(ctx context.Context, name string, number int64) error {
	_, all, err := f.revisionsOf(ctx, name)
	if err != nil {
		return err
	}
	to, err := revisionAt(all, number)
	if err != nil {
		return fmt.Errorf("machinedeployment %s: %w", name, err)
	}
	return f.changeRollout(ctx, name, fmt.Sprintf("rolled back to revision %d", to.number), func(d *clusterv1alpha1.MachineDeployment) error {
		if ptr.Deref(d.Spec.Paused, false) {
			return fmt.Errorf("the rollout is paused: resume it first")
		}
		d.Spec.Template = to.template()
		return nil
	})
}

// awaitRollout waits until the rollout of a deployment is complete, and shows progress.
func (f command) awaitRollout(ctx context.Context, name string, timeout time.Duration) error {
	client, namespace, err := f.Client()
	if err != nil {
		return err
	}
	var seen bool
	var never error
	err = f.AwaitState(ctx, timeout, "machinedeployment "+name+" is not rolled out", func(ctx context.Context) (bool, string, error) {
		d, err := client.ClusterV1alpha1().MachineDeployments(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			if !seen {
				never = err
			}
			return false, "not found", err
		}
		seen = true
		left := unrolled(d)
		return left == "", left, nil
	})
	switch {
	case err == nil:
		fmt.Fprintf(f.Streams.Out, "machinedeployment %s/%s is rolled out\n", namespace, name)
	case apierrors.IsNotFound(never):
		return fmt.Errorf("machinedeployment %s/%s: %s", namespace, name, cli.Reason(never))
	}
	return err
}
