// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
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

// power is the power state of each VM of a list, in its order.
func (u user) power(vms ...string) string {
	u.t.Helper()
	var states []string
	for _, vm := range vms {
		states = append(states, u.get("vm/"+vm, ".status.powerState"))
	}
	return strings.Join(states, " ")
}

// grouped waits until a condition of a group has a reason and a message.
func (u user) grouped(group, condition, reason, message string) {
	u.t.Helper()
	path := `.status.conditions[?(@.type=="` + condition + `")]`
	eventually(u.t, long, condition+" of "+group+" says "+reason, func() error {
		if got := u.get("vmgroup/"+group, path+".reason"); got != reason {
			return errorf("%q (%s)", got, u.get("vmgroup/"+group, path+".message"))
		}
		if got := u.get("vmgroup/"+group, path+".message"); !strings.Contains(got, message) {
			return errorf("%q, want it to say %q", got, message)
		}
		return nil
	})
}

func TestAThreeTierGroupIsStartedInOrderAndStoppedInReverse(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.apply(catalogue + shop)
	u.grouped("shop", "Ready", "NotLinked", `VirtualMachine "db" does not exist`)
	manifest := vmManifest("db", "groupName: shop", "readinessProbe: {guestInfo: [{key: state, value: ready}]}")
	for _, name := range []string{"app-1", "app-2", "web"} {
		manifest += vmManifest(name, "groupName: shop")
	}
	u.apply(manifest)
	// Nobody asks for a power state: they are made, and stay off.
	u.wants("vmgroup/shop", `.status.conditions[?(@.type=="Ready")].status`, "True")
	if got := u.power("db", "app-1", "app-2", "web"); got != "PoweredOff PoweredOff PoweredOff PoweredOff" {
		t.Fatalf("before the group is started its members are %s", got)
	}

	if out := u.virtctl("start", "group/shop"); !strings.Contains(out, "shop will be powered on") {
		t.Errorf("virtctl start printed %q", out)
	}
	u.wants("vm/db", ".status.powerState", "PoweredOn")
	u.grouped("shop", "Ready", "WaitingForMembers", "step 2 of 3 waits until these are Ready: db")
	if got := u.power("db", "app-1", "app-2", "web"); got != "PoweredOn PoweredOff PoweredOff PoweredOff" {
		t.Fatalf("while the database is not Ready the members are %s", got)
	}
	u.guest("db", "key", "state", "value", "ready")
	u.kubectl("wait", "--for=condition=Ready", "vmgroup/shop", "--timeout=120s")
	if got := u.power("db", "app-1", "app-2", "web"); got != "PoweredOn PoweredOn PoweredOn PoweredOn" {
		t.Errorf("the group is Ready, and its members are %s", got)
	}
	since := strings.Fields(u.kubectl("get", "vmgroup/shop", "-o", "jsonpath={.status.members[*].desiredSince}"))
	if len(since) != 4 || since[0] >= since[1] || since[1] >= since[3] {
		t.Errorf("the members were asked for at %s, want db before app-1, and that before web", since)
	}
	table := u.kubectl("get", "vmgroup")
	for _, want := range []string{"POWER", "ASKED", "MEMBERS", "READY", "PoweredOn", "4/4", "True"} {
		if !strings.Contains(table, want) {
			t.Errorf("kubectl get vmgroup lacks %q:\n%s", want, table)
		}
	}

	// What is paused does not follow: the tiers below it run on.
	u.kubectl("annotate", "vm/web", "vm.slipway.dev/paused=")
	u.wants("vm/web", `.status.conditions[?(@.type=="Paused")].status`, "True")
	u.virtctl("stop", "group/shop")
	u.grouped("shop", "Ready", "WaitingForMembers", "step 2 of 3 waits until these are not running: web")
	if got := u.power("db", "app-1", "app-2", "web"); got != "PoweredOn PoweredOn PoweredOn PoweredOn" {
		t.Fatalf("while web runs the members are %s", got)
	}
	u.kubectl("annotate", "vm/web", "vm.slipway.dev/paused-")
	u.kubectl("wait", "--for=condition=Ready", "vmgroup/shop", "--timeout=120s")
	if got := u.power("db", "app-1", "app-2", "web"); got != "PoweredOff PoweredOff PoweredOff PoweredOff" {
		t.Errorf("the group is stopped, and its members are %s", got)
	}
	since = strings.Fields(u.kubectl("get", "vmgroup/shop", "-o", "jsonpath={.status.members[*].desiredSince}"))
	if len(since) != 4 || since[0] <= since[1] || since[1] <= since[3] {
		t.Errorf("the members were asked for at %s, want web before app-1, and that before db", since)
	}

	// Nothing of it was written into a spec.
	if got := u.kubectl("get", "vm", "-o", "jsonpath={.items[*].spec.powerState}"); strings.TrimSpace(got) != "" {
		t.Errorf("members have spec.powerState %q", got)
	}
	u.virtctl("start", "web")
	u.wants("vm/web", ".status.powerState", "PoweredOn")
	u.wants("vm/web", ".spec.powerState", "PoweredOn")

	// Members of a group that is deleted stay as they are.
	u.kubectl("delete", "vmgroup/shop")
	for _, vm := range []string{"db", "app-1"} {
		u.wants("vm/"+vm, `.status.conditions[?(@.type=="GroupLinked")].reason`, "NotFound")
		if got := u.power(vm); got != "PoweredOff" {
			t.Errorf("%s is %s after its group was deleted", vm, got)
		}
	}
}

func TestTheExampleOfAGroupRuns(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.applyExamples("../../artifacts/examples/quickstart.yaml", "../../artifacts/examples/group.yaml")
	u.kubectl("wait", "--for=condition=Ready", "vmgroup/shop", "--timeout=120s")
	if got := u.power("shop-db", "shop-app-1", "shop-app-2", "shop-web"); got != "PoweredOn PoweredOn PoweredOn PoweredOn" {
		t.Errorf("the members are %s", got)
	}
	for _, step := range []struct{ verb, ready, want string }{{"stop", "", "PoweredOff"}, {"start", "--ready", "PoweredOn"}} {
		args := []string{step.verb, "group/shop", "--wait", "--timeout", "110s"}
		if step.ready != "" {
			args = append(args, step.ready)
		}
		u.virtctl(args...)
		if got, want := u.power("shop-db", "shop-app-1", "shop-app-2", "shop-web"), strings.Repeat(step.want+" ", 4); got+" " != want {
			t.Errorf("after virtctl %q the members are %s", args, got)
		}
	}
}
