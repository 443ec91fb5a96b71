// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd/api"
)

// CompletionTimeout bounds requests of shell completion, so that an unresponsive server does not block the shell.
const CompletionTimeout = 3 * time.Second

// CompleteVMs completes names of virtual machines in the namespace.
func (f *Factory) CompleteVMs(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	client, namespace, err := f.Client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), CompletionTimeout)
	defer cancel()
	list, err := client.VmV1alpha1().VirtualMachines(namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	given := map[string]bool{}
	for _, a := range args {
		given[a] = true
	}
	var names []string
	for i := range list.Items {
		if !given[list.Items[i].Name] {
			names = append(names, list.Items[i].Name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// CompleteOneVM completes a single name of a virtual machine.
func (f *Factory) CompleteOneVM(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return f.CompleteVMs(cmd, args, start)
}

// CompleteFixed completes the allowed values of a flag.
func CompleteFixed(cmd *cobra.Command, flag string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// completeGlobals completes the global flags: namespaces, and the names in the kubeconfig.
func (f *Factory) completeGlobals(root *cobra.Command) {
	_ = root.RegisterFlagCompletionFunc("namespace", f.completeNamespaces)
	_ = root.RegisterFlagCompletionFunc("context", f.completeKubeconfig(func(c api.Config) []string { return slices.Sorted(maps.Keys(c.Contexts)) }))
	_ = root.RegisterFlagCompletionFunc("cluster", f.completeKubeconfig(func(c api.Config) []string { return slices.Sorted(maps.Keys(c.Clusters)) }))
	_ = root.RegisterFlagCompletionFunc("user", f.completeKubeconfig(func(c api.Config) []string { return slices.Sorted(maps.Keys(c.AuthInfos)) }))
}

func (f *Factory) completeKubeconfig(names func(api.Config) []string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		config, err := f.Flags.ToRawKubeConfigLoader().RawConfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names(config), cobra.ShellCompDirectiveNoFileComp
	}
}

func (f *Factory) completeNamespaces(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	client, err := f.Host()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), CompletionTimeout)
	defer cancel()
	list, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := make([]string, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
