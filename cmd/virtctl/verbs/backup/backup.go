// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	"github.com/slipway-dev/slipway/pkg/apis/vm/backup"
	"github.com/slipway-dev/slipway/pkg/store/snapshotfile"
)

// NewCommand returns the command.
func NewCommand(factory *cli.Factory) *cobra.Command {
	f := command{factory}
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Back up the server's store to a file",
		Long: "Back up the server's store, with all objects of all namespaces, to a new file while the server is running.\n" +
			"The file appears under its name when it is complete and its checksum is verified. Restore it with \"slipway-apiserver etcd restore\".\n" +
			"Requires permission to create backups in vm.slipway.dev (ClusterRole slipway-backup). kube-apiserver limits a response to one\n" +
			"minute by default (its flag --request-timeout); for larger stores see docs/how-to/operate/back-up-the-store.md.",
		Example: fmt.Sprintf("  %[1]s backup slipway.db\n  %[1]s backup - | age -r RECIPIENT >slipway.db.age", f.Program),
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return f.backup(cmd.Context(), args[0]) },
	}
}

func (f command) backup(ctx context.Context, file string) error {
	if file == cli.StandardOutput {
		out := f.PlainOut()
		if cli.IsTerminal(out) {
			return errors.New("FILE -: standard output is a terminal")
		}
		_, err := f.readBackup(ctx, file, out)
		return err
	}
	if _, err := os.Lstat(file); err == nil {
		return fmt.Errorf("writing the backup: %s exists already and is not overwritten", file)
	}
	part, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*.part")
	if err != nil {
		return fmt.Errorf("writing the backup: %w", err)
	}
	defer func() { _ = os.Remove(part.Name()) }() // does nothing after a successful rename
	size, err := f.readBackup(ctx, file, part)
	if err == nil {
		err = part.Sync()
	}
	if err = errors.Join(err, part.Close()); err != nil {
		return err
	}
	if err := os.Rename(part.Name(), file); err != nil {
		return fmt.Errorf("naming the backup: %w", err)
	}
	fmt.Fprintf(f.Streams.ErrOut, "%s: %s, checksum verified\n", file, cli.Amount(size))
	return nil
}

// measured counts the bytes written.
type measured struct {
	io.Writer
	bytes int64
	tell  func(int64)
}

// Write implements io.Writer.
func (m *measured) Write(p []byte) (int, error) {
	n, err := m.Writer.Write(p)
	m.bytes += int64(n)
	m.tell(m.bytes)
	return n, err
}

// readBackup copies a backup to out, shows progress and returns the size.
func (f command) readBackup(ctx context.Context, file string, out io.Writer) (int64, error) {
	client, _, err := f.Client()
	if err != nil {
		return 0, err
	}
	answer, err := client.VmV1alpha1().RESTClient().Post().AbsPath(backup.Path).SetHeader("Accept", backup.MediaType+", application/json").Stream(ctx)
	if err != nil {
		return 0, fmt.Errorf("reading the backup: %s", cli.Reason(err))
	}
	defer func() { _ = answer.Close() }()
	doing, p := file, cli.ProgressOn(f.Streams.ErrOut)
	if file == cli.StandardOutput {
		doing = "backup"
	}
	defer p.End()
	size, err := snapshotfile.Copy(&measured{Writer: out, tell: func(bytes int64) { p.Grown(doing, bytes, time.Now()) }}, answer)
	if err != nil {
		return size, fmt.Errorf("reading the backup: the response ended after %s and is not valid: %w; if it ended after a minute, see docs/how-to/operate/back-up-the-store.md", cli.Amount(size), err)
	}
	return size, nil
}
