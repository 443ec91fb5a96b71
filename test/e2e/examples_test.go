// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"strings"
	"sync"
	"testing"
)

// quickstart is held by who applies objects of the quick start that are of no namespace: of
// two that find them missing one would be told that they exist. They stay for the others.
var quickstart sync.Mutex

// applyExamples applies examples in the namespace of u.
func (u user) applyExamples(files ...string) {
	u.t.Helper()
	quickstart.Lock()
	defer quickstart.Unlock()
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			u.t.Fatal(err)
		}
		u.apply(strings.ReplaceAll(string(content), "  namespace: default\n", ""))
	}
}

// What "slipway-dev run" applies at its first start.
func TestTheQuickstartRuns(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.applyExamples("../../artifacts/examples/quickstart.yaml")
	u.wants("vm/web-1", `.status.conditions[?(@.type=="Ready")].status`, "True")
	u.wants("vm/web-1", ".status.powerState", "PoweredOn")
}

func TestTheExampleOfFastDeployRuns(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.apply(catalogue)
	content, err := os.ReadFile("../../artifacts/examples/fastdeploy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	manifest := strings.NewReplacer("  namespace: default\n", "", "kind: ClusterVirtualMachineImage, ", "").Replace(string(content))
	u.apply(manifest)
	u.kubectl("wait", "--for=condition=Ready", "vm/runner-1", "--timeout=90s")
	u.kubectl("wait", "--for=condition=DiskPromotionSynced", "vm/runner-1", "--timeout=90s")
}

func TestTheExampleOfAnImageCacheIsReady(t *testing.T) {
	clusterObjects(t, "vmicache/photon-5")
	content, err := os.ReadFile("../../artifacts/examples/imagecache.yaml")
	if err != nil {
		t.Fatal(err)
	}
	u := admin(t)
	u.apply(string(content))
	u.kubectl("wait", "--for=condition=Ready", "vmicache/photon-5", "--timeout=90s")
	u.kubectl("delete", "vmicache/photon-5", "--timeout=90s")
}

// The guests of the simulated vCenter answer no connections, and set no variables.
func TestTheExampleOfProbesRuns(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.applyExamples("../../artifacts/examples/quickstart.yaml", "../../artifacts/examples/probe.yaml")
	u.wants("vm/heart-1", `.status.conditions[?(@.type=="ProbeSucceeded")].status`, "True")
	u.wants("vm/heart-1", `.status.conditions[?(@.type=="Ready")].status`, "True")
	for _, name := range []string{"socket-1", "variable-1"} {
		u.wants("vm/"+name, `.status.conditions[?(@.type=="ProbeSucceeded")].status`, "False")
	}
}
