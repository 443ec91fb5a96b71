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
)

// checkTimeout bounds each of the checks, so that they end beside a silent server.
const checkTimeout = 2 * time.Minute

// errLacking ends check when something is not as it has to be.
var errLacking = errors.New("something is missing: see above")

// check is one run of the command.
type check struct {
	f       *cli.Factory
	vcenter cli.VCenterFlags
	args    []string
	// record is the file for a recording of vCenter's answers, empty for none.
	record  string
	try     tryFlags
	host    kubernetes.Interface
	cluster *install.Applier
	// lacking is true when something is not as it has to be, served when all APIServices are
	// available.
	lacking, served bool
}

// NewCommand returns the command.
func NewCommand(f *cli.Factory) *cobra.Command {
	c := &check{f: f}
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Tell what an installation of Slipway lacks, before and after",
		Long: "Tell what an installation of Slipway lacks. Of the cluster: which version it is, whether it serves what the server reads, whether its\n" +
			"aggregation layer is on, and, before the installation, which of the rights that install takes you do not have; afterwards whether each\n" +
			"APIService is available, and the replicas of the server, each VCenter and each Zone are ready. With --vcenter-url also of vCenter:\n" +
			"whether it can be reached, its version, and each privilege that the account lacks, by object, and which datastores and content libraries\n" +
			"the account sees; --server-arg says where virtual machines go, as for install.\n" +
			"Nothing is changed, except by --try: that makes a virtual machine in the namespace (-n), with a name of its own and the label\n" +
			tryLabel + "=" + tryValue + ", and removes it, also when it does not become what it should, or is interrupted. It says how long\n" +
			"each step took, and of a failure the conditions and events that say why. It exits with 0 when nothing is missing, else with 1.",
		Example: fmt.Sprintf("  %[1]s check\n  %[1]s check --try -n default\n  %[1]s check --try --image photon-5 --instancetype u1.small --power-on\n  %[1]s check --vcenter-url vcenter.example.com --vcenter-username slipway@vsphere.local --vcenter-password-file - --vcenter-ca-file vcenter-ca.pem \\\n"+
			"    --server-arg=--vcenter-datastore=vsan", f.Program),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.try.validate(cmd.Flags()); err != nil {
				return err
			}
			if c.record != "" && c.vcenter.URL == "" {
				return errors.New("--record needs --vcenter-url")
			}
			return c.run(cmd.Context())
		},
	}
	c.vcenter.AddFlagsFor(cmd.Flags(), "Address of a vCenter to check, too")
	c.try.addFlags(cmd.Flags())
	cmd.Flags().StringVar(&c.record, "record", "", "File to write a recording of vCenter's answers to, for a report: versions, privileges, and properties and recent tasks of a sample of objects. "+
		"Names, addresses and IDs are replaced, and of settings, annotations and vApp properties only the length is recorded; review the file before you attach it. Needs --vcenter-url")
	cmd.Flags().StringArrayVar(&c.args, "server-arg", nil, "A flag of slipway-apiserver: those that say where in vCenter virtual machines go are looked at, others are not; may be given several times")
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
	if c.cluster, err = install.NewApplier(c.f, false); err != nil {
		return err
	}
	if c.host, err = c.f.Host(); err != nil {
		return err
	}
	if err := c.look(ctx, described); err != nil {
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

// look makes the checks that change nothing.
func (c *check) look(ctx context.Context, described *deployment.VCenter) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := c.checkCluster(ctx); err != nil || described == nil {
		return err
	}
	return c.checkVCenter(ctx, described)
}

// ok and lacks print a finding.
func (c *check) ok(format string, args ...any) {
	fmt.Fprintf(c.f.Streams.Out, "ok       "+format+"\n", args...)
}

func (c *check) lacks(format string, args ...any) {
	c.lacking = true
	fmt.Fprintf(c.f.Streams.Out, "MISSING  "+format+"\n", args...)
}

// may asks whether the user may do something.
func (c *check) may(ctx context.Context, what authorizationv1.ResourceAttributes) (bool, error) {
	review, err := c.host.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &what},
	}, createOptions)
	if err != nil {
		return false, fmt.Errorf("asking for your rights: %w", err)
	}
	return review.Status.Allowed, nil
}
