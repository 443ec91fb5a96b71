// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/vmware/govmomi/find"
	vsphere "github.com/vmware/govmomi/object"
	vimtypes "github.com/vmware/govmomi/vim25/types"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/test/catalogue"
	"github.com/slipway-dev/slipway/test/fleetcheck"
	"github.com/slipway-dev/slipway/test/localcluster"
)

// storm is one run of the test.
type storm struct {
	t       *testing.T
	cluster *localcluster.Cluster
	api     versioned.Interface
	host    kubernetes.Interface
	admin   rest.Interface // a direct connection to the server, for paths outside of its API groups
	random  *rand.Rand
	fleet   *fleet
	// orders are the orders that are not accepted yet.
	orders errgroup.Group
	// happening are the functions that end the current events.
	happening []func(context.Context) error
	// started is when the server process was started that is not killed any more.
	started time.Time

	// etcd is the data directory of the external etcd, or empty.
	etcd string
	// check has the state before the failures.
	check *fleetcheck.Checker
	// elsewhere is a folder outside of the managed one.
	elsewhere vimtypes.ManagedObjectReference
	// disks are the files of foreign disks. foreign counts these and the copies.
	disks   []string
	foreign int
	// hostIsAway is true while a host is not in the inventory. returned are the VMs that were added again with a host.
	hostIsAway bool
	returned   []string
}

// prepare creates the objects that the VMs refer to, and the foreign ones, which must not change.
func (s *storm) prepare(ctx context.Context) error {
	var err error
	if s.api, err = versioned.NewForConfig(s.cluster.RestConfig()); err != nil {
		return err
	}
	if s.host, err = kubernetes.NewForConfig(s.cluster.RestConfig()); err != nil {
		return err
	}
	direct, err := s.cluster.DirectConfig("slipway-admin", "system:masters")
	if err != nil {
		return err
	}
	admin, err := kubernetes.NewForConfig(direct)
	if err != nil {
		return err
	}
	s.admin = admin.RESTClient()
	for i := range namespaces {
		if err := s.cluster.Apply(ctx, catalogue.Manifests(namespaceName(i))); err != nil {
			return err
		}
	}
	if err := s.makeForeign(ctx); err != nil {
		return err
	}
	if err := s.control(ctx, http.MethodPut, "/trace?calls=20000", nil); err != nil {
		return err
	}
	if s.check, err = fleetcheck.New(ctx, s.cluster); err == nil && s.etcd != "" {
		s.check.StoreDir = s.etcd
	}
	return err
}

// makeForeign clones machines into the folder of a namespace, into the managed folder and next to it. One of them has
// the marker of another installation.
func (s *storm) makeForeign(ctx context.Context) error {
	c, logout, err := fleetcheck.Connect(ctx, s.cluster)
	if err != nil {
		return err
	}
	defer logout()
	finder := find.NewFinder(c.Client)
	own, err := finder.Folder(ctx, fleetcheck.ManagedFolder)
	if err != nil {
		return err
	}
	root, err := finder.Folder(ctx, "/DC0/vm")
	if err != nil {
		return err
	}
	elsewhere, err := root.CreateFolder(ctx, "elsewhere")
	if err != nil {
		return err
	}
	s.elsewhere = elsewhere.Reference()
	inside, err := own.CreateFolder(ctx, namespaceName(0))
	if err != nil {
		return err
	}
	dc, err := finder.Datacenter(ctx, "/DC0")
	if err != nil {
		return err
	}
	if err := vsphere.NewFileManager(c.Client).MakeDirectory(ctx, foreignDisks, dc, false); err != nil {
		return fmt.Errorf("making %s: %w", foreignDisks, err)
	}
	template, err := finder.VirtualMachine(ctx, "/DC0/vm/templates/ubuntu-24.04")
	if err != nil {
		return err
	}
	pool, err := finder.ResourcePool(ctx, "/DC0/host/DC0_C0/Resources")
	if err != nil {
		return err
	}
	ref := pool.Reference()
	for name, folder := range map[string]*vsphere.Folder{"foreign-inside": inside, "foreign-above": own, "foreign-outside": elsewhere} {
		spec := vimtypes.VirtualMachineCloneSpec{Location: vimtypes.VirtualMachineRelocateSpec{Pool: &ref}, PowerOn: true}
		if name == "foreign-above" {
			spec.Config = &vimtypes.VirtualMachineConfigSpec{ExtraConfig: []vimtypes.BaseOptionValue{
				&vimtypes.OptionValue{Key: "slipway.vm", Value: "elsewhere/foreign-above/1b671a64-40d5-491e-99b0-da01ff1f3341"},
			}}
		}
		task, err := template.Clone(ctx, folder, name, spec)
		if err != nil {
			return fmt.Errorf("making %s: %w", name, err)
		}
		if err := task.Wait(ctx); err != nil {
			return fmt.Errorf("making %s: %w", name, err)
		}
	}
	return nil
}

// round sends orders of users and injects events. It kills and restarts the server meanwhile.
func (s *storm) round(ctx context.Context, round int, names []string) error {
	for _, m := range s.fleet.machines {
		if m.busy.Load() {
			continue
		}
		if o := s.fleet.next(m, round); o != nothing {
			m.busy.Store(true)
			s.submit(ctx, m, o)
		}
	}
	// An event of the previous round ends after this round has begun.
	over := s.happening
	s.happening = nil
	var passing []func(context.Context) error
	// A larger fleet has more events.
	draws := 1 + s.random.IntN(2+len(s.fleet.machines)/50)
	for range min(draws, draws*len(names)) {
		name := s.pick(names)
		if events[name].begin == nil {
			continue
		}
		s.t.Logf("round %d: %s", round, name)
		end, err := s.beginning(ctx, events[name])
		switch {
		case end == nil:
		case events[name].lasts:
			s.happening = append(s.happening, end)
		case events[name].hinders:
			passing = slices.Insert(passing, 0, end)
		default:
			passing = append(passing, end)
		}
		if err != nil {
			s.t.Logf("round %d: %s: %v", round, name, err)
		}
	}
	restarted := make(chan error, 1)
	if err := s.someCalls(ctx); err != nil {
		return err
	}
	if slices.Contains(names, kill) {
		s.t.Logf("round %d: kill", round)
		if err := s.cluster.KillSlipway(); err != nil {
			return err
		}
		s.started = time.Now()
		go func() { restarted <- s.cluster.RestartSlipway(ctx) }()
		if err := s.someCalls(ctx); err != nil {
			return err
		}
	} else {
		restarted <- nil
	}
	for _, end := range slices.Concat(passing, over) {
		if err := s.end(ctx, end); err != nil {
			return err
		}
	}
	if err := <-restarted; err != nil {
		return err
	}
	return s.until(ctx, time.Minute, "the API is read", s.check.Note)
}

// beginning is the time limit for starting an event, because other events also delay the calls of the test.
func (s *storm) beginning(ctx context.Context, e event) (func(context.Context) error, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	return e.begin(ctx, s)
}

// calm ends all events and waits until all orders are accepted.
func (s *storm) calm(ctx context.Context) error {
	for _, end := range s.happening {
		if err := s.end(ctx, end); err != nil {
			return err
		}
	}
	s.happening = nil
	if err := s.orders.Wait(); err != nil {
		return err
	}
	return s.until(ctx, accepted, "copies that were added again with a host are destroyed", s.destroyCopies)
}

// end ends an event. It retries, because other events may cause failures.
func (s *storm) end(ctx context.Context, end func(context.Context) error) error {
	return s.until(ctx, 3*time.Minute, "an event ends", func(ctx context.Context) error { return end(ctx) })
}

// someCalls waits for a random number of calls to vSphere, or for a short time if there are none. The server is killed
// then.
func (s *storm) someCalls(ctx context.Context) error {
	const most, pause = 300, 4 * time.Second
	from, err := s.calls(ctx)
	if err != nil {
		return err
	}
	wanted := from + s.random.IntN(most)
	err = wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, pause, true, func(ctx context.Context) (bool, error) {
		now, err := s.calls(ctx)
		return now >= wanted, err
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return nil
	}
	return err
}

// calls returns the number of calls to vSphere.
func (s *storm) calls(ctx context.Context) (int, error) {
	byMethod, sum := map[string]int{}, 0
	if err := s.control(ctx, http.MethodGet, "/calls", &byMethod); err != nil {
		return 0, err
	}
	for _, n := range byMethod {
		sum += n
	}
	return sum, nil
}

// until waits for a check to succeed.
func (s *storm) until(ctx context.Context, limit time.Duration, what string, check func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 500*time.Millisecond, limit, true, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%s: not within %s: %w", what, limit, errors.Join(ctx.Err(), last))
	}
	return nil
}

var namePattern = regexp.MustCompile(`chaos-\d+/(vm-\d+)`)

// explain logs the calls to vSphere for a VM that has a problem.
func (s *storm) explain(problems []string) {
	const most = 40 // calls; only the last ones are kept
	names := map[string]bool{}
	for _, p := range problems {
		if found := namePattern.FindStringSubmatch(p); found != nil {
			names[found[1]] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		var calls []struct{ Time, Call string }
		if err := s.control(context.Background(), http.MethodGet, "/trace?text="+name, &calls); err != nil {
			s.t.Logf("the calls about %s: %v", name, err)
			continue
		}
		for _, c := range calls[max(0, len(calls)-most):] {
			s.t.Logf("%s %s %s", c.Time, name, c.Call)
		}
	}
}
