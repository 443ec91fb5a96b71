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

// bootstrap hands the guest what it configures itself by. They are values of the
// first start: a running VM needs no restart for them. An adopted VM has had its
// first start: other metadata would make cloud-init take it for a new one.
func (c *comparison) bootstrap() {
	b := c.want.Effective.Bootstrap
	switch {
	case b == nil || c.adopted:
		return
	case b.CloudInit != nil:
		c.ovfProperties(b)
		c.cloudInit(b.CloudInit)
	case b.Ignition != nil && c.want.Data != nil && !c.dataMarked():
		c.guestInfo(ignitionPath, observe.IgnitionKey, c.want.Data.Ignition, false)
	}
	c.removeData(b)
}

// cloudInit sets metadata, and user and vendor data while they are known. A new instance ID
// comes with all of them or not at all: with what is there cloud-init would do again what
// it has done. A running VM takes it at once, for it is read when the guest boots, however
// that comes about.
func (c *comparison) cloudInit(ci *vmv1alpha1.CloudInitBootstrap) {
	renewed := c.renewed(ci)
	if renewed && c.want.Data == nil {
		return
	}
	if metadata, ok := c.metadata(ci); ok {
		c.guestInfo(cloudInitPath, metadataKey, metadata, renewed)
	}
	if c.want.Data != nil && (renewed || !c.dataMarked()) {
		c.guestInfo(cloudInitPath, observe.UserDataKey, c.want.Data.CloudConfig, renewed)
		c.guestInfo(cloudInitPath, observe.VendorDataKey, c.want.Data.VendorData, renewed)
	}
	if !renewed {
		return
	}
	c.extraConfig(instanceIDPath, observe.InstanceIDKey, c.instanceID(ci), true, true)
	for _, key := range observe.CloudInitRead {
		// It was said of the boot before.
		c.extraConfig(instanceIDPath, key, "", true, true)
	}
}

// instanceID is the one that cloud-init shall have, empty for the UID of the object.
func (c *comparison) instanceID(ci *vmv1alpha1.CloudInitBootstrap) string {
	if ci.InstanceID == c.want.Owner.UID {
		return ""
	}
	return ci.InstanceID
}

// renewed is true when cloud-init shall have another instance ID than it was told.
func (c *comparison) renewed(ci *vmv1alpha1.CloudInitBootstrap) bool {
	return c.instanceID(ci) != extra(c, observe.InstanceIDKey)
}

// guestInfo sets a variable of guestinfo; no value leaves it as it is. One that is too long
// is refused before. Values appear in no status and no log.
func (c *comparison) guestInfo(path, key string, value []byte, live bool) {
	if len(value) == 0 {
		return
	}
	text, encoding, err := provider.EncodeGuestInfo(value)
	if err != nil {
		return
	}
	before := len(c.out)
	c.extraConfig(path, key, text, live, true)
	for n := before; n < len(c.out); n++ {
		c.out[n].Running, c.out[n].Desired = "", "changed"
	}
	c.extraConfig(path, key+encodingSuffix, encoding, live, true)
}

// removeData takes the data of the first boot out of the VM when the guest has it. The
// metadata stays: without it cloud-init would take the guest for a new one.
func (c *comparison) removeData(b *vmv1alpha1.VirtualMachineBootstrap) {
	if !b.RemoveAfterFirstBoot || c.vm.Config == nil || c.want.New || observe.BootstrapRemoved(c.vm, c.want.Owner.UID) || !observe.BootstrapRead(c.vm, b) {
		return
	}
	c.add(Difference{Path: removePath, Desired: "removed", Live: true, FirstBoot: true, set: func(s *types.VirtualMachineConfigSpec) {
		for _, key := range observe.FirstBootKeys {
			if extra(c, key) != "" {
				option(key, "")(s)
				option(key+encodingSuffix, "")(s)
			}
		}
		option(observe.BootstrapRemovedKey, observe.BootstrapInstance(c.vm, c.want.Owner.UID))(s)
	}})
}

// dataMarked is true when the data of this instance was removed: it is not set again.
func (c *comparison) dataMarked() bool {
	return observe.BootstrapMarked(c.vm, c.want.Owner.UID)
}

// refusedBootstrap says what the guest cannot be handed.
func (c *comparison) refusedBootstrap(say func(format string, args ...any)) {
	b := c.want.Effective.Bootstrap
	switch {
	case b == nil || c.adopted:
	case b.CloudInit != nil:
		if metadata, ok := c.metadata(b.CloudInit); ok {
			if _, _, err := provider.EncodeGuestInfo(metadata); err != nil {
				say("%s: the metadata, which has instance ID, keys and network, is too long: %v", cloudInitPath, err)
			}
		}
	case b.Sysprep != nil && b.Sysprep.Answers != nil:
		c.refusedComputerName(say)
	}
}

// ovfProperties removes those of the image from a new VM: cloud-init looks for them
// first, and with them it never reads guestinfo (Cluster API's provider for vSphere,
// issue 1746). From a VM that has started they are not removed, for with another
// source cloud-init would take it for a new one.
func (c *comparison) ovfProperties(b *vmv1alpha1.VirtualMachineBootstrap) {
	if b.VAppConfig != nil || c.vm.Config != nil && (!c.want.New || c.have.VAppConfig == nil) {
		return
	}
	c.add(Difference{Path: "bootstrap.cloudInit", Running: "the OVF properties of the image", FirstBoot: true,
		set: func(s *types.VirtualMachineConfigSpec) { s.VAppConfigRemoved = types.NewBool(true) }})
}

// metadata is cloud-init's metadata; YAML's subset JSON is what it reads too. It is
// false while the adapters that it has to name are not known, and while the network
// configuration is that of a Secret which is not read any more.
func (c *comparison) metadata(ci *vmv1alpha1.CloudInitBootstrap) ([]byte, bool) {
	m := map[string]any{"instance-id": ci.InstanceID}
	if ci.InstanceID == "" {
		m["instance-id"] = c.want.Owner.UID
	}
	host := c.want.Owner.Key.Name
	if n := c.want.Effective.Network; n != nil {
		if n.HostName != "" {
			host = n.HostName
		}
		if n.DomainName != "" {
			host += "." + n.DomainName
		}
		if ci.RawNetworkConfig == nil && configured(n) {
			macs, ok := c.macAddresses(n)
			if !ok {
				return nil, false
			}
			m["network"] = networkConfig(n, macs)
		}
	}
	m["local-hostname"] = host
	if len(ci.SSHAuthorizedKeys) > 0 {
		m["public-keys"] = ci.SSHAuthorizedKeys
	}
	if ci.RawNetworkConfig != nil {
		if c.want.Data == nil {
			return nil, false
		}
		m["network"] = json.RawMessage(c.want.Data.NetworkConfig)
	}
	out, err := json.Marshal(m)
	if err != nil {
		// Maps of strings, numbers and booleans always marshal, and so does JSON.
		panic(fmt.Sprintf("marshalling cloud-init metadata: %v", err))
	}
	return out, true
}
