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
	// A snapshot has the time of its beginning in its name, and nothing else is taken for
	// one: a directory may have other files.
	snapshotBegins = "slipway-"
	snapshotEnds   = ".db"
	snapshotTime   = "20060102T150405Z"
	// partOfSnapshot is the name of one that is being written.
	partOfSnapshot = ".snapshot-*.part"
	// oldPart is the age of one that nobody writes any more: its process was killed.
	oldPart = 24 * time.Hour
	// retryFirst is the pause after a snapshot that failed. It doubles up to the interval.
	retryFirst = time.Minute
)

// Schedule says where snapshots are kept, how often one is taken, and how many are kept.
type Schedule struct {
	// Dir holds them. It is made when missing.
	Dir string
	// Interval is the time from one to the next. It is counted over restarts.
	Interval time.Duration
	// Keep is how many are kept: the newest.
	Keep int
	// Offset is an additional wait before each snapshot. It differs between replicas, so that one
	// of those that share a directory takes the snapshot.
	Offset time.Duration
}

// kept is a snapshot in the directory of a schedule.
type kept struct {
	path string
	at   time.Time
}

// KeepSnapshots takes snapshots until ctx is done. What fails is tried again, and later and
// later; only a snapshot that was read again and is whole lets an older one go.
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
			logger.Error(err, "A snapshot of etcd was not taken, and will be", "in", o.backoff(failures))
			continue
		}
		failures = 0
		snapshotsTotal.WithLabelValues("success").Inc()
		logger.Info("A snapshot of etcd was taken", "keys", content.Keys, "revision", content.Revision, "bytes", content.Size)
		if err := o.prune(time.Now()); err != nil {
			logger.Error(err, "Removing old snapshots failed and will be repeated with the next one")
		}
	}
}

func (o Schedule) name(at time.Time) string {
	return filepath.Join(o.Dir, snapshotBegins+at.UTC().Format(snapshotTime)+snapshotEnds)
}

// list returns the snapshots of the directory, the newest first.
func (o Schedule) list() ([]kept, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory of snapshots: %w", err)
	}
	entries, err := os.ReadDir(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("reading the directory of snapshots: %w", err)
	}
	var all []kept
	for _, e := range entries {
		if at, ok := takenAt(e.Name()); ok {
			all = append(all, kept{filepath.Join(o.Dir, e.Name()), at})
		}
	}
	slices.SortFunc(all, func(a, b kept) int { return cmp.Or(b.at.Compare(a.at), strings.Compare(b.path, a.path)) })
	return all, nil
}

// takenAt is when the snapshot of a name was taken; false for what is none.
func takenAt(name string) (time.Time, bool) {
	stamp, ok := strings.CutPrefix(name, snapshotBegins)
	if !ok {
		return time.Time{}, false
	}
	if stamp, ok = strings.CutSuffix(stamp, snapshotEnds); !ok {
		return time.Time{}, false
	}
	at, err := time.Parse(snapshotTime, stamp)
	return at, err == nil
}

// newest is when the first of all was taken, zero without any.
func newest(all []kept) time.Time {
	if len(all) == 0 {
		return time.Time{}
	}
	return all[0].at
}

// pause is the time until the next snapshot. One of the future, of a clock that was wrong,
// does not put it off for longer than the interval.
func (o Schedule) pause(last time.Time, failures int, now time.Time) time.Duration {
	if failures > 0 {
		return o.backoff(failures)
	}
	return max(0, min(o.Interval-now.Sub(last), o.Interval))
}

func (o Schedule) backoff(failures int) time.Duration {
	return min(retryFirst<<min(failures-1, 16), o.Interval)
}

// prune removes what is more than is to be kept, and what was never finished.
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
