// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package drainplan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/drain"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
)

// NewCommand returns the command.
func NewCommand(factory *cli.Factory) *cobra.Command {
	f := command{factory}
	var kubeconfig string
	cmd := &cobra.Command{
		Use:   "drain-plan MACHINE --workload-kubeconfig FILE",
		Short: "Show what deleting a machine would do with its pods",
		Long: "Show what a drain of a machine's node would do with each pod, and which label, DaemonSet or MachineDrainRule decides. Evictions\n" +
			"are requested as a dry run, to show which of them a PodDisruptionBudget prevents. Nothing is changed. The file is a\n" +
			"kubeconfig of the workload cluster for a user who may list pods and namespaces, read daemonsets and create evictions of pods.",
		Example: fmt.Sprintf("  %[1]s drain-plan worker-1 --workload-kubeconfig=workload.kubeconfig", f.Program),
		Args:    cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if kubeconfig == "" {
				return errors.New("--workload-kubeconfig is required: specify a kubeconfig of the machine's workload cluster")
			}
			client, namespace, err := f.Client()
			if err != nil {
				return err
			}
			m, err := client.ClusterV1alpha1().Machines(namespace).Get(cmd.Context(), args[0], metav1.GetOptions{})
			if err != nil {
				return fmt.Errorf("machine %s/%s: %s", namespace, args[0], cli.Reason(err))
			}
			return f.drainPlan(cmd.Context(), client, m, kubeconfig)
		},
	}
	cmd.Flags().StringVar(&kubeconfig, "workload-kubeconfig", "", "Kubeconfig of the machine's workload cluster (required)")
	return cmd
}

func (f command) drainPlan(ctx context.Context, client versioned.Interface, m *clusterv1alpha1.Machine, kubeconfig string) error {
	if !m.Status.NodeRef.IsDefined() {
		_, err := fmt.Fprintf(f.Streams.Out, "Machine %s has no node: nothing to drain.\n", m.Name)
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig %s: %w", kubeconfig, err)
	}
	config.QPS, config.Burst = 50, 100
	workload, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("creating the client of the workload cluster: %w", err)
	}
	in, err := drainInput(ctx, client, m)
	if err != nil {
		return err
	}
	plan, err := drain.DryRun(ctx, workload, in)
	if err != nil {
		return err
	}
	return PrintPlan(f.Streams.Out, m, plan)
}

// drainInput reads the input of the controller's drain.
func drainInput(ctx context.Context, client versioned.Interface, m *clusterv1alpha1.Machine) (drain.Input, error) {
	in := drain.Input{Node: m.Status.NodeRef.Name, ProviderID: m.Spec.ProviderID, Machine: m.Labels, Started: time.Now(), Now: time.Now()}
	c, err := client.ClusterV1alpha1().Clusters(m.Namespace).Get(ctx, m.Spec.ClusterName, metav1.GetOptions{})
	if err != nil {
		return in, fmt.Errorf("cluster %s/%s: %s", m.Namespace, m.Spec.ClusterName, cli.Reason(err))
	}
	in.Cluster = c.Labels
	rules, err := client.ClusterV1alpha1().MachineDrainRules(m.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return in, fmt.Errorf("listing MachineDrainRules: %w", err)
	}
	for i := range rules.Items {
		in.Rules = append(in.Rules, &rules.Items[i])
	}
	return in, nil
}

// PrintPlan prints the plan for the pods of a machine.
func PrintPlan(out io.Writer, m *clusterv1alpha1.Machine, plan drain.Plan) error {
	if len(plan) == 0 {
		_, err := fmt.Fprintf(out, "Node %s of machine %s has no pods or does not exist.\n", cli.Printable(m.Status.NodeRef.Name), m.Name)
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	cli.Row(w, "NAMESPACE", "POD", "STEP", "ORDER", "DECIDED BY", "NOTE")
	for _, e := range plan {
		cli.Row(w, e.Pod.Namespace, e.Pod.Name, string(e.Step), strconv.Itoa(int(e.Order)), e.By, e.Note())
	}
	return w.Flush()
}
