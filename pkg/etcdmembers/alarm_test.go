// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdmembers

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
)

// smallQuota is that of a member that is full while the others have room.
const smallQuota = 16 << 20

// fill writes objects through a replica until another one has said that it is full.
func (r *replicas) fill(through string) {
	r.Helper()
	client := r.all[through].Client()
	defer func() { _ = client.Close() }()
	value := strings.Repeat("v", 1<<20)
	for i := range 100 {
		if _, err := client.Put(r.Context(), fmt.Sprintf("/filler/%03d", i), value); err != nil {
			if !strings.Contains(err.Error(), "database space exceeded") {
				r.Fatal(err)
			}
			return
		}
	}
	r.Fatal("100 MiB were written, and no member is full")
}

// takesWrites waits until a replica does.
func (r *replicas) takesWrites(through string) {
	r.Helper()
	client := r.all[through].Client()
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(r.Context(), deadline)
	defer cancel()
	var err error
	for ctx.Err() == nil {
		if _, err = client.Put(ctx, "/k", "v"); err == nil {
			return
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	space, _ := r.all[through].Space()
	r.Fatalf("%s takes no writes: %v (%+v)", through, err, space)
}

// etcd refuses all writes for the alarm of one member, and keeps it when that is gone.
func TestTheAlarmOfAFullMemberStopsTheOthersNoLongerThanItIsThere(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, 3)
	r.quotas = map[string]int64{"r-2": smallQuota}
	var mu sync.Mutex
	var lines []string
	r.log = funcr.New(func(_, line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	}, funcr.Options{})
	r.start("r-0", "r-1", "r-2")
	// Which of them knows it first is not said.
	full := func(when string) {
		t.Helper()
		r.until(when, func() error {
			space, err := r.all["r-0"].Space()
			if err != nil || !space.Stopped || !strings.Contains(fmt.Sprint(space.Err()), "r-2") {
				return fmt.Errorf("space %+v of r-0 (%v, %w), want that it is stopped by r-2", space, space.Err(), err)
			}
			return nil
		})
	}
	r.fill("r-0")
	full("r-2 is full")
	for began := time.Now(); ; {
		mu.Lock()
		log := strings.Join(lines, "\n")
		mu.Unlock()
		if strings.Contains(log, "takes writes again") {
			t.Fatalf("r-2 is full, and the log says otherwise:\n%s", log)
		}
		if strings.Contains(log, "its member r-2 is full") {
			break
		}
		if time.Since(began) > deadline {
			t.Fatalf("the log does not say that r-2 is full:\n%s", log)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-t.Context().Done():
		}
	}

	r.stop("r-2")
	r.takesWrites("r-0")
	r.start("r-2")
	r.fill("r-1")
	full("r-2 is back")

	r.stop("r-2")
	r.lose("r-2")
	delete(r.quotas, "r-2")
	r.start("r-2")
	r.members("r-2", "r-0", "r-1", "r-2")
	r.takesWrites("r-2")
}
