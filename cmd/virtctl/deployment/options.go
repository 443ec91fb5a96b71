// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/vm/validation"
)

// Options are the options of an installation.
type Options struct {
	// Image is the server's image. Empty means that of artifacts/deploy.
	Image string
	// Replicas is the number of replicas. 0 means that of artifacts/deploy.
	Replicas int
	// EtcdServers are the addresses of an external etcd. If empty, the embedded etcd is used.
	EtcdServers []string
	// EtcdCA, EtcdCert and EtcdKey are the TLS files for the external etcd, in PEM.
	EtcdCA, EtcdCert, EtcdKey []byte
	// ServerArgs are additional arguments of the server.
	ServerArgs []string
	// VCenter describes the vCenter, nil for none.
	VCenter *VCenter
}

// VCenter describes the VCenter object named default.
type VCenter struct {
	// URL is the address of the SDK.
	URL string
	// CA holds trusted certificate authorities in PEM, Thumbprint that of the trusted certificate. If both are
	// empty, the authorities in the image are trusted.
	CA         []byte
	Thumbprint string
	// Username and Password are the credentials of the account.
	Username, Password string
}

// chosen lists server flags that the installation sets, with the install flag to use instead.
var chosen = map[string]string{
	"--secure-port": "", "--data-dir": "", "--tls-cert-file": "", "--tls-private-key-file": "",
	"--etcd-servers": "use --etcd-servers", "--etcd-cafile": "use --etcd-cafile", "--etcd-certfile": "use --etcd-certfile", "--etcd-keyfile": "use --etcd-keyfile",
	"--vcenter-url": "use --vcenter-url", "--vcenter-ca-file": "use --vcenter-ca-file", "--vcenter-thumbprint": "use --vcenter-thumbprint",
	"--vcenter-credentials-secret": "use --vcenter-username", "--vcenter-credentials-file": "use --vcenter-username",
}

// Validate returns all errors in the options.
func (o *Options) Validate() error {
	var errs []error
	if strings.ContainsAny(o.Image, " \t\r\n\"'") || strings.HasPrefix(o.Image, "-") {
		errs = append(errs, fmt.Errorf("--image %q: must be an image reference like registry.example.com/slipway-apiserver:v0.1.0", o.Image))
	}
	switch {
	case o.Replicas < 0:
		errs = append(errs, fmt.Errorf("--replicas %d: must not be negative", o.Replicas))
	case o.Replicas > 1 && len(o.EtcdServers) == 0:
		errs = append(errs, fmt.Errorf("--replicas %d: more than 1 requires --etcd-servers, because the embedded etcd serves one replica only", o.Replicas))
	}
	errs = append(errs, o.validateEtcd()...)
	for _, arg := range o.ServerArgs {
		name, _, _ := strings.Cut(arg, "=")
		use, taken := chosen[name]
		switch {
		case !strings.HasPrefix(arg, "--") || name == "--":
			errs = append(errs, fmt.Errorf("--server-arg %q: must be a flag of slipway-apiserver, like --server-arg=--vcenter-datastore=vsan", arg))
		case taken && use != "":
			errs = append(errs, fmt.Errorf("--server-arg %q: the installation sets %s itself: %s instead", arg, name, use))
		case taken:
			errs = append(errs, fmt.Errorf("--server-arg %q: the installation sets %s itself; other flags of slipway-apiserver are allowed", arg, name))
		}
	}
	if o.VCenter != nil {
		errs = append(errs, o.VCenter.validate()...)
	}
	return utilerrors.NewAggregate(errs)
}

func (o *Options) validateEtcd() []error {
	var errs []error
	for _, server := range o.EtcdServers {
		if u, err := url.Parse(server); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			errs = append(errs, fmt.Errorf("--etcd-servers %q: must have the form https://host:port, or http://host:port", server))
		}
	}
	if len(o.EtcdServers) == 0 && len(o.EtcdCA)+len(o.EtcdCert)+len(o.EtcdKey) > 0 {
		errs = append(errs, errors.New("--etcd-cafile, --etcd-certfile and --etcd-keyfile require --etcd-servers"))
	}
	if (len(o.EtcdCert) > 0) != (len(o.EtcdKey) > 0) {
		errs = append(errs, errors.New("--etcd-certfile and --etcd-keyfile must be set together"))
	}
	return errs
}

// flags maps the fields of a VCenter to flags.
var flags = map[string]string{"spec.url": "--vcenter-url", "spec.caBundle": "--vcenter-ca-file", "spec.thumbprint": "--vcenter-thumbprint"}

func (v *VCenter) validate() []error {
	var errs []error
	if v.Username == "" || v.Password == "" {
		errs = append(errs, errors.New("user name and password of vCenter are required: use --vcenter-username and --vcenter-password-file, or --vcenter-govc-env"))
	}
	object := v.object()
	for _, err := range validation.ValidateVCenter(object) {
		flag := flags[err.Field]
		if flag == "" {
			flag = err.Field
		}
		value := ""
		if _, omitted := err.BadValue.(field.OmitValueType); !omitted && err.Type == field.ErrorTypeInvalid {
			value = fmt.Sprintf(" %q", err.BadValue)
		}
		errs = append(errs, fmt.Errorf("%s%s: %s", flag, value, err.Detail))
	}
	return errs
}

// object returns the VCenter object.
func (v *VCenter) object() *vmv1alpha1.VCenter {
	object := &vmv1alpha1.VCenter{Spec: vmv1alpha1.VCenterSpec{
		URL: v.URL, CABundle: v.CA, Thumbprint: v.Thumbprint, CredentialsSecretRef: vmv1alpha1.VCenterSecretReference{Name: credentialsSecret},
	}}
	object.APIVersion, object.Kind, object.Name = vmv1alpha1.SchemeGroupVersion.String(), "VCenter", "default"
	return object
}
