// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
)

func TestAnnotationsHoldPowerOnAndDeletion(t *testing.T) {
	t.Parallel()
	const powerOn, remove = "poweron.check.vm.slipway.dev/cmdb", "delete.check.vm.slipway.dev/backup"
	u := admin(t)
	u.apply(catalogue)
	carol := editor(t, u, "carol")
	held := strings.Replace(vmManifest("held"), "{name: held}", "{name: held, annotations: {"+powerOn+": not registered yet}}", 1)
	eventually(t, short, "carol creates a VM that is held", func() error { // denials are cached for some seconds
		out, errOut, err := carol.try(held, "kubectl", "apply", "-f", "-")
		if err != nil {
			return errorf("%s%s", out, errOut)
		}
		return nil
	})
	const status = `.status.conditions[?(@.type=="PowerStateSynced")].`
	u.wants("vm/held", status+"reason", "HeldByCheck")
	if got := u.get("vm/held", status+"message"); !strings.Contains(got, powerOn+" (not registered yet)") {
		t.Errorf("the condition says %q, without what holds the power on", got)
	}
	u.wants("vm/held", ".status.printableStatus", "PowerStateHeldByCheck")
	carol.refused("", []string{"annotate", "vm/held", powerOn + "-"}, "only privileged users", powerOn)
	carol.refused("", []string{"annotate", "vm/held", remove + "=mine"}, "only privileged users", remove)
	if got := u.get("vm/held", ".status.powerState"); got != "PoweredOff" {
		t.Errorf("the power state is %q while an annotation holds it", got)
	}
	u.kubectl("annotate", "vm/held", powerOn+"-", remove+"=the nightly copy runs")
	u.kubectl("wait", "--for=condition=Ready", "vm/held", "--timeout=90s")

	carol.kubectl("delete", "vm/held", "--wait=false")
	u.wants("vm/held", ".status.printableStatus", "DeletionHeldByCheck")
	if got := u.get("vm/held", `.status.conditions[?(@.type=="Ready")].message`); !strings.Contains(got, remove+" (the nightly copy runs)") {
		t.Errorf("the condition says %q, without what holds the deletion", got)
	}
	if got := u.get("vm/held", ".status.powerState"); got != "PoweredOn" {
		t.Errorf("the power state is %q while an annotation holds the deletion", got)
	}
	u.kubectl("annotate", "vm/held", remove+"-")
	u.kubectl("wait", "--for=delete", "vm/held", "--timeout=90s")
}
