// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"net/netip"

	"github.com/spf13/pflag"

	"github.com/slipway-dev/slipway/pkg/controller/vm/probe"
)

// ProbeOptions configures the connections of readiness probes to guests.
type ProbeOptions struct {
	// Connections is the maximum number of concurrent connection attempts.
	Connections int
	// Networks are the networks that probes may connect to; see networks.Networks.
	Networks []string
}

// maxProbeConnections is far below the usual limit of open files of a process in a cluster.
// in a cluster.
const maxProbeConnections = 4096

func newProbeOptions() ProbeOptions { return ProbeOptions{Connections: probe.DefaultConnections} }

func (o *ProbeOptions) addFlags(fs *pflag.FlagSet) {
	fs.IntVar(&o.Connections, "probe-connections", o.Connections, "Maximum number of concurrent connection attempts by readiness probes.")
	fs.StringSliceVar(&o.Networks, "probe-networks", o.Networks,
		"Networks, like 10.0.0.0/8, that readiness probes may connect to. Empty means all except "+deniedByDefault+".")
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

// deniedByDefault describes the addresses that networks.Networks denies by default.
const deniedByDefault = "loopback, link-local, multicast and cloud metadata addresses, and Services, nodes and Pods of the management cluster"

// networks parses the networks that probes may connect to.
func (o *ProbeOptions) networks() ([]netip.Prefix, error) {
	return parseNetworks("probe-networks", o.Networks)
}

// parseNetworks parses the value of a network flag.
func parseNetworks(flag string, texts []string) ([]netip.Prefix, error) {
	var all []netip.Prefix
	for _, text := range texts {
		network, err := netip.ParsePrefix(text)
		if err != nil || network != network.Masked() || network.Addr().Is4In6() {
			return nil, fmt.Errorf("--%s %q: must be a network like 10.0.0.0/8 or fd00::/8, with no host bits set", flag, text)
		}
		all = append(all, network)
	}
	return all, nil
}
