// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"strings"
	"testing"
)

// A store that was not mounted, or another one by a typing error: the host cluster's
// garbage collector would take its VMs for deleted, and collect what they own. Nothing is
// lost while it is refused, and captured types are not even when it was accepted.
func TestF3CapturedTypesOutliveATimeOnAnEmptyStore(t *testing.T) {
	another(t)
	u := admin(t)
	foo, _ := clusterKinds(t, u)
	u.apply(catalogue)
	u.apply(vmWith("vm", "instancetype: {name: "+foo+"}"))
	u.kubectl("wait", "--for=condition=Ready", "vm/vm", "--timeout=90s")
	revision := u.get("vm/vm", ".status.instancetypeRef.controllerRevisionRef.name")
	if owners := u.get("vmrev/"+revision, ".metadata.ownerReferences"); owners != "" {
		t.Errorf("the revision has the owners %s, want none", owners)
	}
	// What it was captured from changes, so that it cannot be captured again.
	u.kubectl("patch", "vmcf/"+foo, "--type=merge", "-p", `{"spec":{"memory":{"guest":"8Gi"}}}`)
	u.apply(owned("owned", "vm.slipway.dev/v1alpha1", "VirtualMachine", "vm", u.get("vm/vm", ".metadata.uid")))

	own, empty := environment(t).SlipwayDataDir()+".own", environment(t).SlipwayDataDir()+".empty"
	id := u.knownStore()
	ready := swapStores(t, func(dir string) error { return os.Rename(dir, own) })
	accept := u.storeRefused("the store has the ID ", "the management cluster expects "+id)
	wantComeAgain(t)

	// The collector asks for the owner of the first before it collects the second, for
	// whose owner it asks somebody else.
	u.apply(owned("in-doubt", "vm.slipway.dev/v1alpha1", "VirtualMachine", "unknown", "5f0f1d0a-0000-4000-8000-000000000001"))
	u.apply(owned("orphan", "v1", "ConfigMap", "unknown", "5f0f1d0a-0000-4000-8000-000000000002"))
	u.collected("orphan")
	u.kubectl("get", "configmap/owned", "configmap/in-doubt")

	u.kubectl(accept...)
	if err := <-ready; err != nil {
		t.Fatal(err)
	}
	if out := u.kubectl("get", "vm"); out != "" {
		t.Errorf("the empty store has VMs:\n%s", out)
	}
	u.collected("owned")

	ready = swapStores(t, func(dir string) error {
		if err := os.Rename(dir, empty); err != nil {
			return err
		}
		return os.Rename(own, dir)
	})
	u.kubectl(u.storeRefused("the store has the ID " + id)...)
	if err := <-ready; err != nil {
		t.Fatal(err)
	}
	if got := u.knownStore(); got != id {
		t.Errorf("the host cluster knows the store %s, want %s", got, id)
	}
	u.kubectl("get", "vmrev/"+revision)
	releaseStore(t)
	u.virtctl("restart", "vm")
	u.restarted("vm")
	u.wants("vm/vm", `.status.conditions[?(@.type=="InstancetypeReady")].status`, "True")
	u.wants("vm/vm", ".status.instancetypeRef.controllerRevisionRef.name", revision)
}

// owned is a ConfigMap of the host cluster with an owner.
func owned(name, version, kind, owner, uid string) string {
	return "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + ", ownerReferences: [" +
		"{apiVersion: " + version + ", kind: " + kind + ", name: " + owner + ", uid: " + uid + "}]}}\n"
}

// collected waits until the garbage collector has deleted a ConfigMap.
func (u user) collected(name string) {
	u.t.Helper()
	eventually(u.t, long, "the garbage collector has deleted "+name, func() error {
		if _, errOut, err := u.try("", "kubectl", "get", "configmap/"+name); err == nil || !strings.Contains(errOut, "not found") {
			return errorf("it is still there: %v %s", err, errOut)
		}
		return nil
	})
}
