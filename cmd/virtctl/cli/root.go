// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// ErrReported says that every failure was printed already.
var ErrReported = errors.New("some virtual machines failed")

// Main runs the commands that add adds with the arguments, the program's name first, and returns
// the exit code.
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

// ExitError ends the program with a code of its own.
type ExitError struct {
	Code int
	Err  error
}

// Error implements error.
func (e *ExitError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *ExitError) Unwrap() error { return e.Err }

// ProgramName is how the user called the program: as a kubectl plugin it is
// "kubectl virt".
func ProgramName(arg0 string) string {
	if strings.HasPrefix(filepath.Base(arg0), "kubectl-") {
		return "kubectl virt"
	}
	return "virtctl"
}

// NewRoot returns the root command, with the commands that add adds. program is how it is called in usage
// texts and examples.
func NewRoot(program string, f *Factory, add func(root *cobra.Command, f *Factory)) *cobra.Command {
	f.Program = program
	cmd := &cobra.Command{
		Use:   "virtctl",
		Short: "Control the virtual machines of Slipway, and Slipway itself",
		Long: "Control the virtual machines of Slipway, virtual machines on vSphere as objects of Kubernetes: look at them, power them, get at\n" +
			"their consoles, change what they are made from; and install, check, save and recover Slipway itself.\n\n" +
			"Where a command takes a VM it takes NAME, vm/NAME and vm NAME; -n names its namespace.",
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
	}
	return cmd
}

// HelpFor runs a command that only has commands below it. Without it cobra would
// answer an unknown one with the help text and success.
func HelpFor(cmd *cobra.Command, _ []string) error { return cmd.Help() }
