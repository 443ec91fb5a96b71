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
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machineset"
)

// WorkloadOptions configures the connections to workload clusters and the metadata that their Nodes get from
// Machines.
type WorkloadOptions struct {
	// Networks are the networks that the server may connect to; see networks.Networks.
	Networks []string
	// Grace is how long a cluster may be unreachable before the conditions of its Nodes become Unknown.
	Grace time.Duration
	// Labels and Annotations are regular expressions of additional keys that are copied from Machines to Nodes.
	Labels, Annotations []string
	// Workers is the maximum number of concurrent Machine reconciles.
	Workers int
	// MaxMachines is the maximum number of Machines in a namespace. MaxTemplateAnnotations is the maximum size of
	// the annotations that a template gives to each object.
	MaxMachines, MaxTemplateAnnotations int
	// MachineCreations is the number of Machines that the MachineSets of a namespace may create per minute.
	MachineCreations int
}

// minGrace is longer than several health probes take.
const minGrace = 2 * time.Minute

// With the default limits, a namespace with the largest annotations takes about 70 MiB of the store: each virtual
// machine has the annotations of two templates.
const (
	defaultMaxMachines            = 1000
	maxMaxMachines                = 100_000
	defaultMaxTemplateAnnotations = 16 << 10
	maxMaxTemplateAnnotations     = 256 << 10
	maxMachineCreations           = 10_000
)

func newWorkloadOptions() WorkloadOptions {
	return WorkloadOptions{
		Grace: workload.DefaultGrace, Workers: 16, MaxMachines: defaultMaxMachines, MaxTemplateAnnotations: defaultMaxTemplateAnnotations,
		MachineCreations: machineset.DefaultCreationsPerMinute,
	}
}

func (o *WorkloadOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&o.Networks, "workload-networks", o.Networks,
		"Networks, like 10.0.0.0/8, that workload cluster kubeconfigs may point to. Empty means all except "+deniedByDefault+".")
	fs.DurationVar(&o.Grace, "remote-conditions-grace-period", o.Grace, fmt.Sprintf("How long a workload cluster may be unreachable before its Machines' Node conditions become Unknown, at least %s.", minGrace))
	fs.StringSliceVar(&o.Labels, "additional-sync-machine-labels", o.Labels,
		"Regular expressions of additional label keys copied from Machines to Nodes (always: node-role, node-restriction, node.cluster.x-k8s.io).")
	fs.StringSliceVar(&o.Annotations, "additional-sync-machine-annotations", o.Annotations,
		"Regular expressions of additional annotation keys copied from Machines to Nodes (always: node.cluster.x-k8s.io).")
	fs.IntVar(&o.Workers, "machine-concurrency", o.Workers, "Maximum number of concurrent Machine reconciles.")
	fs.IntVar(&o.MaxMachines, "max-machines-per-namespace", o.MaxMachines, "Maximum number of Machines in a namespace. Further Machines are rejected.")
	fs.IntVar(&o.MachineCreations, "machine-creations-per-minute", o.MachineCreations,
		"Machines that the MachineSets of a namespace may create per minute after a burst of 100.")
	fs.IntVar(&o.MaxTemplateAnnotations, "max-template-annotations-bytes", o.MaxTemplateAnnotations,
		"Maximum size in bytes of the annotations in the template of a MachineSet, MachineDeployment or VirtualMachineTemplate.")
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
	for _, err := range []error{
		between("machine-concurrency", o.Workers, maxWorkers),
		between("max-machines-per-namespace", o.MaxMachines, maxMaxMachines),
		between("machine-creations-per-minute", o.MachineCreations, maxMachineCreations),
		between("max-template-annotations-bytes", o.MaxTemplateAnnotations, maxMaxTemplateAnnotations),
	} {
		if err != nil {
			errs = append(errs, err)
		}
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
