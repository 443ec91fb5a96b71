// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package ssh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

const (
	// sshProgram is looked up in PATH.
	sshProgram = "ssh"
	// sshFailed is the exit status of ssh if it fails itself.
	sshFailed = 255
	// connectTimeout is the value of ssh's option ConnectTimeout, in seconds, unless the user sets it.
	connectTimeout = 10
	// sshGrace is how long ssh may take to end after a signal.
	sshGrace = 5 * time.Second
)

// sshFlags are the flags of ssh.
type sshFlags struct {
	user, identity, knownHosts string
	port                       int
	options                    []string
}

// NewCommand returns the command.
func NewCommand(factory *cli.Factory) *cobra.Command {
	f := command{factory}
	var flags sshFlags
	cmd := &cobra.Command{
		Use:   "ssh [USER@]VM [-- COMMAND...]",
		Short: "Open an SSH connection to a virtual machine",
		Long: "Open an SSH connection to the primary address of a virtual machine with the local ssh\n" +
			"program. The address must be reachable from your machine.\n\n" +
			"Host keys are stored by the UID of the virtual machine, not by its address. A virtual machine\n" +
			"with a new address is still trusted; a recreated one with the same name is not.\n" +
			"The exit status is that of ssh. A connection attempt ends after 10 seconds, unless --ssh-option\n" +
			"ConnectTimeout=SECONDS is given.",
		Example: fmt.Sprintf("  %[1]s ssh admin@web\n  %[1]s ssh web -l admin -- uname -a", f.Program),
		Args: func(_ *cobra.Command, names []string) error {
			if len(names) == 1 {
				return nil
			}
			return errors.New("specify one virtual machine, and -- before the command, if any")
		},
		ValidArgsFunction: f.CompleteVMs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.ssh(cmd.Context(), args[0], args[1:], &flags)
		},
	}
	cmd.Flags().StringVarP(&flags.user, "username", "l", "", "User name in the guest (default: that of ssh)")
	cmd.Flags().IntVarP(&flags.port, "port", "p", 0, "SSH port of the guest (default: that of ssh)")
	cmd.Flags().StringVarP(&flags.identity, "identity-file", "i", "", "File with the private key")
	cmd.Flags().StringVar(&flags.knownHosts, "known-hosts", "", "File for host keys (default: one per virtual machine below ~/.ssh/slipway)")
	cmd.Flags().StringArrayVar(&flags.options, "ssh-option", nil, "Option of ssh, as for ssh -o; may be repeated")
	return cmd
}

func (f command) ssh(ctx context.Context, name string, command []string, flags *sshFlags) error {
	if i := strings.LastIndexByte(name, '@'); i >= 0 {
		if flags.user != "" {
			return fmt.Errorf("the user is specified twice: %q and --username %q", name[:i], flags.user)
		}
		flags.user, name = name[:i], name[i+1:]
	}
	if err := flags.validate(); err != nil {
		return err
	}
	client, namespace, err := f.Client()
	if err != nil {
		return err
	}
	vm, err := client.VmV1alpha1().VirtualMachines(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("virtualmachine %s/%s: %s", namespace, name, cli.Reason(err))
	}
	address, err := addressOf(vm)
	if err != nil {
		return fmt.Errorf("virtualmachine %s/%s: %w", namespace, name, err)
	}
	known, err := f.knownHosts(vm, flags.knownHosts)
	if err != nil {
		return err
	}
	if known.another {
		fmt.Fprintf(f.Streams.ErrOut, "virtualmachine %s/%s was recreated since your last connection: ssh asks you to confirm its new host key\n", namespace, name)
	}
	err = f.runSSH(ctx, flags.argv(known, address, command))
	var exit *cli.ExitError
	if errors.As(err, &exit) && exit.Code == sshFailed {
		fmt.Fprintf(f.Streams.ErrOut, "virtualmachine %s/%s: ssh failed to connect, or the command exited with status %d: this machine must reach %s, "+
			"and the guest must run an SSH server (guests of a simulated vCenter have no operating system)\n", namespace, name, sshFailed, address)
	}
	return err
}

// validate rejects values that ssh would parse as options.
func (s *sshFlags) validate() error {
	switch {
	case strings.HasPrefix(s.user, "-"):
		return fmt.Errorf("--username: %q: must not begin with -", s.user)
	case s.port < 0 || s.port > 65535:
		return fmt.Errorf("--port: %d: must be from 1 to 65535", s.port)
	}
	return nil
}

// addressOf returns the primary address of a VM. The guest reports it, so it is accepted only if it is an IP address
// and not one of this machine.
func addressOf(vm *vmv1alpha1.VirtualMachine) (string, error) {
	var text string
	if n := vm.Status.Network; n != nil {
		text = cmp.Or(n.PrimaryIP4, n.PrimaryIP6)
	}
	if text == "" {
		return "", fmt.Errorf("it has no address; its status is %s", cmp.Or(vm.Status.PrintableStatus, "not reconciled yet"))
	}
	address, err := netip.ParseAddr(text)
	switch {
	case err != nil || address.Zone() != "":
		return "", fmt.Errorf("its guest reports %q, which is not a valid address", text)
	case address.IsLoopback(), address.IsUnspecified(), address.IsMulticast(), address.Unmap().IsLoopback():
		return "", fmt.Errorf("its guest reports the address %s, which is not a unicast address of a virtual machine", address)
	}
	return address.String(), nil
}

// argv returns the arguments of ssh.
func (s *sshFlags) argv(known *knownHosts, address string, command []string) []string {
	argv := []string{
		"-o", "HostKeyAlias=" + known.alias, "-o", "UserKnownHostsFile=" + quoted(known.file),
		// Disable the check by address, so that ssh only uses the alias.
		"-o", "CheckHostIP=no", "-o", "HashKnownHosts=no",
	}
	for _, o := range s.options {
		argv = append(argv, "-o", o)
	}
	// ssh uses the first value of an option, so one of the user takes precedence.
	argv = append(argv, "-o", fmt.Sprintf("ConnectTimeout=%d", connectTimeout))
	if s.user != "" {
		argv = append(argv, "-l", s.user)
	}
	if s.port != 0 {
		argv = append(argv, "-p", strconv.Itoa(s.port))
	}
	if s.identity != "" {
		argv = append(argv, "-i", s.identity)
	}
	return append(append(argv, address), command...)
}

// quoted returns a file name as the value of an ssh option, with spaces and percent signs escaped.
func quoted(file string) string { return `"` + strings.ReplaceAll(file, "%", "%%") + `"` }

// runSSH runs ssh with the standard streams of this program and returns its exit status.
func (f command) runSSH(ctx context.Context, argv []string) error {
	cmd := exec.CommandContext(ctx, sshProgram, argv...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = f.Streams.In, f.Streams.Out, f.Streams.ErrOut
	// The guest's output is passed to the terminal unchanged.
	if t, ok := f.Streams.Out.(cli.Terminal); ok {
		cmd.Stdout = t.Out
	}
	if t, ok := f.Streams.ErrOut.(cli.Terminal); ok {
		cmd.Stderr = t.Out
	}
	cmd.Cancel = func() error {
		if cmd.Process.Signal(os.Interrupt) != nil {
			return cmd.Process.Kill() // on systems without signals
		}
		return nil
	}
	cmd.WaitDelay = sshGrace
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return &cli.ExitError{Code: max(exit.ExitCode(), 1), Err: cli.ErrReported}
	}
	if err != nil {
		return fmt.Errorf("running ssh, which must be installed: %w", err)
	}
	return nil
}
