// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	"github.com/slipway-dev/slipway/cmd/virtctl/deployment"
	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/install"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// checkTimeout bounds each check, so that it ends also when a server does not respond.
const checkTimeout = 2 * time.Minute

// errLacking is returned by check when a requirement is not met.
var errLacking = errors.New("some requirements are not met: see above")

// check is one run of the command.
type check struct {
	f       *cli.Factory
	vcenter cli.VCenterFlags
	args    []string
	// zones is the file of the Zones to check in vCenter. Without it, the Zones of the cluster are checked.
	zones string
	// record is the file to which vCenter's answers are recorded. Empty disables recording.
	record  string
	try     tryFlags
	host    kubernetes.Interface
	cluster *install.Applier
	// lacking is true if a requirement is not met. served is true if all APIServices are available.
	lacking, served bool
}

// NewCommand returns the command.
func NewCommand(f *cli.Factory) *cobra.Command {
	c := &check{f: f}
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check the requirements and the health of an installation",
		Long: "Check the requirements and the health of an installation. Of the cluster: its version, the APIs that the server reads, the\n" +
			"aggregation layer and, before the installation, your permissions to install; afterwards whether each\n" +
			"APIService is available, and the replicas of the server, each VCenter and each Zone are ready. With --vcenter-url, also of vCenter:\n" +
			"whether it is reachable, its version and clock, the privileges that the account lacks on each object, and the clusters, datastores and\n" +
			"content libraries that the account can see. Checked are the objects of the Zones of --zones, or of the placement of --server-arg, or\n" +
			"of the cluster's Zones of this vCenter. Without a kubeconfig only vCenter is checked.\n" +
			"Nothing is changed without --try, which creates a virtual machine in the namespace (-n) with a generated name and the label\n" +
			tryLabel + "=" + tryValue + ", and always deletes it, also after a failure or an interrupt. It reports how long\n" +
			"each step took, and the conditions and events that explain a failure. Exit status: 0 if all requirements are met, otherwise 1.",
		Example: fmt.Sprintf("  %[1]s check\n  %[1]s check --try -n default\n  %[1]s check --try --image photon-5 --instancetype u1.small --power-on\n  %[1]s check --vcenter-url vcenter.example.com --vcenter-username slipway@vsphere.local --vcenter-password-file - --vcenter-ca-file vcenter-ca.pem \\\n"+
			"    --zones zones.yaml", f.Program),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.try.validate(cmd.Flags()); err != nil {
				return err
			}
			if c.vcenter.URL == "" && !c.vcenter.GOVCEnv {
				switch {
				case c.record != "":
					return errors.New("--record requires --vcenter-url")
				case c.zones != "":
					return errors.New("--zones requires --vcenter-url")
				}
			}
			return c.run(cmd.Context())
		},
	}
	c.vcenter.AddFlagsFor(cmd.Flags(), "Address of a vCenter to check as well")
	c.try.addFlags(cmd.Flags())
	cmd.Flags().StringVar(&c.record, "record", "", "Record vCenter's answers to this file for a bug report, with names, addresses and IDs replaced; review it before you share it. "+
		"Requires --vcenter-url")
	cmd.Flags().StringVar(&c.zones, "zones", "", "File with Zone manifests whose objects are checked in vCenter, or - for standard input; requires --vcenter-url")
	cmd.Flags().StringArrayVar(&c.args, "server-arg", nil, "Flag of slipway-apiserver; only flags for the placement of VMs in vCenter are checked; may be repeated")
	return cmd
}

func (c *check) run(ctx context.Context) error {
	described, err := install.DescribeVCenter(ctx, c.f, &c.vcenter)
	if err != nil {
		return err
	}
	if err := (&deployment.Options{ServerArgs: c.args, VCenter: described}).Validate(); err != nil {
		return err
	}
	zones, err := c.readZones()
	if err != nil {
		return err
	}
	if err := c.connect(described != nil && !c.try.on); err != nil {
		return err
	}
	if err := c.look(ctx, described, zones); err != nil {
		return err
	}
	if c.try.on {
		if err := c.tryMachine(ctx); err != nil {
			return err
		}
	}
	if c.lacking {
		return errLacking
	}
	return nil
}

// connect creates the clients of the cluster. If it is optional, they are not created without a kubeconfig.
func (c *check) connect(optional bool) error {
	if optional {
		there, err := c.f.HasCluster()
		if err != nil {
			return err
		}
		if !there {
			c.note("no kubeconfig was found: only vCenter is checked")
			return nil
		}
	}
	var err error
	if c.cluster, err = install.NewApplier(c.f, false); err != nil {
		return err
	}
	c.host, err = c.f.Host()
	return err
}

// look runs the checks that change nothing. vCenter is checked also if the cluster cannot be checked.
func (c *check) look(ctx context.Context, described *deployment.VCenter, zones []vmv1alpha1.Zone) error {
	within := func(do func(context.Context) error) error {
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		defer cancel()
		return do(ctx)
	}
	if c.cluster != nil {
		err := within(c.checkCluster)
		if err != nil && (described == nil || ctx.Err() != nil) {
			return err
		}
		if err != nil {
			c.lacks("the cluster cannot be checked: %v", err)
		}
	}
	if described == nil {
		return nil
	}
	return within(func(ctx context.Context) error { return c.checkVCenter(ctx, described, zones) })
}

// ok, note and lacks print a finding.
func (c *check) ok(format string, args ...any) {
	fmt.Fprintf(c.f.Streams.Out, "ok       "+format+"\n", args...)
}

func (c *check) note(format string, args ...any) {
	fmt.Fprintf(c.f.Streams.Out, "note     "+format+"\n", args...)
}

func (c *check) lacks(format string, args ...any) {
	c.lacking = true
	fmt.Fprintf(c.f.Streams.Out, "MISSING  "+format+"\n", args...)
}

// may reports whether the user has a permission.
func (c *check) may(ctx context.Context, what authorizationv1.ResourceAttributes) (bool, error) {
	review, err := c.host.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &what},
	}, createOptions)
	if err != nil {
		return false, fmt.Errorf("asking for your rights: %w", err)
	}
	return review.Status.Allowed, nil
}
