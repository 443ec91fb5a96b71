// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	vimtypes "github.com/vmware/govmomi/vim25/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/test/localcluster/process"
)

// holderOf waits until one of these replicas says that it holds the Lease of the vCenter.
func (s *set) holderOf(among ...int) int {
	s.Helper()
	var replicas []replica
	for _, i := range among {
		replicas = append(replicas, replica{name: s.pods[i].name, direct: s.pods[i].direct})
	}
	return among[s.holds(vcenterLease, replicas)]
}

// leaderApart makes another member lead than that of a replica.
func (s *set) leaderApart(i int) {
	s.Helper()
	if s.leader() != i {
		return
	}
	pid := s.pid(i)
	if err := process.Freeze(pid); err != nil {
		s.Fatal(err)
	}
	s.leaderAmong(slices.Delete([]int{0, 1, 2}, i, i+1))
	if err := process.Thaw(pid); err != nil {
		s.Fatal(err)
	}
	s.ready(i)
}

// endsItself waits until one has ended, as a process does that learns that another one has its
// Lease, and starts it again.
func (s *set) endsItself(i int) {
	s.Helper()
	s.eventually(s.pods[i].name+" has ended", func() error {
		if s.pid(i) != 0 {
			return errors.New("it runs")
		}
		return nil
	})
	if i == 0 {
		if err := <-s.Failed(); !strings.Contains(err.Error(), "another replica has the Lease") {
			s.Errorf("%s has ended: %v", s.pods[i].name, err)
		}
	}
	s.start(i)
}

// goes deletes a virtual machine and waits until it is gone.
func (s *set) goes(client versioned.Interface, name string) {
	s.Helper()
	vms := client.VmV1alpha1().VirtualMachines(namespace)
	if err := vms.Delete(s.Context(), name, metav1.DeleteOptions{}); err != nil {
		s.Fatal(err)
	}
	s.eventually(name+" is gone", func() error {
		_, err := vms.Get(s.Context(), name, metav1.GetOptions{})
		if err == nil {
			return errors.New("it is there")
		}
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}

// tasks are how often each task of vSphere that changes something was asked for since the start.
func (s *set) tasks() map[string]int {
	s.Helper()
	var all map[string]int
	s.order(http.MethodGet, "/calls", &all)
	maps.DeleteFunc(all, func(call string, _ int) bool {
		if call == "SearchDatastore_Task" { // it only looks, as who has the Lease does from time to time
			return true
		}
		return !strings.HasSuffix(call, "_Task") && !strings.Contains(call, "ovf/library-item") && call != "CancelTask"
	})
	return all
}

// The replica that works in vSphere is stopped while its member follows another one's, so that
// its store and the API of the others go on. It has begun with virtual machines by then, and
// knows what comes next.
func TestTheReplicaWithTheLeaseThatIsStoppedIsReplacedAndDoesNothingWhenItWakes(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	s.scaled(3)
	s.start(1, 2)
	s.members(3)
	stopped := s.holderOf(0, 1, 2)
	s.leaderApart(stopped)
	if now := s.holderOf(0, 1, 2); now != stopped {
		t.Fatalf("%s has the Lease, before the leader changed %s", s.pods[now].name, s.pods[stopped].name)
	}
	others := slices.Delete([]int{0, 1, 2}, stopped, stopped+1)
	through := s.client(s.pods[others[0]].direct)
	kept := []string{"kept-1", "kept-2", "kept-3"}
	s.scene.make(kept...)
	before := s.made()

	s.order(http.MethodPut, "/taskdelay?method=CreateVm&ms=3000", nil)
	making := []string{"making-1", "making-2", "making-3"}
	s.apply(making...)
	// Not sooner: a call that was on its way to the wire when its process was stopped is sent
	// when that wakes. No check before it can keep it back; vCenter refuses it by its name.
	s.eventually("all are being made", func() error {
		n := s.made()
		for call, was := range before {
			if strings.Contains(call, "ovf/library-item") && n[call] != was/len(kept)*(len(kept)+len(making)) {
				return fmt.Errorf("calls %v", n)
			}
		}
		return nil
	})
	began := time.Now()
	pid := s.pid(stopped)
	if err := process.Freeze(pid); err != nil {
		t.Fatal(err)
	}
	wake := func() { _ = process.Thaw(pid) }
	t.Cleanup(wake)
	heir := s.holderOf(others...)
	t.Logf("%s was stopped, and %s has the Lease %s later; %s leads", s.pods[stopped].name, s.pods[heir].name, time.Since(began).Round(time.Millisecond), s.pods[s.leaderAmong(others)].name)
	s.order(http.MethodPut, "/taskdelay?method=CreateVm&ms=0", nil)
	s.readyOn(through, making...)
	s.powerOff(through, kept[0])
	s.powered(kept[0], vimtypes.VirtualMachinePowerStatePoweredOff)
	s.poweredSays(through, kept[0])
	s.goes(through, kept[1])
	want := map[string]int{}
	for call, n := range before {
		want[call] = n / len(kept) * (len(kept) + len(making))
	}
	if diff := cmp.Diff(want, s.made()); diff != "" {
		t.Errorf("calls by which VMs are made, once for each (-want +got):\n%s", diff)
	}
	if *long {
		<-time.After(time.Until(began.Add(30 * time.Second)))
	}

	tasks := s.tasks()
	wake()
	s.endsItself(stopped)
	if now := s.holderOf(0, 1, 2); now != heir {
		t.Errorf("%s has the Lease, and had left it to %s", s.pods[now].name, s.pods[heir].name)
	}
	if diff := cmp.Diff(tasks, s.tasks()); diff != "" {
		t.Errorf("what was asked of vSphere since it woke (-before +after):\n%s", diff)
	}
	s.applyOn(s.client(s.pods[stopped].direct), "last", "")
	s.readyOn(through, "last")
	for name, state := range map[string]vimtypes.VirtualMachinePowerState{
		kept[0]: vimtypes.VirtualMachinePowerStatePoweredOff, kept[2]: vimtypes.VirtualMachinePowerStatePoweredOn,
		making[0]: vimtypes.VirtualMachinePowerStatePoweredOn,
	} {
		s.powered(name, state)
	}
}

// leaderAmong is leader for when one does not answer.
func (s *set) leaderAmong(these []int) (leader int) {
	s.Helper()
	s.eventually("one of them leads", func() error {
		i := slices.IndexFunc(these, func(i int) bool {
			_, _, text := s.ask(s.pods[i].direct, "/metrics")
			return strings.Contains(text, "\netcd_server_is_leader 1")
		})
		if i < 0 {
			return errors.New("none does")
		}
		leader = these[i]
		return nil
	})
	return leader
}
