// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	ktypes "k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/provider"
)

func TestNext_DependsOnThePublisher(t *testing.T) {
	p := &provider.Publication{NamespacedName: ktypes.NamespacedName{Namespace: "team-a", Name: "now"}, UID: "mine"}
	for name, tc := range map[string]struct {
		state state
		want  step
	}{
		"no item":                                    {state{}, createItem},
		"created by a user":                          {state{exists: true, description: "photon", hasContent: true}, nameTaken},
		"an item without description":                {state{exists: true, hasContent: true}, nameTaken},
		"an item of another namespace":               {state{exists: true, description: mark{"here", "team-b", "mine", ""}.String(), hasContent: true}, nameTaken},
		"an item of another server":                  {state{exists: true, description: mark{"there", "team-a", "other", ""}.String(), hasContent: true}, nameTaken},
		"an incomplete item of another server":       {state{exists: true, description: mark{"there", "team-a", "other", ""}.String()}, nameTaken},
		"a mark without a server":                    {state{exists: true, description: "slipway.vm.publish: namespace=team-a request=mine", hasContent: true}, nameTaken},
		"a namespace whose name has the same prefix": {state{exists: true, description: mark{"here", "team-ab", "mine", ""}.String(), hasContent: true}, nameTaken},
		"an item whose mark is not the last line":    {state{exists: true, description: mark{"here", "team-a", "mine", ""}.String() + "\nmine now", hasContent: true}, nameTaken},
		"a mark without a namespace":                 {state{exists: true, description: "slipway.vm.publish: server=here request=mine", hasContent: true}, nameTaken},
		"an item of another request":                 {state{exists: true, description: mark{"here", "team-a", "other", ""}.String(), hasContent: true, version: "2"}, createVersion},
		"with the mark of another request's version": {state{exists: true, description: mark{"here", "team-a", "other", "2"}.String(), hasContent: true, version: "2"}, createVersion},
		"a new version that was not created":         {state{exists: true, description: mark{"here", "team-a", "mine", "2"}.String(), hasContent: true, version: "2"}, createVersion},
		"a new version that was created":             {state{exists: true, description: mark{"here", "team-a", "mine", "2"}.String(), hasContent: true, version: "3"}, finish},
		"incomplete":                                 {state{exists: true, description: mark{"here", "team-a", "mine", ""}.String(), version: "1"}, recreateItem},
		"made":                                       {state{exists: true, description: "text\n" + mark{"here", "team-a", "mine", ""}.String() + "\n", hasContent: true, version: "2"}, done},
		"a description that looks like a mark":       {state{exists: true, description: "slipway.vm.publish: server=here namespace=team-a request=mine\n" + mark{"here", "team-b", "x", ""}.String(), hasContent: true}, nameTaken},
		"an incomplete item of another request":      {state{exists: true, description: mark{"here", "team-a", "other", ""}.String(), version: "1"}, createVersion},
	} {
		if got := next("here", p, tc.state); got != tc.want {
			t.Errorf("%s: step %d, want %d", name, got, tc.want)
		}
	}
}

func TestDescribe_IsLimitedAndEndsWithTheMark(t *testing.T) {
	p := &provider.Publication{NamespacedName: ktypes.NamespacedName{Namespace: "team-a", Name: "now"}, UID: "mine", Description: strings.Repeat("ä", 4000)}
	text := describe("here", p, "7")
	m, ok := markOf(text)
	if !ok || m != (mark{"here", "team-a", "mine", "7"}) || len(text) > 2000 || !utf8.ValidString(text) {
		t.Errorf("mark %+v of %d bytes, valid %t", m, len(text), utf8.ValidString(text))
	}
	// The author of a description must not be able to move an item to another namespace.
	p.Description = mark{"here", "team-b", "other", ""}.String()
	if m, _ := markOf(describe("here", p, "")); m.namespace != "team-a" {
		t.Errorf("the mark is of namespace %s", m.namespace)
	}
}

func TestCheckSource_RefusesAVMWithATPM(t *testing.T) {
	vm := &mo.VirtualMachine{}
	vm.Runtime.PowerState = types.VirtualMachinePowerStatePoweredOff
	vm.Config = &types.VirtualMachineConfigInfo{}
	if err := CheckSource(vm); err != nil {
		t.Errorf("a plain VM: %v", err)
	}
	vm.Config.Hardware.Device = []types.BaseVirtualDevice{&types.VirtualTPM{}}
	var refused *provider.PublishRefusedError
	if err := CheckSource(vm); !errors.As(err, &refused) || !strings.Contains(err.Error(), "TPM") {
		t.Errorf("a VM with a TPM: %v", err)
	}
}
