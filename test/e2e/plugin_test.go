// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
)

func TestKubectlVirtIsVirtctl(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.apply(catalogue + vmManifest("web", "powerState: PoweredOff") + vmManifest("db", "powerState: PoweredOff"))
	out, errOut, err := run(t, "", "kubectl", "virt", "--help")
	if err != nil || !strings.Contains(out, "kubectl virt [command]") {
		t.Errorf("kubectl virt --help: %v\n%s%s", err, out, errOut)
	}
	out, errOut, err = run(t, "", "kubectl", "virt", "start", "web", "--kubeconfig", u.kubeconfig, "--namespace", u.namespace)
	if err != nil || !strings.Contains(out, u.namespace+"/web will be powered on") {
		t.Errorf("kubectl virt start: %v\n%s%s", err, out, errOut)
	}
	u.wants("vm/web", ".status.powerState", "PoweredOn")
	out, errOut, err = run(t, "", "kubectl", "__complete", "virt", "stop", "--kubeconfig", u.kubeconfig, "--namespace", u.namespace, "web", "")
	if err != nil || !strings.HasPrefix(out, "db\n") {
		t.Errorf("kubectl completes the names of VMs: %v\n%s%s", err, out, errOut)
	}
}
