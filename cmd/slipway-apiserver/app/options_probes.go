// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"net/netip"

	"github.com/spf13/pflag"

	"github.com/slipway-dev/slipway/pkg/controller/vm/probe"
)

// ProbeOptions say how readiness probes connect to guests.
type ProbeOptions struct {
	// Connections is the number of those that are tried at the same time.
	Connections int
	// Networks are those that may be connected to; see networks.Networks.
	Networks []string
}

// maxProbeConnections is far below the number of files that a process may usually have open
// in a cluster.
const maxProbeConnections = 4096

func newProbeOptions() ProbeOptions { return ProbeOptions{Connections: probe.DefaultConnections} }

func (o *ProbeOptions) addFlags(fs *pflag.FlagSet) {
	fs.IntVar(&o.Connections, "probe-connections", o.Connections, "Number of connections that readiness probes try at the same time.")
	fs.StringSliceVar(&o.Networks, "probe-networks", o.Networks,
		"Networks, like 10.0.0.0/8, whose addresses readiness probes may connect to. Empty means all except "+deniedByDefault+".")
}

func (o *ProbeOptions) validate() []error {
	var errs []error
	if err := between("probe-connections", o.Connections, maxProbeConnections); err != nil {
		errs = append(errs, err)
	}
	if _, err := o.networks(); err != nil {
		errs = append(errs, err)
	}
	return errs
}

// deniedByDefault describes the addresses that networks.Networks denies.
const deniedByDefault = "loopback, link-local and multicast addresses, the metadata services of clouds, and the addresses of Services, nodes and Pods of the management cluster"

// networks parses those that probes may connect to.
func (o *ProbeOptions) networks() ([]netip.Prefix, error) {
	return parseNetworks("probe-networks", o.Networks)
}

// parseNetworks parses the networks of a flag.
func parseNetworks(flag string, texts []string) ([]netip.Prefix, error) {
	var all []netip.Prefix
	for _, text := range texts {
		network, err := netip.ParsePrefix(text)
		if err != nil || network != network.Masked() || network.Addr().Is4In6() {
			return nil, fmt.Errorf("--%s %q: must be a network like 10.0.0.0/8 or fd00::/8, without bits of hosts", flag, text)
		}
		all = append(all, network)
	}
	return all, nil
}
