// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/compliance"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// AddCompliance adds the storage policy compliance to the observation of vm. status is the compliance status by object
// key, with vSphere's values.
func AddCompliance(o *provider.Observation, vm *mo.VirtualMachine, status map[string]string) {
	kind := vmv1alpha1.ConditionStorageCompliant
	objects := compliance.Objects(vm)
	if !o.Readable || len(objects) == 0 {
		o.Set(metav1.Condition{Type: kind})
		return
	}
	var bad, unknown []string
	check := func(name, key string) string {
		switch s := status[key]; s {
		case "compliant", "notApplicable":
			return s
		case "nonCompliant", "outOfDate":
			bad = append(bad, name+" is "+s)
			return s
		default:
			unknown = append(unknown, name)
			return s
		}
	}
	recorded := map[string]bool{}
	for _, object := range objects {
		recorded[object.Key] = true
	}
	if o.Storage != nil && recorded[vm.Self.Value] {
		o.Storage.Compliance = check("the virtual machine itself", vm.Self.Value)
	}
	if disk, _ := observe.BootDisk(vm); disk != nil && recorded[compliance.DiskKey(vm, disk)] && o.Storage != nil && o.Storage.BootDisk != nil {
		o.Storage.BootDisk.Compliance = check("bootDisk", compliance.DiskKey(vm, disk))
	}
	disks := observe.Volumes(vm)
	for i := range o.Volumes {
		v := &o.Volumes[i]
		if disk := disks[v.Name]; disk != nil && recorded[compliance.DiskKey(vm, disk)] {
			v.Compliance = check(hardware.VolumePath(v.Name), compliance.DiskKey(vm, disk))
		}
	}
	switch {
	case len(bad) > 0:
		o.Set(falseCondition(kind, vmv1alpha1.ReasonNonCompliant, "storage policy compliance: "+conditions.JoinLimited(bad, ", ")))
	case len(unknown) > 0:
		o.Set(metav1.Condition{Type: kind, Status: metav1.ConditionUnknown, Reason: vmv1alpha1.ReasonUnknownState,
			Message: "vSphere has not yet reported the compliance of " + strings.Join(unknown, ", ")})
	default:
		o.Set(trueCondition(kind))
	}
}
