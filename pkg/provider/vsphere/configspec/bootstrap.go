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

// metadataKey is read by cloud-init's datasource for VMware beside observe.FirstBootKeys. The key
// of a value and encodingSuffix are the key of its encoding.
const (
	metadataKey    = "guestinfo.metadata"
	encodingSuffix = ".encoding"
)

const (
	cloudInitPath  = "bootstrap.cloudInit"
	ignitionPath   = "bootstrap.ignition"
	instanceIDPath = "bootstrap.cloudInit.instanceID"
	// removePath is of what is nothing to the guest any more.
	removePath = "metadata.bootstrapData"
)

// compareBootstrap hands the guest what it configures itself by. They are values of the
// first start: a running VM needs no restart for them. An adopted VM has had its
// first start: other metadata would make cloud-init take it for a new one.
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
	case b.Ignition != nil && in.Bootstrap != nil && !dataMarked(in):
		out = append(out, compareGuestInfo(in, ignitionPath, observe.IgnitionKey, in.Bootstrap.Ignition, false)...)
	}
	out = append(out, removeBootstrapData(in, b))
	return out
}

// compareCloudInit compares the metadata, and user and vendor data while they are known. A new instance ID
// comes with all of them or not at all: with the previous data cloud-init would do again what
// it has done. A running VM takes it immediately, for it is read when the guest boots, however
// that comes about.
func compareCloudInit(in *input, ci *vmv1alpha1.CloudInitBootstrap) []Difference {
	renewed := hasNewInstanceID(in, ci)
	if renewed && in.Bootstrap == nil {
		return nil
	}
	var out []Difference
	metadata, ok := cloudInitMetadata(in, ci)
	if ok && tooLong(metadata) != nil {
		return nil // It is refused, and the rest without it would be of another instance.
	}
	if ok {
		out = append(out, compareGuestInfo(in, cloudInitPath, metadataKey, metadata, renewed)...)
	}
	if in.Bootstrap != nil && (renewed || !dataMarked(in)) {
		out = append(out, compareGuestInfo(in, cloudInitPath, observe.UserDataKey, in.Bootstrap.CloudConfig, renewed)...)
		out = append(out, compareGuestInfo(in, cloudInitPath, observe.VendorDataKey, in.Bootstrap.VendorData, renewed)...)
	}
	if !renewed {
		return out
	}
	out = append(out, compareOption(in, instanceIDPath, observe.InstanceIDKey, instanceID(in, ci), true, true))
	for _, key := range observe.CloudInitRead {
		// It was said of the boot before.
		out = append(out, compareOption(in, instanceIDPath, key, "", true, true))
	}
	return out
}

// instanceID is the one that cloud-init shall have, empty for the UID of the object.
func instanceID(in *input, ci *vmv1alpha1.CloudInitBootstrap) string {
	if ci.InstanceID == in.Owner().UID {
		return ""
	}
	return ci.InstanceID
}

// hasNewInstanceID is true when cloud-init shall have another instance ID than it was told.
func hasNewInstanceID(in *input, ci *vmv1alpha1.CloudInitBootstrap) bool {
	return instanceID(in, ci) != in.extra(observe.InstanceIDKey)
}

// compareGuestInfo sets a variable of guestinfo; no value leaves it as it is. One that is too long
// is refused before. Values appear in no status and no log.
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

// removeBootstrapData removes the data of the first boot from the VM when the guest has it. The
// metadata stays: without it cloud-init would take the guest for a new one.
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

// dataMarked is true when the data of this instance was removed: it is not set again.
func dataMarked(in *input) bool {
	return observe.BootstrapMarked(in.vm, in.Owner().UID)
}

// tooLong is why a value cannot be a variable of guestinfo.
func tooLong(value []byte) error {
	_, _, err := provider.EncodeGuestInfo(value)
	return err
}

// refusedBootstrap says what the guest cannot be handed.
func refusedBootstrap(in *input, say func(format string, args ...any)) {
	b := in.Effective.Bootstrap
	switch {
	case b == nil || in.adopted:
		return
	case b.CloudInit != nil:
		if err := metadataTooLong(in, b.CloudInit); err != nil {
			say("%s: the metadata, which has instance ID, keys and network, is too long: %v", cloudInitPath, err)
		}
	}
	refusedHostName(in, say)
}

// removeOVFProperties removes those of the image from a new VM: cloud-init looks for them
// first, and with them it never reads guestinfo (Cluster API's provider for vSphere,
// issue 1746). From a VM that has started they are not removed, for with another
// source cloud-init would take it for a new one.
func removeOVFProperties(in *input, b *vmv1alpha1.VirtualMachineBootstrap) Difference {
	if b.VAppConfig != nil || in.exists() && (!in.New || in.config.VAppConfig == nil) {
		return Difference{}
	}
	return Difference{Path: "bootstrap.cloudInit", Running: "the OVF properties of the image", FirstBoot: true,
		set: func(s *types.VirtualMachineConfigSpec) { s.VAppConfigRemoved = types.NewBool(true) }}
}

// metadataTooLong returns an error if the metadata is longer than vSphere takes; nil while it is not known.
func metadataTooLong(in *input, ci *vmv1alpha1.CloudInitBootstrap) error {
	metadata, ok := cloudInitMetadata(in, ci)
	if !ok {
		return nil
	}
	return tooLong(metadata)
}

// cloudInitMetadata is cloud-init's metadata; YAML's subset JSON is what it reads too. It is
// false while the adapters that it has to name are not known, and while the network
// configuration is that of a Secret which is not read any more.
func cloudInitMetadata(in *input, ci *vmv1alpha1.CloudInitBootstrap) ([]byte, bool) {
	m := map[string]any{"instance-id": ci.InstanceID}
	if ci.InstanceID == "" {
		m["instance-id"] = in.Owner().UID
	}
	m["local-hostname"] = fullName(in.Want)
	if n := in.Effective.Network; n != nil && ci.RawNetworkConfig == nil && configured(n) {
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
		// Maps of strings, numbers and booleans always marshal, and so does JSON.
		panic(fmt.Sprintf("marshalling cloud-init metadata: %v", err))
	}
	return out, true
}
