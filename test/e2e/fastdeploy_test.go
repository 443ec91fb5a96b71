// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// fastVM is a VM of the catalogue whose disks are made of copies by mode.
func fastVM(name, mode string, lines ...string) string {
	return strings.Replace(vmManifest(name, lines...), "metadata: {name: "+name, "metadata: {annotations: {"+vmv1alpha1.AnnotationFastDeploy+": "+mode+"}, name: "+name, 1)
}

// disksOf are the files of the disks of a VM, and those that they depend on.
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

// From an image to a running virtual machine, in both modes: the first one waits for the copy,
// which the others have.
func TestVMsAreMadeOfCopiesOfTheirImage(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.apply(catalogue + fastVM("first", "direct") + fastVM("direct", "direct") + fastVM("linked", "linked", "promoteDisksMode: Disabled") + fastVM("promoted", "linked"))
	u.kubectl("wait", "--for=condition=Ready", "vm/first", "vm/direct", "vm/linked", "vm/promoted", "--timeout=90s")
	u.kubectl("wait", "--for=condition=DiskPromotionSynced", "vm/promoted", "--timeout=90s")
	machines := inventory(t, u.namespace)
	for _, name := range []string{"first", "direct", "linked", "promoted"} {
		files, parents := disksOf(machines[name])
		uid := u.get("vm/"+name, ".metadata.uid")
		if len(files) != 1 || !strings.Contains(files[0], uid+"/disk-0.vmdk") {
			t.Errorf("the disks of %s are %q, want one in the directory %s", name, files, uid)
		}
		if linked := len(parents) > 0; linked != (name == "linked") {
			t.Errorf("the disks of %s depend on %q", name, parents)
		}
		if got := u.get("vm/"+name, ".metadata.labels"); strings.Contains(got, vmv1alpha1.LabelImageCache) {
			t.Errorf("%s still waits for copies: %s", name, got)
		}
		u.wants("vm/"+name, `.status.conditions[?(@.type=="ImageCacheReady")].status`, "True")
	}
	caches := strings.Fields(u.kubectl("get", "vmicache", "-o", `jsonpath={range .items[*]}{.spec.contentLibrary.item}{"\n"}{end}`))
	if !slices.Contains(caches, "photon-5") {
		t.Errorf("caches of %q, want one of photon-5", caches)
	}
	u.kubectl("delete", "vm", "--all", "--timeout=90s")
	gone(t, u.namespace)
	// What they depended on is still there: another one is made at once.
	u.apply(fastVM("later", "linked"))
	u.kubectl("wait", "--for=condition=Ready", "vm/later", "--timeout=90s")
}

func TestAModeThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.refused(catalogue+fastVM("web", "Linked"), []string{"apply", "-f", "-"}, `Unsupported value: "Linked"`, `"off", "direct", "linked"`)
}
