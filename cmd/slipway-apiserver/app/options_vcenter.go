// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/slipway-dev/slipway/pkg/controller/fleet/connections"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
)

// VCenterOptions say how to reach vSphere and where virtual machines go.
type VCenterOptions struct {
	// URL is https://host[:port]/sdk. Empty: the server serves the API only.
	URL string
	// CredentialsFile is a YAML file with username and password.
	CredentialsFile string
	// CredentialsSecret is namespace/name of a Secret with the same keys.
	CredentialsSecret string
	// CAFile holds the certificates that the server's certificate is checked by.
	CAFile string
	// Thumbprint is the SHA-1 or SHA-256 of the server's certificate, in hex.
	Thumbprint string
	// Datacenter, ResourcePool, Folder, Datastore and Network are inventory paths or
	// names. Empty means the only one, or vSphere's default.
	Datacenter, ResourcePool, Folder, Datastore, Network string
	// Networks may be named by interfaces besides Network, HostDevices are the devices of
	// hosts that virtual machines may have. vsphere.Any stands for all.
	Networks, HostDevices []string
	// Check reports what is missing in vCenter instead of serving.
	Check bool
	// CheckZones is a file with Zones whose places Check looks for, instead of those of the
	// other fields. Empty for none.
	CheckZones string
	// MaxCalls is the number of calls to vCenter at the same time.
	MaxCalls int
	// SecretsNamespace is where the Secrets are that VCenter objects name.
	SecretsNamespace string
}

const (
	// defaultMaxCalls is what vCenter serves of one client before it queues.
	defaultMaxCalls = 32
	maxMaxCalls     = 256
)

func newVCenterOptions() VCenterOptions {
	return VCenterOptions{MaxCalls: defaultMaxCalls, SecretsNamespace: defaultNamespace}
}

func (o *VCenterOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.URL, "vcenter-url", o.URL, "URL of vCenter's SDK, https://host[:port]/sdk, for as long as there is no VCenter object named default.")
	fs.StringVar(&o.SecretsNamespace, "vcenter-secrets-namespace", o.SecretsNamespace, "Namespace of the host cluster that the Secrets are in which VCenter objects name. Who may write these objects may have the server send any Secret of this namespace, and of no other, to a host of their choice.")
	fs.StringVar(&o.CredentialsFile, "vcenter-credentials-file", o.CredentialsFile, "YAML file with the keys username and password.")
	fs.StringVar(&o.CredentialsSecret, "vcenter-credentials-secret", o.CredentialsSecret, "Secret of the host cluster, NAMESPACE/NAME, with the keys username and password.")
	fs.StringVar(&o.CAFile, "vcenter-ca-file", o.CAFile, "PEM file with the certificate authorities of vCenter. The system's are used when neither this nor --vcenter-thumbprint is given.")
	fs.StringVar(&o.Thumbprint, "vcenter-thumbprint", o.Thumbprint, "SHA-1 or SHA-256 of vCenter's certificate in hexadecimal, with or without colons.")
	fs.StringVar(&o.Datacenter, "vcenter-datacenter", o.Datacenter, "Datacenter by name or inventory path. Empty: the only one.")
	fs.StringVar(&o.ResourcePool, "vcenter-resource-pool", o.ResourcePool, "Resource pool of the virtual machines. Empty: the only one.")
	fs.StringVar(&o.Folder, "vcenter-folder", o.Folder, "Folder below which each namespace gets a folder of its own. Empty: slipway, in the VM folder of the datacenter, made if missing.")
	fs.StringVar(&o.Datastore, "vcenter-datastore", o.Datastore, "Datastore of the virtual machines. Empty: the only one.")
	fs.BoolVar(&o.Check, "check-vcenter", o.Check, "Connect to vCenter as the other flags say, report each privilege that is missing by object, and end: with 0 when nothing is missing but for storage policies, encryption, claims, snapshots, CD-ROM drives, consoles and screenshots, which are reported too. Nothing is changed.")
	fs.StringVar(&o.CheckZones, "check-vcenter-zones", o.CheckZones, "YAML file with Zones, for example of kubectl get zones -o yaml, at most 1 MiB: --check-vcenter looks for their folders, resource pools, datastores, networks and storage policies in this vCenter, instead of for the places of the other flags.")
	fs.IntVar(&o.MaxCalls, "vcenter-max-calls", o.MaxCalls, "Number of calls to vCenter at the same time. Waits for changes and deployments of images are not among them.")
	fs.StringVar(&o.Network, "vcenter-network", o.Network, "Network of interfaces that name none. Empty: the only one.")
	fs.StringSliceVar(&o.Networks, "vcenter-networks", o.Networks, "Networks that interfaces may name, by name or inventory path, besides --vcenter-network. None else is allowed, to any namespace. * allows all that the account sees, those of the management of vSphere included.")
	fs.StringSliceVar(&o.HostDevices, "vcenter-host-devices", o.HostDevices, "Devices of hosts that virtual machines may have as GPUs and host devices: vGPU profiles, and vendor:device of PCI devices in hexadecimal. * allows all. Empty: none.")
}

func (o *VCenterOptions) validate() []error {
	var errs []error
	if wrong := apivalidation.ValidateNamespaceName(o.SecretsNamespace, false); len(wrong) > 0 {
		errs = append(errs, fmt.Errorf("--vcenter-secrets-namespace %q: %s", o.SecretsNamespace, strings.Join(wrong, "; ")))
	}
	if slices.Contains(slices.Concat(o.Networks, o.HostDevices), "") {
		errs = append(errs, errors.New("--vcenter-networks and --vcenter-host-devices must not hold empty names"))
	}
	if err := between("vcenter-max-calls", o.MaxCalls, maxMaxCalls); err != nil {
		errs = append(errs, err)
	}
	if o.URL == "" {
		if o.CredentialsFile != "" || o.CredentialsSecret != "" || o.CAFile != "" || o.Thumbprint != "" {
			errs = append(errs, errors.New("--vcenter-credentials-*, --vcenter-ca-file and --vcenter-thumbprint need --vcenter-url"))
		}
		return errs
	}
	if u, err := url.Parse(o.URL); err != nil {
		errs = append(errs, fmt.Errorf("--vcenter-url %q: %w", o.URL, err))
	} else {
		if u.Scheme != "https" || u.Host == "" {
			errs = append(errs, fmt.Errorf("--vcenter-url %q: must have the form https://host[:port]/sdk", u.Redacted()))
		}
		if u.User != nil {
			errs = append(errs, errors.New("--vcenter-url must not hold credentials: use --vcenter-credentials-file or --vcenter-credentials-secret"))
		}
	}
	if (o.CredentialsFile == "") == (o.CredentialsSecret == "") {
		errs = append(errs, errors.New("exactly one of --vcenter-credentials-file and --vcenter-credentials-secret must be given"))
	}
	if o.CredentialsSecret != "" {
		if _, err := o.Secret(); err != nil {
			errs = append(errs, err)
		}
	}
	if o.CAFile != "" && o.Thumbprint != "" {
		errs = append(errs, errors.New("at most one of --vcenter-ca-file and --vcenter-thumbprint may be given"))
	}
	if len(errs) == 0 {
		errs = o.validateTrust()
	}
	return errs
}

// validateTrust prepares a session, which connects to nothing yet. A replica that is
// not elected prepares its own only when it is, too late to find a mistake.
func (o *VCenterOptions) validateTrust() []error {
	flag := "--vcenter-ca-file"
	if o.Thumbprint != "" {
		flag = "--vcenter-thumbprint"
	}
	unused := func(context.Context) (string, string, error) { return "", "", nil }
	_, err := session.New(session.Options{URL: o.URL, CAFile: o.CAFile, Thumbprint: o.Thumbprint, Credentials: unused})
	if err != nil {
		return []error{fmt.Errorf("%s: %w", flag, err)}
	}
	return nil
}

// config says how to reach vCenter; host is where a Secret is read.
func (o *VCenterOptions) config(host kubernetes.Interface) (vsphere.Config, error) {
	c := o.places()
	c.URL, c.CAFile, c.Thumbprint = o.URL, o.CAFile, o.Thumbprint
	if o.CredentialsFile != "" {
		c.Credentials = connections.FileCredentials(o.CredentialsFile)
		return c, nil
	}
	secret, err := o.Secret()
	c.Credentials = connections.SecretCredentials(host, secret)
	return c, err
}

// places says where virtual machines go in a vCenter, and how many calls are made.
func (o *VCenterOptions) places() vsphere.Config {
	return vsphere.Config{
		Datacenter: o.Datacenter, ResourcePool: o.ResourcePool, Folder: o.Folder, Datastore: o.Datastore, Network: o.Network,
		Networks: o.Networks, HostDevices: o.HostDevices,
		MaxCalls: o.MaxCalls,
	}
}

// Secret parses CredentialsSecret.
func (o *VCenterOptions) Secret() (types.NamespacedName, error) {
	namespace, name, ok := strings.Cut(o.CredentialsSecret, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return types.NamespacedName{}, fmt.Errorf("--vcenter-credentials-secret %q: must have the form NAMESPACE/NAME", o.CredentialsSecret)
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}
