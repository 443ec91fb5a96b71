// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	vimtypes "github.com/vmware/govmomi/vim25/types"
)

func TestVirtualMachineLivesFromApplyToDelete(t *testing.T) {
	t.Parallel()
	u := admin(t)
	for _, api := range []string{"v1alpha1.vm.slipway.dev", "v1alpha1.instancetype.slipway.dev", "v1alpha1.cluster.slipway.dev"} {
		if got := u.get("apiservice/"+api, `.status.conditions[?(@.type=="Available")].status`); got != "True" {
			t.Errorf("APIService %s has Available=%q, want True", api, got)
		}
	}
	u.apply(catalogue + vmManifest("web"))
	u.kubectl("wait", "--for=condition=Ready", "vm/web", "--timeout=90s")

	vm, ok := inventory(t, u.namespace)["web"]
	if !ok {
		t.Fatal("the VM is Ready and not in the vCenter")
	}
	if got := u.get("vm/web", ".metadata.uid"); got != vm.Config.InstanceUuid {
		t.Errorf("instance UUID %q, want the UID of the object, %q", vm.Config.InstanceUuid, got)
	}
	if hw := vm.Config.Hardware; hw.NumCPU != 2 || hw.MemoryMB != 2048 {
		t.Errorf("the vCenter has %d vCPUs and %d MB, want 2 and 2048 of the instance type", hw.NumCPU, hw.MemoryMB)
	}
	for path, bad := range map[string]string{".status.network.primaryIP4": "", ".status.network.primaryIP6": "", ".status.nodeName": "", ".status.uniqueID": ""} {
		if got := u.get("vm/web", path); got == bad {
			t.Errorf("%s is empty on a Ready VM", path)
		}
	}

	table := u.kubectl("get", "vm,vmi", "-o", "wide")
	for _, want := range []string{"STATUS", "POWER", "TYPE", "CPU", "MEMORY", "IP", "HOST", "AGE", "PoweredOn", "small", "2Gi", "virtualmachineinstance"} {
		if !strings.Contains(table, want) {
			t.Errorf("kubectl get vm,vmi -o wide lacks %q:\n%s", want, table)
		}
	}
	if text := u.kubectl("explain", "vm.spec.instancetype"); !strings.Contains(text, "inferFromVolume") || !strings.Contains(text, "DESCRIPTION") {
		t.Errorf("kubectl explain vm.spec.instancetype says:\n%s", text)
	}

	u.kubectl("delete", "vm/web", "--timeout=90s")
	gone(t, u.namespace)
}

func TestPowerFollowsVirtctlAndTheSpec(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.apply(catalogue + vmManifest("web"))
	u.kubectl("wait", "--for=condition=Ready", "vm/web", "--timeout=90s")

	if out := u.virtctl("stop", "web", "--mode", "Hard"); !strings.Contains(out, "will be powered off") {
		t.Errorf("virtctl stop printed %q", out)
	}
	u.wants("vm/web", ".status.powerState", "PoweredOff")
	u.wants("vmi/web", ".metadata.name", "")
	if got := inventory(t, u.namespace)["web"].Runtime.PowerState; got != vimtypes.VirtualMachinePowerStatePoweredOff {
		t.Errorf("the vCenter says %s, want poweredOff", got)
	}
	u.wants("vm/web", `.status.conditions[?(@.type=="Ready")].status`, "True")

	u.kubectl("patch", "vm/web", "--type=merge", "-p", `{"spec":{"powerState":"PoweredOn"}}`)
	u.wants("vm/web", ".status.powerState", "PoweredOn")
	u.wants("vmi/web", ".metadata.name", "web")

	u.virtctl("suspend", "web", "--mode", "Hard")
	u.wants("vm/web", ".status.powerState", "Suspended")
	u.wants("vmi/web", ".metadata.name", "web")
	u.virtctl("start", "web")
	u.wants("vm/web", ".status.powerState", "PoweredOn")

	u.virtctl("restart", "web")
	u.restarted("web")
	u.wants("vm/web", ".status.powerState", "PoweredOn")
	u.kubectl("wait", "--for=condition=Ready", "vm/web", "--timeout=90s")
}

func TestVirtualMachineIsClonedFromATemplate(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.apply(catalogue + inlineVM("db", "ubuntu-24.04"))
	u.kubectl("wait", "--for=condition=Ready", "vm/db", "--timeout=90s")
	vm := inventory(t, u.namespace)["db"]
	if vm.Config == nil || vm.Config.Hardware.NumCPU != 1 || vm.Config.Hardware.MemoryMB != 1024 {
		t.Errorf("the vCenter has %+v, want 1 vCPU and 1024 MB", vm.Config)
	}
	if got := u.get("vm/db", ".metadata.uid"); vm.Config != nil && got != vm.Config.InstanceUuid {
		t.Errorf("instance UUID %q, want %q", vm.Config.InstanceUuid, got)
	}
}

func TestVirtualMachineWaitsForWhatItRefersToAndGoesOnByItself(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.apply(vmManifest("early"))
	for _, condition := range []string{"InstancetypeReady", "PreferenceReady", "ImageReady"} {
		u.wants("vm/early", `.status.conditions[?(@.type=="`+condition+`")].reason`, "NotFound")
	}
	if vms := inventory(t, u.namespace); len(vms) != 0 {
		t.Errorf("the vCenter has %d VMs before the references exist", len(vms))
	}
	u.apply(catalogue)
	u.kubectl("wait", "--for=condition=Ready", "vm/early", "--timeout=90s")
}

func TestServerSideApplyKeepsTheSpecAsItsOwnerWroteIt(t *testing.T) {
	t.Parallel()
	u := admin(t)
	manifest := vmManifest("gitops")
	u.apply(catalogue)
	u.apply(manifest, "--server-side")
	u.kubectl("wait", "--for=condition=Ready", "vm/gitops", "--timeout=90s")
	out, errOut, err := u.try(manifest, "kubectl", "diff", "--server-side", "-f", "-")
	if err != nil || out != "" {
		t.Errorf("kubectl diff of the manifest against the running VM: %v\n%s%s", err, out, errOut)
	}
	if owners := u.kubectl("get", "vm/gitops", "--show-managed-fields", "-o", `jsonpath={.metadata.managedFields[?(@.manager=="kubectl")].fieldsV1}`); strings.Contains(owners, "f:status") {
		t.Errorf("apply owns status: %s", owners)
	}
}

func TestNamespaceWithVirtualMachinesIsDeleted(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.apply(catalogue + vmManifest("a") + vmManifest("b") + vmManifest("c"))
	u.kubectl("wait", "--for=condition=Ready", "vm", "--all", "--timeout=90s")
	u.kubectl("delete", "namespace", u.namespace, "--timeout=90s")
	gone(t, u.namespace)
}
