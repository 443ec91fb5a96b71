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

// SnapshotOptions configures the scheduled etcd snapshots.
type SnapshotOptions struct {
	// Dir is the directory of the snapshots. Empty disables them.
	Dir string
	// Interval is the time between two snapshots.
	Interval time.Duration
	// Retention is the number of snapshots to keep.
	Retention int
}

// Defaults and bounds. The defaults keep the snapshots of one week.
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
	fs.StringVar(&o.Dir, "etcd-snapshot-dir", o.Dir, "Directory for scheduled etcd snapshots. Use another volume than --data-dir; replicas may share it. Empty disables snapshots.")
	fs.DurationVar(&o.Interval, "etcd-snapshot-interval", o.Interval, fmt.Sprintf("Interval between scheduled etcd snapshots, at least %s.", minSnapshotInterval))
	fs.IntVar(&o.Retention, "etcd-snapshot-retention", o.Retention, "Number of snapshots to keep in --etcd-snapshot-dir. Other files there are not changed.")
}

func (o *SnapshotOptions) validate(dataDir string) []error {
	var errs []error
	if o.Dir != "" && embedded.Owns(dataDir, o.Dir) {
		errs = append(errs, fmt.Errorf("--etcd-snapshot-dir %s: must not be inside the etcd data in --data-dir; use another directory, preferably on another volume", o.Dir))
	}
	if o.Interval < minSnapshotInterval {
		errs = append(errs, fmt.Errorf("--etcd-snapshot-interval %s: must be at least %s", o.Interval, minSnapshotInterval))
	}
	if err := between("etcd-snapshot-retention", o.Retention, maxSnapshotRetention); err != nil {
		errs = append(errs, err)
	}
	return errs
}

// schedule returns the snapshot schedule, or false if snapshots are disabled. The replicas of an etcd cluster take
// their snapshots at different times.
func (o *SnapshotOptions) schedule(external bool) (maintenance.Schedule, bool) {
	s := maintenance.Schedule{Dir: o.Dir, Interval: o.Interval, Keep: o.Retention}
	if external {
		s.Offset = rand.N(maxSnapshotOffset)
	}
	return s, o.Dir != ""
}
