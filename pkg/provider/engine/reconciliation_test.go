// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

func TestDesired_HasThePreviousPrimaryAddresses(t *testing.T) {
	vm := &vmv1alpha1.VirtualMachine{}
	if got := desiredOf(&provider.Request{VM: vm}).PrimaryAddresses; got != nil {
		t.Errorf("without a network in status: %q, want none", got)
	}
	vm.Status.Network = &vmv1alpha1.VirtualMachineNetworkStatus{PrimaryIP4: "192.0.2.9", PrimaryIP6: "2001:db8::9"}
	if diff := cmp.Diff([]string{"192.0.2.9", "2001:db8::9"}, desiredOf(&provider.Request{VM: vm}).PrimaryAddresses); diff != "" {
		t.Errorf("primary addresses (-want +got):\n%s", diff)
	}
}
