// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	stdlog "log"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/test/vcenter/inventory"
)

// TakeLogger redirects the standard logger, to which the simulator writes, to the logger of ctx.
func TakeLogger(ctx context.Context) {
	stdlog.SetFlags(0)
	stdlog.SetOutput(logWriter{ctx})
}

// Run serves a simulated vCenter until ctx is done, and saves its inventory. It needs a process of its own, because
// it configures the standard logger.
func Run(ctx context.Context, o Options) error {
	TakeLogger(ctx)
	s, err := Start(ctx, o)
	if err != nil {
		return err
	}
	klog.FromContext(ctx).Info("The simulated vCenter is ready", "url", s.Ready().URL, "user", s.options.Username)
	<-ctx.Done()
	return s.Stop(context.WithoutCancel(ctx))
}

// NewCommand returns the command "vcenter".
func NewCommand() *cobra.Command {
	o := Options{Listen: DefaultListen, Username: DefaultUsername, GuestBootDelay: DefaultGuestBootDelay}
	cmd := &cobra.Command{
		Use:   "vcenter",
		Short: "Serve a simulated vCenter",
		Long: `Serve a simulated vCenter until interrupted. Its inventory is saved in --state-dir a
moment after each change, and at the end. A second interrupt ends it at once, without saving.`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := untilSignal(cmd.Context())
			defer stop()
			return Run(ctx, o)
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}

func (o *Options) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Listen, "listen", o.Listen, "Address of the service; port 0 takes a free one.")
	flags.StringVar(&o.CertFile, "cert-file", o.CertFile, "PEM file of the serving certificate. Without it a self-signed one is kept in --state-dir as vcenter.crt.")
	flags.StringVar(&o.KeyFile, "key-file", o.KeyFile, "PEM file of the serving certificate's key.")
	flags.StringVar(&o.Username, "username", o.Username, "Account that may log in.")
	flags.StringVar(&o.PasswordFile, "password-file", o.PasswordFile, "File with the account's password (default password: "+DefaultPassword+").")
	flags.StringVar(&o.StateDir, "state-dir", o.StateDir, "Directory in which the inventory is kept between runs.")
	flags.DurationVar(&o.GuestBootDelay, "guest-boot-delay", o.GuestBootDelay, "Time from power-on to a guest with addresses.")
	flags.StringVar(&o.ReadyFile, "ready-file", o.ReadyFile, "File that is written when the service listens: JSON with url, thumbprint and caFile.")
	flags.StringVar(&o.APIVersion, "api-version", o.APIVersion, "Version of the API that is served, such as 8.0.1.0 (default "+inventory.APIVersion+").")
	flags.IntVar(&o.Clusters, "clusters", 1, "Number of clusters. Every second one has no DRS; each has datastores of its own.")
	flags.BoolVar(&o.ForeignVMs, "foreign-vms", false, "Add virtual machines that Slipway has not created to a new inventory, in folder /DC0/vm/slipway/"+ForeignFolder+".")
	flags.StringVar(&o.ControlListen, "control-listen", o.ControlListen, "Loopback address of the test controls (outages, delays, and what happens to virtual machines behind a client's back); empty serves none.")
}

// untilSignal returns a context that ends with the first interrupt. The second
// one ends the process.
func untilSignal(parent context.Context) (context.Context, context.CancelFunc) {
	if parent == nil {
		parent = context.Background()
	}
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
		}
		<-signals
		os.Exit(1)
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel()
	}
}
