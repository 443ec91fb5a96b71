// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

const (
	hostNamePath   = "network.hostName"
	domainNamePath = "network.domainName"
	interfacesPath = "network.interfaces["
	publicKeysPath = "bootstrap.cloudInit.sshAuthorizedKeys"
	// maxShownSetting is the maximum length of a setting in a message, in characters.
	maxShownSetting = 64
)

// notSettings are bootstrap fields that are not passed to the guest. They can take effect at any time.
var notSettings = []string{instanceIDPath, "bootstrap.waitForTools", "bootstrap.removeAfterFirstBoot"}

// confidentialSettings are fields that may contain passwords. Only their digest is recorded.
var confidentialSettings = []string{"bootstrap.cloudInit.cloudConfig", "bootstrap.vAppConfig.properties", "bootstrap.sysprep.answers.runOnce"}

// guestSettings are settings that only the guest can apply, by field path.
type guestSettings map[string]string

// networkSettings returns the guest network settings of the spec.
func networkSettings(e *vmv1alpha1.VirtualMachineInstanceSpec) guestSettings {
	out := guestSettings{}
	if e.Network == nil {
		return out
	}
	set := func(path, value string) {
		if value != "" {
			out[path] = value
		}
	}
	set(hostNamePath, e.Network.HostName)
	set(domainNamePath, e.Network.DomainName)
	interfaces := interfacesOf(e)
	if len(interfaces) > 0 {
		set("network.nameservers", strings.Join(e.Network.Nameservers, ", "))
		set("network.searchDomains", strings.Join(e.Network.SearchDomains, ", "))
	}
	for i := range interfaces {
		for field, value := range interfaceSettings(&interfaces[i]) {
			if list, ok := value.([]string); ok {
				value = strings.Join(list, ", ")
			}
			set(hardware.Interface(interfaces[i].Name)+"."+field, fmt.Sprint(value))
		}
	}
	return out
}

// bootstrapSettings returns all bootstrap fields that are set. It reads them from the JSON form, so that new API
// fields are included.
func bootstrapSettings(b *vmv1alpha1.VirtualMachineBootstrap) guestSettings {
	out := guestSettings{}
	if b == nil {
		return out
	}
	text, err := json.Marshal(b)
	var fields map[string]any
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil {
		// A bootstrap contains only strings, numbers, booleans, lists and maps.
		panic(fmt.Sprintf("marshalling a bootstrap: %v", err))
	}
	addSettings(out, "bootstrap", fields)
	for _, path := range notSettings {
		delete(out, path)
	}
	return out
}

func addSettings(out guestSettings, path string, fields map[string]any) {
	for name, value := range fields {
		at := path + "." + name
		confidential := slices.Contains(confidentialSettings, at)
		if inner, ok := value.(map[string]any); ok && !confidential {
			if path == "bootstrap" {
				out[at] = "set" // It may have no other fields.
			}
			addSettings(out, at, inner)
			continue
		}
		text, ok := value.(string)
		if !ok {
			all, _ := json.Marshal(value) // The value was read from JSON.
			text = string(all)
		}
		if confidential || len(text) > maxShownSetting || strings.ContainsAny(text, "\r\n") {
			text = fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text)))
		}
		out[at] = text
	}
}

// notPassed returns the network settings that no bootstrap passes to the guest, with the reason. Addresses are not
// included, because they are refused.
func notPassed(in *input) guestSettings {
	const needs = "requires bootstrap.cloudInit"
	out, e := guestSettings{}, in.Effective
	cloudInit, customized := guestAgents(e)
	interfaces := map[string]*vmv1alpha1.VirtualMachineNetworkInterface{}
	for i, all := 0, interfacesOf(e); i < len(all); i++ {
		interfaces[all[i].Name] = &all[i]
	}
	for path, value := range networkSettings(e) {
		name, field, _ := strings.Cut(strings.TrimPrefix(path, interfacesPath), "].")
		switch {
		case in.adopted:
			out[path] = "the guest had already booted when the virtual machine was adopted: change it in the guest"
		case cloudInit:
			if e.Bootstrap.CloudInit.RawNetworkConfig != nil && path != hostNamePath && path != domainNamePath {
				out[path] = "replaced by bootstrap.cloudInit.rawNetworkConfig"
			}
		case customized && path == hostNamePath:
			if s := e.Bootstrap.Sysprep; s != nil && s.RawSysprep != nil {
				out[path] = "the answer file of bootstrap.sysprep sets the computer name"
			}
		case field == "mtu":
			out[path] = needs
		case field == "dhcp4" && value == "false":
			if i := interfaces[name]; !customized || i == nil || countIPv4(i.Addresses) == 0 {
				out[path] = needs
			}
		case customized, field == "dhcp4", field == "dhcp6" && value == "false", field == "addresses", field == "gateway4", field == "gateway6":
		default:
			out[path] = needs
		}
	}
	return out
}

// passedSettings returns the settings that the guest gets at its first boot.
func passedSettings(in *input) guestSettings {
	out := bootstrapSettings(in.Effective.Bootstrap)
	if in.adopted {
		return nil
	}
	if cloudInit, customized := guestAgents(in.Effective); cloudInit || customized {
		not := notPassed(in)
		for path, value := range networkSettings(in.Effective) {
			if _, isNot := not[path]; !isNot {
				out[path] = value
			}
		}
	}
	return out
}

// givenSettings returns the recorded settings that the guest got at its first boot.
func givenSettings(in *input) guestSettings {
	out := guestSettings{}
	if err := json.Unmarshal([]byte(in.extra(observe.GuestSettingsKey)), &out); err != nil {
		return guestSettings{}
	}
	return out
}

// text returns the value for observe.GuestSettingsKey.
func (s guestSettings) text() string {
	if len(s) == 0 {
		return ""
	}
	out, _ := json.Marshal(s) // A map of strings can always be marshalled.
	return string(out)
}

// recordGuestSettings records the settings that the guest gets. For a new VM and for a new instance ID it records
// all of them. Until the guest has read cloud-init's metadata, it also updates the settings in the metadata,
// because the metadata follows the spec until then.
func recordGuestSettings(in *input) Difference {
	b := in.Effective.Bootstrap
	isNew := !in.exists() || in.New
	cloudInit := !isNew && b != nil && b.CloudInit != nil
	renewed := cloudInit && hasNewInstanceID(in, b.CloudInit)
	unread := cloudInit && in.vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOff && !observe.BootstrapRead(in.vm, b)
	switch {
	case in.adopted, !isNew && !renewed && !unread, renewed && in.Bootstrap == nil:
		return Difference{}
	case cloudInit && metadataTooLong(in, b.CloudInit) != nil:
		return Difference{} // Refused reports it. The guest keeps its previous settings.
	}
	next := passedSettings(in)
	switch {
	case renewed:
		next[instanceIDPath] = cmp.Or(instanceID(in, b.CloudInit), in.Owner().UID)
	case unread:
		given := givenSettings(in)
		if len(given) == 0 {
			return Difference{} // An older version created the VM; see MissingRecords.
		}
		for path := range given {
			if !inMetadata(path) {
				next[path] = given[path]
			}
		}
		maps.DeleteFunc(next, func(path, _ string) bool { return !inMetadata(path) && given[path] == "" })
	}
	return compareOption(in, "metadata.guest", observe.GuestSettingsKey, next.text(), true, true)
}

// inMetadata reports whether a setting is part of cloud-init's metadata.
func inMetadata(path string) bool {
	return strings.HasPrefix(path, "network.") || path == publicKeysPath
}

// GuestNetwork returns the condition that reports whether the guest has the settings that only the guest can apply.
// recorded is false if the settings of the first boot are not recorded, because an older version created the VM.
func GuestNetwork(want Desired, vm *mo.VirtualMachine, observed *vmv1alpha1.VirtualMachineNetworkStatus, recorded bool) metav1.Condition {
	c := metav1.Condition{Type: vmv1alpha1.ConditionGuestNetworkSynced}
	in := newInput(want, vm)
	given := givenSettings(in)
	requested := bootstrapSettings(want.Effective.Bootstrap)
	if in.adopted {
		requested = guestSettings{}
	}
	maps.Copy(requested, networkSettings(want.Effective))
	if len(requested)+len(given) == 0 {
		return c
	}
	c.Status, c.Reason = metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded
	if !recorded && len(given) == 0 && !in.adopted {
		return c
	}
	no := func(reason, format string, args ...any) metav1.Condition {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, reason, fmt.Sprintf(format, args...)
		return c
	}
	b := want.Effective.Bootstrap
	cloudInit := b != nil && b.CloudInit != nil && !in.adopted
	if cloudInit && hasNewInstanceID(in, b.CloudInit) {
		return no(vmv1alpha1.ReasonInProgress, "%s: the data for the new instance ID has not been passed to the guest yet", instanceIDPath)
	}
	if problems := describeUnappliedSettings(in, requested, given, observed, cloudInit); problems != "" {
		return no(vmv1alpha1.ReasonNotApplied, "%s", problems)
	}
	if id := given[instanceIDPath]; cloudInit && id != "" && vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn && !observe.BootstrapRead(vm, b) {
		return no(vmv1alpha1.ReasonRestartRequired, "%s: cloud-init runs with the instance ID %s at the next boot: restart the virtual machine", instanceIDPath, id)
	}
	return c
}

// describeUnappliedSettings describes the settings that the guest does not have: the spec's value, the value at the
// first boot and the required action. It returns an empty string if the guest has all settings.
func describeUnappliedSettings(in *input, requested, given guestSettings, observed *vmv1alpha1.VirtualMachineNetworkStatus, cloudInit bool) string {
	all := maps.Clone(requested)
	maps.Copy(all, given)
	maps.DeleteFunc(all, func(path, _ string) bool { return path == instanceIDPath || requested[path] == given[path] })
	if len(all) == 0 {
		return ""
	}
	var out []string
	not, passed := notPassed(in), passedSettings(in)
	changed := false
	for _, path := range slices.Sorted(maps.Keys(all)) {
		desired, previous := requested[path], given[path]
		_, isPassed := passed[path]
		switch {
		case desired == "" && !isOfSpec(in, path), isReported(path, desired, observed):
		case desired != "" && not[path] != "":
			out = append(out, fmt.Sprintf("%s %s: %s", path, desired, not[path]))
		case desired != "" && !isPassed: // The guest does this by default, or the addresses are refused.
		default:
			changed = true
			out = append(out, describeSetting(path, desired, previous))
		}
	}
	switch {
	case !changed:
		return conditions.JoinLimited(out, "; ")
	case cloudInit:
		return conditions.JoinLimited(out, "; ") + "; to apply it, set another " + instanceIDPath + " and restart the virtual machine"
	}
	return conditions.JoinLimited(out, "; ") + "; to apply it, recreate the virtual machine"
}

// isOfSpec reports whether a setting still applies. It returns false for a setting of an interface that is no longer in
// the spec, because the adapter is removed.
func isOfSpec(in *input, path string) bool {
	interfaces := interfacesOf(in.Effective)
	name, isInterface := strings.CutPrefix(path, interfacesPath)
	name, _, _ = strings.Cut(name, "]")
	switch {
	case path == hostNamePath, path == domainNamePath, !strings.HasPrefix(path, "network."):
		return true
	case !isInterface:
		return len(interfaces) > 0
	}
	return slices.ContainsFunc(interfaces, func(i vmv1alpha1.VirtualMachineNetworkInterface) bool { return i.Name == name })
}

// describeSetting describes a setting with both values. It leaves out values that are digests.
func describeSetting(path, desired, previous string) string {
	value := func(v string) string {
		if v == "" {
			return "nothing"
		}
		return v
	}
	if strings.HasPrefix(desired, "sha256:") || strings.HasPrefix(previous, "sha256:") {
		return path + ": changed after the guest's first boot"
	}
	return fmt.Sprintf("%s: the guest got %s at its first boot, but the spec has %s", path, value(previous), value(desired))
}

// isReported reports whether the guest reports that it has a setting. The setting may have been changed in the
// guest.
func isReported(path, value string, observed *vmv1alpha1.VirtualMachineNetworkStatus) bool {
	if observed == nil || value == "" {
		return false
	}
	if path == hostNamePath {
		name, _, _ := strings.Cut(observed.HostName, ".")
		return strings.EqualFold(name, value) || strings.EqualFold(observed.HostName, value)
	}
	name, field, _ := strings.Cut(strings.TrimPrefix(path, interfacesPath), "].")
	if field != "addresses" {
		return false
	}
	at := slices.IndexFunc(observed.Interfaces, func(i vmv1alpha1.VirtualMachineNetworkInterfaceStatus) bool { return i.Name == name })
	if at < 0 {
		return false
	}
	for address := range strings.SplitSeq(value, ", ") {
		if !slices.ContainsFunc(observed.Interfaces[at].IPAddresses, func(have string) bool { return sameAddress(have, address) }) {
			return false
		}
	}
	return true
}

// sameAddress compares two addresses, with or without prefix length.
func sameAddress(a, b string) bool {
	parse := func(s string) netip.Addr {
		s, _, _ = strings.Cut(s, "/")
		addr, _ := netip.ParseAddr(s)
		return addr.Unmap()
	}
	x := parse(a)
	return x.IsValid() && x == parse(b)
}
