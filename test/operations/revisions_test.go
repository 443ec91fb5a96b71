// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/slipway-dev/slipway/test/testenv"
)

// emptyStore tests a store that was not mounted, or the wrong store because of a typing error. The management cluster's
// garbage collector would treat its VMs as deleted and delete their dependents. While the store is refused nothing is
// lost, and pinned types are kept even after it was accepted.
func emptyStore(t *testing.T) {
	u := admin(t)
	foo := u.Namespace + ".foo"
	u.Apply(testenv.Catalogue + "---\n{apiVersion: instancetype.slipway.dev/v1alpha1, kind: VirtualMachineClusterInstancetype, metadata: {name: " + foo + "}, spec: {cpu: {guest: 1}, memory: {guest: 1Gi}}}\n")
	u.Apply(testenv.VMWith("vm", "instancetype: {name: "+foo+"}"))
	u.Kubectl("wait", "--for=condition=Ready", "vm/vm", "--timeout=90s")
	revision := u.Get("vm/vm", ".status.instancetypeRef.controllerRevisionRef.name")
	if owners := u.Get("vmrev/"+revision, ".metadata.ownerReferences"); owners != "" {
		t.Errorf("the revision has the owners %s, want none", owners)
	}
	// The source of the pinned revision changes, so that it cannot be pinned again.
	u.Kubectl("patch", "vmcf/"+foo, "--type=merge", "-p", `{"spec":{"memory":{"guest":"8Gi"}}}`)
	u.Apply(owned("owned", "vm.slipway.dev/v1alpha1", "VirtualMachine", "vm", u.Get("vm/vm", ".metadata.uid")))

	own, empty := testenv.Of(t).SlipwayDataDir()+".own", testenv.Of(t).SlipwayDataDir()+".empty"
	id := u.knownStore()
	ready := swapStores(t, func(dir string) error { return os.Rename(dir, own) })
	accept := u.storeRefused("the store has the ID ", "the management cluster expects "+id)
	wantComeAgain(t)

	// The collector reads the owner of the first before it collects the second, whose owner it reads from another
	// server.
	u.Apply(owned("in-doubt", "vm.slipway.dev/v1alpha1", "VirtualMachine", "unknown", "5f0f1d0a-0000-4000-8000-000000000001"))
	u.Apply(owned("orphan", "v1", "ConfigMap", "unknown", "5f0f1d0a-0000-4000-8000-000000000002"))
	u.collected("orphan")
	u.Kubectl("get", "configmap/owned", "configmap/in-doubt")

	u.Kubectl(accept...)
	if err := <-ready; err != nil {
		t.Fatal(err)
	}
	if out := u.Kubectl("get", "vm"); out != "" {
		t.Errorf("the empty store has VMs:\n%s", out)
	}
	u.collected("owned")

	ready = swapStores(t, func(dir string) error {
		if err := os.Rename(dir, empty); err != nil {
			return err
		}
		return os.Rename(own, dir)
	})
	u.Kubectl(u.storeRefused("the store has the ID " + id)...)
	if err := <-ready; err != nil {
		t.Fatal(err)
	}
	if got := u.knownStore(); got != id {
		t.Errorf("the management cluster records the store %s, want %s", got, id)
	}
	u.Kubectl("get", "vmrev/"+revision)
	releaseStore(t)
	u.Virtctl("restart", "vm")
	u.Restarted("vm")
	u.Wants("vm/vm", `.status.conditions[?(@.type=="InstancetypeReady")].status`, "True")
	u.Wants("vm/vm", ".status.instancetypeRef.controllerRevisionRef.name", revision)
}

// owned is a ConfigMap of the management cluster with an owner.
func owned(name, version, kind, owner, uid string) string {
	return "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + ", ownerReferences: [" +
		"{apiVersion: " + version + ", kind: " + kind + ", name: " + owner + ", uid: " + uid + "}]}}\n"
}

// collected waits until the garbage collector has deleted a ConfigMap.
func (u user) collected(name string) {
	u.T.Helper()
	testenv.Eventually(u.T, testenv.Long, "the garbage collector has deleted "+name, func() error {
		if _, errOut, err := u.Try("", "kubectl", "get", "configmap/"+name); err == nil || !strings.Contains(errOut, "not found") {
			return fmt.Errorf("it is still there: %v %s", err, errOut)
		}
		return nil
	})
}
