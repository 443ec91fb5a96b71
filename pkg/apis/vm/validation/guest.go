// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

const (
	// maxProbePeriod and maxProbeTimeout bound the times of a probe, in seconds.
	maxProbePeriod  = 3600
	maxProbeTimeout = 60
	maxPort         = 65535
)

// validateBootstrap checks that at most one provider configures the guest.
func validateBootstrap(bootstrap *vmv1alpha1.VirtualMachineBootstrap, path *field.Path) field.ErrorList {
	if bootstrap == nil {
		return nil
	}
	var errs field.ErrorList
	var set []string
	if cloudInit := bootstrap.CloudInit; cloudInit != nil {
		set = append(set, "cloudInit")
		errs = append(errs, validateSecretKey(cloudInit.RawCloudConfig, path.Child("cloudInit", "rawCloudConfig"))...)
	}
	if bootstrap.LinuxPrep != nil {
		set = append(set, "linuxPrep")
	}
	if sysprep := bootstrap.Sysprep; sysprep != nil {
		set = append(set, "sysprep")
		errs = append(errs, validateSecretKey(sysprep.RawSysprep, path.Child("sysprep", "rawSysprep"))...)
	}
	if vApp := bootstrap.VAppConfig; vApp != nil {
		set = append(set, "vAppConfig")
		vAppPath := path.Child("vAppConfig")
		if _, ok := vApp.Properties[""]; ok {
			errs = append(errs, field.Invalid(vAppPath.Child("properties"), "", "a property must have a key"))
		}
		if len(vApp.Properties) > 0 && vApp.RawProperties != "" {
			errs = append(errs, field.Invalid(vAppPath.Child("rawProperties"), vApp.RawProperties, "may not be set together with properties"))
		}
		errs = append(errs, validateName(vApp.RawProperties, vAppPath.Child("rawProperties"))...)
	}
	if len(set) > 1 {
		errs = append(errs, field.Invalid(path, strings.Join(set, ", "), "at most one of these providers may be set"))
	}
	return errs
}

// validateSecretKey checks a reference to a key of a Secret, if there is one.
func validateSecretKey(selector *vmv1alpha1.SecretKeySelector, path *field.Path) field.ErrorList {
	if selector == nil {
		return nil
	}
	errs := validateRequiredName(selector.Name, path.Child("name"))
	if selector.Key != "" {
		errs = append(errs, invalid(selector.Key, path.Child("key"), validation.IsConfigMapKey(selector.Key))...)
	}
	return errs
}

// validateProbe checks that exactly one action decides readiness.
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
	// 0 is unset: defaulting comes first and leaves none.
	if probe.PeriodSeconds != 0 {
		errs = append(errs, validateRange(int64(probe.PeriodSeconds), 1, maxProbePeriod, path.Child("periodSeconds"))...)
	}
	if probe.TimeoutSeconds != 0 {
		errs = append(errs, validateRange(int64(probe.TimeoutSeconds), 1, maxProbeTimeout, path.Child("timeoutSeconds"))...)
	}
	return errs
}

// validateTCPSocket checks where to connect to.
func validateTCPSocket(action *vmv1alpha1.TCPSocketAction, path *field.Path) field.ErrorList {
	errs := validateRange(int64(action.Port), 1, maxPort, path.Child("port"))
	if action.Host == "" {
		return errs
	}
	// A name would be looked up by the server, which knows names of its own network.
	if a, err := netip.ParseAddr(action.Host); err != nil || a.Zone() != "" {
		errs = append(errs, field.Invalid(path.Child("host"), action.Host, "must be an IP address, one of those of the guest"))
	}
	return errs
}

// validateGuestInfo checks keys and patterns.
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
