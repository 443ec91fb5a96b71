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

// defaultInstallTimeout is for images that are pulled and volumes that are made.
const defaultInstallTimeout = 5 * time.Minute

// install is one run of the command.
type install struct {
	f       command
	options deployment.Options
	vcenter cli.VCenterFlags
	// etcdCA, etcdCert and etcdKey are files.
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
		Long: "Install Slipway into a cluster: namespace, rights, APIServices and the server, and the vCenter that --vcenter-url names. By default the\n" +
			"manifests are printed; --apply applies them as server-side apply does, with the rights of a cluster administrator. It can be interrupted and\n" +
			"run again, also with other flags: what is as it should be stays, and objects of users are not touched. Everything no flag sets is as in\n" +
			"artifacts/deploy, but for image and replicas: with --apply an installation that runs keeps its own. The password of vCenter is in what is printed.",
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
	flags.StringVar(&i.options.Image, "image", "", "Image of the server, which the nodes can pull; needed to --apply the first time, later the one that runs is kept")
	flags.IntVar(&i.options.Replicas, "replicas", 0, "Replicas of the server; more than 1 requires --etcd-servers. If it is not given, --apply keeps the number of an existing installation, and a new one has 1, or 2 with --etcd-servers")
	flags.StringSliceVar(&i.options.EtcdServers, "etcd-servers", nil, "URLs of an etcd cluster, instead of the embedded etcd with a volume")
	flags.StringVar(&i.etcdCA, "etcd-cafile", "", "PEM file of the certificate authorities of that etcd")
	flags.StringVar(&i.etcdCert, "etcd-certfile", "", "PEM file of the client certificate for that etcd")
	flags.StringVar(&i.etcdKey, "etcd-keyfile", "", "PEM file of the key of that certificate")
	flags.StringArrayVar(&i.options.ServerArgs, "server-arg", nil, "One more flag of slipway-apiserver, as in --server-arg=--vcenter-datastore=vsan; may be given several times")
	i.vcenter.AddFlagsFor(flags, "Address of the vCenter that the VCenter named default is to describe")
	flags.BoolVar(&i.apply, "apply", false, "Apply the manifests instead of printing them")
	flags.BoolVar(&i.force, "force-conflicts", false, "With --apply: take over fields that others have set to something else")
	flags.BoolVar(&i.wait, "wait", false, "With --apply: wait until the API is available, all replicas are ready as applied, and vCenter is connected to if one is given, and tell what is waited for")
	flags.DurationVar(&i.timeout, "timeout", defaultInstallTimeout, "How long to wait for each")
	return cmd
}

// complete reads what the flags name.
func (i *install) complete(ctx context.Context) error {
	switch {
	case i.wait && !i.apply:
		return errors.New("--wait goes with --apply: there is nothing to wait for otherwise")
	case i.force && !i.apply:
		return errors.New("--force-conflicts goes with --apply")
	case i.timeout <= 0:
		return fmt.Errorf("--timeout %s: must be more than 0s", i.timeout)
	}
	if n := i.f.Flags.Namespace; n != nil && *n != "" && *n != deployment.Namespace {
		return fmt.Errorf("--namespace %q: the server is installed into %s, and nowhere else", *n, deployment.Namespace)
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

// describe makes the objects.
func (i *install) describe() (err error) {
	i.hostObjects, i.ofServerObjects, err = deployment.Objects(i.options)
	return err
}

// DescribeVCenter describes the vCenter of the flags, nil if they name none. The environment
// alone describes none: its password would be printed unasked.
func DescribeVCenter(ctx context.Context, factory *cli.Factory, v *cli.VCenterFlags) (*deployment.VCenter, error) {
	f := command{factory}
	if v.URL == "" {
		if v.Username != "" || v.PasswordFile != "" || v.CAFile != "" || v.Thumbprint != "" || v.Insecure {
			return nil, errors.New("--vcenter-username, --vcenter-password-file, --vcenter-ca-file and --vcenter-thumbprint need --vcenter-url")
		}
		return nil, nil
	}
	if v.Insecure {
		return nil, errors.New("--vcenter-insecure: the server always checks who vCenter is; give --vcenter-ca-file or --vcenter-thumbprint")
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

// readFlag reads the file of a flag, if there is one.
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
		fmt.Fprintln(i.f.Streams.ErrOut, "warning: no --image is given: the manifests name that of artifacts/deploy, which nobody publishes")
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

// run applies all, what the server serves as soon as it does.
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
