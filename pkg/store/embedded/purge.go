// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"path/filepath"
	"sync"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
)

// purgeInterval is the pause between two removals of old files, as in etcd.
const purgeInterval = 30 * time.Second

// purge removes the old files of a member as etcd would, until stop is called, which waits for it.
// etcd itself ends the process if it cannot read a directory, for example because the process
// has too many open files.
func purge(logger klog.Logger, dir string) (stop func()) {
	ended := make(chan struct{})
	var running sync.WaitGroup
	for _, old := range []struct {
		dir, suffix string
		max         uint
		run         func(lg *zap.Logger, dir, suffix string, max uint, interval time.Duration, stop <-chan struct{}) (<-chan struct{}, <-chan error)
	}{
		{"snap", "snap.db", embed.DefaultMaxSnapshots, fileutil.PurgeFileWithoutFlock},
		{"snap", "snap", embed.DefaultMaxSnapshots, fileutil.PurgeFileWithoutFlock},
		{"wal", "wal", embed.DefaultMaxWALs, fileutil.PurgeFileWithDoneNotify},
	} {
		running.Go(func() {
			wait.Until(func() {
				done, failed := old.run(zap.NewNop(), filepath.Join(dir, old.dir), old.suffix, old.max, purgeInterval, ended)
				<-done
				select {
				case err := <-failed:
					logger.Error(err, "Removing old files of the embedded etcd failed and will be repeated", "suffix", old.suffix)
				default:
				}
			}, purgeInterval, ended)
		})
	}
	return sync.OnceFunc(func() {
		close(ended)
		running.Wait()
	})
}
