// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	vimtypes "github.com/vmware/govmomi/vim25/types"
)

// errorf is fmt.Errorf, for checks that are read as sentences.
var errorf = fmt.Errorf

const crowd = 50

// allRun waits until the namespace has exactly the VMs of the crowd in vSphere,
// none twice, all powered on and all Ready.
func allRun(t *testing.T, u user) {
	t.Helper()
	u.kubectl("wait", "--for=condition=Ready", "vm", "--all", "--timeout=90s")
	vms := inventory(t, u.namespace) // fails on a name that is there twice
	if len(vms) != crowd {
		t.Errorf("the vCenter has %d VMs, want %d", len(vms), crowd)
	}
	uuids := map[string]string{}
	for name, vm := range vms {
		if vm.Runtime.PowerState != vimtypes.VirtualMachinePowerStatePoweredOn {
			t.Errorf("%s is %s, want poweredOn", name, vm.Runtime.PowerState)
		}
		if other, ok := uuids[vm.Config.InstanceUuid]; ok {
			t.Errorf("%s and %s have the same instance UUID", name, other)
		}
		uuids[vm.Config.InstanceUuid] = name
	}
}

func crowdManifest() string {
	var b strings.Builder
	b.WriteString(catalogue)
	for i := range crowd {
		b.WriteString(vmManifest(fmt.Sprintf("vm-%02d", i)))
	}
	return b.String()
}

// someCreated waits until the create of the crowd is under way: some VMs are
// there, not all.
func someCreated(t *testing.T, u user) {
	t.Helper()
	eventually(t, long, "the crowd is being created", func() error {
		if n := len(inventory(t, u.namespace)); n < 5 {
			return errorf("the vCenter has %d of them", n)
		}
		return nil
	})
}

func TestCrowdSurvivesAKillOfTheServer(t *testing.T) {
	u := admin(t)
	u.apply(crowdManifest())
	someCreated(t, u)
	u.killSlipway()
	allRun(t, u)
}

func TestCrowdSurvivesTheLossOfTheVCenterSession(t *testing.T) {
	u := admin(t)
	u.apply(crowdManifest())
	someCreated(t, u)
	orderVCenter(t, http.MethodPost, "/sessions/drop")
	allRun(t, u)
}
