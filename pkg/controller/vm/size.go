// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"k8s.io/apimachinery/pkg/api/equality"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// showSize shows the size that the virtual machine has, beside it the one that it shall
// have while that is another, and the generation of the class that it has it from. The
// synchronizers have filled in those that are wanted.
func showSize(p *pass) {
	before, status := &p.original.Status, &p.vm.Status
	created, done := isTrue(p.vm, vmv1alpha1.ConditionCreated), applied(p) && len(status.RestartRequired) == 0
	if wanted := instancetype.Resources(p.effective); wanted != nil {
		has := wanted
		switch {
		case !created || done:
		case runs(p.vm):
			has = instancetype.Resources(p.runsWith(p.vmi))
		case before.Resources != nil:
			has = before.Resources
		}
		status.Resources, status.DesiredResources = has, nil
		if !equality.Semantic.DeepEqual(has, wanted) {
			status.DesiredResources = wanted
		}
	}
	if created && !done && status.Class != nil && before.Class != nil {
		status.Class = before.Class
	}
}
