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
	// MaxMachines is the number of Machines that a namespace can have, MaxTemplateAnnotations the size
	// of the annotations that a template gives to each object.
	MaxMachines, MaxTemplateAnnotations int
	// MachineCreations is the number of Machines that the MachineSets of a namespace create in a minute.
	MachineCreations int
}

// minGrace is longer than several probes take.
const minGrace = 2 * time.Minute

// A namespace with as many Machines as the defaults allow, and with the largest annotations, takes
// about 70 MiB of the store: two templates give theirs to each virtual machine.
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
		"Networks, like 10.0.0.0/8, whose addresses the server may connect to if the kubeconfig of a workload cluster names them. Empty means all except "+deniedByDefault+".")
	fs.DurationVar(&o.Grace, "remote-conditions-grace-period", o.Grace, fmt.Sprintf("How long a workload cluster may be silent before the conditions of Machines that tell of its Nodes are Unknown, at least %s.", minGrace))
	fs.StringSliceVar(&o.Labels, "additional-sync-machine-labels", o.Labels,
		"Regular expressions of keys of labels that go from Machines to Nodes, besides node-role.kubernetes.io, node-restriction.kubernetes.io and node.cluster.x-k8s.io.")
	fs.StringSliceVar(&o.Annotations, "additional-sync-machine-annotations", o.Annotations,
		"Regular expressions of keys of annotations that go from Machines to Nodes, besides node.cluster.x-k8s.io.")
	fs.IntVar(&o.Workers, "machine-concurrency", o.Workers, "Number of Machines that are looked at at the same time.")
	fs.IntVar(&o.MaxMachines, "max-machines-per-namespace", o.MaxMachines, "Number of Machines that a namespace can have. More are refused, whether a user or a MachineSet creates them.")
	fs.IntVar(&o.MachineCreations, "machine-creations-per-minute", o.MachineCreations,
		"Number of Machines that the MachineSets of a namespace create in a minute, after 100 in quick succession.")
	fs.IntVar(&o.MaxTemplateAnnotations, "max-template-annotations-bytes", o.MaxTemplateAnnotations,
		"Size of the annotations in spec.template of a MachineSet, MachineDeployment or VirtualMachineTemplate, in bytes. Each object that a controller creates from the template has them.")
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
