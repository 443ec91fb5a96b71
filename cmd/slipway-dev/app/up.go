// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/slipway-dev/slipway/test/localcluster"
)

// notifyFD is the first descriptor after the standard streams.
const notifyFD = 3

func newUp(g *globals) *cobra.Command {
	o := &runOptions{globals: g}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start the environment in the background and return when it is ready",
		Long: "Start the environment in the background and return when it is ready.\n" +
			"A running environment is not changed.",
		Args: cobra.NoArgs,
		RunE: g.runE(o.up),
	}
	o.addFlags(cmd)
	return cmd
}

// up runs "slipway-dev run" in a new session and prints its progress.
func (o *runOptions) up(ctx context.Context, out io.Writer) error {
	pid, err := localcluster.Running(o.dataDir)
	if err != nil {
		return err
	}
	if pid != 0 {
		return o.running(ctx, out)
	}
	if err := localcluster.CheckPrograms(o.binDir); err != nil {
		return err
	}
	reader, daemon, err := o.startDaemon()
	if err != nil {
		return err
	}
	defer reader.Close()
	// If up is interrupted while waiting, stop the environment as well.
	cancel := context.AfterFunc(ctx, func() { _ = daemon.Process.Signal(syscall.SIGTERM) })
	defer cancel()
	ready, err := follow(reader, out)
	if ready {
		// The environment outlives this command, which must not wait for it.
		return daemon.Process.Release()
	}
	return errors.Join(err, o.ended(daemon.Wait(), err))
}

// running reports an environment that is already running. It returns an error if the environment is not ready.
func (o *runOptions) running(ctx context.Context, out io.Writer) error {
	s, err := localcluster.Inspect(ctx, o.dataDir)
	if err != nil {
		return err
	}
	if missing := s.Missing(); len(missing) > 0 {
		return fmt.Errorf("an environment is already running in %s (process %d), but is not ready: %s", o.dataDir, s.PID, strings.Join(missing, ", "))
	}
	_, err = fmt.Fprintf(out, "an environment is already running in %s (process %d)\n\n", o.dataDir, s.PID)
	o.printNext(out, "") // the VMs are not listed
	return err
}

// ended explains a background run that ended without reporting an error.
func (o *runOptions) ended(wait, explained error) error {
	switch {
	case explained != nil:
		return nil
	case wait != nil:
		return fmt.Errorf("the environment ended before it was ready: %w; see %s", wait, o.logFile())
	default:
		return fmt.Errorf("the environment ended before it was ready: %w", errInterrupted)
	}
}

// logFile returns the log file of the background run.
func (o *runOptions) logFile() string {
	return filepath.Join(localcluster.LogDir(o.dataDir), "slipway-dev.log")
}

func (o *runOptions) startDaemon() (io.ReadCloser, *exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("locating slipway-dev: %w", err)
	}
	logFile := o.logFile()
	if err := os.MkdirAll(filepath.Dir(logFile), 0o700); err != nil {
		return nil, nil, fmt.Errorf("creating the log directory: %w", err)
	}
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the log of the background run: %w", err)
	}
	defer log.Close()
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("creating a pipe to the background run: %w", err)
	}
	defer writer.Close()
	daemon := exec.Command(self, "run", "--data-dir="+o.dataDir, "--bin-dir="+o.binDir,
		fmt.Sprintf("--no-quickstart=%t", o.noQuickstart), fmt.Sprintf("--unsafe-no-fsync=%t", o.unsafeNoFsync),
		fmt.Sprintf("--vcenters=%d", o.vcenters),
		fmt.Sprintf("--notify-fd=%d", notifyFD))
	daemon.Stdout, daemon.Stderr, daemon.ExtraFiles = log, log, []*os.File{writer}
	daemon.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := daemon.Start(); err != nil {
		_ = reader.Close()
		return nil, nil, fmt.Errorf("starting the background run: %w", err)
	}
	return reader, daemon, nil
}

// follow prints progress until the environment is ready or has ended.
func follow(r io.Reader, out io.Writer) (ready bool, err error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return false, fmt.Errorf("reading the progress of the background run: %w", err)
		}
		switch {
		case e.Ready:
			return true, nil
		case e.Error != "":
			return false, errors.New(e.Error)
		default:
			_, _ = fmt.Fprintln(out, e.Text)
		}
	}
	return false, lines.Err()
}
