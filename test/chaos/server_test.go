// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/mo"

	"github.com/slipway-dev/slipway/test/fleetcheck"
	"github.com/slipway-dev/slipway/test/vsphereclient"
)

// use is the resource usage of a server process.
type use struct {
	// goroutines are the goroutines in code of Slipway or govmomi. files are the open files.
	goroutines, files int
	// stacks are the stacks of those goroutines, as printed by the profile.
	stacks map[string]int
	// sessions are the sessions in vCenter, and their open objects.
	sessions map[string]time.Time
	opened   int
	// all are the goroutines including those of the Kubernetes libraries.
	all int
}

func (u use) String() string {
	return fmt.Sprintf("the server has %d goroutines of %d, %d files, %d views and filters; the vCenter lists %d sessions", u.goroutines, u.all, u.files, u.opened, len(u.sessions))
}

// slack and slackFiles are the tolerated increases of goroutines and files, because the number of connections varies.
const slack, slackFiles = 10, 100

// ownSessions is the number of sessions that one server process may have in vCenter: one of SOAP, and one of REST if it
// is listed.
const ownSessions = 2

// left reports the resources of u that exceed those of the new process. started is the time at which the process of u
// began.
func (u use) left(fresh use, started time.Time) error {
	var errs []error
	if u.goroutines > fresh.goroutines+slack {
		errs = append(errs, fmt.Errorf("left: %d goroutines, there were %d:\n%s", u.goroutines, fresh.goroutines, more(u.stacks, fresh.stacks)))
	}
	if u.files > fresh.files+slackFiles {
		errs = append(errs, fmt.Errorf("left: %d open files, there were %d", u.files, fresh.files))
	}
	if u.opened > fresh.opened {
		errs = append(errs, fmt.Errorf("left: %d views, collectors and filters at the vCenter, there were %d", u.opened, fresh.opened))
	}
	own := 0
	for _, at := range u.sessions {
		if !at.Before(started) {
			own++
		}
	}
	if own > ownSessions {
		errs = append(errs, fmt.Errorf("left: the server has %d sessions at the vCenter, want at most %d", own, ownSessions))
	}
	return errors.Join(errs...)
}

// settledUse returns the minimum of several measurements, because current requests hold resources only briefly.
func (s *storm) settledUse(ctx context.Context) (use, error) {
	var least use
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for range 10 {
		u, err := s.use(ctx)
		if err != nil {
			return u, err
		}
		if least.stacks == nil || u.goroutines < least.goroutines {
			least.goroutines, least.stacks, least.all = u.goroutines, u.stacks, u.all
		}
		if least.sessions == nil || u.opened < least.opened {
			least.sessions, least.opened = u.sessions, u.opened
		}
		if least.files == 0 || u.files < least.files {
			least.files = u.files
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return least, ctx.Err()
		}
	}
	return least, nil
}

func (s *storm) use(ctx context.Context) (use, error) {
	page, err := s.admin.Get().RequestURI("/debug/pprof/goroutine?debug=1").DoRaw(ctx)
	if err != nil {
		return use{}, err
	}
	u := use{}
	if _, err := fmt.Sscanf(string(page), "goroutine profile: total %d", &u.all); err != nil {
		return u, fmt.Errorf("reading the profile of goroutines: %w: %.100s", err, page)
	}
	u.goroutines, u.stacks = own(string(page))
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.cluster.PID("slipway-apiserver")))
	u.files = len(files)
	if err != nil {
		return u, err
	}
	if u.sessions, err = s.sessions(ctx); err != nil {
		return u, err
	}
	u.opened, err = s.opened(ctx, u.sessions)
	return u, err
}

var passesPattern = regexp.MustCompile(`(?m)^workqueue_work_duration_seconds_count{name="virtualmachine"} (\d+)$`)

// works waits until the controllers have reconciled n machines. A process without the Lease uses almost no resources.
func (s *storm) works(ctx context.Context, n int) error {
	page, err := s.admin.Get().RequestURI("/metrics").DoRaw(ctx)
	if err != nil {
		return err
	}
	passes := 0
	if found := passesPattern.FindSubmatch(page); found != nil {
		if passes, err = strconv.Atoi(string(found[1])); err != nil {
			return err
		}
	}
	if passes < n {
		return fmt.Errorf("%d of %d passes", passes, n)
	}
	return nil
}

// own counts the goroutines of a profile in code of Slipway or govmomi. Goroutines that serve a request are not
// counted, because their number depends on the clients.
func own(profile string) (n int, stacks map[string]int) {
	stacks = map[string]int{}
	for block := range strings.SplitSeq(profile, "\n\n") {
		ours := strings.Contains(block, "github.com/slipway-dev/slipway/") || strings.Contains(block, "github.com/vmware/govmomi/")
		if !ours || strings.Contains(block, "net/http.HandlerFunc.ServeHTTP") {
			continue
		}
		if strings.HasPrefix(block, "goroutine profile:") {
			_, block, _ = strings.Cut(block, "\n")
		}
		number, stack, _ := strings.Cut(block, " @ ")
		if count, err := strconv.Atoi(number); err == nil {
			n += count
			stacks[stack] += count
		}
	}
	return n, stacks
}

// more lists the stacks of which the first profile has more goroutines than the second, in descending order.
func more(first, second map[string]int) string {
	over := map[string]int{}
	for stack, n := range first {
		if n -= second[stack]; n > 0 {
			over[stack] = n
		}
	}
	var b strings.Builder
	for _, stack := range slices.SortedFunc(maps.Keys(over), func(a, b string) int { return over[b] - over[a] }) {
		fmt.Fprintf(&b, "%d more at %s\n", over[stack], stack)
	}
	return b.String()
}

// sessions returns the server's sessions in vCenter with their start times, by key. Sessions of killed processes are
// included until vCenter ends them.
func (s *storm) sessions(ctx context.Context) (map[string]time.Time, error) {
	c, logout, err := fleetcheck.Connect(ctx, s.cluster)
	if err != nil {
		return nil, err
	}
	defer logout()
	var manager mo.SessionManager
	if err := c.RetrieveOne(ctx, *c.ServiceContent.SessionManager, []string{"sessionList"}, &manager); err != nil {
		return nil, fmt.Errorf("listing the sessions: %w", err)
	}
	began := map[string]time.Time{}
	for _, session := range manager.SessionList {
		if session.UserAgent != vsphereclient.UserAgent {
			began[session.Key] = session.LoginTime
		}
	}
	return began, nil
}

// opened returns the number of views, collectors and filters that the current server process has open in vCenter.
func (s *storm) opened(ctx context.Context, sessions map[string]time.Time) (int, error) {
	var all []struct{ Session string }
	if err := s.control(ctx, http.MethodGet, "/opened", &all); err != nil {
		return 0, err
	}
	n := 0
	for _, o := range all {
		if began, ok := sessions[o.Session]; ok && !began.Before(s.started) {
			n++
		}
	}
	return n, nil
}
