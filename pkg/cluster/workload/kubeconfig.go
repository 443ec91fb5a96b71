// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// maxKubeconfig is the maximum size of a kubeconfig, in bytes. Kubeconfigs of Cluster API have about 6,000 bytes.
const maxKubeconfig = 64 << 10

// parseKubeconfig returns the client configuration of the current context. It copies a fixed list of fields, so that
// fields of later versions of the format are not used without a review.
func parseKubeconfig(data []byte) (*rest.Config, error) {
	if len(data) > maxKubeconfig {
		return nil, fmt.Errorf("it has %d bytes; the maximum is %d", len(data), maxKubeconfig)
	}
	k, err := clientcmd.Load(data)
	if err != nil {
		// The error would quote the input.
		return nil, errors.New("it is not a kubeconfig in YAML or JSON")
	}
	if err := validateKubeconfig(k); err != nil {
		return nil, err
	}
	current, found := k.Contexts[k.CurrentContext]
	if !found {
		return nil, fmt.Errorf("current-context is %q, but no context has this name", k.CurrentContext)
	}
	cluster, found := k.Clusters[current.Cluster]
	if !found {
		return nil, fmt.Errorf("context %q refers to cluster %q, which does not exist", k.CurrentContext, current.Cluster)
	}
	user, found := k.AuthInfos[current.AuthInfo]
	if !found {
		return nil, fmt.Errorf("context %q refers to user %q, which does not exist", k.CurrentContext, current.AuthInfo)
	}
	if err := checkServer(cluster.Server); err != nil {
		return nil, err
	}
	return &rest.Config{
		Host:               cluster.Server,
		DisableCompression: cluster.DisableCompression,
		BearerToken:        user.Token,
		Username:           user.Username,
		Password:           user.Password,
		Impersonate: rest.ImpersonationConfig{
			UserName: user.Impersonate, UID: user.ImpersonateUID, Groups: user.ImpersonateGroups, Extra: user.ImpersonateUserExtra,
		},
		TLSClientConfig: rest.TLSClientConfig{
			ServerName: cluster.TLSServerName, CAData: cluster.CertificateAuthorityData,
			CertData: user.ClientCertificateData, KeyData: user.ClientKeyData,
		},
	}, nil
}

// validateKubeconfig returns an error if any cluster or user uses a feature that is not allowed. Unused entries are
// checked too, because a change of current-context would activate them.
func validateKubeconfig(k *clientcmdapi.Config) error {
	type field struct {
		set  bool
		what string
	}
	first := func(of, name string, fields ...field) error {
		for _, f := range fields {
			if f.set {
				return fmt.Errorf("%s %q has %s", of, name, f.what)
			}
		}
		return nil
	}
	// The order is fixed, because the error is shown in conditions.
	for _, name := range slices.Sorted(maps.Keys(k.Clusters)) {
		c := k.Clusters[name]
		if err := first("cluster", name,
			field{c.CertificateAuthority != "", "certificate-authority, which is a file; use certificate-authority-data"},
			field{c.InsecureSkipTLSVerify, "insecure-skip-tls-verify; use certificate-authority-data"},
			field{c.ProxyURL != "", "proxy-url; proxies are not supported"},
		); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(k.AuthInfos)) {
		u := k.AuthInfos[name]
		if err := first("user", name,
			field{u.Exec != nil, "exec, which is a program; use a token or a certificate"},
			field{u.AuthProvider != nil, "auth-provider, which is a plugin; use a token or a certificate"},
			field{u.ClientCertificate != "", "client-certificate, which is a file; use client-certificate-data"},
			field{u.ClientKey != "", "client-key, which is a file; use client-key-data"},
			field{u.TokenFile != "", "tokenFile, which is a file; use token"},
		); err != nil {
			return err
		}
	}
	return nil
}

func checkServer(server string) error {
	u, err := url.Parse(server)
	switch {
	case err != nil || u.Host == "":
		return fmt.Errorf("server %q must be a URL such as https://192.0.2.10:6443", server)
	case u.Scheme != "https":
		return fmt.Errorf("server %q: the scheme must be https", server)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("server must contain only scheme, host, port and path")
	}
	return nil
}
