// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package expand

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// Values of --generation.
const (
	generationStored = "stored"
	generationLatest = "latest"
)

// expandFlags are the flags of expand.
type expandFlags struct {
	file, output, generation string
}

// NewCommand returns the command.
func NewCommand(factory *cli.Factory) *cobra.Command {
	f := command{factory}
	var flags expandFlags
	cmd := &cobra.Command{
		Use:   "expand VM | --file FILE",
		Short: "Print a virtual machine with its instance type and preference expanded",
		Long: "Print a virtual machine with its instance type and preference expanded into its spec.\n" +
			"Nothing is changed on the server. A virtual machine in a file need not exist, but the objects that it refers to must.",
		Example: fmt.Sprintf("  %[1]s expand web-1\n  %[1]s expand web-1 --generation latest -o json\n  %[1]s expand --file vm.yaml", f.Program),
		Args: func(_ *cobra.Command, args []string) error {
			if want := map[bool]int{true: 0, false: 1}[flags.file != ""]; len(args) != want {
				return fmt.Errorf("specify either the name of one virtual machine or --file: got %d names and --file %q", len(args), flags.file)
			}
			return nil
		},
		ValidArgsFunction: f.CompleteOneVM,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.validate(); err != nil {
				return err
			}
			vm, err := f.expand(cmd.Context(), &flags, args)
			if err != nil {
				return err
			}
			vm.SetGroupVersionKind(vmv1alpha1.SchemeGroupVersion.WithKind("VirtualMachine"))
			vm.ManagedFields = nil
			return cli.PrintObject(f.Streams.Out, flags.output, vm)
		},
	}
	cmd.Flags().StringVarP(&flags.file, "file", "f", "", "File with a VirtualMachine, - for standard input")
	cmd.Flags().StringVarP(&flags.output, "output", "o", cli.OutputYAML, "Output format: yaml or json")
	cmd.Flags().StringVar(&flags.generation, "generation", "", "stored (the revision in use, default) or latest (the live objects, also used for a file without a pinned revision)")
	cli.CompleteFixed(cmd, "output", cli.OutputYAML, cli.OutputJSON)
	cli.CompleteFixed(cmd, "generation", generationStored, generationLatest)
	return cmd
}

func (f *expandFlags) validate() error {
	if err := cli.ValidateOutput(f.output, cli.OutputYAML, cli.OutputJSON); err != nil {
		return err
	}
	switch f.generation {
	case "", generationStored, generationLatest:
		return nil
	}
	return fmt.Errorf("--generation %q is not supported: use one of %s, %s", f.generation, generationStored, generationLatest)
}

func (f command) expand(ctx context.Context, flags *expandFlags, args []string) (*vmv1alpha1.VirtualMachine, error) {
	if flags.file != "" {
		return f.expandFile(ctx, flags)
	}
	client, namespace, err := f.Client()
	if err != nil {
		return nil, err
	}
	vm, err := client.VmV1alpha1().VirtualMachines(namespace).ExpandSpec(ctx, args[0], vmv1alpha1.ExpandOptions{Generation: flags.generation})
	if err != nil {
		return nil, fmt.Errorf("expanding virtualmachine %s/%s: %w", namespace, args[0], err)
	}
	return vm, nil
}

// expandFile expands a virtual machine that need not exist. It uses the server's code on objects that the user may
// read.
func (f command) expandFile(ctx context.Context, flags *expandFlags) (*vmv1alpha1.VirtualMachine, error) {
	data, err := f.ReadFile(flags.file)
	if err != nil {
		return nil, err
	}
	// Check the kind first: the fields of another kind would be reported as unknown.
	var meta metav1.TypeMeta
	if err := yaml.Unmarshal(data, &meta); err != nil {
		return nil, fmt.Errorf("reading a VirtualMachine from %s: %w", flags.file, err)
	}
	if kind := meta.GroupVersionKind(); kind != vmv1alpha1.SchemeGroupVersion.WithKind("VirtualMachine") {
		return nil, fmt.Errorf("%s has apiVersion %q, kind %q: must be %s, VirtualMachine", flags.file, meta.APIVersion, meta.Kind, vmv1alpha1.SchemeGroupVersion)
	}
	vm := &vmv1alpha1.VirtualMachine{}
	if err := yaml.UnmarshalStrict(data, vm); err != nil {
		return nil, fmt.Errorf("reading a VirtualMachine from %s: %w", flags.file, err)
	}
	client, namespace, err := f.Client()
	if err != nil {
		return nil, err
	}
	if vm.Namespace == "" {
		vm.Namespace = namespace
	}
	host, err := f.Host()
	if err != nil {
		return nil, err
	}
	reader := cli.NewClusterReader(client, host)
	resolved, err := instancetype.Gather(ctx, vm, reader).Resolve()
	if flags.generation == generationLatest {
		resolved, err = instancetype.GatherForRefresh(ctx, vm, reader).ResolveLatest()
	}
	if err != nil {
		return nil, fmt.Errorf("expanding the virtual machine of %s: %w", flags.file, err)
	}
	expanded, err := instancetype.Expand(vm, resolved)
	if err != nil {
		return nil, fmt.Errorf("expanding the virtual machine of %s: %w", flags.file, err)
	}
	return expanded, nil
}
