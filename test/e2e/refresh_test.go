// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"strings"
	"testing"
)

// F48 F57 F142 F150 F151 F157 F159 F160
func TestRefreshMovesAVirtualMachineToTheNewGeneration(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.apply(catalogue + vmManifest("web"))
	u.kubectl("wait", "--for=condition=Ready", "vm/web", "--timeout=90s")
	old := u.get("vm/web", ".status.instancetypeRef.controllerRevisionRef.name")
	if got := u.get("vmrev/"+old, ".metadata.name"); old == "" || got != old {
		t.Fatalf("status names the revision %q, and the cluster has %q", old, got)
	}
	spec := u.get("vm/web", ".spec")

	u.kubectl("patch", "virtualmachineinstancetype/small", "--type=merge", "-p", `{"spec":{"cpu":{"guest":4},"memory":{"guest":"4Gi"}}}`)
	u.wants("vm/web", ".status.instancetypeRef.outdated", "true")
	if got := u.kubectl("get", "vm", "--field-selector", "status.instancetypeRef.outdated=true,status.preferenceRef.outdated=false", "-o", "name"); got != "virtualmachine.vm.slipway.dev/web\n" {
		t.Errorf("selecting outdated VMs lists %q, want web", got)
	}
	if got := u.get("vm/web", ".status.instancetypeRef.controllerRevisionRef.name"); got != old {
		t.Errorf("editing the instance type moved the VM to revision %q without anybody asking", got)
	}

	var plan struct {
		Changed, DryRun              bool
		OldGeneration, NewGeneration int64
		Fields                       []struct{ Path, Effect string }
	}
	if err := json.Unmarshal([]byte(u.virtctl("refresh", "instancetype", "web", "--dry-run", "-o", "json")), &plan); err != nil {
		t.Fatal(err)
	}
	if !plan.Changed || !plan.DryRun || plan.OldGeneration != 1 || plan.NewGeneration != 2 || len(plan.Fields) == 0 {
		t.Errorf("the dry run answers %+v, want a change from generation 1 to 2 with its fields", plan)
	}
	for _, f := range plan.Fields {
		if f.Effect != "Live" {
			t.Errorf("%s is announced as %s, and hot-add is on", f.Path, f.Effect)
		}
	}
	if got := u.get("vm/web", ".status.instancetypeRef.controllerRevisionRef.name"); got != old {
		t.Errorf("a dry run changed the revision to %q", got)
	}

	if out := u.virtctl("refresh", "instancetype", "web"); !strings.Contains(out, "1 → 2") || !strings.Contains(out, "refreshed") {
		t.Errorf("virtctl refresh printed:\n%s", out)
	}
	u.wants("vm/web", ".status.instancetypeRef.sourceGeneration", "2")
	u.wants("vm/web", ".status.instancetypeRef.resources", `{"memory":"4Gi","vcpus":4}`)
	u.virtctl("stop", "web", "--mode", "Hard")
	u.wants("vm/web", ".status.powerState", "PoweredOff")
	u.virtctl("start", "web")
	u.wants("vm/web", ".status.powerState", "PoweredOn")
	u.kubectl("wait", "--for=condition=Ready", "vm/web", "--timeout=90s")
	if hw := inventory(t, u.namespace)["web"].Config.Hardware; hw.NumCPU != 4 || hw.MemoryMB != 4096 {
		t.Errorf("after refresh and restart the vCenter has %d vCPUs and %d MB, want 4 and 4096", hw.NumCPU, hw.MemoryMB)
	}
	u.wants("vmrev/"+old, ".metadata.name", "")
	if got := u.get("vm/web", ".status.restartRequired"); got != "" {
		t.Errorf("status.restartRequired is %s after the restart", got)
	}
	if out := u.virtctl("refresh", "instancetype", "web"); !strings.Contains(out, "up to date") {
		t.Errorf("a second refresh printed:\n%s", out)
	}
	if got := u.get("vm/web", ".spec.instancetype"); !strings.Contains(spec, got) {
		t.Errorf("spec.instancetype is %s, it was %s", got, spec)
	}
}

// F58 F154
func TestRefreshOfAGoneSourceChangesNothing(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.apply(catalogue + vmManifest("web"))
	u.kubectl("wait", "--for=condition=Ready", "vm/web", "--timeout=90s")
	old := u.get("vm/web", ".status.instancetypeRef.controllerRevisionRef.name")
	u.kubectl("delete", "virtualmachineinstancetype/small")
	out, errOut, err := u.try("", "virtctl", "refresh", "instancetype", "web")
	if err == nil || !strings.Contains(errOut, "small") {
		t.Errorf("refreshing from a deleted instance type: %v\n%s%s", err, out, errOut)
	}
	if got := u.get("vm/web", ".status.instancetypeRef.controllerRevisionRef.name"); got != old {
		t.Errorf("the refused refresh changed the revision from %q to %q", old, got)
	}
	u.virtctl("stop", "web", "--mode", "Hard")
	u.wants("vm/web", ".status.powerState", "PoweredOff")
	u.virtctl("start", "web")
	u.kubectl("wait", "--for=condition=Ready", "vm/web", "--timeout=90s")
}

// F134
func TestExpandPrintsTheSizeOfTheInstanceType(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.apply(catalogue + vmManifest("web"))
	u.wants("vm/web", `.status.conditions[?(@.type=="InstancetypeReady")].status`, "True")
	out := u.virtctl("expand", "web")
	for _, want := range []string{"sockets: 2", "guest: 2Gi"} {
		if !strings.Contains(out, want) {
			t.Errorf("virtctl expand lacks %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "instancetype:") {
		t.Errorf("virtctl expand still refers to the instance type:\n%s", out)
	}
}
