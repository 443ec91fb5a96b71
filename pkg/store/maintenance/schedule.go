// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/klog/v2"
)

const (
	// The name of a snapshot contains the time at which it was begun. Other files in the directory are ignored.
	snapshotPrefix = "slipway-"
	snapshotSuffix = ".db"
	snapshotTime   = "20060102T150405Z"
	// partOfSnapshot is the name pattern of a snapshot that is being written.
	partOfSnapshot = ".snapshot-*.part"
	// oldPart is the age from which an unfinished snapshot is removed: its process was killed.
	oldPart = 24 * time.Hour
	// retryFirst is the pause after the first failure. It doubles with each failure, up to the interval.
	retryFirst = time.Minute
)

// Schedule configures where snapshots are stored, how often one is taken, and how many are kept.
type Schedule struct {
	// Dir is the directory of the snapshots. It is created if it does not exist.
	Dir string
	// Interval is the time between two snapshots. A restart does not reset it.
	Interval time.Duration
	// Keep is the number of the newest snapshots that are kept.
	Keep int
	// Offset is an additional wait before each snapshot. It differs between replicas, so that only one of the replicas that
	// share a directory takes the snapshot.
	Offset time.Duration
}

// snapshotFile is a snapshot in the directory of a schedule.
type snapshotFile struct {
	path string
	at   time.Time
}

// KeepSnapshots takes snapshots until ctx is done. A failed snapshot is retried with a growing delay. An older snapshot is removed
// only after a newer one was verified.
func (s *Store) KeepSnapshots(ctx context.Context, o Schedule) {
	logger := klog.FromContext(ctx).WithValues("dir", o.Dir)
	set(intervalGauge, o.Interval.Seconds())
	for failures := 0; ; {
		all, err := o.list()
		if err == nil {
			observeSnapshots(all)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(o.pause(newest(all), failures, time.Now()) + o.Offset):
		}
		if all, err = o.list(); err == nil && failures == 0 && o.pause(newest(all), 0, time.Now()) > 0 {
			continue // another replica took one
		}
		var content Content
		if err == nil {
			content, err = s.SaveFile(ctx, o.name(time.Now()))
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			failures++
			snapshotsTotal.WithLabelValues("error").Inc()
			logger.Error(err, "Taking a snapshot of etcd failed and will be repeated", "in", o.backoff(failures))
			continue
		}
		failures = 0
		snapshotsTotal.WithLabelValues("success").Inc()
		logger.Info("Took a snapshot of etcd", "keys", content.Keys, "revision", content.Revision, "bytes", content.Size)
		if err := o.prune(time.Now()); err != nil {
			logger.Error(err, "Removing old snapshots failed and will be repeated with the next one")
		}
	}
}

func (o Schedule) name(at time.Time) string {
	return filepath.Join(o.Dir, snapshotPrefix+at.UTC().Format(snapshotTime)+snapshotSuffix)
}

// list returns the snapshots of the directory, the newest first.
func (o Schedule) list() ([]snapshotFile, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating the directory of snapshots: %w", err)
	}
	entries, err := os.ReadDir(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("reading the directory of snapshots: %w", err)
	}
	var all []snapshotFile
	for _, e := range entries {
		if at, ok := takenAt(e.Name()); ok {
			all = append(all, snapshotFile{filepath.Join(o.Dir, e.Name()), at})
		}
	}
	slices.SortFunc(all, func(a, b snapshotFile) int { return cmp.Or(b.at.Compare(a.at), strings.Compare(b.path, a.path)) })
	return all, nil
}

// takenAt returns when the snapshot with a name was taken. It returns false if the name is not that of a snapshot.
func takenAt(name string) (time.Time, bool) {
	stamp, ok := strings.CutPrefix(name, snapshotPrefix)
	if !ok {
		return time.Time{}, false
	}
	if stamp, ok = strings.CutSuffix(stamp, snapshotSuffix); !ok {
		return time.Time{}, false
	}
	at, err := time.Parse(snapshotTime, stamp)
	return at, err == nil
}

// newest returns the time of the newest snapshot, or zero.
func newest(all []snapshotFile) time.Time {
	if len(all) == 0 {
		return time.Time{}
	}
	return all[0].at
}

// pause returns the time until the next snapshot. It is at most the interval, even if the last snapshot has a time in the future
// because a clock was wrong.
func (o Schedule) pause(last time.Time, failures int, now time.Time) time.Duration {
	if failures > 0 {
		return o.backoff(failures)
	}
	return max(0, min(o.Interval-now.Sub(last), o.Interval))
}

func (o Schedule) backoff(failures int) time.Duration {
	return min(retryFirst<<min(failures-1, 16), o.Interval)
}

// prune removes surplus snapshots and old unfinished ones.
func (o Schedule) prune(now time.Time) error {
	all, err := o.list()
	if err != nil {
		return err
	}
	var errs []error
	for _, k := range all[min(o.Keep, len(all)):] {
		errs = append(errs, os.Remove(k.path))
	}
	observeSnapshots(all[:min(o.Keep, len(all))])
	parts, err := filepath.Glob(filepath.Join(o.Dir, partOfSnapshot))
	errs = append(errs, err)
	for _, part := range parts {
		if info, err := os.Stat(part); err == nil && now.Sub(info.ModTime()) > oldPart {
			errs = append(errs, os.Remove(part))
		}
	}
	return errors.Join(errs...)
}
