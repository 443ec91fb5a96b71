// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/util/wait"
)

func TestSchedule_NextTimeFollowsTheNewestSnapshotAndFailures(t *testing.T) {
	now := time.Now()
	o := Schedule{Interval: time.Hour}
	for name, tc := range map[string]struct {
		last     time.Time
		failures int
		want     time.Duration
	}{
		"there is none":                   {time.Time{}, 0, 0},
		"one was just taken":              {now, 0, time.Hour},
		"most of the interval has passed": {now.Add(-50 * time.Minute), 0, 10 * time.Minute},
		"it is late, after a stop":        {now.Add(-30 * time.Hour), 0, 0},
		"one of the future":               {now.Add(1000 * time.Hour), 0, time.Hour},
		"the first failure":               {now.Add(-2 * time.Hour), 1, time.Minute},
		"the third":                       {now.Add(-2 * time.Hour), 3, 4 * time.Minute},
		"many, no longer than the usual":  {now.Add(-2 * time.Hour), 100, time.Hour},
	} {
		if got := o.pause(tc.last, tc.failures, now); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

func TestSchedule_RecognizesSnapshotsByName(t *testing.T) {
	at := time.Date(2026, 11, 23, 13, 15, 0, 0, time.UTC)
	if got, ok := takenAt(filepath.Base(Schedule{}.name(at.In(time.FixedZone("", 3600))))); !ok || !got.Equal(at) {
		t.Errorf("the own name is of %s, %t", got, ok)
	}
	for _, name := range []string{"", "slipway-.db", "slipway-20261123T131500Z", "20261123T131500Z.db", "slipway-20261123T131500Z.db.asc", ".snapshot-1.part", "slipway-notes.db"} {
		if _, ok := takenAt(name); ok {
			t.Errorf("%q is taken for a snapshot", name)
		}
	}
}

// keepUntil runs a schedule until the directory has the expected files.
func keepUntil(t *testing.T, s *Store, o Schedule, want func() bool) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { s.KeepSnapshots(ctx, o); close(ended) }()
	defer func() { stop(); <-ended }()
	if err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) { return want(), nil }); err != nil {
		t.Fatalf("the directory does not have the expected files: %v", err)
	}
}

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func TestSchedule_KeepsTheNewestSnapshotsAndOtherFiles(t *testing.T) {
	s, c := embeddedStore(t, 0)
	if _, err := c.Put(t.Context(), "/k", "v"); err != nil {
		t.Fatal(err)
	}
	o := Schedule{Dir: filepath.Join(t.TempDir(), "made"), Interval: time.Hour, Keep: 2}
	if err := os.Mkdir(o.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	old, older, oldest := o.name(now.Add(-2*time.Hour)), o.name(now.Add(-3*time.Hour)), o.name(now.Add(-4*time.Hour))
	abandoned, written := filepath.Join(o.Dir, ".snapshot-1.part"), filepath.Join(o.Dir, ".snapshot-2.part")
	for _, file := range []string{old, older, oldest, filepath.Join(o.Dir, "notes"), abandoned, written} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(abandoned, now, now.Add(-25*time.Hour)); err != nil {
		t.Fatal(err)
	}
	keepUntil(t, s, o, func() bool {
		_, err := os.Stat(oldest)
		_, left := os.Stat(abandoned)
		return os.IsNotExist(err) && os.IsNotExist(left)
	})
	got := names(t, o.Dir)
	taken := got[len(got)-1] // names are in the order of times
	if diff := cmp.Diff([]string{filepath.Base(written), "notes", filepath.Base(old), taken}, got); diff != "" {
		t.Errorf("the directory (-want +got):\n%s", diff)
	}
	content, err := CheckSnapshot(filepath.Join(o.Dir, taken), false)
	if err != nil || content.Keys != 1 {
		t.Errorf("the snapshot: %+v, %v; want one key", content, err)
	}
	if at, _ := takenAt(taken); testutil.ToFloat64(snapshotTimeGauge) != float64(at.Unix()) || testutil.ToFloat64(snapshotSizeGauge) < 1<<12 {
		t.Errorf("the metrics have a snapshot of %v with %v bytes, want %s", testutil.ToFloat64(snapshotTimeGauge), testutil.ToFloat64(snapshotSizeGauge), taken)
	}
	if got := testutil.ToFloat64(intervalGauge); got != time.Hour.Seconds() {
		t.Errorf("the metrics have an interval of %v s, want an hour", got)
	}
}

func TestSchedule_FailureIsCountedAndDeletesNoSnapshot(t *testing.T) {
	s, _ := embeddedStore(t, 0)
	dir := t.TempDir()
	o := Schedule{Dir: filepath.Join(dir, "file"), Interval: time.Hour, Keep: 1}
	if err := os.WriteFile(o.Dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	failed := func() float64 { return testutil.ToFloat64(snapshotsTotal.WithLabelValues("error")) }
	before := failed()
	keepUntil(t, s, o, func() bool { return failed() > before })
	if got := failed() - before; got != 1 {
		t.Errorf("%v failures without a pause", got)
	}
}

func TestSnapshot_HasAllAcknowledgedWrites(t *testing.T) {
	s, c := embeddedStore(t, 0)
	for i := range 5 {
		if _, err := c.Put(t.Context(), fmt.Sprintf("/k/%d", i), strings.Repeat("v", 1000)); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "snapshot")
		content, err := s.SaveFile(t.Context(), file)
		if err != nil || content.Keys != i+1 {
			t.Fatalf("after %d writes the snapshot has %+v, %v", i+1, content, err)
		}
	}
}

// slowly is a reader of a snapshot that stops in its middle.
type slowly struct {
	began, goOn chan struct{}
	bytes.Buffer
}

func (w *slowly) Write(p []byte) (int, error) {
	if w.began != nil {
		close(w.began)
		w.began = nil
		<-w.goOn
	}
	return w.Buffer.Write(p)
}

func TestSnapshot_SlowReaderDoesNotDelayOthers(t *testing.T) {
	s, c := embeddedStore(t, 0)
	w := &slowly{began: make(chan struct{}), goOn: make(chan struct{})}
	began, saved := w.began, make(chan error, 1)
	go func() { saved <- s.Save(t.Context(), w) }()
	<-began
	if err := s.defragment(t.Context(), Space{}); err != nil {
		t.Error(err)
	}
	if _, err := c.Put(t.Context(), "/k", "v"); err != nil {
		t.Errorf("a write during the snapshot: %v", err)
	}
	close(w.goOn)
	if err := <-saved; err != nil {
		t.Error(err)
	}
}

func TestSchedule_EndsWithItsContext(t *testing.T) {
	s, _ := embeddedStore(t, 0)
	o := Schedule{Dir: t.TempDir(), Interval: time.Hour, Keep: 1}
	if err := os.WriteFile(o.name(time.Now()), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { s.KeepSnapshots(ctx, o); close(ended) }()
	stop()
	<-ended
	if got := names(t, o.Dir); len(got) != 1 {
		t.Errorf("the directory has %v, want the previous one", got)
	}
}
