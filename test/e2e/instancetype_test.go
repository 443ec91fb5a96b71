// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-dev/slipway/test/testenv"
)

// clusterKinds creates cluster-wide instance types and a preference. Only this test uses their names.
func (u user) clusterKinds() (instancetype, preference string) {
	u.T.Helper()
	instancetype, preference = u.Namespace+".foo", u.Namespace+".pref"
	u.Put(testenv.Manifest("instancetype", "VirtualMachineClusterInstancetype", instancetype, "cpu: {guest: 1}", "memory: {guest: 1Gi}") +
		testenv.Manifest("instancetype", "VirtualMachineClusterInstancetype", instancetype+"-new", "cpu: {guest: 2}", "memory: {guest: 2Gi}") +
		testenv.Manifest("instancetype", "VirtualMachineClusterPreference", preference, "{}"))
	u.RemoveAtEnd("vmcf/"+instancetype, "vmcf/"+instancetype+"-new", "vmcp/"+preference)
	return instancetype, preference
}

// hardware waits until a VM has this many vCPUs and MiB in vCenter.
func (u user) hardware(vm string, vCPUs int32, mib int32) {
	u.T.Helper()
	testenv.Eventually(u.T, testenv.Long, fmt.Sprintf("%s has %d vCPUs and %d MiB", vm, vCPUs, mib), func() error {
		if hw := testenv.Inventory(u.T, u.Namespace)[vm].Config.Hardware; hw.NumCPU != vCPUs || hw.MemoryMB != mib {
			return fmt.Errorf("it has %d and %d; restartRequired: %s", hw.NumCPU, hw.MemoryMB, u.Get("vm/"+vm, ".status.restartRequired"))
		}
		return nil
	})
}

// cycles stops and starts a VM.
func (u user) cycles(vm string) {
	u.T.Helper()
	u.Virtctl("stop", vm, "--mode", "Hard")
	u.Wants("vm/"+vm, ".status.powerState", "PoweredOff")
	u.Virtctl("start", vm)
	u.Wants("vm/"+vm, ".status.powerState", "PoweredOn")
	u.Ready("vm/" + vm)
}

const revisionOf = ".status.instancetypeRef.controllerRevisionRef.name"

// One VM is switched from one instance type to another and back. F28 F44 F48 F49 F137 F138 F139 F140
func TestInstancetype_OfARunningVMIsPinnedAndSwitched(t *testing.T) {
	t.Parallel()
	u := admin(t)
	foo, _ := u.clusterKinds()
	u.Put(testenv.Catalogue + testenv.VMWith("vm", "instancetype: {name: "+foo+"}"))
	u.Ready("vm/vm")
	old := u.Get("vm/vm", revisionOf)
	u.part("pinned in the spec", func(t *testing.T, u user) {
		out, errOut, err := u.Try("", "kubectl", "patch", "vm/vm", "--type=merge", "-p", `{"spec":{"instancetype":{"revisionName":"`+old+`"}}}`)
		if err != nil || !strings.Contains(errOut, "deprecated") {
			t.Errorf("pinning by revisionName warns %q, want that it is deprecated: %v %s", errOut, err, out)
		}
		// Both fields must have the same value.
		u.PatchDenied("vm/vm", `{"spec":{"instancetype":{"controllerRevisionRef":{"name":"nonsense"}}}}`, "spec.instancetype.revisionName", "must be absent or equal")
		u.Patch("vm/vm", `{"spec":{"instancetype":{"controllerRevisionRef":{"name":"`+old+`"},"revisionName":null}}}`)
		u.Meets("InstancetypeReady", "vm/vm")
		u.Wants("vm/vm", revisionOf, old)
		// A pin that does not exist is not written to status.
		u.Patch("vm/vm", `{"spec":{"instancetype":{"controllerRevisionRef":{"name":"nonsense"}}}}`)
		u.Wants("vm/vm", `.status.conditions[?(@.type=="InstancetypeReady")].reason`, "NotFound")
		u.Wants("vm/vm", revisionOf, old)
		u.Patch("vm/vm", `{"spec":{"instancetype":{"controllerRevisionRef":null}}}`)
		u.Meets("InstancetypeReady", "vm/vm")
	})
	u.part("switched", func(_ *testing.T, u user) {
		u.Patch("vm/vm", `{"spec":{"instancetype":{"name":"`+foo+`-new"}}}`)
		u.Wants("vm/vm", ".status.instancetypeRef.name", foo+"-new")
		u.Wants("vmrev/"+old, ".metadata.name", "")
		u.hardware("vm", 2, 2048)
		u.Wants("vm/vm", ".status.restartRequired", "")
		u.Wants("vmi/vm", ".spec.memory.guest", "2Gi")
	})
	u.part("switched to a smaller one", func(_ *testing.T, u user) {
		u.Patch("vm/vm", `{"spec":{"instancetype":{"name":"`+foo+`"}}}`)
		u.needsRestartFor("vm", "memory", "cpu")
		u.cycles("vm")
		u.Wants("vm/vm", ".status.restartRequired", "")
		u.hardware("vm", 1, 1024)
	})
	u.part("switched with updateStrategy Stage", func(_ *testing.T, u user) {
		u.Patch("vm/vm", `{"spec":{"updateStrategy":"Stage","instancetype":{"name":"`+foo+`-new"}}}`)
		u.Wants("vm/vm", ".status.instancetypeRef.name", foo+"-new")
		u.needsRestartFor("vm", "memory.guest")
		u.hardware("vm", 1, 1024)
	})
}

// needsRestartFor waits until a VM reports changes that require a restart.
func (u user) needsRestartFor(vm string, paths ...string) {
	u.T.Helper()
	testenv.Eventually(u.T, testenv.Long, "a change requires a restart", func() error {
		got := u.Get("vm/"+vm, ".status.restartRequired[*].path")
		for _, path := range paths {
			if !strings.Contains(got, path) {
				return fmt.Errorf("restartRequired names %q", got)
			}
		}
		return nil
	})
}

// F48 F57 F58 F134 F142 F150 F151 F154 F157 F159 F160
func TestRefresh_MovesAVirtualMachineToTheNewGeneration(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.Put(testenv.Catalogue + testenv.VM("web"))
	u.Ready("vm/web")
	old := u.Get("vm/web", revisionOf)
	u.Wants("vmrev/"+old, ".metadata.name", old)
	u.Put(testenv.VMWith("pins", "instancetype: {name: small, kind: VirtualMachineInstancetype, controllerRevisionRef: {name: "+old+"}}"))
	u.Ready("vm/pins")
	spec := u.Get("vm/web", ".spec")
	u.part("expanded", func(t *testing.T, u user) {
		out := u.Virtctl("expand", "web")
		testenv.Holds(t, "virtctl expand", out, "sockets: 2", "guest: 2Gi")
		if strings.Contains(out, "instancetype:") {
			t.Errorf("virtctl expand still refers to the instance type:\n%s", out)
		}
	})
	u.part("previewed", func(t *testing.T, u user) { u.previews(t, old) })
	u.part("refreshed", func(t *testing.T, u user) {
		testenv.Holds(t, "virtctl refresh", u.Virtctl("refresh", "instancetype", "web"), "1 → 2", "refreshed")
		u.Wants("vm/web", ".status.instancetypeRef.sourceGeneration", "2")
		u.Wants("vm/web", ".status.instancetypeRef.resources", `{"memory":"4Gi","vcpus":4}`)
		u.cycles("web")
		u.hardware("web", 4, 4096)
		u.Wants("vm/web", ".status.restartRequired", "")
		testenv.Holds(t, "a second virtctl refresh", u.Virtctl("refresh", "instancetype", "web"), "up to date")
		if got := u.Get("vm/web", ".spec.instancetype"); !strings.Contains(spec, got) {
			t.Errorf("spec.instancetype is %s, it was %s", got, spec)
		}
	})
	u.part("of a deleted source", func(t *testing.T, u user) {
		now := u.Get("vm/web", revisionOf)
		u.Delete("virtualmachineinstancetype/small")
		if out, errOut, err := u.Try("", "virtctl", "refresh", "instancetype", "web"); err == nil || !strings.Contains(errOut, "small") {
			t.Errorf("refreshing from a deleted instance type: %v\n%s%s", err, out, errOut)
		}
		u.Wants("vm/web", revisionOf, now)
		u.cycles("web")
	})
	u.part("a revision is kept while a VM pins it", func(_ *testing.T, u user) {
		u.Delete("vm/web")
		u.Virtctl("restart", "pins")
		u.Restarted("pins")
		u.Wants("vmrev/"+old, ".metadata.name", old)
		u.Delete("vm/pins")
		u.Wants("vmrev/"+old, ".metadata.name", "")
	})
}

// previews changes the instance type of web, and checks that a dry run of its refresh changes nothing.
func (u user) previews(t *testing.T, old string) {
	u.Patch("virtualmachineinstancetype/small", `{"spec":{"cpu":{"guest":4},"memory":{"guest":"4Gi"}}}`)
	u.Wants("vm/web", ".status.instancetypeRef.outdated", "true")
	if got := u.Kubectl("get", "vm", "--field-selector", "metadata.name=web,status.instancetypeRef.outdated=true,status.preferenceRef.outdated=false", "-o", "name"); got != "virtualmachine.vm.slipway.dev/web\n" {
		t.Errorf("selecting outdated VMs lists %q, want web", got)
	}
	var plan struct {
		Changed, DryRun              bool
		OldGeneration, NewGeneration int64
		Fields                       []struct{ Path, Effect string }
	}
	if err := json.Unmarshal([]byte(u.Virtctl("refresh", "instancetype", "web", "--dry-run", "-o", "json")), &plan); err != nil {
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
	if got := u.Get("vm/web", revisionOf); got != old {
		t.Errorf("the VM moved to revision %q although nothing refreshed it", got)
	}
}

// F122 F125 F129 F147, and the values of a claim that the VM boots from.
func TestInference_ChangesStatusOnly(t *testing.T) {
	t.Parallel()
	u := admin(t)
	foo, pref := u.clusterKinds()
	u.Put(testenv.Catalogue)
	u.Label("vmimage/photon-5", "instancetype.kubevirt.io/default-instancetype="+foo, "instancetype.kubevirt.io/default-preference="+pref)
	c := testenv.NewClaim(u.User, "data")
	u.Label("pvc/data", "instancetype.kubevirt.io/default-instancetype="+foo, "instancetype.kubevirt.io/default-preference="+pref)
	manifest := testenv.VMWith("image", "instancetype: {inferFromVolume: image}", "preference: {inferFromVolume: image}")
	u.Apply(manifest)
	u.Put(testenv.VMWith("data", "instancetype: {inferFromVolume: data}", "preference: {inferFromVolume: data}", testenv.WithClaim("data", "data")))
	for _, vm := range []string{"image", "data"} {
		u.Ready("vm/" + vm)
		u.Wants("vm/"+vm, ".status.instancetypeRef.name", foo)
		u.Wants("vm/"+vm, ".status.instancetypeRef.kind", "virtualmachineclusterinstancetype")
		u.Wants("vm/"+vm, ".status.preferenceRef.name", pref)
		u.Wants("vm/"+vm, ".spec.instancetype", `{"inferFromVolume":"`+vm+`"}`)
	}
	c.Lives("data")
	if out := u.Apply(manifest); !strings.Contains(out, "unchanged") {
		t.Errorf("applying the same manifest again: %s", out)
	}
	// The snapshot records the values of the status in the spec, and a restore applies them together with
	// inferFromVolume.
	revision := u.Get("vm/image", revisionOf)
	u.Patch("vmcf/"+foo, `{"spec":{"memory":{"guest":"8Gi"}}}`)
	u.Patch("vm/image", `{"spec":{"instancetype":{"name":"`+foo+`","kind":"virtualmachineclusterinstancetype","controllerRevisionRef":{"name":"`+revision+`"}}}}`)
	u.Wants("vm/image", revisionOf, revision)
	u.Wants("vm/image", ".status.instancetypeRef.sourceGeneration", "1")
	u.Denied(testenv.VMWith("other", "instancetype: {inferFromVolume: image, name: "+foo+"}"), "spec.instancetype.name")
}

func TestGitOps_SeesNoDifferenceThroughTheWholeLife(t *testing.T) {
	t.Parallel()
	u := admin(t)
	foo, pref := u.clusterKinds()
	u.Put(testenv.Catalogue)
	modes := map[string][]string{"client-side": nil, "server-side": {"--server-side"}}
	manifest := func(name, instancetype string) string {
		return testenv.VMWith(name, "instancetype: {name: "+instancetype+"}", "preference: {name: "+pref+"}")
	}
	each := func(do func(name string, mode []string)) {
		for name, mode := range modes {
			do(name, mode)
		}
	}
	same := func(after, instancetype string) {
		t.Helper()
		each(func(name string, mode []string) {
			// kubectl diff reads the object twice, and reports a status that is written in between as a difference.
			testenv.Eventually(t, testenv.Short, name+": no difference after "+after, func() error {
				out, errOut, err := u.Try(manifest(name, instancetype), "kubectl", append([]string{"diff", "-f", "-"}, mode...)...)
				if err != nil || out != "" {
					return fmt.Errorf("kubectl diff: %w\n%s%s", err, out, errOut)
				}
				return nil
			})
		})
	}
	each(func(name string, mode []string) { u.Apply(manifest(name, foo), mode...) })
	u.Ready("vm/client-side", "vm/server-side")
	same("create", foo)
	each(func(name string, _ []string) {
		u.cycles(name)
		u.Virtctl("restart", name)
		u.Restarted(name)
	})
	u.Patch("vmcf/"+foo, `{"spec":{"memory":{"guest":"2Gi"}}}`)
	each(func(name string, _ []string) {
		u.Virtctl("refresh", "instancetype", name, "--wait")
		u.Wants("vm/"+name, ".status.instancetypeRef.sourceGeneration", "2")
	})
	same("stop, start, restart and refresh", foo)
	each(func(name string, mode []string) {
		dry := []string{"--dry-run=server"}
		if mode == nil { // kubectl has no dry run of the client for server-side apply
			dry = append(dry, "--dry-run=client")
		}
		for _, where := range dry {
			out, errOut, err := u.Try(manifest(name, foo+"-new"), "kubectl", append([]string{"apply", where, "-o", "jsonpath={.spec.instancetype.name}", "-f", "-"}, mode...)...)
			if err != nil || out != foo+"-new" {
				t.Errorf("%s: %v, instance type %q\n%s", where, err, out, errOut)
			}
		}
		u.Wants("vm/"+name, ".status.instancetypeRef.name", foo)
		u.Apply(manifest(name, foo+"-new"), mode...)
		u.Wants("vm/"+name, ".status.instancetypeRef.name", foo+"-new")
	})
	same("switch", foo+"-new")
	if owners := u.Kubectl("get", "vm/server-side", "--show-managed-fields", "-o", `jsonpath={.metadata.managedFields[?(@.manager=="kubectl")].fieldsV1}`); strings.Contains(owners, "f:status") {
		t.Errorf("apply owns status: %s", owners)
	}
}
