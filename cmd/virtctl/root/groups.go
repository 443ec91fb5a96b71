// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/adopt"
	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/backup"
	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/catalogue"
	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/check"
	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/console"
	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/create"
	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/dashboard"
	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/describe"
	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/drainplan"
	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/events"
	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/expand"
	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/image"
	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/install"
	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/orphans"
	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/power"
	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/publish"
	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/recovery"
	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/refresh"
	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/rollout"
	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/snapshot"
	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/ssh"
	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/top"
	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/version"
)

// Main runs virtctl with the arguments, the program's name first, and returns the exit code.
func Main(ctx context.Context, args []string, flags *genericclioptions.ConfigFlags, streams genericiooptions.IOStreams) int {
	return cli.Main(ctx, args, flags, streams, addCommands)
}

// NewCommand returns virtctl with all commands. program is its name in usage texts and examples.
func NewCommand(program string, f *cli.Factory) *cobra.Command {
	return cli.NewRoot(program, f, addCommands)
}

// otherGroup is the group of the remaining commands.
const otherGroup = "Other commands:"

// addCommands adds all commands to the root command, in groups by purpose, because there are about thirty.
func addCommands(root *cobra.Command, f *cli.Factory) {
	for _, group := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"View virtual machines:", []*cobra.Command{dashboard.NewCommand(f), describe.NewCommand(f), events.NewCommand(f), top.NewCommand(f)}},
		{"Power and access virtual machines:", append(power.NewCommands(f), console.NewCommand(f), console.NewScreenshotCommand(f), ssh.NewCommand(f))},
		{"Create and change virtual machines:", []*cobra.Command{
			create.NewCommand(f), expand.NewCommand(f), image.NewCommand(f), catalogue.NewCommand(f), publish.NewCommand(f), refresh.NewCommand(f), snapshot.NewCommand(f), adopt.NewCommand(f),
		}},
		{"Machines of Kubernetes clusters:", []*cobra.Command{drainplan.NewCommand(f), rollout.NewCommand(f)}},
		{"Install and operate Slipway:", []*cobra.Command{
			backup.NewCommand(f), check.NewCommand(f), install.NewCommand(f), orphans.NewCommand(f), recovery.NewCommand(f), install.NewUninstallCommand(f),
		}},
		{otherGroup, []*cobra.Command{version.NewCommand(f)}},
	} {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title})
		for _, c := range group.commands {
			c.GroupID = group.title
		}
		root.AddCommand(group.commands...)
	}
	root.SetHelpCommandGroupID(otherGroup)
	root.SetCompletionCommandGroupID(otherGroup)
}
