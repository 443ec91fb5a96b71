// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

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
// first start: a running VM needs no restart for them.
func (c *comparison) bootstrap() {
	b := c.want.Effective.Bootstrap
	if b == nil || b.CloudInit == nil || c.adopted {
		return
	}
	path := "bootstrap.cloudInit"
	encode := base64.StdEncoding.EncodeToString
	c.secret(path, metadataKey, encode(c.metadata(b.CloudInit)))
	c.extraConfig(path, metadataEncodingKey, encodingBase64, false, true)
	if c.want.UserData != nil {
		c.secret(path, userDataKey, encode(c.want.UserData))
		c.extraConfig(path, userDataEncodingKey, encodingBase64, false, true)
	}
}

// secret is extraConfig whose values appear in no status and no log.
func (c *comparison) secret(path, key, value string) {
	before := len(c.out)
	c.extraConfig(path, key, value, false, true)
	for n := before; n < len(c.out); n++ {
		c.out[n].Running, c.out[n].Desired = "", "changed"
	}
}

// metadata is cloud-init's metadata; YAML's subset JSON is what it reads too.
func (c *comparison) metadata(ci *vmv1alpha1.CloudInitBootstrap) []byte {
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
		if net := networkConfig(n); net != nil {
			m["network"] = net
		}
	}
	m["local-hostname"] = host
	out, err := json.Marshal(m)
	if err != nil {
		// Maps of strings, numbers and booleans always marshal.
		panic(fmt.Sprintf("marshalling cloud-init metadata: %v", err))
	}
	return out
}

// networkConfig is cloud-init's network configuration version 2, nil when no
// interface asks for more than the image's default.
func networkConfig(n *vmv1alpha1.VirtualMachineNetworkSpec) map[string]any {
	ethernets := map[string]any{}
	for _, i := range n.Interfaces {
		e := map[string]any{}
		if i.DHCP4 != nil {
			e["dhcp4"] = *i.DHCP4
		}
		if i.DHCP6 != nil {
			e["dhcp6"] = *i.DHCP6
		}
		if len(i.Addresses) > 0 {
			e["addresses"] = i.Addresses
		}
		if i.Gateway4 != "" {
			e["gateway4"] = i.Gateway4
		}
		if i.Gateway6 != "" {
			e["gateway6"] = i.Gateway6
		}
		if i.MTU != nil {
			e["mtu"] = *i.MTU
		}
		if len(e) == 0 {
			continue
		}
		if i.MACAddress != "" {
			e["match"] = map[string]any{"macaddress": lower(i.MACAddress)}
			e["set-name"] = i.Name
		}
		if len(n.Nameservers) > 0 || len(n.SearchDomains) > 0 {
			e["nameservers"] = map[string]any{"addresses": n.Nameservers, "search": n.SearchDomains}
		}
		ethernets[i.Name] = e
	}
	if len(ethernets) == 0 {
		return nil
	}
	return map[string]any{"version": 2, "ethernets": ethernets}
}
