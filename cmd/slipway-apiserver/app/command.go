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

// serverName is what the server calls itself to others.
const serverName = "slipway-apiserver"

// NewCommand returns the command line of the server, which runs until ctx is done.
func NewCommand(ctx context.Context) *cobra.Command {
	o := NewOptions()
	cmd := &cobra.Command{
		Use:   serverName,
		Short: "Serve virtual machines on vSphere as Kubernetes API objects",
		Long: "slipway-apiserver serves the API groups " + groups + ",\n" +
			"aggregated into the API of a host cluster, and makes vSphere follow the objects.\n" +
			"slipway-apiserver etcd --help tells how to save, restore and check the embedded etcd.",
		Version: version,
		Args:    cobra.NoArgs,
		// The help is some hundred lines: an error would be lost behind it.
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
			collectGarbage(o.GCPercent)
			server, err := New(ctx, o)
			if err != nil && ctx.Err() != nil {
				klog.FromContext(ctx).Info("Told to stop before it served", "reason", err)
				return nil
			}
			if err != nil {
				return err
			}
			return server.Run(ctx)
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; %s --help lists the flags", err, cmd.Name())
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
	etcd.SetUsageFunc(usage) // else it would show the flags of the server
	etcd.SetHelpFunc(help)
	cmd.AddCommand(etcd)
	return cmd
}
