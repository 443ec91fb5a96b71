// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package zones

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/mo"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/test/vsphereclient"
)

// A server is killed when status has the zone and nothing is made. What has been chosen is
// then the worse choice, and stands.
func TestACreateThatWasNotBegunIsMadeOnceInTheZoneThatWasChosen(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	s.zonesReady("default", "second")
	// The first call of a create.
	s.order(1, http.MethodPut, "/hold?method=FindAllByUuid")
	s.create("once", nil)
	s.eventually("a create begins", func() error {
		var held map[string]int
		s.must(json.Unmarshal(s.order(1, http.MethodGet, "/hold"), &held))
		if held["FindAllByUuid"] == 0 {
			return fmt.Errorf("held: %v", held)
		}
		return nil
	})
	vm, err := s.api.VirtualMachines("default").Get(t.Context(), "once", metav1.GetOptions{})
	s.must(err)
	chosen := vm.Status.Zone
	s.must(s.KillSlipway())
	of := map[string][]string{"default": {"LocalDS_0", "LocalDS_1"}, "second": {"DC0_C1_DS"}}
	if of[chosen] == nil || len(s.machines()) != 0 {
		t.Fatalf("before it was killed zone %q was chosen, and %v made", chosen, s.machines())
	}
	s.free(1, 4<<30, of[chosen]...)
	s.order(1, http.MethodDelete, "/hold?method=FindAllByUuid")
	s.must(s.RestartSlipway(t.Context()))

	if vm = s.ready("once"); vm.Status.Zone != chosen {
		t.Errorf("it is in zone %s, and %s had been chosen", vm.Status.Zone, chosen)
	}
	s.create("now", nil)
	if vm := s.ready("now"); vm.Status.Zone == chosen {
		t.Error("who chooses now chooses the same: nothing is shown")
	}
	made := s.machines()
	if len(made) != 2 || !strings.Contains(strings.Join(of[chosen], " "), made["once"]) {
		t.Errorf("vSphere has %v, by datastore; want two, and once on one of %v", made, of[chosen])
	}
}

// machines are the VMs of the first vCenter, with their datastores.
func (s *scene) machines() map[string]string {
	s.Helper()
	v := s.VCenterOf(1)
	client, err := vsphereclient.Login(s.Context(), v.URL, v.CAFile, v.Username, v.Password)
	s.must(err)
	defer func() { _ = client.Logout(s.Context()) }()
	var vms []mo.VirtualMachine
	s.must(vsphereclient.Everything(s.Context(), client, "VirtualMachine", []string{"name", "config.template", "config.files.vmPathName"}, &vms))
	out := map[string]string{}
	for _, vm := range vms {
		if vm.Config != nil && !vm.Config.Template {
			datastore, _, _ := strings.Cut(strings.TrimPrefix(vm.Config.Files.VmPathName, "["), "]")
			out[vm.Name] = datastore
		}
	}
	return out
}
