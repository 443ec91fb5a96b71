// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"
	"time"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Target is the address that a probe connects to, with its period and timeout.
type Target struct {
	// Address is the IP address and port.
	Address netip.AddrPort
	// Period is the time between the end of one attempt and the start of the next. Timeout is the time limit of one
	// attempt.
	Period, Timeout time.Duration
}

// TargetOf returns the target of vm. It returns nil if there is nothing to connect to: the probe is of another kind, or
// the virtual machine does not run or has no address. It returns an error if the address is not an address of the
// guest.
func TargetOf(vm *vmv1alpha1.VirtualMachine) (*Target, error) {
	probe := vm.Spec.ReadinessProbe
	if probe == nil || probe.TCPSocket == nil || vm.Status.PowerState != vmv1alpha1.PoweredOn || vm.DeletionTimestamp != nil {
		return nil, nil
	}
	text := probe.TCPSocket.Host
	if n := vm.Status.Network; n != nil && text == "" {
		text = cmp.Or(n.PrimaryIP4, n.PrimaryIP6)
	}
	if text == "" {
		return nil, nil
	}
	address, err := netip.ParseAddr(text)
	if err != nil || address.Zone() != "" {
		return nil, fmt.Errorf("host: %q is not an IP address; host names are not supported", text)
	}
	if !isReported(vm, address) {
		return nil, fmt.Errorf("host: %s is not an address that the guest of this virtual machine reports", address)
	}
	return &Target{
		Address: netip.AddrPortFrom(address.Unmap(), uint16(probe.TCPSocket.Port)),
		Period:  seconds(probe.PeriodSeconds, vmv1alpha1.DefaultProbePeriodSeconds),
		Timeout: seconds(probe.TimeoutSeconds, vmv1alpha1.DefaultProbeTimeoutSeconds),
	}, nil
}

func seconds(n, unset int32) time.Duration { return time.Duration(cmp.Or(n, unset)) * time.Second }

// isReported reports whether the status has an address of the guest.
func isReported(vm *vmv1alpha1.VirtualMachine, address netip.Addr) bool {
	n := vm.Status.Network
	if n == nil {
		return false
	}
	is := func(text string) bool {
		text, _, _ = strings.Cut(text, "/")
		a, err := netip.ParseAddr(text)
		return err == nil && a.Unmap() == address.Unmap()
	}
	if is(n.PrimaryIP4) || is(n.PrimaryIP6) {
		return true
	}
	for _, i := range n.Interfaces {
		for _, text := range i.IPAddresses {
			if is(text) {
				return true
			}
		}
	}
	return false
}
