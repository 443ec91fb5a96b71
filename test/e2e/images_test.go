// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/testenv"
)

func TestImages_ReportTheirContents(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.Put(testenv.Catalogue + `
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
	u.Ready("vmimage/photon-5", "vmimage/ubuntu-24.04", "vmimage/appliance")
	u.Wants("vmimage/none", `.status.conditions[?(@.type=="Ready")].reason`, "NotFound")
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
		if got := u.Get(object, path); got != want {
			t.Errorf("%s of %s is %q, want %q", path, object, got, want)
		}
	}
	table := u.Kubectl("get", "vmimage", "-o", "wide")
	for _, want := range []string{"READY", "GUEST", "DISK", "FIRMWARE", "HARDWARE", "VCENTERS", "vmwarePhoton64Guest", "vmx-19", "16Gi", "NotFound"} {
		if !strings.Contains(table, want) {
			t.Errorf("kubectl get vmimage -o wide lacks %q:\n%s", want, table)
		}
	}
	u.part("a VM from an image of the cluster", func(t *testing.T, u user) {
		name := "photon-of-" + u.Namespace // such images are cluster-scoped
		u.Put(fmt.Sprintf(`
---
apiVersion: vm.slipway.dev/v1alpha1
kind: ClusterVirtualMachineImage
metadata: {name: %s, labels: {instancetype.kubevirt.io/default-instancetype: small, instancetype.kubevirt.io/default-instancetype-kind: VirtualMachineInstancetype}}
spec:
  contentLibrary: {library: slipway, item: photon-5}
---
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachine
metadata: {name: of-the-cluster}
spec:
  instancetype: {inferFromVolume: image}
  image: {kind: ClusterVirtualMachineImage, name: %[1]s}
`, name))
		u.RemoveAtEnd("cvmimage/" + name)
		u.Ready("cvmimage/"+name, "vm/of-the-cluster")
		if hw := testenv.Inventory(t, u.Namespace)["of-the-cluster"].Config.Hardware; hw.NumCPU != 2 {
			t.Errorf("the vCenter has %d vCPUs, want the 2 of the instance type that the image names", hw.NumCPU)
		}
		if got := u.Get("cvmimage/"+name, ".status.guestID"); got != "vmwarePhoton64Guest" {
			t.Errorf("guestID %q, want that of the descriptor", got)
		}
	})
	u.part("a VM from a template", func(t *testing.T, u user) {
		u.Put(testenv.InlineVM("db", "ubuntu-24.04"))
		u.Ready("vm/db")
		u.hardware("db", 1, 1024)
		if got, want := testenv.Inventory(t, u.Namespace)["db"].Config.InstanceUuid, u.Get("vm/db", ".metadata.uid"); got != want {
			t.Errorf("instance UUID %q, want %q", got, want)
		}
	})
	u.part("VMs from copies of their image", func(t *testing.T, u user) { u.deploysFast(t) })
}

// deploysFast creates running virtual machines from an image in both modes. The first one waits for the copy, which the
// others use.
func (u user) deploysFast(t *testing.T) {
	u.Put(fastVM("first", "direct") + fastVM("direct", "direct") + fastVM("linked", "linked", "promoteDisksMode: Disabled") + fastVM("promoted", "linked"))
	u.Ready("vm/first", "vm/direct", "vm/linked", "vm/promoted")
	u.Meets("DiskPromotionSynced", "vm/promoted")
	machines := testenv.Inventory(t, u.Namespace)
	for _, name := range []string{"first", "direct", "linked", "promoted"} {
		files, parents := disksOf(machines[name])
		uid := u.Get("vm/"+name, ".metadata.uid")
		if len(files) != 1 || !strings.Contains(files[0], uid+"/disk-0.vmdk") {
			t.Errorf("the disks of %s are %q, want one in the directory %s", name, files, uid)
		}
		if linked := len(parents) > 0; linked != (name == "linked") {
			t.Errorf("the disks of %s depend on %q", name, parents)
		}
		if got := u.Get("vm/"+name, ".metadata.labels"); strings.Contains(got, vmv1alpha1.LabelImageCache) {
			t.Errorf("%s still waits for copies: %s", name, got)
		}
		u.Wants("vm/"+name, `.status.conditions[?(@.type=="ImageCacheReady")].status`, "True")
	}
	caches := strings.Fields(u.Kubectl("get", "vmicache", "-o", `jsonpath={range .items[*]}{.spec.contentLibrary.item}{"\n"}{end}`))
	if !slices.Contains(caches, "photon-5") {
		t.Errorf("caches of %q, want one of photon-5", caches)
	}
	u.Delete("vm/first", "vm/direct", "vm/linked", "vm/promoted")
	// The previous parent disk still exists, so another VM is created immediately.
	u.Put(fastVM("later", "linked"))
	u.Ready("vm/later")
	u.Denied(fastVM("odd", "Linked"), `Unsupported value: "Linked"`, `"off", "direct", "linked"`)
}

// fastVM is a VM of the catalogue whose disks are created from image copies with the given mode.
func fastVM(name, mode string, lines ...string) string {
	return strings.Replace(testenv.VM(name, lines...), "metadata: {name: "+name, "metadata: {annotations: {"+vmv1alpha1.AnnotationFastDeploy+": "+mode+"}, name: "+name, 1)
}

// disksOf returns the disk files of a VM and the files that they depend on.
func disksOf(vm mo.VirtualMachine) (files, parents []string) {
	for _, d := range vm.Config.Hardware.Device {
		disk, ok := d.(*types.VirtualDisk)
		if !ok {
			continue
		}
		b := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
		files = append(files, b.FileName)
		if b.Parent != nil {
			parents = append(parents, b.Parent.FileName)
		}
	}
	return files, parents
}
