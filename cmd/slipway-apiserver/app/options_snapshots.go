// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/spf13/pflag"

	"github.com/slipway-dev/slipway/pkg/store/embedded"
	"github.com/slipway-dev/slipway/pkg/store/maintenance"
)

// SnapshotOptions say whether and when snapshots of etcd are taken, and how
// many are kept.
type SnapshotOptions struct {
	// Dir holds them. None are taken when it is empty.
	Dir string
	// Interval is the time from one to the next.
	Interval time.Duration
	// Retention is how many are kept.
	Retention int
}

// Defaults and bounds of snapshots: those of a week.
const (
	defaultSnapshotInterval  = 6 * time.Hour
	defaultSnapshotRetention = 28
	minSnapshotInterval      = time.Minute
	maxSnapshotRetention     = 10000
	maxSnapshotOffset        = time.Minute
)

func newSnapshotOptions() SnapshotOptions {
	return SnapshotOptions{Interval: defaultSnapshotInterval, Retention: defaultSnapshotRetention}
}

func (o *SnapshotOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Dir, "etcd-snapshot-dir", o.Dir, "Directory for snapshots of etcd, which the server takes by itself while it serves. It should be on another volume than --data-dir; replicas may share it. Empty takes none.")
	fs.DurationVar(&o.Interval, "etcd-snapshot-interval", o.Interval, fmt.Sprintf("Time from one snapshot in --etcd-snapshot-dir to the next, at least %s.", minSnapshotInterval))
	fs.IntVar(&o.Retention, "etcd-snapshot-retention", o.Retention, "Number of snapshots that are kept in --etcd-snapshot-dir: the newest. Other files there are left alone.")
}

func (o *SnapshotOptions) validate(dataDir string) []error {
	var errs []error
	if o.Dir != "" && embedded.Owns(dataDir, o.Dir) {
		errs = append(errs, fmt.Errorf("--etcd-snapshot-dir %s: is what etcd keeps in --data-dir; a directory beside that, or better on another volume, is needed", o.Dir))
	}
	if o.Interval < minSnapshotInterval {
		errs = append(errs, fmt.Errorf("--etcd-snapshot-interval %s: must be at least %s", o.Interval, minSnapshotInterval))
	}
	if err := between("etcd-snapshot-retention", o.Retention, maxSnapshotRetention); err != nil {
		errs = append(errs, err)
	}
	return errs
}

// schedule returns the schedule of the options; false for none. The replicas of an etcd cluster take
// their snapshots at different times.
func (o *SnapshotOptions) schedule(external bool) (maintenance.Schedule, bool) {
	s := maintenance.Schedule{Dir: o.Dir, Interval: o.Interval, Keep: o.Retention}
	if external {
		s.Offset = rand.N(maxSnapshotOffset)
	}
	return s, o.Dir != ""
}
