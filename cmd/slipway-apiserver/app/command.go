// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/spf13/cobra"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/cli/globalflag"
	"k8s.io/component-base/logs"
	"k8s.io/klog/v2"
)

// serverName is the component name of the server in versions and metrics.
const serverName = "slipway-apiserver"

// NewCommand returns the command that runs the server until ctx is done.
func NewCommand(ctx context.Context) *cobra.Command {
	o := NewOptions()
	cmd := &cobra.Command{
		Use:   serverName,
		Short: "Serve virtual machines on vSphere as Kubernetes API objects",
		Long: "slipway-apiserver serves the API groups " + groups + ",\n" +
			"aggregated into the API of a management cluster, and reconciles the objects with vSphere.\n" +
			"Use \"slipway-apiserver etcd\" to back up, restore and check the embedded etcd.",
		Version: version,
		Args:    cobra.NoArgs,
		// The usage text is long: printed after an error, it would hide the error.
		SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := applyLogs(o.Logs); err != nil {
				return err
			}
			if o.VCenter.Check {
				return checkVCenter(ctx, o, cmd.OutOrStdout())
			}
			cliflag.PrintFlags(cmd.Flags())
			if err := o.Validate(); err != nil {
				return err
			}
			limitMemory(memlimit.FromCgroup)
			setGCPercent(o.GCPercent)
			server, err := New(ctx, o)
			if err != nil && ctx.Err() != nil {
				klog.FromContext(ctx).Info("Stopped before the API was served", "reason", err)
				return nil
			}
			if err != nil {
				return err
			}
			return server.Run(ctx)
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; run %s --help for the list of flags", err, cmd.Name())
	})
	sets := o.Flags()
	globalflag.AddGlobalFlags(sets.FlagSet("global"), cmd.Name(), logs.SkipLoggingConfigurationFlags())
	for _, set := range sets.FlagSets {
		cmd.Flags().AddFlagSet(set)
	}
	plain := &cobra.Command{}
	usage, help := plain.UsageFunc(), plain.HelpFunc()
	cliflag.SetUsageAndHelpFunc(cmd, sets, usageWidth())
	etcd := newEtcdCommand(ctx)
	etcd.SetUsageFunc(usage) // the inherited usage function prints the server's flags
	etcd.SetHelpFunc(help)
	cmd.AddCommand(etcd)
	return cmd
}
