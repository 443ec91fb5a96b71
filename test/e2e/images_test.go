// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
)

func TestImagesSayWhatTheyAreMadeOf(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.apply(catalogue + `
---
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachineImage
metadata: {name: appliance}
spec:
  contentLibrary: {library: slipway, item: ubuntu-24.04-appliance}
---
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachineImage
metadata: {name: none}
spec:
  contentLibrary: {library: slipway, item: none}
`)
	u.kubectl("wait", "--for=condition=Ready", "vmimage/photon-5", "vmimage/ubuntu-24.04", "vmimage/appliance", "--timeout=90s")
	u.wants("vmimage/none", `.status.conditions[?(@.type=="Ready")].reason`, "NotFound")
	for what, want := range map[string]string{
		"vmimage/photon-5 .status.type":                                         "OVF",
		"vmimage/photon-5 .status.guestID":                                      "vmwarePhoton64Guest",
		"vmimage/photon-5 .status.firmware":                                     "EFI",
		"vmimage/photon-5 .status.hardwareVersion":                              "19",
		"vmimage/photon-5 .status.disks[*].capacity":                            "16Gi",
		`vmimage/photon-5 .status.conditions[?(@.type=="OVFReady")].status`:     "True",
		"vmimage/appliance .status.properties[*].key":                           "instance-id hostname user-data",
		`vmimage/appliance .status.properties[?(@.key=="hostname")].default`:    "ubuntuguest",
		"vmimage/ubuntu-24.04 .status.type":                                     "Template",
		"vmimage/ubuntu-24.04 .status.disks[*].capacity":                        "16Gi",
		`vmimage/ubuntu-24.04 .status.conditions[?(@.type=="OVFReady")].status`: "",
	} {
		object, path, _ := strings.Cut(what, " ")
		if got := u.get(object, path); got != want {
			t.Errorf("%s of %s is %q, want %q", path, object, got, want)
		}
	}
	table := u.kubectl("get", "vmimage", "-o", "wide")
	for _, want := range []string{"READY", "GUEST", "DISK", "FIRMWARE", "HARDWARE", "VCENTERS", "vmwarePhoton64Guest", "vmx-19", "16Gi", "NotFound"} {
		if !strings.Contains(table, want) {
			t.Errorf("kubectl get vmimage -o wide lacks %q:\n%s", want, table)
		}
	}
}

func TestAVMIsMadeFromAnImageOfTheCluster(t *testing.T) {
	t.Parallel()
	u := admin(t)
	name := "photon-of-" + u.namespace // as such images are of no namespace
	u.apply(catalogue + fmt.Sprintf(`
---
apiVersion: vm.slipway.dev/v1alpha1
kind: ClusterVirtualMachineImage
metadata: {name: %s, labels: {instancetype.kubevirt.io/default-instancetype: small, instancetype.kubevirt.io/default-instancetype-kind: VirtualMachineInstancetype}}
spec:
  contentLibrary: {library: slipway, item: photon-5}
---
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachine
metadata: {name: web}
spec:
  instancetype: {inferFromVolume: image}
  image: {kind: ClusterVirtualMachineImage, name: %[1]s}
`, name))
	defer u.kubectl("delete", "cvmimage/"+name)
	u.kubectl("wait", "--for=condition=Ready", "cvmimage/"+name, "vm/web", "--timeout=90s")
	if hw := inventory(t, u.namespace)["web"].Config.Hardware; hw.NumCPU != 2 {
		t.Errorf("the vCenter has %d vCPUs, want the 2 of the instance type that the image names", hw.NumCPU)
	}
	if got := u.get("cvmimage/"+name, ".status.guestID"); got != "vmwarePhoton64Guest" {
		t.Errorf("guestID %q, want that of the descriptor", got)
	}
}
