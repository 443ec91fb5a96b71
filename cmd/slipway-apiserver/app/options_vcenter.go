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

// VCenterOptions configures the connection to vSphere and the placement of virtual machines.
type VCenterOptions struct {
	// URL is https://host[:port]/sdk. If it is empty, the server only serves the API.
	URL string
	// CredentialsFile is a YAML file with username and password.
	CredentialsFile string
	// CredentialsSecret is namespace/name of a Secret with the same keys.
	CredentialsSecret string
	// CAFile is a PEM file of certificate authorities for vCenter's certificate.
	CAFile string
	// Thumbprint is the SHA-1 or SHA-256 fingerprint of vCenter's certificate, in hexadecimal.
	Thumbprint string
	// Datacenter, ResourcePool, Folder, Datastore and Network are inventory paths or names. Empty selects the only
	// one, or vSphere's default.
	Datacenter, ResourcePool, Folder, Datastore, Network string
	// Networks are the networks that interfaces may specify in addition to Network. HostDevices are the host devices
	// that virtual machines may use. vsphere.Any allows all.
	Networks, HostDevices []string
	// Check reports missing vCenter privileges and exits instead of serving.
	Check bool
	// CheckZones is a file of Zones whose inventory objects Check verifies instead of those of the other fields.
	CheckZones string
	// MaxCalls is the maximum number of concurrent calls to vCenter.
	MaxCalls int
	// SecretsNamespace is the namespace of the Secrets that VCenter objects refer to.
	SecretsNamespace string
}

const (
	// defaultMaxCalls is the number of calls of one client that vCenter serves before it queues them.
	defaultMaxCalls = 32
	maxMaxCalls     = 256
)

func newVCenterOptions() VCenterOptions {
	return VCenterOptions{MaxCalls: defaultMaxCalls, SecretsNamespace: defaultNamespace}
}

func (o *VCenterOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.URL, "vcenter-url", o.URL, "URL of the vCenter SDK, https://host[:port]/sdk. Used only if no VCenter object named default exists.")
	fs.StringVar(&o.SecretsNamespace, "vcenter-secrets-namespace", o.SecretsNamespace, "Namespace of VCenter objects' Secrets. A user who can write a VCenter can make the server send its Secrets to any host.")
	fs.StringVar(&o.CredentialsFile, "vcenter-credentials-file", o.CredentialsFile, "YAML file with the keys username and password.")
	fs.StringVar(&o.CredentialsSecret, "vcenter-credentials-secret", o.CredentialsSecret, "Secret of the management cluster, NAMESPACE/NAME, with the keys username and password.")
	fs.StringVar(&o.CAFile, "vcenter-ca-file", o.CAFile, "PEM file with vCenter's certificate authorities. Defaults to those of the system if --vcenter-thumbprint is not set.")
	fs.StringVar(&o.Thumbprint, "vcenter-thumbprint", o.Thumbprint, "SHA-1 or SHA-256 fingerprint of vCenter's certificate in hexadecimal, with or without colons.")
	fs.StringVar(&o.Datacenter, "vcenter-datacenter", o.Datacenter, "Datacenter, by name or inventory path. Empty selects the only one.")
	fs.StringVar(&o.ResourcePool, "vcenter-resource-pool", o.ResourcePool, "Resource pool of the virtual machines. Empty selects the only one.")
	fs.StringVar(&o.Folder, "vcenter-folder", o.Folder, "Folder that contains one folder per namespace. Empty is slipway in the datacenter's VM folder, created if missing.")
	fs.StringVar(&o.Datastore, "vcenter-datastore", o.Datastore, "Datastore of the virtual machines. Empty selects the only one.")
	fs.BoolVar(&o.Check, "check-vcenter", o.Check, "Report missing vCenter privileges by object and exit, without changes. Exit status 0 if only optional features lack privileges.")
	fs.StringVar(&o.CheckZones, "check-vcenter-zones", o.CheckZones, "YAML file of Zones (kubectl get zones -o yaml), at most 1 MiB, that --check-vcenter verifies instead of the other flags' inventory.")
	fs.IntVar(&o.MaxCalls, "vcenter-max-calls", o.MaxCalls, "Maximum number of concurrent calls to vCenter, not counting waits for changes and image deployments.")
	fs.StringVar(&o.Network, "vcenter-network", o.Network, "Network of interfaces that do not specify one. Empty selects the only one.")
	fs.StringSliceVar(&o.Networks, "vcenter-networks", o.Networks, "Other networks that interfaces may use, by name or inventory path. * allows all visible networks, including vSphere's management networks.")
	fs.StringSliceVar(&o.HostDevices, "vcenter-host-devices", o.HostDevices, "GPUs and host devices that VMs may use: vGPU profiles and vendor:device IDs in hexadecimal. * allows all. Empty allows none.")
}

func (o *VCenterOptions) validate() []error {
	var errs []error
	if wrong := apivalidation.ValidateNamespaceName(o.SecretsNamespace, false); len(wrong) > 0 {
		errs = append(errs, fmt.Errorf("--vcenter-secrets-namespace %q: %s", o.SecretsNamespace, strings.Join(wrong, "; ")))
	}
	if slices.Contains(slices.Concat(o.Networks, o.HostDevices), "") {
		errs = append(errs, errors.New("--vcenter-networks and --vcenter-host-devices must not contain empty names"))
	}
	if err := between("vcenter-max-calls", o.MaxCalls, maxMaxCalls); err != nil {
		errs = append(errs, err)
	}
	if o.URL == "" {
		if o.CredentialsFile != "" || o.CredentialsSecret != "" || o.CAFile != "" || o.Thumbprint != "" {
			errs = append(errs, errors.New("--vcenter-credentials-*, --vcenter-ca-file and --vcenter-thumbprint require --vcenter-url"))
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
			errs = append(errs, errors.New("--vcenter-url must not contain credentials: use --vcenter-credentials-file or --vcenter-credentials-secret"))
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

// validateTrust prepares a session without connecting. A replica that is not elected would find a mistake only after
// its election.
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

// config returns the connection settings of vCenter. Secrets are read from host.
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

// places returns where virtual machines are placed in vCenter and how many concurrent calls are allowed.
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
