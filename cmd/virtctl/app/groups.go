// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// Main runs virtctl with the arguments, the program's name first, and returns the exit code.
func Main(ctx context.Context, args []string, streams genericiooptions.IOStreams) int {
	return mainWith(ctx, args, streams, addCommands)
}

// NewCommand returns virtctl with all commands. program is how it is called in usage texts and examples.
func NewCommand(program string, f *Factory) *cobra.Command { return newRoot(program, f, addCommands) }

// otherGroup is of commands that are for none of the purposes.
const otherGroup = "Other commands:"

// addCommands adds all commands, in groups by what they are for: of some thirty in one list
// nobody finds the one that is looked for.
func addCommands(root *cobra.Command, f *Factory) {
	for _, group := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Look at virtual machines:", []*cobra.Command{newDashboardCommand(f), newDescribeCommand(f), newEventsCommand(f), newTopCommand(f)}},
		{"Power them and get at them:", append(newPowerCommands(f), newConsoleCommand(f), newScreenshotCommand(f), newSSHCommand(f))},
		{"Make and change them:", []*cobra.Command{
			newCreateCommand(f), newExpandCommand(f), newImageCommand(f), newImportCommand(f), newPublishCommand(f), newRefreshCommand(f), newSnapshotCommand(f), newAdoptCommand(f),
		}},
		{"Machines of Kubernetes clusters:", []*cobra.Command{newDrainPlanCommand(f), newRolloutCommand(f)}},
		{"Install and run Slipway:", []*cobra.Command{
			newBackupCommand(f), newCheckCommand(f), newInstallCommand(f), newOrphansCommand(f), newRecoverCommand(f), newUninstallCommand(f),
		}},
		{otherGroup, []*cobra.Command{newVersionCommand(f)}},
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
