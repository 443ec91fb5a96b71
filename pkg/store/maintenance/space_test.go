// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	clientv3 "go.etcd.io/etcd/client/v3"
)

func TestSpace_PlanFollowsUsage(t *testing.T) {
	type plan struct {
		Level                level
		Pressed, Fragmented  bool
		AtStart, TakesWrites bool
		Message              string
	}
	const quota, disk = 1000 << 20, 100 << 30
	for name, tc := range map[string]struct {
		space Space
		want  plan
	}{
		"little is used":                   {Space{Size: 10 << 20, InUse: 1 << 20, DiskFree: disk}, plan{}},
		"most of the file is free":         {Space{Size: 100 << 20, InUse: 49 << 20, DiskFree: disk}, plan{AtStart: true}},
		"half of the file is in use":       {Space{Size: 100 << 20, InUse: 50 << 20, DiskFree: disk}, plan{}},
		"four fifths":                      {Space{Size: 800 << 20, InUse: 790 << 20, DiskFree: disk}, plan{Level: scarce, Message: "nearly full: 800 MiB of the quota of 1000 MiB"}},
		"nine tenths, most of it history":  {Space{Size: 900 << 20, InUse: 100 << 20, DiskFree: disk}, plan{Level: scarce, Pressed: true, Fragmented: true, AtStart: true, Message: "nearly full"}},
		"nothing to win":                   {Space{Size: 950 << 20, InUse: 930 << 20, DiskFree: disk}, plan{Level: reserved, Pressed: true, Message: "only for updates and deletions"}},
		"full, nothing to win":             {Space{Size: 1000 << 20, InUse: 995 << 20, DiskFree: disk}, plan{Level: full, Pressed: true, Message: "accepts only deletions"}},
		"full, a little to win":            {Space{Size: 1000 << 20, InUse: 990 << 20, DiskFree: disk}, plan{Level: full, Pressed: true, Fragmented: true, AtStart: true, Message: "accepts only deletions"}},
		"stopped, nothing to win":          {Space{Size: 1100 << 20, InUse: 1095 << 20, Stopped: true, DiskFree: disk}, plan{Level: refusing, Pressed: true, Message: "accepts no writes"}},
		"stopped, objects were deleted":    {Space{Size: 1085 << 20, InUse: 1085 << 20, Stopped: true, DiskFree: disk}, plan{Level: refusing, Pressed: true, TakesWrites: true, Message: "accepts no writes"}},
		"no room on disk for another file": {Space{Size: 1100 << 20, InUse: 400 << 20, Stopped: true, DiskFree: 410 << 20}, plan{Level: refusing, Pressed: true, Message: "accepts no writes"}},
		"the disk runs out":                {Space{Size: 10 << 20, InUse: 1 << 20, DiskFree: 255 << 20}, plan{Level: scarce, Message: "the server will end when it is full: 10 MiB of the quota of 1000 MiB, 1 MiB of it in use, 255 MiB of disk free"}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.space.Quota = quota
			s := tc.space
			got := plan{Level: s.level(), Pressed: s.pressed(), Fragmented: s.fragmented(false), AtStart: s.fragmented(true), TakesWrites: s.recovered()}
			if err := s.Err(); (err == nil) != (tc.want.Message == "") || err != nil && !strings.Contains(err.Error(), tc.want.Message) {
				t.Errorf("Err = %v, want %q", err, tc.want.Message)
			}
			tc.want.Message = ""
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestQuotaOf_IsTheInverseOfLimitOf(t *testing.T) {
	for _, quota := range []int64{MinQuota, MinQuota + 1, 256<<20 + 9, 1 << 30, MaxQuota} {
		if limit := LimitOf(quota); limit < quota/100*109 || QuotaOf(limit) != quota {
			t.Errorf("the limit of %d is %d, that of the quota %d", quota, limit, QuotaOf(limit))
		}
	}
}

func TestQuota_FollowsTheFileSystemWithinBounds(t *testing.T) {
	for fileSystem, want := range map[int64]int64{
		96 << 20: 256 << 20, 1 << 30: 256 << 20, 4 << 30: 1792 << 20, 250 << 30: 8 << 30,
	} {
		if got := DefaultQuota(fileSystem); got != want {
			t.Errorf("quota for %s = %s, want %s", mib(fileSystem), mib(got), mib(want))
		}
	}
}

// fill writes until the quota is reached, over and over to the same key: all but one of
// the values are history.
func fill(t *testing.T, c *clientv3.Client) {
	t.Helper()
	value := strings.Repeat("v", 1<<20)
	for range 100 {
		if _, err := c.Put(t.Context(), "/filler", value); err != nil {
			if !strings.Contains(err.Error(), "database space exceeded") {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("100 MiB were written and the quota was not reached")
}

const smallQuota = 32 << 20

func TestFullEtcd_AcceptsWritesAgainAfterMaintenance(t *testing.T) {
	s, c := embeddedStore(t, smallQuota)
	fill(t, c)
	if space, err := s.remeasure(); err != nil || !space.Stopped || s.Room() == nil {
		t.Fatalf("Space = %v, %v, Room = %v; want it full", space, err, s.Room())
	}
	if _, err := c.Put(t.Context(), "/k", "v"); err == nil {
		t.Fatal("a full etcd took a write")
	}
	if _, err := s.MakeRoom(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Put(t.Context(), "/k", "v"); err != nil {
		t.Errorf("after maintenance: %v", err)
	}
	if space, err := s.remeasure(); err != nil || space.Stopped || space.Size > smallQuota/4 || s.Room() != nil {
		t.Errorf("Space = %v, %v, Room = %v; want a small file", space, err, s.Room())
	}
	if got := testutil.ToFloat64(fullGauge); got != 0 {
		t.Errorf("slipway_etcd_full = %v, want 0", got)
	}
}

func TestFullEtcd_OfObjectsStaysFullUntilObjectsAreDeleted(t *testing.T) {
	s, c := embeddedStore(t, smallQuota)
	value := strings.Repeat("v", 1<<20)
	var keys []string
	var space Space
	// What the quota counts is more than the objects until the file is rewritten.
	for range 20 {
		for {
			key := fmt.Sprintf("/objects/%03d", len(keys))
			if _, err := c.Put(t.Context(), key, value); err != nil {
				break
			}
			keys = append(keys, key)
		}
		var err error
		if space, err = s.MakeRoom(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		if space.Stopped {
			break
		}
	}
	if !space.Stopped || testutil.ToFloat64(fullGauge) != 1 {
		t.Fatalf("Space = %v, want it full still", space)
	}
	// How far the quota was overshot depends on when etcd committed: leave little.
	for _, key := range keys[:len(keys)-3] {
		if _, err := c.Delete(t.Context(), key); err != nil {
			t.Fatalf("deleting from a full etcd: %v", err)
		}
	}
	if space, err := s.MakeRoom(t.Context(), false); err != nil || space.Stopped {
		t.Errorf("after most of the objects were deleted: Space = %v, %v", space, err)
	}
	if _, err := c.Put(t.Context(), "/k", "v"); err != nil {
		t.Error(err)
	}
}

func TestSpace_LogsScarcityOnceAndThenPeriodically(t *testing.T) {
	var lines []string
	logger := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
	var r reporter
	began := time.Now()
	at := func(after time.Duration, percent int64, lost bool) {
		r.report(logger, Space{Size: percent, InUse: percent, Quota: 100, Stopped: lost, DiskFree: DiskMargin}, began.Add(after))
	}
	for _, step := range []struct {
		after   time.Duration
		percent int64
		full    bool
		want    string
	}{
		{0, 79, false, ""},
		{time.Second, 80, false, "nearly full"},
		{2 * time.Second, 85, false, ""},
		{3 * time.Second, 95, false, "only for updates and deletions"},
		{4 * time.Second, 100, true, "accepts no writes"},
		{9 * time.Minute, 100, true, ""},
		{11 * time.Minute, 100, true, "accepts no writes"},
		{12 * time.Minute, 10, false, "has enough space again"},
		{13 * time.Minute, 10, false, ""},
	} {
		lines = nil
		at(step.after, step.percent, step.full)
		if got := strings.Join(lines, "|"); (got == "") != (step.want == "") || !strings.Contains(got, step.want) {
			t.Errorf("after %s at %d %%: log %q, want %q", step.after, step.percent, got, step.want)
		}
	}
}
