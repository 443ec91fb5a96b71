// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	"github.com/slipway-dev/slipway/cmd/virtctl/deployment"
)

// defaultInstallTimeout allows for pulling images and provisioning volumes.
const defaultInstallTimeout = 5 * time.Minute

// install is one run of the command.
type install struct {
	f       command
	options deployment.Options
	vcenter cli.VCenterFlags
	// etcdCA, etcdCert and etcdKey are file names.
	etcdCA, etcdCert, etcdKey    string
	apply, wait, force           bool
	timeout                      time.Duration
	cluster                      *Applier
	hostObjects, ofServerObjects []*unstructured.Unstructured
}

// NewCommand returns the command.
func NewCommand(factory *cli.Factory) *cobra.Command {
	f := command{factory}
	i := &install{f: f}
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Install Slipway into a cluster, or print its manifests",
		Long: "Install Slipway into a cluster: namespace, RBAC, APIServices, the server, and a VCenter if --vcenter-url or --vcenter-govc-env is set. By default the\n" +
			"manifests are printed. --apply applies them with server-side apply, which requires cluster-admin. The command can be interrupted and\n" +
			"run again, also with other flags; users' objects are not changed. Settings without a flag are those of\n" +
			"artifacts/deploy, but --apply keeps the image and replicas of an existing installation. Printed manifests contain the vCenter password.",
		Example: fmt.Sprintf("  %[1]s install --image registry.example.com/slipway-apiserver:v0.1.0\n"+
			"  %[1]s install --apply --wait --image registry.example.com/slipway-apiserver:v0.1.0 \\\n"+
			"    --vcenter-url vcenter.example.com --vcenter-username slipway@vsphere.local --vcenter-password-file - --vcenter-ca-file vcenter-ca.pem \\\n"+
			"    --server-arg=--vcenter-datastore=vsan", f.Program),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := i.complete(cmd.Context()); err != nil {
				return err
			}
			if !i.apply {
				return i.print()
			}
			return i.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&i.options.Image, "image", "", "Image of the server; required for the first --apply (default: that of the existing installation)")
	flags.IntVar(&i.options.Replicas, "replicas", 0, "Replicas of the server; more than 1 requires --etcd-servers (default: those of the existing installation, or 1, or 2 with --etcd-servers)")
	flags.StringSliceVar(&i.options.EtcdServers, "etcd-servers", nil, "URLs of an etcd cluster to use instead of the embedded etcd")
	flags.StringVar(&i.etcdCA, "etcd-cafile", "", "PEM file with the certificate authorities of --etcd-servers")
	flags.StringVar(&i.etcdCert, "etcd-certfile", "", "PEM file with the client certificate for --etcd-servers")
	flags.StringVar(&i.etcdKey, "etcd-keyfile", "", "PEM file with the key of --etcd-certfile")
	flags.StringArrayVar(&i.options.ServerArgs, "server-arg", nil, "Additional flag of slipway-apiserver, like --server-arg=--vcenter-datastore=vsan; may be repeated")
	i.vcenter.AddFlagsFor(flags, "Address of the vCenter for the VCenter named default")
	flags.BoolVar(&i.apply, "apply", false, "Apply the manifests instead of printing them")
	flags.BoolVar(&i.force, "force-conflicts", false, "With --apply: override conflicting fields of other field managers")
	flags.BoolVar(&i.wait, "wait", false, "With --apply: wait until the API is available, all replicas are ready and vCenter is connected, and show progress")
	flags.DurationVar(&i.timeout, "timeout", defaultInstallTimeout, "How long each step of --wait may take")
	return cmd
}

// complete reads the files of the flags.
func (i *install) complete(ctx context.Context) error {
	switch {
	case i.wait && !i.apply:
		return errors.New("--wait requires --apply")
	case i.force && !i.apply:
		return errors.New("--force-conflicts requires --apply")
	case i.timeout <= 0:
		return fmt.Errorf("--timeout %s: must be more than 0s", i.timeout)
	}
	if n := i.f.Flags.Namespace; n != nil && *n != "" && *n != deployment.Namespace {
		return fmt.Errorf("--namespace %q: the server can only be installed into %s", *n, deployment.Namespace)
	}
	for _, file := range []struct {
		flag, path string
		data       *[]byte
	}{{"etcd-cafile", i.etcdCA, &i.options.EtcdCA}, {"etcd-certfile", i.etcdCert, &i.options.EtcdCert}, {"etcd-keyfile", i.etcdKey, &i.options.EtcdKey}} {
		if err := i.f.readFlag(file.flag, file.path, file.data); err != nil {
			return err
		}
	}
	var err error
	if i.options.VCenter, err = DescribeVCenter(ctx, i.f.Factory, &i.vcenter); err != nil {
		return err
	}
	return i.options.Validate()
}

// describe builds the objects.
func (i *install) describe() (err error) {
	i.hostObjects, i.ofServerObjects, err = deployment.Objects(i.options)
	return err
}

// DescribeVCenter returns the vCenter of the flags, or nil if they specify none.
func DescribeVCenter(ctx context.Context, factory *cli.Factory, v *cli.VCenterFlags) (*deployment.VCenter, error) {
	f := command{factory}
	if v.URL == "" && !v.GOVCEnv {
		if v.Username != "" || v.PasswordFile != "" || v.CAFile != "" || v.Thumbprint != "" || v.Insecure {
			return nil, errors.New("--vcenter-username, --vcenter-password-file, --vcenter-ca-file and --vcenter-thumbprint require --vcenter-url or --vcenter-govc-env")
		}
		return nil, nil
	}
	if v.Insecure {
		return nil, errors.New("--vcenter-insecure is not supported: the server always verifies vCenter's certificate; use --vcenter-ca-file or --vcenter-thumbprint")
	}
	server, err := v.Server(ctx, f.Factory)
	if err != nil {
		return nil, err
	}
	u := *server.URL
	u.Path = cmp.Or(u.Path, "/sdk")
	password, _ := server.User.Password()
	described := &deployment.VCenter{URL: u.String(), Thumbprint: server.Thumbprint, Username: server.User.Username(), Password: password}
	return described, f.readFlag("vcenter-ca-file", server.CAFile, &described.CA)
}

// readFlag reads the file of a flag, if the flag is set.
func (f command) readFlag(flag, path string, into *[]byte) error {
	if path == "" {
		return nil
	}
	data, err := f.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading --%s: %w", flag, err)
	}
	if len(data) == 0 {
		return fmt.Errorf("--%s %q: must not be empty", flag, path)
	}
	*into = data
	return nil
}

func (i *install) print() error {
	if i.options.Image = cmp.Or(i.options.Image, ReleasedImage); i.options.Image == "" {
		fmt.Fprintln(i.f.Streams.ErrOut, "warning: --image is not set: the manifests contain the image of artifacts/deploy, which is not published")
	}
	if err := i.describe(); err != nil {
		return err
	}
	var all []runtime.Object
	for _, u := range append(i.hostObjects, i.ofServerObjects...) {
		all = append(all, u)
	}
	return cli.PrintManifests(i.f.Streams.Out, all...)
}

// run applies all objects. Objects of Slipway's API follow once it is served.
func (i *install) run(ctx context.Context) error {
	var err error
	if i.cluster, err = NewApplier(i.f.Factory, i.force); err != nil {
		return err
	}
	if err := i.keep(ctx); err != nil {
		return err
	}
	if err := i.describe(); err != nil {
		return err
	}
	for _, u := range i.hostObjects {
		if err := i.cluster.apply(ctx, u); err != nil {
			return err
		}
	}
	if !i.wait && len(i.ofServerObjects) == 0 {
		return nil
	}
	if err := i.awaitAPI(ctx); err != nil {
		return err
	}
	if i.wait {
		if err := i.awaitServer(ctx); err != nil {
			return err
		}
	}
	for _, u := range i.ofServerObjects {
		if err := i.cluster.apply(ctx, u); err != nil {
			return err
		}
		if i.wait {
			if err := i.awaitReady(ctx, u); err != nil {
				return err
			}
		}
	}
	return nil
}
