// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/access"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"
	"github.com/slipway-dev/slipway/test/simulated"
)

// The simulated vCenter requires the privileges that VMware's API documentation lists.
func TestPrivileges_AreSufficientForTheLifecycle(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	for path, ids := range map[string][]string{
		"/DC0":                       {"System.Read"},
		"/DC0/vm/slipway":            access.Required[placement.WhatFolder],
		"/DC0/vm/templates":          {"System.Read", "VirtualMachine.Provisioning.DeployTemplate", "VirtualMachine.Provisioning.Clone"},
		"/DC0/host/DC0_C0/Resources": access.Required[placement.WhatPool],
		"/DC0/datastore/LocalDS_0":   access.Required[placement.WhatDatastore],
		"/DC0/network/VM Network":    access.Required[placement.WhatNetwork],
	} {
		q := url.Values{"entity": {path}, "only": {"System.Anonymous,System.View," + strings.Join(ids, ",")}}
		simulated.Control(t, ready, http.MethodPut, "/permissions?"+q.Encode())
	}
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	for _, image := range []*vmv1alpha1.VirtualMachineImage{libraryImage(), templateImage()} {
		req := newRequest("web", image)
		l.until("the VM runs with an address", isRunning(req), req)
		resize(t, l, req)
		restart(t, l, req)
		req.VM.Spec.PowerState = vmv1alpha1.Suspended
		l.until("the VM is suspended", func() bool { return req.VM.Status.PowerState == vmv1alpha1.Suspended }, req)
		req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
		l.until("the VM is off", func() bool { return req.VM.Status.PowerState == vmv1alpha1.PoweredOff }, req)
		l.remove(req)
	}
}
