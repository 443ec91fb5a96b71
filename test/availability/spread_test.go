// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package availability

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/vsphereclient"
)

// powerCalls returns how often VMs of the vCenter with this number were powered on and off.
func (s *scene) powerCalls(n int) string {
	s.Helper()
	body, err := vsphereclient.Order(s.Context(), s.VCenterOf(n).ControlURL, http.MethodGet, "/calls")
	if err != nil {
		s.Fatal(err)
	}
	var all map[string]int
	if err := json.Unmarshal(body, &all); err != nil {
		s.Fatal(err)
	}
	return fmt.Sprintf("%d on, %d off", all["PowerOnVM_Task"], all["PowerOffVM_Task"])
}

// Three replicas manage three vCenters with their virtual machines. One replica is killed, and the other two manage its
// vCenters.
func TestVCenters_AreSpreadOverReplicas(t *testing.T) {
	t.Parallel()
	s := newSceneWith(t, func(o *localcluster.Options) { o.Zones, o.VCenters = true, 3 },
		"--etcd-servers="+members(t), "--etcd-unsafe-no-fsync=false")
	// The first zone of each vCenter, by the name of the vCenter's Lease.
	zones := map[string]string{vcenterLease: "default", "slipway-vcenter-vcenter-2": "third", "slipway-vcenter-vcenter-3": "fifth"}
	replicas := s.three()
	s.image()
	var made []string
	for _, zone := range zones {
		for _, n := range []string{"-1", "-2"} {
			s.applyOn(s.client(replicas[1].direct), zone+n, zone)
			made = append(made, zone+n)
		}
	}
	for _, r := range replicas {
		s.readyOn(s.client(r.direct), made...)
	}
	t.Logf("replicas of vCenters: %v", s.spread(zones, replicas))

	i := s.holds("slipway-vcenter-vcenter-2", replicas)
	if err := replicas[i].kill(); err != nil {
		t.Fatal(err)
	}
	left := slices.Delete(slices.Clone(replicas), i, i+1)
	holders := s.spread(zones, left)
	t.Logf("Leases of the two running replicas: %v", holders)
	client := s.client(left[0].direct)
	for lease, zone := range zones {
		s.powerOff(s.client(left[1-holders[lease]].direct), zone+"-1") // sent to a replica that does not manage the VM
		s.poweredSays(client, zone+"-1")
		s.readyOn(client, zone+"-2")
	}
	for n := 1; n <= 3; n++ {
		if got := s.powerCalls(n); got != "2 on, 1 off" {
			t.Errorf("vCenter %d: VMs were powered %s; want each of 2 on once, and 1 off", n, got)
		}
	}
}

// spread waits until replicas hold all Leases, and returns the Leases of each replica.
func (s *scene) spread(leases map[string]string, among []replica) map[string]int {
	s.Helper()
	holders := map[string]int{}
	for lease := range leases {
		holders[lease] = s.holds(lease, among)
	}
	return holders
}
