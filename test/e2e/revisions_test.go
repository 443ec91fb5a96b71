// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"strings"
	"testing"
)

// withStore starts the server anew on another store, which dir is moved to be; the one
// that it had is moved to kept.
func withStore(t *testing.T, dir, kept string) {
	t.Helper()
	if err := cluster.KillSlipway(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(cluster.SlipwayDataDir(), kept); err != nil {
		t.Fatal(err)
	}
	if dir != "" {
		if err := os.Rename(dir, cluster.SlipwayDataDir()); err != nil {
			t.Fatal(err)
		}
	}
	if err := cluster.RestartSlipway(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A store that was not mounted, or another one by a typing error: the host cluster's
// garbage collector takes its VMs for deleted, and collects what they own.
func TestF3CapturedTypesOutliveATimeOnAnEmptyStore(t *testing.T) {
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
	// This is how it is known that the collector has been there.
	u.kubectl("create", "configmap", "owned")
	u.kubectl("patch", "configmap/owned", "--type=merge", "-p", `{"metadata":{"ownerReferences":[{"apiVersion":"vm.slipway.dev/v1alpha1",`+
		`"kind":"VirtualMachine","name":"vm","uid":"`+u.get("vm/vm", ".metadata.uid")+`"}]}}`)

	own, empty := cluster.SlipwayDataDir()+".own", cluster.SlipwayDataDir()+".empty"
	withStore(t, "", own)
	back := func() { withStore(t, own, empty) }
	t.Cleanup(func() {
		if _, err := os.Stat(own); err == nil {
			back()
		}
		_ = os.RemoveAll(empty)
	})
	eventually(t, long, "the garbage collector has seen the empty store", func() error {
		if _, errOut, err := u.try("", "kubectl", "get", "configmap/owned"); err == nil || !strings.Contains(errOut, "not found") {
			return errorf("what the VM owns in the host cluster is still there: %v %s", err, errOut)
		}
		return nil
	})
	back()

	u.kubectl("get", "vmrev/"+revision)
	u.virtctl("restart", "vm")
	u.restarted("vm")
	u.wants("vm/vm", `.status.conditions[?(@.type=="InstancetypeReady")].status`, "True")
	u.wants("vm/vm", ".status.instancetypeRef.controllerRevisionRef.name", revision)
}
