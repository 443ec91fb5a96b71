// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"os"
)

// serviceHost is set by the kubelet in every container of a cluster.
const serviceHost = "KUBERNETES_SERVICE_HOST"

// fileFlag is a flag that names a file.
type fileFlag struct{ flag, path string }

// files are the flags that name files which must be there when the server starts.
// The credentials of vCenter are none of them: they are read at every login.
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

// validateFiles reads every file that a flag names. What the libraries say about one
// that cannot be read comes late in the start, and names no flag.
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

// validateHost wants kubeconfigs of a server that does not run in its host cluster.
func (o *Options) validateHost() []error {
	if os.Getenv(serviceHost) != "" {
		return nil
	}
	var errs []error
	need := func(flag, path string) {
		if path == "" {
			errs = append(errs, fmt.Errorf("--%s must be given to a server that runs outside of its host cluster", flag))
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
