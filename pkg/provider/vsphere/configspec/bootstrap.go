// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Keys that cloud-init's datasource for VMware reads.
const (
	metadataKey         = "guestinfo.metadata"
	metadataEncodingKey = "guestinfo.metadata.encoding"
	userDataKey         = "guestinfo.userdata"
	userDataEncodingKey = "guestinfo.userdata.encoding"
	encodingBase64      = "base64"
)

// bootstrap hands metadata and user data to cloud-init. They are values of the
// first start: a running VM needs no restart for them. An adopted VM has had its
// first start: other metadata would make cloud-init take it for a new one.
func (c *comparison) bootstrap() {
	b := c.want.Effective.Bootstrap
	if b == nil || b.CloudInit == nil || c.adopted {
		return
	}
	c.ovfProperties(b)
	path := "bootstrap.cloudInit"
	encode := base64.StdEncoding.EncodeToString
	if metadata, ok := c.metadata(b.CloudInit); ok {
		c.secret(path, metadataKey, encode(metadata))
		c.extraConfig(path, metadataEncodingKey, encodingBase64, false, true)
	}
	if c.want.UserData != nil {
		c.secret(path, userDataKey, encode(c.want.UserData))
		c.extraConfig(path, userDataEncodingKey, encodingBase64, false, true)
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

// secret is extraConfig whose values appear in no status and no log.
func (c *comparison) secret(path, key, value string) {
	before := len(c.out)
	c.extraConfig(path, key, value, false, true)
	for n := before; n < len(c.out); n++ {
		c.out[n].Running, c.out[n].Desired = "", "changed"
	}
}

// metadata is cloud-init's metadata; YAML's subset JSON is what it reads too. It is
// false while the adapters that it has to name are not known.
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
		if configured(n) {
			macs, ok := c.macAddresses(n)
			if !ok {
				return nil, false
			}
			m["network"] = networkConfig(n, macs)
		}
	}
	m["local-hostname"] = host
	out, err := json.Marshal(m)
	if err != nil {
		// Maps of strings, numbers and booleans always marshal.
		panic(fmt.Sprintf("marshalling cloud-init metadata: %v", err))
	}
	return out, true
}
