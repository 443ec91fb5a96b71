// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/klog/v2/ktesting"
)

func TestPurge_ContinuesAfterAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
		stop := purge(logger, dir)
		synctest.Wait()
		if log := logger.GetSink().(ktesting.Underlier).GetBuffer().String(); strings.Count(log, "will be repeated") != 3 {
			t.Errorf("without the directories this is logged, want 3 errors:\n%s", log)
		}
		var want []string
		for _, name := range []string{"snap/%016d.snap", "wal/%016d.wal"} {
			for i := range embed.DefaultMaxSnapshots + 2 {
				file := filepath.Join(dir, fmt.Sprintf(name, i))
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, nil, 0o600); err != nil {
					t.Fatal(err)
				}
				if i >= 2 {
					want = append(want, file)
				}
			}
		}
		time.Sleep(purgeInterval + time.Second)
		synctest.Wait()
		got, err := filepath.Glob(dir + "/*/*")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("files that are left (-want +got):\n%s", diff)
		}
		stop()
	})
}

func TestEmbedded_LeavesOldFilesToPurge(t *testing.T) {
	if c := config(t.TempDir(), sockets{}, true, 0, nil); c.MaxSnapFiles != 0 || c.MaxWalFiles != 0 {
		t.Errorf("etcd keeps %d snapshots and %d logs: it ends the process if it cannot remove a file", c.MaxSnapFiles, c.MaxWalFiles)
	}
}
