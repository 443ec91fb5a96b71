// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"net/netip"
	"strings"
)

const (
	// maxHostName is the maximum length of a DNS label (RFC 1035). Linux allows one character more.
	maxHostName = 63
	// maxFQDN is the maximum length of a DNS name without the final dot.
	maxFQDN = 253
	// maxComputerName is the maximum length of a Windows computer name. vSphere truncates longer names, which may
	// make them ambiguous (CustomizationUserData.computerName).
	maxComputerName = 15
)

// hostName returns the guest's host name, which contains no dots, and its domain, for each kind of bootstrap. The
// defaults are the parts of the object's name before and after the first dot. cloud-init splits local-hostname in
// the same way.
func hostName(want Desired) (host, domain string) {
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

// fullName returns the host name with its domain.
func fullName(want Desired) string {
	host, domain := hostName(want)
	if domain == "" {
		return host
	}
	return host + "." + domain
}

// refuseHostName reports why the guest cannot have the host name. It ignores a VM that has booted, because such a
// VM keeps its name.
func refuseHostName(in *input, reportf func(format string, args ...any)) {
	b := in.Effective.Bootstrap
	if in.vm.Config != nil && !in.New {
		return
	}
	name, _ := hostName(in.Desired)
	full := fullName(in.Desired)
	path := cloudInitPath
	switch {
	case b.Sysprep != nil && b.Sysprep.Answers != nil:
		switch {
		case len(name) > maxComputerName:
			reportf("%s: a Windows computer name has at most %d characters, but %q has %d: set network.hostName", sysprepPath, maxComputerName, name, len(name))
		case strings.Trim(name, "0123456789") == "":
			reportf("%s: a Windows computer name cannot consist of digits only: %q; set network.hostName", sysprepPath, name)
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
		reportf("%s: the name %q is an IP address and cannot be a host name: set network.hostName", path, full)
	case len(name) > maxHostName:
		reportf("%s: a host name has at most %d characters, but %q has %d: set network.hostName", path, maxHostName, name, len(name))
	case len(full) > maxFQDN:
		reportf("%s: host name and domain together have at most %d characters, but %q has %d: set network.hostName or network.domainName", path, maxFQDN, full, len(full))
	}
}
