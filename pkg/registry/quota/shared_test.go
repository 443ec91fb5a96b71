// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Half a GiB has another representation than one GiB, and Cmp changes the representation of a quantity.
func TestMeasure_DoesNotModifySharedQuantities(t *testing.T) {
	one, half := resource.MustParse("1Gi"), resource.MustParse("0.5Gi")
	for _, pair := range [][2]resource.Quantity{{one, half}, {half, one}} {
		has, wanted := pair[0], pair[1]
		chargeSize(&vmv1alpha1.VirtualMachine{}, &vmv1alpha1.VirtualMachineResources{Memory: &has}, &vmv1alpha1.VirtualMachineResources{Memory: &wanted})
		greater(&has, &wanted)
		if !reflect.DeepEqual(pair, [2]resource.Quantity{has, wanted}) {
			t.Errorf("measuring changed %+v to %+v and %+v", pair, has, wanted)
		}
	}
}
