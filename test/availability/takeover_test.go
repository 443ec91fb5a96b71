// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package availability

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
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// vcenterLease is the Lease of the environment's vCenter.
const vcenterLease = "slipway-vcenter-default"

// replica is one of several replicas, with its clients.
type replica struct {
	name   string
	direct *rest.Config
	kill   func() error
}

// three starts two more replicas and waits until all are ready.
func (s *scene) three() []replica {
	s.Helper()
	all := []replica{{name: "first", direct: s.direct(""), kill: s.KillSlipway}}
	for _, name := range []string{"second", "third"} {
		o := s.another(name)
		all = append(all, replica{name: name, direct: o.direct, kill: o.Kill})
	}
	for _, r := range all {
		s.serves(r.direct)
	}
	return all
}

// holds waits until one of the replicas reports that it holds a Lease, and returns its index.
func (s *scene) holds(lease string, among []replica) (i int) {
	s.Helper()
	s.eventually("a replica holds the Lease "+lease, func() error {
		i = slices.IndexFunc(among, func(r replica) bool {
			_, _, text := s.ask(r.direct, "/metrics")
			return strings.Contains(text, fmt.Sprintf("leader_election_master_status{name=%q} 1", lease))
		})
		if i < 0 {
			return errors.New("none does")
		}
		return nil
	})
	return i
}

// made returns how often VMs were deployed and powered on since the start.
func (s *scene) made() map[string]int {
	s.Helper()
	var all map[string]int
	s.order(http.MethodGet, "/calls", &all)
	maps.DeleteFunc(all, func(call string, _ int) bool {
		return call != "PowerOnVM_Task" && !strings.Contains(call, "ovf/library-item")
	})
	return all
}

// One of three replicas that share an etcd cluster of three members is killed while it creates virtual machines.
// Another replica continues.
func TestVCenter_OfAKilledReplicaIsManagedByAnother(t *testing.T) {
	t.Parallel()
	s := newScene(t, "--etcd-servers="+members(t), "--etcd-unsafe-no-fsync=false")
	replicas := s.three()
	s.make("kept-1", "kept-2", "kept-3")
	before := s.made()

	s.order(http.MethodPut, "/taskdelay?method=CreateVm&ms=5000", nil)
	making := []string{"making-1", "making-2", "making-3"}
	s.apply(making...)
	i := s.holds(vcenterLease, replicas)
	dead, left := replicas[i], slices.Delete(slices.Clone(replicas), i, i+1)
	client := s.client(left[0].direct)
	for _, name := range making {
		s.eventually(name+" is being created", func() error {
			vm, err := client.VmV1alpha1().VirtualMachines(namespace).Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if c := meta.FindStatusCondition(vm.Status.Conditions, vmv1alpha1.ConditionCreated); c == nil || c.Reason != vmv1alpha1.ReasonCreating {
				return fmt.Errorf("Created is %+v", c)
			}
			return nil
		})
	}
	died := time.Now()
	if err := dead.kill(); err != nil {
		t.Fatal(err)
	}
	heir := left[s.holds(vcenterLease, left)]
	t.Logf("the %s replica was killed, and the %s replica acquired the Lease %s later", dead.name, heir.name, time.Since(died).Round(time.Millisecond))
	s.order(http.MethodPut, "/taskdelay?method=CreateVm&ms=0", nil)
	s.readyOn(client, making...)
	t.Logf("the VMs that were being created were ready %s after the kill", time.Since(died).Round(time.Millisecond))

	for _, r := range left {
		name := "by-" + r.name
		s.applyOn(s.client(r.direct), name, "")
		s.readyOn(s.client(r.direct), name)
		s.powerOff(s.client(r.direct), name)
		s.powered(name, vimtypes.VirtualMachinePowerStatePoweredOff)
	}
	want := map[string]int{}
	for call, n := range before {
		want[call] = n / 3 * (3 + len(making) + len(left))
	}
	if diff := cmp.Diff(want, s.made()); diff != "" {
		t.Errorf("calls that create VMs, one for each VM (-want +got):\n%s", diff)
	}
}
