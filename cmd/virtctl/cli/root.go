// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// ErrReported is returned when every failure has already been printed.
var ErrReported = errors.New("some virtual machines failed")

// Main runs the command line with the commands of add, and returns the exit status. args[0] is the name of the
// program.
func Main(ctx context.Context, args []string, flags *genericclioptions.ConfigFlags, streams genericiooptions.IOStreams, add func(root *cobra.Command, f *Factory)) int {
	streams = showControls(streams)
	cmd := NewRoot(ProgramName(args[0]), NewFactory(flags, streams), add)
	cmd.SetArgs(args[1:])
	if err := cmd.ExecuteContext(ctx); err != nil {
		if !errors.Is(err, ErrReported) {
			fmt.Fprintf(streams.ErrOut, "error: %s\n", err)
		}
		var exit *ExitError
		if errors.As(err, &exit) {
			return exit.Code
		}
		return 1
	}
	return 0
}

// ExitError makes the program exit with Code.
type ExitError struct {
	Code int
	Err  error
}

// Error implements error.
func (e *ExitError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *ExitError) Unwrap() error { return e.Err }

// ProgramName returns the name by which the user called the program, for example "kubectl slipway" for the kubectl plugin
// kubectl-slipway.
func ProgramName(arg0 string) string {
	if plugin, ok := strings.CutPrefix(filepath.Base(arg0), "kubectl-"); ok {
		return "kubectl " + plugin
	}
	return "virtctl"
}

// NewRoot returns the root command with the commands of add. program is its name in usage texts and examples.
func NewRoot(program string, f *Factory, add func(root *cobra.Command, f *Factory)) *cobra.Command {
	f.Program = program
	cmd := &cobra.Command{
		Use:   "virtctl",
		Short: "Control virtual machines of Slipway and Slipway itself",
		Long: "Control Slipway's virtual machines, which are vSphere VMs managed as Kubernetes objects: view, power, access and\n" +
			"change them. Install, check, back up and recover Slipway itself.\n\n" +
			"A VM argument is NAME, vm/NAME or vm NAME; -n specifies the namespace.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: program},
	}
	cmd.SetOut(f.Streams.Out)
	cmd.SetErr(f.Streams.ErrOut)
	f.Flags.AddFlags(cmd.PersistentFlags())
	f.completeGlobals(cmd)
	add(cmd, f)
	takeKinds(cmd)
	cmd.InitDefaultCompletionCmd()
	if completion, _, err := cmd.Find([]string{"completion"}); err == nil {
		completion.RunE = HelpFor
		hideGlobalFlags(cmd, completion.GroupID)
	}
	return cmd
}

// hideGlobalFlags adds the command options, which lists the global flags, and removes them from the help of all
// other commands. group is the help group of the command.
func hideGlobalFlags(root *cobra.Command, group string) {
	usage := strings.NewReplacer(
		"{{if .HasAvailableLocalFlags}}", "{{if and .HasParent .HasAvailableLocalFlags}}",
		"\n\nGlobal Flags:\n{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}", "",
		`Use "{{.CommandPath}} [command] --help" for more information about a command.{{end}}`,
		`Use "{{.CommandPath}} [command] --help" for more information about a command.{{end}}

Use "{{.Root.CommandPath}} options" for the list of global flags.`,
	)
	root.SetUsageTemplate(usage.Replace(root.UsageTemplate()))
	options := &cobra.Command{
		Use:                   "options",
		GroupID:               group,
		Short:                 "List the global flags, which all commands accept",
		Args:                  cobra.NoArgs,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(cmd.OutOrStdout(), "All commands accept these flags:\n"+root.PersistentFlags().FlagUsages())
			return err
		},
	}
	root.AddCommand(options)
}

// HelpFor prints the help of a command that only groups other commands. Without it cobra would exit with status 0
// for an unknown subcommand.
func HelpFor(cmd *cobra.Command, _ []string) error { return cmd.Help() }
