// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/test/vsphereclient"
)

// begun kills the server when the status has the zone and nothing is created. The chosen zone then has less capacity
// than another, and is kept.
func (s *zonesScene) begun() {
	of := map[string][]string{"default": {"LocalDS_0", "LocalDS_1"}, "second": {"DC0_C1_DS"}}
	s.free(1, 1<<40, slices.Concat(of["default"], of["second"])...)
	s.free(2, 1<<20, "LocalDS_0", "LocalDS_1")
	// Free capacity is cached for a short time.
	s.eventually("the zone of the other vCenter is seen to be full, and the others are not", func() error {
		for zone, full := range map[string]bool{"late": true, "default": false, "second": false} {
			z, err := s.api.Zones().Get(s.Context(), zone, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if free := z.Status.Free.Storage.Value(); free < 1<<30 != full {
				return fmt.Errorf("zone %s has %d bytes", zone, free)
			}
		}
		return nil
	})
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
	vm, err := s.api.VirtualMachines("default").Get(s.Context(), "once", metav1.GetOptions{})
	s.must(err)
	chosen := vm.Status.Zone
	s.must(s.KillSlipway())
	if _, made := s.machines()["once"]; of[chosen] == nil || made {
		s.Fatalf("before it was killed zone %q was chosen, and it was made: %t", chosen, made)
	}
	s.free(1, 4<<30, of[chosen]...)
	s.order(1, http.MethodDelete, "/hold?method=FindAllByUuid")
	s.must(s.RestartSlipway(s.Context()))

	if vm = s.ready("once"); vm.Status.Zone != chosen {
		s.Errorf("it is in zone %s, and %s had been chosen", vm.Status.Zone, chosen)
	}
	s.create("now", nil)
	if vm := s.ready("now"); vm.Status.Zone == chosen {
		s.Error("a new VM is in the same zone, so the test shows nothing")
	}
	if in := s.machines()["once"]; !slices.Contains(of[chosen], in) {
		s.Errorf("once is on datastore %q, want one of %v", in, of[chosen])
	}
}

// machines returns the VMs of the first vCenter with their datastores.
func (s *zonesScene) machines() map[string]string {
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
			if _, twice := out[vm.Name]; twice {
				s.Errorf("vCenter has two VMs named %s", vm.Name)
			}
			out[vm.Name] = datastore
		}
	}
	return out
}
