// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"net/netip"
	"regexp"
	"time"

	"github.com/spf13/pflag"

	"github.com/slipway-dev/slipway/pkg/cluster/workload"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/node"
)

// WorkloadOptions say how the server connects to workload clusters, and what their Nodes get
// of Machines.
type WorkloadOptions struct {
	// Networks are those that may be connected to; see networks.Networks.
	Networks []string
	// Grace is how long a cluster may be silent before the conditions of its Nodes are not
	// believed any more.
	Grace time.Duration
	// Labels and Annotations are regular expressions of keys that go from Machines to Nodes
	// besides those that always do.
	Labels, Annotations []string
	// Workers is the number of Machines that are looked at at the same time.
	Workers int
}

// minGrace is longer than several probes take.
const minGrace = 2 * time.Minute

func newWorkloadOptions() WorkloadOptions {
	return WorkloadOptions{Grace: workload.DefaultGrace, Workers: 16}
}

func (o *WorkloadOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&o.Networks, "workload-networks", o.Networks,
		"Networks, like 10.0.0.0/8, whose addresses the server may connect to where a kubeconfig of a workload cluster names them. Empty for all but loopback, link-local and multicast addresses and those of Services of the host cluster.")
	fs.DurationVar(&o.Grace, "remote-conditions-grace-period", o.Grace, fmt.Sprintf("How long a workload cluster may be silent before the conditions of Machines that tell of its Nodes are Unknown, at least %s.", minGrace))
	fs.StringSliceVar(&o.Labels, "additional-sync-machine-labels", o.Labels,
		"Regular expressions of keys of labels that go from Machines to Nodes, besides node-role.kubernetes.io, node-restriction.kubernetes.io and node.cluster.x-k8s.io.")
	fs.StringSliceVar(&o.Annotations, "additional-sync-machine-annotations", o.Annotations,
		"Regular expressions of keys of annotations that go from Machines to Nodes, besides node.cluster.x-k8s.io.")
	fs.IntVar(&o.Workers, "machine-concurrency", o.Workers, "Number of Machines that are looked at at the same time.")
}

func (o *WorkloadOptions) validate() []error {
	var errs []error
	if _, err := o.networks(); err != nil {
		errs = append(errs, err)
	}
	if o.Grace < minGrace {
		errs = append(errs, fmt.Errorf("--remote-conditions-grace-period %s: must be at least %s", o.Grace, minGrace))
	}
	if _, err := o.rules(); err != nil {
		errs = append(errs, err)
	}
	if err := between("machine-concurrency", o.Workers, maxWorkers); err != nil {
		errs = append(errs, err)
	}
	return errs
}

func (o *WorkloadOptions) networks() ([]netip.Prefix, error) {
	return parseNetworks("workload-networks", o.Networks)
}

func (o *WorkloadOptions) rules() (node.Rules, error) {
	labels, err := compile("additional-sync-machine-labels", o.Labels)
	if err != nil {
		return node.Rules{}, err
	}
	annotations, err := compile("additional-sync-machine-annotations", o.Annotations)
	return node.Rules{Labels: labels, Annotations: annotations}, err
}

func compile(flag string, texts []string) ([]*regexp.Regexp, error) {
	var all []*regexp.Regexp
	for _, text := range texts {
		re, err := regexp.Compile(text)
		if err != nil {
			return nil, fmt.Errorf("--%s %q: %w", flag, text, err)
		}
		all = append(all, re)
	}
	return all, nil
}
