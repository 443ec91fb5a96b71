// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// The ConfigMap in which kube-apiserver publishes the certificate authorities (CAs) that identify users, and its keys
// for the CAs of client certificates and of the front proxy.
const (
	authenticationConfigMap = "extension-apiserver-authentication"
	clientCAKey             = "client-ca-file"
	frontProxyCAKey         = "requestheader-client-ca-file"
)

// ClientAuthorities are the certificate authorities (CAs) that identify users. They are read from the management cluster
// unless flags specify them.
type ClientAuthorities struct {
	// host is the client of the management cluster; nil if nothing needs to be read.
	host kubernetes.Interface
	// clients provides the CAs of client certificates; nil if the management cluster does not publish any.
	clients dynamiccertificates.CAContentProvider
	// proxy is the configuration of the front proxy; nil if there is none.
	proxy *authenticatorfactory.RequestHeaderConfig
}

// NewAuthorities returns Authorities with a client of the management cluster, if the flags do not specify all CAs.
func NewAuthorities(o *genericoptions.DelegatingAuthenticationOptions) (*ClientAuthorities, error) {
	i := &ClientAuthorities{}
	if o == nil || o.SkipInClusterLookup || o.TolerateInClusterLookupFailure || o.ClientCert.ClientCA != "" && o.RequestHeader.ClientCAFile != "" {
		return i, nil
	}
	var config *rest.Config
	var err error
	if o.RemoteKubeConfigFile != "" {
		config, err = clientcmd.BuildConfigFromFlags("", o.RemoteKubeConfigFile)
	} else if config, err = rest.InClusterConfig(); err != nil && o.RemoteKubeConfigFileOptional {
		return i, nil
	}
	if err == nil {
		i.host, err = kubernetes.NewForConfig(config)
	}
	if err != nil {
		return nil, fmt.Errorf("creating the client for authentication through the management cluster: %w", err)
	}
	return i, nil
}

// Read reads the ConfigMap of the management cluster once and configures o to follow its CAs.
func (i *ClientAuthorities) Read(ctx context.Context, o *genericoptions.DelegatingAuthenticationOptions) error {
	if i.host == nil {
		return nil
	}
	said, err := i.host.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, authenticationConfigMap, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if o.RequestHeader.ClientCAFile == "" && said.Data[frontProxyCAKey] == "" {
		return fmt.Errorf("ConfigMap %s/%s has no %s", metav1.NamespaceSystem, authenticationConfigMap, frontProxyCAKey)
	}
	return i.follow(said, o)
}

// follow makes the server follow the CAs of client certificates. The server would do so by itself, but then Known
// could not report whether they have been read.
func (i *ClientAuthorities) follow(said *corev1.ConfigMap, o *genericoptions.DelegatingAuthenticationOptions) error {
	if o.ClientCert.ClientCA != "" || said.Data[clientCAKey] == "" {
		return nil
	}
	clients, err := dynamiccertificates.NewDynamicCAFromConfigMapController("client-ca", metav1.NamespaceSystem, authenticationConfigMap, clientCAKey, i.host)
	if err != nil {
		return fmt.Errorf("following the certificate authorities of users: %w", err)
	}
	i.clients, o.ClientCert.CAContentProvider = clients, clients
	return nil
}

// Known reports whether users can be identified.
func (i *ClientAuthorities) Known() bool {
	if i.clients != nil {
		if _, ok := i.clients.VerifyOptions(); !ok {
			return false
		}
	}
	if i.proxy == nil {
		return true
	}
	_, ok := i.proxy.CAContentProvider.VerifyOptions()
	return ok && len(i.proxy.UsernameHeaders.Value()) > 0
}

// Name implements healthz.HealthChecker.
func (i *ClientAuthorities) Name() string { return "identities" }

// Check implements healthz.HealthChecker.
func (i *ClientAuthorities) Check(*http.Request) error {
	if i.Known() {
		return nil
	}
	return errors.New("the certificate authorities that identify users have not been read yet")
}

// Prime makes the server read the CAs before it listens. By default the server starts to listen before, and a
// connection that is established in the meantime never gets an identity.
func (i *ClientAuthorities) Prime(c *genericapiserver.Config) {
	i.proxy = c.Authentication.RequestHeaderConfig
	if runner, ok := c.SecureServing.ClientCA.(dynamiccertificates.ControllerRunner); ok {
		c.SecureServing.ClientCA = &primed{CAContentProvider: c.SecureServing.ClientCA, runner: runner, known: i.Known}
	}
}

// primed is a CA provider that is read before it is used.
type primed struct {
	dynamiccertificates.CAContentProvider
	runner dynamiccertificates.ControllerRunner
	known  func() bool
}

// primeTimeout limits the wait for the CAs, which the management cluster has already published. Reading them takes
// some hundredths of a second. After the timeout the server answers with status 503 and Retry-After.
const primeTimeout = 5 * time.Second

// RunOnce implements dynamiccertificates.ControllerRunner. ctx ends with the server.
func (p *primed) RunOnce(ctx context.Context) error {
	go p.runner.Run(ctx, 1)
	return wait.PollUntilContextTimeout(ctx, 5*time.Millisecond, primeTimeout, true, func(context.Context) (bool, error) { return p.known(), nil })
}

// Run implements dynamiccertificates.ControllerRunner.
func (p *primed) Run(ctx context.Context, _ int) { <-ctx.Done() }
