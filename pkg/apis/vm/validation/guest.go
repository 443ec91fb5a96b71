// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"net/netip"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

const (
	// maxProbePeriod and maxProbeTimeout are the maximum period and timeout of a probe, in seconds.
	maxProbePeriod  = 3600
	maxProbeTimeout = 60
	maxPort         = 65535
)

// validateProbe checks that exactly one action is set.
func validateProbe(probe *vmv1alpha1.VirtualMachineReadinessProbe, path *field.Path) field.ErrorList {
	if probe == nil {
		return nil
	}
	var errs field.ErrorList
	var set []string
	if probe.TCPSocket != nil {
		set = append(set, "tcpSocket")
		errs = append(errs, validateTCPSocket(probe.TCPSocket, path.Child("tcpSocket"))...)
	}
	if probe.GuestHeartbeat != nil {
		set = append(set, "guestHeartbeat")
		errs = append(errs, validateEnum(probe.GuestHeartbeat.ThresholdStatus, path.Child("guestHeartbeat", "thresholdStatus"),
			vmv1alpha1.GuestHeartbeatYellow, vmv1alpha1.GuestHeartbeatGreen)...)
	}
	if len(probe.GuestInfo) > 0 {
		set = append(set, "guestInfo")
		errs = append(errs, validateGuestInfo(probe.GuestInfo, path.Child("guestInfo"))...)
	}
	errs = append(errs, validateExactlyOne(set, "tcpSocket, guestHeartbeat, guestInfo", path)...)
	// 0 means unset. Defaulting, which runs before validation, sets the field.
	if probe.PeriodSeconds != 0 {
		errs = append(errs, validateRange(int64(probe.PeriodSeconds), 1, maxProbePeriod, path.Child("periodSeconds"))...)
	}
	if probe.TimeoutSeconds != 0 {
		errs = append(errs, validateRange(int64(probe.TimeoutSeconds), 1, maxProbeTimeout, path.Child("timeoutSeconds"))...)
	}
	return errs
}

// validateTCPSocket checks the host and port.
func validateTCPSocket(action *vmv1alpha1.TCPSocketAction, path *field.Path) field.ErrorList {
	errs := validateRange(int64(action.Port), 1, maxPort, path.Child("port"))
	if action.Host == "" {
		return errs
	}
	// The server would resolve a name with the DNS of its own network.
	if a, err := netip.ParseAddr(action.Host); err != nil || a.Zone() != "" {
		errs = append(errs, field.Invalid(path.Child("host"), action.Host, "must be an IP address of the guest"))
	}
	return errs
}

// validateGuestInfo checks keys and expressions.
func validateGuestInfo(actions []vmv1alpha1.GuestInfoAction, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[string]()
	for i, action := range actions {
		keyPath := path.Index(i).Child("key")
		switch {
		case action.Key == "":
			errs = append(errs, field.Required(keyPath, "must be the name of a variable without the prefix guestinfo."))
		case seen.Has(action.Key):
			errs = append(errs, field.Duplicate(keyPath, action.Key))
		}
		seen.Insert(action.Key)
		if _, err := CompileGuestInfo(action.Value); err != nil {
			errs = append(errs, field.Invalid(path.Index(i).Child("value"), action.Value, err.Error()))
		}
	}
	return errs
}
