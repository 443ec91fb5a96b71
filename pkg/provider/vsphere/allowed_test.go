// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// isFalseWith reports whether a condition is False with the reason, and its message contains all words.
func isFalseWith(st *vmv1alpha1.VirtualMachineStatus, conditionType, reason string, words ...string) bool {
	c := meta.FindStatusCondition(st.Conditions, conditionType)
	if c == nil || c.Status != "False" || c.Reason != reason {
		return false
	}
	for _, word := range words {
		if !strings.Contains(c.Message, word) {
			return false
		}
	}
	return true
}

func TestNetwork_MustBeAllowed(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, func(s *settings) { s.Networks = []string{"/DC0/network/tenants"} })
	l := newLoop(t, p)
	addNetwork(t, ready, "tenants")
	for name, network := range map[string]string{
		"management": "DC0_DVPG0", "by-path": "/DC0/network/DC0_DVPG0", "missing": "no-such-network",
		"everything": "*", "pattern": "tenant?", "dot-dot": "/DC0/network/../network/tenants",
	} {
		req := newRequest(name, libraryImage())
		req.Effective.Network.Interfaces[0].Network = network
		st := &req.VM.Status
		l.until(name+" is refused", func() bool {
			return isFalseWith(st, vmv1alpha1.ConditionNetworkReady, vmv1alpha1.ReasonNotAllowed, network, "--vcenter-networks", "tenants", "VM Network")
		}, req)
		if st.UniqueID != "" {
			t.Errorf("%s: a VM was created", name)
		}
	}
	for name, network := range map[string]string{"default": "", "default-by-name": "VM Network", "by-path": "/DC0/network/VM Network", "listed": "tenants"} {
		req := newRequest("allowed-"+name, libraryImage())
		req.Effective.Network.Interfaces[0].Network = network
		l.until(name+" runs", isRunning(req), req)
	}

	// A running VM keeps its network when a change is refused.
	req := newRequest("changed", libraryImage())
	l.until("the VM runs", isRunning(req), req)
	req.Effective.Network.Interfaces[0].Network = "DC0_DVPG0"
	l.until("the change is refused", func() bool {
		return isFalseWith(&req.VM.Status, vmv1alpha1.ConditionNetworkReady, vmv1alpha1.ReasonNotAllowed, "DC0_DVPG0")
	}, req)
	if st := req.VM.Status; st.PowerState != vmv1alpha1.PoweredOn || !isTrue(&st, vmv1alpha1.ConditionCreated) {
		t.Errorf("the VM is %s, want it to keep running", st.PowerState)
	}
}

func TestHostDevice_MustBeAllowed(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	newDevices := func(name string, gpu, host string) *vmv1alpha1.VirtualMachineDevices {
		d := &vmv1alpha1.VirtualMachineDevices{}
		if gpu != "" {
			d.GPUs = []vmv1alpha1.VirtualMachineDevice{{Name: name, DeviceName: gpu}}
		}
		if host != "" {
			d.HostDevices = []vmv1alpha1.VirtualMachineDevice{{Name: name, DeviceName: host}}
		}
		return d
	}
	for name, tc := range map[string]struct {
		allowed   []string
		gpu, host string
		refused   string
	}{
		"a-host-device":       {nil, "", "8086:1572", `devices.hostDevices[a-host-device].deviceName "8086:1572"`},
		"a-vgpu":              {nil, "grid_a100-10c", "", `devices.gpus[a-vgpu].deviceName "grid_a100-10c"`},
		"another":             {[]string{"10de:2231"}, "", "8086:1572", `"10de:2231"`},
		"one-of-two":          {[]string{"grid_a100-10c"}, "grid_a100-10c", "8086:1572", `"8086:1572" is not allowed`},
		"in-another-spelling": {[]string{"8086:1572"}, "", "0x8086:0x1572", ""},
		"a-vgpu-by-name":      {[]string{"grid_a100-10c"}, "grid_a100-10c", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := startProvider(t, ready, func(s *settings) { s.HostDevices = tc.allowed })
			l := newLoop(t, p)
			req := newRequest(name, libraryImage())
			req.Effective.Devices = newDevices(name, tc.gpu, tc.host)
			if tc.refused == "" {
				l.until("the VM runs", isRunning(req), req)
				return
			}
			l.until("the VM is refused", func() bool {
				return isFalseWith(&req.VM.Status, vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonNotAllowed, tc.refused, "--vcenter-host-devices")
			}, req)
		})
	}
	t.Run("a device added to an existing VM", func(t *testing.T) {
		p, _ := startProvider(t, ready, func(s *settings) { s.HostDevices = nil })
		l := newLoop(t, p)
		req := newRequest("later", libraryImage())
		l.until("the VM runs", isRunning(req), req)
		req.Effective.Devices = newDevices("nic", "", "8086:1572")
		l.until("the change is refused", func() bool {
			return isFalseWith(&req.VM.Status, vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ReasonNotAllowed, "devices.hostDevices[nic]")
		}, req)
	})
}
