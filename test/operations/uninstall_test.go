// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-dev/slipway/test/testenv"
)

// uninstalled removes the API before the server and leaves no namespace terminating. An APIService without a server
// would block the deletion of every namespace in the cluster.
func uninstalled(t *testing.T) {
	u := admin(t)
	u.Apply(testenv.Catalogue + testenv.VM("kept"))
	u.Kubectl("wait", "--for=condition=Ready", "vm/kept", "--timeout=90s")
	refused := func(says ...string) {
		t.Helper()
		out, errOut, err := u.Try("", "virtctl", "uninstall")
		for _, text := range says {
			if err == nil || !strings.Contains(errOut, text) || out != "" {
				t.Errorf("virtctl uninstall: %v %s%s, want an error with %q", err, out, errOut, text)
			}
		}
	}
	refused("objects still exist: ", " virtualmachines", "--leave-objects")

	// The server is lost.
	if err := testenv.Of(t).KillSlipway(); err != nil {
		t.Fatal(err)
	}
	u.Kubectl("create", "namespace", "never-had-a-vm")
	u.Kubectl("delete", "namespace", "never-had-a-vm", "--wait=false")
	testenv.Eventually(t, testenv.Long, "the namespace waits for the API that nothing serves", func() error {
		got := u.Kubectl("get", "namespace", "never-had-a-vm", "-o", `jsonpath={.status.conditions[?(@.type=="NamespaceDeletionDiscoveryFailure")].status}`)
		if got != "True" {
			return fmt.Errorf("NamespaceDeletionDiscoveryFailure is %q", got)
		}
		return nil
	})
	refused("cannot check for objects of ", "docs/how-to/operate/uninstall.md")

	if out := u.Virtctl("uninstall", "--leave-objects", "--dry-run"); !strings.Contains(out, "apiservice/v1alpha1.vm.slipway.dev deleted (server dry run)") {
		t.Errorf("the dry run prints\n%s", out)
	}
	u.Kubectl("get", "apiservice", "v1alpha1.vm.slipway.dev")
	out := u.Virtctl("uninstall", "--leave-objects")
	api, service, role := strings.Index(out, "apiservice/v1alpha1.cluster.slipway.dev deleted"), strings.Index(out, "service/slipway-apiserver deleted"), strings.Index(out, "clusterrole/slipway-apiserver deleted")
	if api < 0 || service < api || role < service || strings.Contains(out, "namespace/") {
		t.Errorf("it goes in another order than the API, the server, its rights; or the namespace goes:\n%s", out)
	}
	u.Kubectl("wait", "--for=delete", "namespace/never-had-a-vm", "--timeout=90s")
	if again := u.Virtctl("uninstall"); again != "" {
		t.Errorf("a second run finds something:\n%s", again)
	}
	if left := u.Kubectl("get", "clusterroles,clusterrolebindings,apiservices", "-o", "name"); strings.Contains(left, "slipway") {
		t.Errorf("something is left:\n%s", left)
	}
	if _, there := testenv.Inventory(t, u.Namespace)["kept"]; !there {
		t.Error("the VM is not in vSphere any more")
	}
}
