// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-dev/slipway/pkg/store/maintenance"
)

// A backup has the objects of all namespaces: who may write those of one may not read it.
func TestBackupIsReadThroughTheHostClusterByWhoHasTheRight(t *testing.T) {
	t.Parallel()
	u := admin(t)
	alice := editor(t, u, "alice-backup")
	file := filepath.Join(t.TempDir(), "slipway.db")
	if _, errOut, err := alice.try("", "virtctl", "backup", file); err == nil || !strings.Contains(errOut, "backups.vm.slipway.dev is forbidden") {
		t.Errorf("the backup for an editor: %v %s, want forbidden", err, errOut)
	}
	u.kubectl("create", "clusterrolebinding", u.namespace, "--clusterrole=slipway-backup", "--user=alice-backup")
	defer u.kubectl("delete", "clusterrolebinding", u.namespace)
	eventually(t, short, "alice saves the store with the right", func() error {
		out, errOut, err := alice.try("", "virtctl", "backup", file)
		if err != nil {
			return errorf("%s%s", out, errOut)
		}
		return nil
	})
	content, err := maintenance.CheckSnapshot(file, false)
	if err != nil || content.Keys == 0 {
		t.Errorf("the backup has %+v, %v", content, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v; want that others cannot read it", info.Mode(), err)
	}
}
