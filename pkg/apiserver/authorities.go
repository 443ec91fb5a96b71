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

// Where kube-apiserver says by which authorities users are told, and under which keys:
// those of the certificates of users, and of the certificate of the front proxy.
const (
	authenticationConfigMap = "extension-apiserver-authentication"
	clientCAKey             = "client-ca-file"
	frontProxyCAKey         = "requestheader-client-ca-file"
)

// Authorities are those by which users are identified. They are in the management cluster, unless flags
// name them.
type Authorities struct {
	// host reads it; nil when nothing is to be read.
	host kubernetes.Interface
	// clients are the authorities of users, nil when the host cluster names none.
	clients dynamiccertificates.CAContentProvider
	// proxy is how the front proxy tells them; nil when it cannot.
	proxy *authenticatorfactory.RequestHeaderConfig
}

// NewAuthorities prepares to read what the flags leave to the management cluster.
func NewAuthorities(o *genericoptions.DelegatingAuthenticationOptions) (*Authorities, error) {
	i := &Authorities{}
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
		return nil, fmt.Errorf("making the client for the authentication by the host cluster: %w", err)
	}
	return i, nil
}

// Read reads the management cluster once, and notes what there is to wait for.
func (i *Authorities) Read(ctx context.Context, o *genericoptions.DelegatingAuthenticationOptions) error {
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

// follow lets the server follow the authorities of users, as it would by itself, but so
// that it can be asked whether they are known.
func (i *Authorities) follow(said *corev1.ConfigMap, o *genericoptions.DelegatingAuthenticationOptions) error {
	if o.ClientCert.ClientCA != "" || said.Data[clientCAKey] == "" {
		return nil
	}
	clients, err := dynamiccertificates.NewDynamicCAFromConfigMapController("client-ca", metav1.NamespaceSystem, authenticationConfigMap, clientCAKey, i.host)
	if err != nil {
		return fmt.Errorf("following the authorities of users: %w", err)
	}
	i.clients, o.ClientCert.CAContentProvider = clients, clients
	return nil
}

// Known reports whether users can be identified.
func (i *Authorities) Known() bool {
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
func (i *Authorities) Name() string { return "identities" }

// Check implements healthz.HealthChecker.
func (i *Authorities) Check(*http.Request) error {
	if i.Known() {
		return nil
	}
	return errors.New("it is not known yet by which authorities users are identified")
}

// Prime makes the server read the authorities before it listens. By itself it begins to
// listen without, and a connection that was made meanwhile stays without an identity.
func (i *Authorities) Prime(c *genericapiserver.Config) {
	i.proxy = c.Authentication.RequestHeaderConfig
	if runner, ok := c.SecureServing.ClientCA.(dynamiccertificates.ControllerRunner); ok {
		c.SecureServing.ClientCA = &primed{CAContentProvider: c.SecureServing.ClientCA, runner: runner, known: i.Known}
	}
}

// primed are authorities that are read before they are used.
type primed struct {
	dynamiccertificates.CAContentProvider
	runner dynamiccertificates.ControllerRunner
	known  func() bool
}

// primeTimeout bounds the wait for what the host cluster has told a moment before. It
// takes some hundredths of a second; without it the server answers that users may come
// again.
const primeTimeout = 5 * time.Second

// RunOnce implements dynamiccertificates.ControllerRunner. ctx lasts as long as the server.
func (p *primed) RunOnce(ctx context.Context) error {
	go p.runner.Run(ctx, 1)
	return wait.PollUntilContextTimeout(ctx, 5*time.Millisecond, primeTimeout, true, func(context.Context) (bool, error) { return p.known(), nil })
}

// Run implements dynamiccertificates.ControllerRunner.
func (p *primed) Run(ctx context.Context, _ int) { <-ctx.Done() }
