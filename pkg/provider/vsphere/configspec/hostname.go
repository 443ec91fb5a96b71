// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"net/netip"
	"strings"
)

const (
	// maxHostName is the longest label in DNS (RFC 1035). Linux takes one character more.
	maxHostName = 63
	// maxFQDN is the longest name in DNS that is written without a final dot.
	maxFQDN = 253
	// maxComputerName is the longest name of a computer with Windows. vSphere cuts longer
	// names, which are not unique any more then (CustomizationUserData.computerName).
	maxComputerName = 15
)

// hostName returns the host name of the guest, which has no dots, and its domain, for each kind of
// bootstrap. By default they are the parts of the object's name before and after the first dot.
// cloud-init divides local-hostname in the same way.
func hostName(want Want) (host, domain string) {
	n := want.Effective.Network
	if n != nil {
		host, domain = n.HostName, n.DomainName
	}
	if host != "" {
		return host, domain
	}
	host, rest, _ := strings.Cut(want.Owner().Key.Name, ".")
	switch {
	case rest == "":
		return host, domain
	case domain == "", rest == domain, strings.HasSuffix(rest, "."+domain):
		return host, rest
	}
	return host, rest + "." + domain
}

// fullName returns host name and domain as one name.
func fullName(want Want) string {
	host, domain := hostName(want)
	if domain == "" {
		return host
	}
	return host + "." + domain
}

// refusedHostName says why the guest cannot have the name. A VM that has had its first start keeps
// the name that it has.
func refusedHostName(in *input, say func(format string, args ...any)) {
	b := in.Effective.Bootstrap
	if in.vm.Config != nil && !in.New {
		return
	}
	name, _ := hostName(in.Want)
	full := fullName(in.Want)
	path := cloudInitPath
	switch {
	case b.Sysprep != nil && b.Sysprep.Answers != nil:
		switch {
		case len(name) > maxComputerName:
			say("%s: Windows takes %d characters, and the name %q has %d: set network.hostName", sysprepPath, maxComputerName, name, len(name))
		case strings.Trim(name, "0123456789") == "":
			say("%s: Windows takes no name of digits alone, as %q is: set network.hostName", sysprepPath, name)
		}
		return
	case b.LinuxPrep != nil:
		path = linuxPrepPath
	case b.CloudInit == nil:
		return
	}
	_, err := netip.ParseAddr(full)
	switch {
	case err == nil:
		say("%s: the name %q is an IP address and cannot be a host name: set network.hostName", path, full)
	case len(name) > maxHostName:
		say("%s: a host name has at most %d characters, and %q has %d: set network.hostName", path, maxHostName, name, len(name))
	case len(full) > maxFQDN:
		say("%s: host name and domain have at most %d characters, and %q has %d: set network.hostName or network.domainName", path, maxFQDN, full, len(full))
	}
}
