// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-dev/slipway/pkg/apis/vm/orphans"
)

func TestS8NoVMRunsOnWithoutSomebodyBeingTold(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.apply(catalogue)
	alice := editor(t, u, "alice-s8")
	eventually(t, short, "alice creates a VM", func() error {
		out, errOut, err := alice.try(vmManifest("left"), "kubectl", "apply", "-f", "-")
		if err != nil {
			return fmt.Errorf("%s%s", out, errOut)
		}
		return nil
	})
	u.kubectl("wait", "--for=condition=Ready", "vm/left", "--timeout=90s")
	left := func() []orphans.Orphan {
		t.Helper()
		var report orphans.Report
		if err := json.Unmarshal([]byte(u.virtctl("orphans", "-o", "json")), &report); err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(report.Orphans, func(o orphans.Orphan) bool { return o.Namespace != u.namespace })
	}
	if got := left(); len(got) != 0 {
		t.Errorf("orphans while the object exists: %+v, want none", got)
	}

	// As the review did it.
	alice.kubectl("annotate", "vm/left", "vm.slipway.dev/paused=")
	alice.kubectl("delete", "vm/left", "--wait=false")
	alice.refused("", []string{"patch", "vm/left", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`},
		"forbidden", "metadata.finalizers[vm.slipway.dev/virtualmachine]")
	if _, errOut, err := alice.try("", "virtctl", "orphans"); err == nil || !strings.Contains(errOut, "orphans.vm.slipway.dev is forbidden") {
		t.Errorf("the report for an editor: %v %s, want forbidden", err, errOut)
	}

	// Who may leaves the VM in vSphere, and is told of it from then on.
	u.kubectl("annotate", "vm/left", "vm.slipway.dev.protected/skip-delete-platform-resource=", "vm.slipway.dev/paused-")
	u.kubectl("wait", "--for=delete", "vm/left", "--timeout=60s")
	eventually(t, short, "the VM is reported", func() error {
		if got := left(); len(got) != 1 || got[0].Name != "left" || got[0].VSphereName != "left" || got[0].UniqueID == "" {
			return fmt.Errorf("orphans: %+v", got)
		}
		return nil
	})
	if out := u.virtctl("orphans"); !strings.Contains(out, "NAMESPACE") || !strings.Contains(out, u.namespace) {
		t.Errorf("virtctl orphans prints\n%s", out)
	}
	if _, there := inventory(t, u.namespace)["left"]; !there {
		t.Error("the orphan was destroyed")
	}
	u.kubectl("delete", "namespace", u.namespace, "--timeout=60s")
}
