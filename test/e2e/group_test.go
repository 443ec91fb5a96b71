// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-dev/slipway/test/testenv"
)

const shop = `
---
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachineGroup
metadata: {name: shop}
spec:
  bootOrder:
  - {members: [{name: db}], waitFor: Ready}
  - {members: [{name: app-1}, {name: app-2}], waitFor: Ready}
  - {members: [{name: web}]}
`

// power returns the power state of each VM of a list, in the same order.
func (u user) power(vms ...string) string {
	u.T.Helper()
	var states []string
	for _, vm := range vms {
		states = append(states, u.Get("vm/"+vm, ".status.powerState"))
	}
	return strings.Join(states, " ")
}

// grouped waits until a condition of a group has a reason and a message.
func (u user) grouped(group, condition, reason, message string) {
	u.T.Helper()
	path := `.status.conditions[?(@.type=="` + condition + `")]`
	testenv.Eventually(u.T, testenv.Long, condition+" of "+group+" has reason "+reason, func() error {
		if got := u.Get("vmgroup/"+group, path+".reason"); got != reason {
			return fmt.Errorf("%q (%s)", got, u.Get("vmgroup/"+group, path+".message"))
		}
		if got := u.Get("vmgroup/"+group, path+".message"); !strings.Contains(got, message) {
			return fmt.Errorf("%q, want %q", got, message)
		}
		return nil
	})
}

func TestGroup_IsStartedInOrderAndStoppedInReverse(t *testing.T) {
	u := admin(t)
	u.Put(testenv.Catalogue + shop)
	u.grouped("shop", "Ready", "NotLinked", `VirtualMachine "db" does not exist`)
	manifest := testenv.VM("db", "groupName: shop", "readinessProbe: {guestInfo: [{key: state, value: ready}]}")
	for _, name := range []string{"app-1", "app-2", "web"} {
		manifest += testenv.VM(name, "groupName: shop")
	}
	u.Put(manifest)
	// The VMs specify no power state, so they are created powered off.
	u.Wants("vmgroup/shop", `.status.conditions[?(@.type=="Ready")].status`, "True")
	if got := u.power("db", "app-1", "app-2", "web"); got != "PoweredOff PoweredOff PoweredOff PoweredOff" {
		t.Fatalf("before the start of the group its members are %s", got)
	}

	if out := u.Virtctl("start", "group/shop"); !strings.Contains(out, "shop will be powered on") {
		t.Errorf("virtctl start printed %q", out)
	}
	u.Wants("vm/db", ".status.powerState", "PoweredOn")
	u.grouped("shop", "Ready", "WaitingForMembers", "step 2 of 3 waits until these are Ready: db")
	u.KillSlipway()
	u.grouped("shop", "Ready", "WaitingForMembers", "step 2 of 3 waits until these are Ready: db")
	if got := u.power("db", "app-1", "app-2", "web"); got != "PoweredOn PoweredOff PoweredOff PoweredOff" {
		t.Fatalf("while the database is not Ready the members are %s", got)
	}
	u.guest("db", "key", "state", "value", "ready")
	u.Ready("vmgroup/shop")
	if got := u.power("db", "app-1", "app-2", "web"); got != "PoweredOn PoweredOn PoweredOn PoweredOn" {
		t.Errorf("the group is Ready, and its members are %s", got)
	}
	since := strings.Fields(u.Get("vmgroup/shop", ".status.members[*].desiredSince"))
	if len(since) != 4 || since[0] >= since[1] || since[1] >= since[3] {
		t.Errorf("the members were requested at %s, want db before app-1, and that before web", since)
	}
	table := u.Kubectl("get", "vmgroup")
	for _, want := range []string{"POWER", "REQUESTED", "MEMBERS", "READY", "PoweredOn", "4/4", "True"} {
		if !strings.Contains(table, want) {
			t.Errorf("kubectl get vmgroup lacks %q:\n%s", want, table)
		}
	}

	// A paused VM does not follow its group, and the tiers below it keep running.
	u.Annotate("vm/web", "vm.slipway.dev/paused=")
	u.Wants("vm/web", `.status.conditions[?(@.type=="Paused")].status`, "True")
	u.Virtctl("stop", "group/shop")
	u.grouped("shop", "Ready", "WaitingForMembers", "step 2 of 3 waits until these are not running: web")
	if got := u.power("db", "app-1", "app-2", "web"); got != "PoweredOn PoweredOn PoweredOn PoweredOn" {
		t.Fatalf("while web runs the members are %s", got)
	}
	u.Annotate("vm/web", "vm.slipway.dev/paused-")
	u.Ready("vmgroup/shop")
	if got := u.power("db", "app-1", "app-2", "web"); got != "PoweredOff PoweredOff PoweredOff PoweredOff" {
		t.Errorf("the group is stopped, and its members are %s", got)
	}
	since = strings.Fields(u.Get("vmgroup/shop", ".status.members[*].desiredSince"))
	if len(since) != 4 || since[0] <= since[1] || since[1] <= since[3] {
		t.Errorf("the members were requested at %s, want web before app-1, and that before db", since)
	}

	// The power state was not written into a spec.
	if got := u.Get("vm", ".items[*].spec.powerState"); strings.TrimSpace(got) != "" {
		t.Errorf("members have spec.powerState %q", got)
	}
	u.Virtctl("start", "web")
	u.Wants("vm/web", ".status.powerState", "PoweredOn")
	u.Wants("vm/web", ".spec.powerState", "PoweredOn")

	// Members of a deleted group do not change.
	u.Delete("vmgroup/shop")
	for _, vm := range []string{"db", "app-1"} {
		u.Wants("vm/"+vm, `.status.conditions[?(@.type=="GroupLinked")].reason`, "NotFound")
		if got := u.power(vm); got != "PoweredOff" {
			t.Errorf("%s is %s after its group was deleted", vm, got)
		}
	}
}
