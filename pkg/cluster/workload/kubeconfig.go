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

// maxKubeconfig bounds what is parsed, in bytes. The kubeconfigs of Cluster API have about six
// thousand.
const maxKubeconfig = 64 << 10

// parseKubeconfig returns how the current context of a kubeconfig reaches its cluster. What it
// takes is listed here one by one: everything that a later version of the format may
// bring stays out until somebody has thought about it.
func parseKubeconfig(data []byte) (*rest.Config, error) {
	if len(data) > maxKubeconfig {
		return nil, fmt.Errorf("it has %d bytes, and may have %d", len(data), maxKubeconfig)
	}
	k, err := clientcmd.Load(data)
	if err != nil {
		// The error quotes what it could not read.
		return nil, errors.New("it is not a kubeconfig in YAML or JSON")
	}
	if err := refuse(k); err != nil {
		return nil, err
	}
	current, found := k.Contexts[k.CurrentContext]
	if !found {
		return nil, fmt.Errorf("there is no context of the name of current-context, %q", k.CurrentContext)
	}
	cluster, found := k.Clusters[current.Cluster]
	if !found {
		return nil, fmt.Errorf("context %q names the cluster %q, which is not there", k.CurrentContext, current.Cluster)
	}
	user, found := k.AuthInfos[current.AuthInfo]
	if !found {
		return nil, fmt.Errorf("context %q names the user %q, which is not there", k.CurrentContext, current.AuthInfo)
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

// refuse is an error for what nobody may have this process do, in any cluster or user: one
// that is not used today is one change of current-context away.
func refuse(k *clientcmdapi.Config) error {
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
	// In one order: the error goes into conditions.
	for _, name := range slices.Sorted(maps.Keys(k.Clusters)) {
		c := k.Clusters[name]
		if err := first("cluster", name,
			field{c.CertificateAuthority != "", "certificate-authority, which is a file; give certificate-authority-data"},
			field{c.InsecureSkipTLSVerify, "insecure-skip-tls-verify; give certificate-authority-data"},
			field{c.ProxyURL != "", "proxy-url; clusters are connected to directly"},
		); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(k.AuthInfos)) {
		u := k.AuthInfos[name]
		if err := first("user", name,
			field{u.Exec != nil, "exec, which is a program; give a token or a certificate"},
			field{u.AuthProvider != nil, "auth-provider, which is a plugin; give a token or a certificate"},
			field{u.ClientCertificate != "", "client-certificate, which is a file; give client-certificate-data"},
			field{u.ClientKey != "", "client-key, which is a file; give client-key-data"},
			field{u.TokenFile != "", "tokenFile, which is a file; give token"},
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
		return fmt.Errorf("server %q is not a URL like https://192.0.2.10:6443", server)
	case u.Scheme != "https":
		return fmt.Errorf("server %q: only https is spoken to workload clusters", server)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("server has more than host, port and path")
	}
	return nil
}
