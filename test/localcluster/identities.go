// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/slipway-dev/slipway/test/localcluster/pki"
)

// Names of the files in the PKI directory.
const (
	// fileCA signs users and the serving certificate of kube-apiserver.
	fileCA = "ca"
	// fileFrontProxyCA signs the one certificate by which kube-apiserver may speak
	// for its users.
	fileFrontProxyCA = "front-proxy-ca"
	// fileServingCA signs the serving certificate of slipway-apiserver.
	fileServingCA = "serving-ca"
	// fileVCenterCA signs the serving certificate of the simulated vCenter.
	fileVCenterCA = "vcenter-ca"

	fileKubeAPIServer   = "kube-apiserver"
	fileFrontProxy      = "front-proxy-client"
	fileServiceAccounts = "service-accounts"
	fileSlipway         = "slipway-apiserver"
	fileVCenter         = "vcenter"
)

const (
	namespace   = "slipway-system"
	serviceName = "slipway-apiserver"
	// servingSecret has the authority of a serving certificate that the server manages.
	servingSecret = "slipway-serving-ca"
	// slipwayUser is the service account of artifacts/deploy, so that the server has the permissions granted there.
	slipwayUser = "system:serviceaccount:" + namespace + ":slipway-apiserver"
	// frontProxyUser is the name in --requestheader-allowed-names.
	frontProxyUser = "front-proxy-client"
	// VCenterUser is the administrator of the simulated vCenter, as in a real one.
	VCenterUser = "administrator@vsphere.local"
	loopback    = "127.0.0.1"
	// clusterIPs is the range of Services; its first address is the one of the
	// Service kubernetes, which the certificate has to name.
	clusterIPs        = "10.0.0.0/24"
	kubernetesAddress = "10.0.0.1"
)

// identities are the authorities and the keys for issuing users.
type identities struct {
	store       *pki.Store
	users       *pki.Authority
	serving     *pki.Authority
	kubeAddress string
	direct      string
}

// newIdentities loads or creates the authorities, and issues all serving certificates.
func newIdentities(dir dataDir, kubeAddress, slipwayAddress string) (*identities, error) {
	store, err := pki.NewStore(dir.pki())
	if err != nil {
		return nil, err
	}
	now := time.Now()
	authorities := map[string]*pki.Authority{}
	for _, name := range []string{fileCA, fileFrontProxyCA, fileServingCA, fileVCenterCA} {
		if authorities[name], err = store.Authority(now, name); err != nil {
			return nil, err
		}
	}
	issue := func(name string, pair pki.Pair, err error) error {
		if err != nil {
			return err
		}
		return store.Write(name, pair)
	}
	server := func(name, ca string, hosts ...string) error {
		pair, err := authorities[ca].Server(now, hosts...)
		return issue(name, pair, err)
	}
	frontProxy, frontProxyErr := authorities[fileFrontProxyCA].Client(now, frontProxyUser)
	err = errors.Join(
		store.SigningKey(fileServiceAccounts),
		issue(fileFrontProxy, frontProxy, frontProxyErr),
		server(fileKubeAPIServer, fileCA, loopback, "localhost", kubernetesAddress,
			"kubernetes", "kubernetes.default", "kubernetes.default.svc"),
		server(fileSlipway, fileServingCA, serviceName+"."+namespace+".svc", "localhost", loopback),
		server(fileVCenter, fileVCenterCA, loopback, "localhost"),
	)
	if err != nil {
		return nil, err
	}
	return &identities{
		store: store, users: authorities[fileCA], serving: authorities[fileServingCA],
		kubeAddress: "https://" + kubeAddress, direct: "https://" + slipwayAddress,
	}, nil
}

// config returns a client configuration for a user at host, whose certificate is signed by ca.
func (i *identities) config(host string, ca []byte, user string, groups ...string) (*rest.Config, error) {
	pair, err := i.users.Client(time.Now(), user, groups...)
	if err != nil {
		return nil, err
	}
	return &rest.Config{
		Host: host,
		// Clients of a development environment have no client-side throttling.
		QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{
			CAData: ca, CertData: pair.CertPEM, KeyData: pair.KeyPEM,
		},
	}, nil
}

// user returns the configuration of a client of kube-apiserver.
func (i *identities) user(name string, groups ...string) (*rest.Config, error) {
	return i.config(i.kubeAddress, i.users.CertPEM(), name, groups...)
}

// writeKubeconfig writes a configuration as a kubeconfig that only its owner can read. The namespace of the context in
// an existing file is kept.
func writeKubeconfig(path string, c *rest.Config) error {
	const name = "slipway-dev"
	k := clientcmdapi.NewConfig()
	k.Clusters[name] = &clientcmdapi.Cluster{Server: c.Host, CertificateAuthorityData: c.CAData}
	k.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: c.CertData, ClientKeyData: c.KeyData}
	k.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	// A file that cannot be read is replaced.
	if before, err := clientcmd.LoadFromFile(path); err == nil && before.Contexts[name] != nil {
		k.Contexts[name].Namespace = before.Contexts[name].Namespace
	}
	k.CurrentContext = name
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("making the directory of kubeconfigs: %w", err)
	}
	if err := clientcmd.WriteToFile(*k, path); err != nil {
		return fmt.Errorf("writing kubeconfig %s: %w", path, err)
	}
	return nil
}

// vcenterPassword returns the password of the simulated vCenter, which is generated at the first start. It writes the
// files that the simulator and slipway-apiserver read.
func vcenterPassword(dir dataDir) (string, error) {
	if err := os.MkdirAll(dir.vcenterState(), 0o700); err != nil {
		return "", fmt.Errorf("making the directory of the simulated vCenter: %w", err)
	}
	data, err := os.ReadFile(dir.vcenterPassword())
	if errors.Is(err, os.ErrNotExist) {
		data = []byte(rand.Text())
		err = os.WriteFile(dir.vcenterPassword(), data, 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("keeping the password of the simulated vCenter: %w", err)
	}
	credentials, err := yaml.Marshal(map[string]string{"username": VCenterUser, "password": string(data)})
	if err != nil {
		return "", fmt.Errorf("encoding the credentials of the simulated vCenter: %w", err)
	}
	if err := os.WriteFile(dir.vcenterCredentials(), credentials, 0o600); err != nil {
		return "", fmt.Errorf("keeping the credentials of the simulated vCenter: %w", err)
	}
	return string(data), nil
}
