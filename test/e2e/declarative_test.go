// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// clusterKinds makes an instance type and a preference for all namespaces, with
// names of this test only.
func clusterKinds(t *testing.T, u user) (instancetype, preference string) {
	t.Helper()
	instancetype, preference = u.namespace+".foo", u.namespace+".pref"
	u.apply(`
apiVersion: instancetype.slipway.dev/v1alpha1
kind: VirtualMachineClusterInstancetype
metadata: {name: ` + instancetype + `}
spec: {cpu: {guest: 1}, memory: {guest: 1Gi}}
---
apiVersion: instancetype.slipway.dev/v1alpha1
kind: VirtualMachineClusterInstancetype
metadata: {name: ` + instancetype + `-new}
spec: {cpu: {guest: 2}, memory: {guest: 2Gi}}
---
apiVersion: instancetype.slipway.dev/v1alpha1
kind: VirtualMachineClusterPreference
metadata: {name: ` + preference + `}
spec: {}
`)
	t.Cleanup(func() {
		for _, object := range []string{"vmcf/" + instancetype, "vmcf/" + instancetype + "-new", "vmcp/" + preference} {
			_, _, _ = run(t, "", "kubectl", "--kubeconfig", u.kubeconfig, "delete", object, "--ignore-not-found")
		}
	})
	return instancetype, preference
}

// specOf is spec.instancetype as JSON.
func specOf(u user, vm string) string { return u.get("vm/"+vm, ".spec.instancetype") }

// F26 F60
func TestStoryStatusNamesWhatTheSpecRefersTo(t *testing.T) {
	t.Parallel()
	u := admin(t)
	foo, _ := clusterKinds(t, u)
	u.apply(catalogue + vmWith("vm", "instancetype: {name: "+foo+"}"))
	u.kubectl("wait", "--for=condition=Ready", "vm/vm", "--timeout=90s")
	u.wants("vm/vm", ".status.instancetypeRef.name", foo)
	u.wants("vm/vm", ".status.instancetypeRef.kind", "virtualmachineclusterinstancetype")
	if revision := u.get("vm/vm", ".status.instancetypeRef.controllerRevisionRef.name"); revision == "" {
		t.Error("status names no revision")
	}
	if got := specOf(u, "vm"); got != `{"name":"`+foo+`"}` {
		t.Errorf("spec.instancetype became %s", got)
	}
}

// F44 F48 F137 F138 F139
func TestStorySwitchCapturesTheNewInstanceTypeAndGrowsTheRunningVM(t *testing.T) {
	t.Parallel()
	u := admin(t)
	foo, _ := clusterKinds(t, u)
	u.apply(catalogue + vmWith("vm", "instancetype: {name: "+foo+"}"))
	u.kubectl("wait", "--for=condition=Ready", "vm/vm", "--timeout=90s")
	old := u.get("vm/vm", ".status.instancetypeRef.controllerRevisionRef.name")

	u.kubectl("patch", "vm/vm", "--type=merge", "-p", `{"spec":{"instancetype":{"name":"`+foo+`-new"}}}`)
	u.wants("vm/vm", ".status.instancetypeRef.name", foo+"-new")
	u.wants("vmrev/"+old, ".metadata.name", "")
	eventually(t, long, "the running VM grows", func() error {
		hw := inventory(t, u.namespace)["vm"].Config.Hardware
		if hw.NumCPU != 2 || hw.MemoryMB != 2048 {
			return errorf("it has %d vCPUs and %d MB; restartRequired: %s", hw.NumCPU, hw.MemoryMB, u.get("vm/vm", ".status.restartRequired"))
		}
		return nil
	})
	u.wants("vm/vm", ".status.restartRequired", "")
	u.wants("vmi/vm", ".spec.memory.guest", "2Gi")

	// A running VM cannot shrink: that waits, and is said.
	u.kubectl("patch", "vm/vm", "--type=merge", "-p", `{"spec":{"instancetype":{"name":"`+foo+`"}}}`)
	eventually(t, long, "the shrink waits for a restart", func() error {
		if got := u.get("vm/vm", ".status.restartRequired[*].path"); !strings.Contains(got, "memory") || !strings.Contains(got, "cpu") {
			return errorf("restartRequired names %q", got)
		}
		return nil
	})
	u.virtctl("stop", "vm", "--mode", "Hard")
	u.wants("vm/vm", ".status.powerState", "PoweredOff")
	u.virtctl("start", "vm")
	u.wants("vm/vm", ".status.powerState", "PoweredOn")
	u.wants("vm/vm", ".status.restartRequired", "")
	if hw := inventory(t, u.namespace)["vm"].Config.Hardware; hw.NumCPU != 1 || hw.MemoryMB != 1024 {
		t.Errorf("after the power cycle it has %d vCPUs and %d MB, want 1 and 1024", hw.NumCPU, hw.MemoryMB)
	}
}

// F85
func TestDedicatedCPUsReachTheRunningVMAndNotItsSpec(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.apply(catalogue + `
---
apiVersion: instancetype.slipway.dev/v1alpha1
kind: VirtualMachineInstancetype
metadata: {name: dedicated}
spec: {cpu: {guest: 2, dedicatedCPUPlacement: true}, memory: {guest: 1Gi}}
` + vmWith("vm", "instancetype: {name: dedicated, kind: VirtualMachineInstancetype}"))
	u.kubectl("wait", "--for=condition=Ready", "vm/vm", "--timeout=90s")
	config := inventory(t, u.namespace)["vm"].Config
	if l := config.LatencySensitivity; l == nil || l.Level != "high" {
		t.Errorf("the latency sensitivity is %+v, want high", l)
	}
	if locked := config.MemoryReservationLockedToMax; locked == nil || !*locked {
		t.Error("the memory is not locked")
	}
	u.wants("vmi/vm", ".spec.cpu.dedicatedCPUPlacement", "true")
	if got := u.get("vm/vm", ".spec.cpu"); got != "" {
		t.Errorf("spec.cpu became %s", got)
	}
}

// F140
func TestStoryStageDefersEveryChangeToThePowerCycle(t *testing.T) {
	t.Parallel()
	u := admin(t)
	foo, _ := clusterKinds(t, u)
	u.apply(catalogue + vmWith("vm", "instancetype: {name: "+foo+"}", "updateStrategy: Stage"))
	u.kubectl("wait", "--for=condition=Ready", "vm/vm", "--timeout=90s")
	u.kubectl("patch", "vm/vm", "--type=merge", "-p", `{"spec":{"instancetype":{"name":"`+foo+`-new"}}}`)
	u.wants("vm/vm", ".status.instancetypeRef.name", foo+"-new")
	eventually(t, long, "the growth waits for a restart", func() error {
		if got := u.get("vm/vm", ".status.restartRequired[*].path"); !strings.Contains(got, "memory.guest") {
			return errorf("restartRequired names %q", got)
		}
		return nil
	})
	if hw := inventory(t, u.namespace)["vm"].Config.Hardware; hw.NumCPU != 1 || hw.MemoryMB != 1024 {
		t.Errorf("the running VM has %d vCPUs and %d MB, want 1 and 1024 as before", hw.NumCPU, hw.MemoryMB)
	}
}

// F28 F49
func TestStoryPinsInTheSpecAreMirroredToStatus(t *testing.T) {
	t.Parallel()
	const byName, byRef = "revisionName", "controllerRevisionRef"
	for _, order := range [][]string{{byName, byRef}, {byRef, byName}} {
		t.Run(order[1]+" last", func(t *testing.T) {
			u := admin(t)
			foo, _ := clusterKinds(t, u)
			u.apply(catalogue + vmWith("vm", "instancetype: {name: "+foo+"}"))
			u.kubectl("wait", "--for=condition=Ready", "vm/vm", "--timeout=90s")
			revision := u.get("vm/vm", ".status.instancetypeRef.controllerRevisionRef.name")
			pins := map[string]string{
				byName: `{"revisionName":"` + revision + `","controllerRevisionRef":null}`,
				byRef:  `{"controllerRevisionRef":{"name":"` + revision + `"},"revisionName":null}`,
			}
			for _, field := range order {
				out, errOut, err := u.try("", "kubectl", "patch", "vm/vm", "--type=merge", "-p", `{"spec":{"instancetype":`+pins[field]+`}}`)
				if err != nil {
					t.Fatalf("pinning by %s: %v\n%s%s", field, err, out, errOut)
				}
				if field == byName && !strings.Contains(errOut, "deprecated") {
					t.Errorf("pinning by revisionName warns %q, want that it is deprecated", errOut)
				}
				u.wants("vm/vm", ".status.instancetypeRef.controllerRevisionRef.name", revision)
				u.wants("vm/vm", `.status.conditions[?(@.type=="InstancetypeReady")].status`, "True")
			}
			if order[1] == byName {
				// The two must not say different things.
				u.refused("", []string{"patch", "vm/vm", "--type=merge", "-p", `{"spec":{"instancetype":{"controllerRevisionRef":{"name":"nonsense"}}}}`},
					"spec.instancetype.revisionName", "must be absent or equal")
			}
			// A pin that does not exist does not enter status.
			u.kubectl("patch", "vm/vm", "--type=merge", "-p", `{"spec":{"instancetype":{"controllerRevisionRef":{"name":"nonsense"},"revisionName":null}}}`)
			u.wants("vm/vm", `.status.conditions[?(@.type=="InstancetypeReady")].reason`, "NotFound")
			u.wants("vm/vm", ".status.instancetypeRef.controllerRevisionRef.name", revision)
		})
	}
}

// F125 F129
func TestStoryInferenceGoesToStatusOnly(t *testing.T) {
	t.Parallel()
	u := admin(t)
	foo, pref := clusterKinds(t, u)
	u.apply(catalogue)
	u.kubectl("label", "vmimage/photon-5", "instancetype.kubevirt.io/default-instancetype="+foo, "instancetype.kubevirt.io/default-preference="+pref)
	manifest := vmWith("vm", "instancetype: {inferFromVolume: image}", "preference: {inferFromVolume: image}")
	u.apply(manifest)
	u.kubectl("wait", "--for=condition=Ready", "vm/vm", "--timeout=90s")
	u.wants("vm/vm", ".status.instancetypeRef.name", foo)
	u.wants("vm/vm", ".status.instancetypeRef.kind", "virtualmachineclusterinstancetype")
	u.wants("vm/vm", ".status.preferenceRef.name", pref)
	if got := specOf(u, "vm"); got != `{"inferFromVolume":"image"}` {
		t.Errorf("spec.instancetype became %s", got)
	}
	if out := u.apply(manifest); !strings.Contains(out, "unchanged") {
		t.Errorf("applying the same manifest again: %s", out)
	}
}

// F122 F147
func TestStoryRestoredFormKeepsItsPin(t *testing.T) {
	t.Parallel()
	u := admin(t)
	foo, _ := clusterKinds(t, u)
	u.apply(catalogue)
	u.kubectl("label", "vmimage/photon-5", "instancetype.kubevirt.io/default-instancetype="+foo)
	u.apply(vmWith("vm", "instancetype: {inferFromVolume: image}"))
	u.kubectl("wait", "--for=condition=Ready", "vm/vm", "--timeout=90s")
	revision := u.get("vm/vm", ".status.instancetypeRef.controllerRevisionRef.name")
	// What a snapshot writes into the spec, and a restore applies: everything that
	// status had, beside inferFromVolume.
	u.kubectl("patch", "vmcf/"+foo, "--type=merge", "-p", `{"spec":{"memory":{"guest":"8Gi"}}}`)
	u.apply(vmWith("vm", "instancetype: {inferFromVolume: image, name: "+foo+", kind: virtualmachineclusterinstancetype, controllerRevisionRef: {name: "+revision+"}}"))
	u.wants("vm/vm", ".status.instancetypeRef.controllerRevisionRef.name", revision)
	u.wants("vm/vm", ".status.instancetypeRef.sourceGeneration", "1")
	u.refused(vmWith("other", "instancetype: {inferFromVolume: image, name: "+foo+"}"), []string{"create", "-f", "-"}, "spec.instancetype.name")
}

// F48, F58
func TestPinnedRevisionOutlivesTheRefreshAndTheDeletionOfItsOwner(t *testing.T) {
	t.Parallel()
	u := admin(t)
	foo, _ := clusterKinds(t, u)
	u.apply(catalogue)
	u.apply(vmWith("owner", "instancetype: {name: "+foo+"}"))
	u.kubectl("wait", "--for=condition=Ready", "vm/owner", "--timeout=90s")
	revision := u.get("vm/owner", ".status.instancetypeRef.controllerRevisionRef.name")
	u.apply(vmWith("pins", "instancetype: {name: "+foo+", controllerRevisionRef: {name: "+revision+"}}"))
	u.kubectl("wait", "--for=condition=Ready", "vm/pins", "--timeout=90s")
	u.kubectl("patch", "vmcf/"+foo, "--type=merge", "-p", `{"spec":{"memory":{"guest":"8Gi"}}}`)
	u.virtctl("refresh", "instancetype", "owner", "--wait")
	u.kubectl("delete", "vm/owner", "--timeout=90s")

	u.virtctl("restart", "pins")
	u.restarted("pins")
	u.kubectl("get", "vmrev/"+revision)
	u.kubectl("delete", "vm/pins", "--timeout=90s")
	eventually(t, long, "the revision goes with the last who names it", func() error {
		if _, errOut, err := u.try("", "kubectl", "get", "vmrev/"+revision); err == nil || !strings.Contains(errOut, "not found") {
			return errorf("the revision is left although nobody names it: %v %s", err, errOut)
		}
		return nil
	})
}

// A claim is protected until nobody uses it, and who takes the protection away has to
// be there.
func TestClaimOfTheHostClusterCanBeDeleted(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.apply("apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n")
	u.kubectl("delete", "pvc/data", "--timeout=60s")
}

func TestGitOpsSeesNoDifferenceThroughTheWholeLife(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string][]string{"client-side": nil, "server-side": {"--server-side"}} {
		t.Run(name, func(t *testing.T) {
			u := admin(t)
			foo, pref := clusterKinds(t, u)
			u.apply(catalogue)
			manifest := vmWith("vm", "instancetype: {name: "+foo+"}", "preference: {name: "+pref+"}")
			same := func(after string) {
				t.Helper()
				// It reads the object twice, and a status that is written in between is a difference.
				eventually(t, short, "no difference after "+after, func() error {
					if out, errOut, err := u.try(manifest, "kubectl", append([]string{"diff", "-f", "-"}, mode...)...); err != nil || out != "" {
						return fmt.Errorf("kubectl diff: %v\n%s%s", err, out, errOut)
					}
					return nil
				})
			}
			u.apply(manifest, mode...)
			u.kubectl("wait", "--for=condition=Ready", "vm/vm", "--timeout=90s")
			same("create")
			u.virtctl("stop", "vm", "--mode", "Hard")
			u.wants("vm/vm", ".status.powerState", "PoweredOff")
			u.virtctl("start", "vm")
			u.wants("vm/vm", ".status.powerState", "PoweredOn")
			same("stop and start")
			u.kubectl("patch", "vmcf/"+foo, "--type=merge", "-p", `{"spec":{"memory":{"guest":"2Gi"}}}`)
			u.virtctl("refresh", "instancetype", "vm", "--wait")
			u.wants("vm/vm", ".status.instancetypeRef.sourceGeneration", "2")
			same("refresh")
			manifest = vmWith("vm", "instancetype: {name: "+foo+"-new}", "preference: {name: "+pref+"}")
			u.apply(manifest, mode...)
			u.wants("vm/vm", ".status.instancetypeRef.name", foo+"-new")
			same("switch")
			u.virtctl("restart", "vm")
			u.restarted("vm")
			same("restart")
		})
	}
}
