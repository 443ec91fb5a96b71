// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"os"
)

// serviceHost is an environment variable that the kubelet sets in every container.
const serviceHost = "KUBERNETES_SERVICE_HOST"

// fileFlag is a flag whose value is a file name.
type fileFlag struct{ flag, path string }

// files are the flags whose files must exist when the server starts. vCenter credentials are not in the list because
// they are read at every login.
func (o *Options) files() []fileFlag {
	r := o.Recommended
	transport := &r.Etcd.StorageConfig.Transport
	files := []fileFlag{
		{"tls-cert-file", r.SecureServing.ServerCert.CertKey.CertFile},
		{"tls-private-key-file", r.SecureServing.ServerCert.CertKey.KeyFile},
		{"client-ca-file", r.Authentication.ClientCert.ClientCA},
		{"requestheader-client-ca-file", r.Authentication.RequestHeader.ClientCAFile},
		{"authentication-kubeconfig", r.Authentication.RemoteKubeConfigFile},
		{"authorization-kubeconfig", r.Authorization.RemoteKubeConfigFile},
		{"etcd-cafile", transport.TrustedCAFile},
		{"etcd-certfile", transport.CertFile},
		{"etcd-keyfile", transport.KeyFile},
	}
	if r.CoreAPI != nil {
		files = append(files, fileFlag{"kubeconfig", r.CoreAPI.CoreAPIKubeconfigPath})
	}
	if r.Admission != nil {
		files = append(files, fileFlag{"admission-control-config-file", r.Admission.ConfigFile})
	}
	return files
}

// validateFiles reads the file of every such flag. The libraries would report an unreadable file later and without
// the name of the flag.
func (o *Options) validateFiles() []error {
	var errs []error
	for _, f := range o.files() {
		if f.path == "" {
			continue
		}
		if _, err := os.ReadFile(f.path); err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", f.flag, err))
		}
	}
	return errs
}

// validateHost requires kubeconfig flags if the server runs outside its management cluster.
func (o *Options) validateHost() []error {
	if os.Getenv(serviceHost) != "" {
		return nil
	}
	var errs []error
	need := func(flag, path string) {
		if path == "" {
			errs = append(errs, fmt.Errorf("--%s must be given if the server runs outside its management cluster", flag))
		}
	}
	r := o.Recommended
	if r.CoreAPI != nil {
		need("kubeconfig", r.CoreAPI.CoreAPIKubeconfigPath)
	}
	if !r.Authentication.RemoteKubeConfigFileOptional {
		need("authentication-kubeconfig", r.Authentication.RemoteKubeConfigFile)
	}
	if !r.Authorization.RemoteKubeConfigFileOptional {
		need("authorization-kubeconfig", r.Authorization.RemoteKubeConfigFile)
	}
	return errs
}
