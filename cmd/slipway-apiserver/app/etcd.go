// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-dev/slipway/pkg/store/embedded"
	"github.com/slipway-dev/slipway/pkg/store/identity"
	"github.com/slipway-dev/slipway/pkg/store/maintenance"
)

// newEtcdCommand returns the command that manages the embedded etcd in a directory. ctx ends its waits.
func newEtcdCommand(ctx context.Context) *cobra.Command {
	var dir, prefix string
	cmd := &cobra.Command{
		Use:   "etcd",
		Short: "Back up, restore, check and inspect the embedded etcd",
		Long: "Back up, restore, check and inspect the embedded etcd of a server.\n" +
			"Run it as the server's user on the host or in the container that has the data directory. In a cluster:\n" +
			"kubectl exec -n slipway-system slipway-apiserver-0 -- slipway-apiserver etcd ...",
	}
	cmd.PersistentFlags().StringVar(&dir, "data-dir", "", "Directory of the embedded etcd, as given to the server.")
	_ = cmd.MarkPersistentFlagRequired("data-dir")
	cmd.PersistentFlags().StringVar(&prefix, "etcd-prefix", etcdPrefix, "Prefix of the objects, as given to the server.")
	attached := func(f func(a *embedded.Attached) error) error {
		a, err := embedded.Attach(ctx, dir)
		if err != nil {
			return err
		}
		defer a.Close()
		return f(a)
	}
	cmd.AddCommand(
		&cobra.Command{
			Use: "snapshot FILE", Args: cobra.ExactArgs(1), Short: "Write a snapshot to a file, or to standard output with -; the server may be running",
			RunE: func(cmd *cobra.Command, args []string) error {
				return attached(func(a *embedded.Attached) error { return saveSnapshot(ctx, a, dir, args[0], cmd.OutOrStdout()) })
			},
		},
		&cobra.Command{
			Use: "status", Args: cobra.NoArgs, Short: "Show size, quota and alarms; the server may be running",
			RunE: func(cmd *cobra.Command, _ []string) error {
				return attached(func(a *embedded.Attached) error { return printStatus(ctx, a, prefix, cmd.OutOrStdout()) })
			},
		},
		&cobra.Command{
			Use: "defrag", Args: cobra.NoArgs, Short: "Return free space of the database to the file system; requests wait while it runs",
			RunE: func(cmd *cobra.Command, _ []string) error {
				return attached(func(a *embedded.Attached) error {
					if err := a.Defragment(ctx); err != nil {
						return err
					}
					return printStatus(ctx, a, prefix, cmd.OutOrStdout())
				})
			},
		},
		newCheckCommand(&dir), newRestoreCommand(ctx, &dir, &prefix), newReleaseCommand(ctx, &prefix),
	)
	return cmd
}

func newCheckCommand(dir *string) *cobra.Command {
	return &cobra.Command{
		Use: "check", Args: cobra.NoArgs, Short: "Verify all pages of the database; the server must not be running",
		RunE: func(cmd *cobra.Command, _ []string) error {
			content, err := embedded.Check(*dir)
			if err != nil {
				return err
			}
			return printLine(cmd.OutOrStdout(), fmt.Sprintf("ok: %d keys, revision %d, %d bytes", content.Keys, content.Revision, content.Size))
		},
	}
}

func newRestoreCommand(ctx context.Context, dir, prefix *string) *cobra.Command {
	var unverified bool
	cmd := &cobra.Command{
		Use: "restore FILE", Args: cobra.ExactArgs(1), Short: "Restore the data from a snapshot; the server must not be running",
		Long: "Restore the data from a snapshot file, or from standard input with -. The server must not be running. The previous data directory is kept.\n" +
			"The server then serves the API, but its controllers wait for \"etcd release\".",
		RunE: func(cmd *cobra.Command, args []string) error {
			reason := "the store was restored by slipway-apiserver etcd restore at " + time.Now().UTC().Format(time.RFC3339)
			restored, err := restore(*dir, args[0], unverified, cmd.InOrStdin(), func(fresh string) error { return hold(ctx, fresh, *prefix, reason) })
			if err != nil {
				return err
			}
			answer := "restored. The server serves the API but changes nothing in vSphere until you run: slipway-apiserver etcd release --data-dir=" + *dir
			if restored.Aside != "" {
				answer += "\nThe previous data is in " + restored.Aside
			}
			return printLine(cmd.OutOrStdout(), answer)
		},
	}
	cmd.Flags().BoolVar(&unverified, "skip-hash-check", false, "Accept a copied database file (member-data/member/snap/db), which has no checksum.")
	return cmd
}

// standard is the file name for standard input or output. Images do not contain tar, which kubectl cp needs.
const standard = "-"

func saveSnapshot(ctx context.Context, a *embedded.Attached, dir, file string, out io.Writer) error {
	if file == standard {
		// The snapshot is written next to the data first, so that a slow reader does not keep the transaction open.
		if err := a.Fits(ctx, dir); err != nil {
			return fmt.Errorf("%w; run \"virtctl backup\", or write the snapshot to a file on another volume", err)
		}
		return inTemporary(dir, func(file string) error {
			if err := a.Save(ctx, file); err != nil {
				return err
			}
			f, err := os.Open(file)
			if err != nil {
				return err
			}
			defer func() { _ = f.Close() }()
			_, err = io.Copy(out, f)
			return err
		})
	}
	if err := a.Save(ctx, file); err != nil {
		return err
	}
	content, err := maintenance.CheckSnapshot(file, false)
	if err != nil {
		return err
	}
	return printLine(out, fmt.Sprintf("%s: %d keys, revision %d, %d bytes", file, content.Keys, content.Revision, content.Size))
}

func printStatus(ctx context.Context, a *embedded.Attached, prefix string, out io.Writer) error {
	status, err := a.Status(ctx)
	if err != nil {
		return err
	}
	held, err := identity.Held(ctx, a.Client(), prefix)
	if err != nil {
		return err
	}
	alarms := "none"
	if len(status.Alarms) > 0 {
		alarms = strings.Join(status.Alarms, ", ")
	}
	return printLine(out, fmt.Sprintf("server runs: %t\nsize: %d bytes\nin use: %d bytes\nquota: %d bytes\nrevision: %d\nalarms: %s\nrestored, waiting for release: %t",
		a.Running, status.Size, status.InUse, status.Quota, status.Revision, alarms, held != ""))
}

// restore restores a snapshot from a file or from in.
func restore(dir, file string, unverified bool, in io.Reader, prepare func(string) error) (r embedded.Restored, err error) {
	if file != standard {
		return embedded.Restore(dir, file, unverified, prepare)
	}
	err = inTemporary(dir, func(file string) error {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, in)
		if err = errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("reading the snapshot: %w", err)
		}
		r, err = embedded.Restore(dir, file, unverified, prepare)
		return err
	})
	return r, err
}

// inTemporary calls f with the name of a temporary file and removes the file afterwards. The file is in the data
// directory, because the rest of a container's file system is often read-only.
func inTemporary(dataDir string, f func(file string) error) error {
	dir, err := os.MkdirTemp(dataDir, "snapshot-")
	if err != nil {
		return fmt.Errorf("creating a directory for the snapshot: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	return f(filepath.Join(dir, "snapshot"))
}

func printLine(out io.Writer, line string) error {
	_, err := fmt.Fprintln(out, line)
	return err
}
