// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"encoding/json"
	"fmt"

	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// metadataKey is the key of the metadata for cloud-init's VMware datasource, which also reads
// observe.FirstBootKeys. The encoding of a value has the value's key with encodingSuffix.
const (
	metadataKey    = "guestinfo.metadata"
	encodingSuffix = ".encoding"
)

const (
	cloudInitPath  = "bootstrap.cloudInit"
	ignitionPath   = "bootstrap.ignition"
	instanceIDPath = "bootstrap.cloudInit.instanceID"
	// removePath is the path of bootstrap data that the guest no longer needs.
	removePath = "metadata.bootstrapData"
)

// compareBootstrap compares the data with which the guest configures itself at its first boot. A running VM does not
// need a restart for it. An adopted VM has already booted: with other metadata, cloud-init would treat it as a new
// instance.
func compareBootstrap(in *input) []Difference {
	b := in.Effective.Bootstrap
	if b == nil || in.adopted {
		return nil
	}
	var out []Difference
	switch {
	case b.CloudInit != nil:
		out = append(out, removeOVFProperties(in, b))
		out = append(out, compareCloudInit(in, b.CloudInit)...)
	case b.Ignition != nil && in.Bootstrap != nil && !isDataRemoved(in):
		out = append(out, compareGuestInfo(in, ignitionPath, observe.IgnitionKey, in.Bootstrap.Ignition, false)...)
	}
	out = append(out, removeBootstrapData(in, b))
	return out
}

// compareCloudInit compares the metadata and, if they are known, user data and vendor data. A new instance ID is
// set only together with all of them, because cloud-init would otherwise process the previous data again. The data
// can be changed while the VM is running; the guest reads them at its next boot.
func compareCloudInit(in *input, ci *vmv1alpha1.CloudInitBootstrap) []Difference {
	renewed := hasNewInstanceID(in, ci)
	if renewed && in.Bootstrap == nil {
		return nil
	}
	var out []Difference
	metadata, ok := cloudInitMetadata(in, ci)
	if ok && checkGuestInfo(metadata) != nil {
		return nil // Refused reports it. The rest of the data would belong to another instance.
	}
	if ok {
		out = append(out, compareGuestInfo(in, cloudInitPath, metadataKey, metadata, renewed)...)
	}
	if in.Bootstrap != nil && (renewed || !isDataRemoved(in)) {
		out = append(out, compareGuestInfo(in, cloudInitPath, observe.UserDataKey, in.Bootstrap.CloudConfig, renewed)...)
		out = append(out, compareGuestInfo(in, cloudInitPath, observe.VendorDataKey, in.Bootstrap.VendorData, renewed)...)
	}
	if !renewed {
		return out
	}
	out = append(out, compareOption(in, instanceIDPath, observe.InstanceIDKey, instanceID(in, ci), true, true))
	for _, key := range observe.CloudInitRead {
		// These values belong to the previous boot.
		out = append(out, compareOption(in, instanceIDPath, key, "", true, true))
	}
	return out
}

// instanceID returns the instance ID for cloud-init. Empty means the object's UID.
func instanceID(in *input, ci *vmv1alpha1.CloudInitBootstrap) string {
	if ci.InstanceID == in.Owner().UID {
		return ""
	}
	return ci.InstanceID
}

// hasNewInstanceID reports whether the instance ID in the spec differs from the instance ID of the VM.
func hasNewInstanceID(in *input, ci *vmv1alpha1.CloudInitBootstrap) bool {
	return instanceID(in, ci) != in.extra(observe.InstanceIDKey)
}

// compareGuestInfo compares a guestinfo variable. An empty value leaves the variable unchanged. A value that is too
// long is skipped, because Refused reports it. The values are not shown in statuses or logs.
func compareGuestInfo(in *input, path, key string, value []byte, live bool) []Difference {
	if len(value) == 0 {
		return nil
	}
	text, encoding, err := provider.EncodeGuestInfo(value)
	if err != nil {
		return nil
	}
	d := compareOption(in, path, key, text, live, true)
	if d.Running != d.Desired {
		d.Running, d.Desired = "", "changed"
	}
	return []Difference{d, compareOption(in, path, key+encodingSuffix, encoding, live, true)}
}

// removeBootstrapData removes the first boot's data from the VM after the guest has read it. It keeps the metadata:
// without the metadata, cloud-init would treat the guest as a new instance.
func removeBootstrapData(in *input, b *vmv1alpha1.VirtualMachineBootstrap) Difference {
	if !b.RemoveAfterFirstBoot || !in.exists() || in.New || observe.BootstrapRemoved(in.vm, in.Owner().UID) || !observe.BootstrapRead(in.vm, b) {
		return Difference{}
	}
	return Difference{Path: removePath, Desired: "removed", Live: true, FirstBoot: true, set: func(s *types.VirtualMachineConfigSpec) {
		for _, key := range observe.FirstBootKeys {
			if in.extra(key) != "" {
				option(key, "")(s)
				option(key+encodingSuffix, "")(s)
			}
		}
		option(observe.BootstrapRemovedKey, observe.BootstrapInstance(in.vm, in.Owner().UID))(s)
	}}
}

// isDataRemoved reports whether the data of this instance was removed. It is not set again.
func isDataRemoved(in *input) bool {
	return observe.BootstrapMarked(in.vm, in.Owner().UID)
}

// checkGuestInfo returns an error if a value cannot be stored in a guestinfo variable.
func checkGuestInfo(value []byte) error {
	_, _, err := provider.EncodeGuestInfo(value)
	return err
}

// refuseBootstrap reports bootstrap settings that cannot be passed to the guest.
func refuseBootstrap(in *input, reportf func(format string, args ...any)) {
	b := in.Effective.Bootstrap
	switch {
	case b == nil || in.adopted:
		return
	case b.CloudInit != nil:
		if err := metadataTooLong(in, b.CloudInit); err != nil {
			reportf("%s: the metadata (instance ID, SSH keys and network) is too long: %v", cloudInitPath, err)
		}
	}
	refuseHostName(in, reportf)
}

// removeOVFProperties removes the image's OVF properties from a new VM. cloud-init searches for them first and does
// not read guestinfo if they exist (Cluster API's provider for vSphere, issue 1746). It does not remove them from a
// VM that has booted: with another data source, cloud-init would treat the VM as a new instance.
func removeOVFProperties(in *input, b *vmv1alpha1.VirtualMachineBootstrap) Difference {
	if b.VAppConfig != nil || in.exists() && (!in.New || in.config.VAppConfig == nil) {
		return Difference{}
	}
	return Difference{Path: "bootstrap.cloudInit", Running: "the image's OVF properties", FirstBoot: true,
		set: func(s *types.VirtualMachineConfigSpec) { s.VAppConfigRemoved = types.NewBool(true) }}
}

// metadataTooLong returns an error if the metadata is too long for vSphere. It returns nil if the metadata is not
// known yet.
func metadataTooLong(in *input, ci *vmv1alpha1.CloudInitBootstrap) error {
	metadata, ok := cloudInitMetadata(in, ci)
	if !ok {
		return nil
	}
	return checkGuestInfo(metadata)
}

// cloudInitMetadata returns cloud-init's metadata in JSON, which cloud-init accepts because YAML includes it. It
// returns false if the MAC addresses are not known yet, or if the network configuration comes from a Secret that is
// no longer read.
func cloudInitMetadata(in *input, ci *vmv1alpha1.CloudInitBootstrap) ([]byte, bool) {
	m := map[string]any{"instance-id": ci.InstanceID}
	if ci.InstanceID == "" {
		m["instance-id"] = in.Owner().UID
	}
	m["local-hostname"] = fullName(in.Desired)
	if n := in.Effective.Network; n != nil && ci.RawNetworkConfig == nil && isNetworkConfigured(n) {
		macs, ok := macAddresses(in, n)
		if !ok {
			return nil, false
		}
		m["network"] = networkConfig(n, macs)
	}
	if len(ci.SSHAuthorizedKeys) > 0 {
		m["public-keys"] = ci.SSHAuthorizedKeys
	}
	if ci.RawNetworkConfig != nil {
		if in.Bootstrap == nil {
			return nil, false
		}
		m["network"] = json.RawMessage(in.Bootstrap.NetworkConfig)
	}
	out, err := json.Marshal(m)
	if err != nil {
		// Maps of strings, numbers and booleans can always be marshalled, and so can valid JSON.
		panic(fmt.Sprintf("marshalling cloud-init metadata: %v", err))
	}
	return out, true
}
