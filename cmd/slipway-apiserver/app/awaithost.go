// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"net"
	"time"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-dev/slipway/pkg/apiserver"
)

const (
	// serviceName is the Service through which the aggregator reaches the server, in the namespace of the Leases. A
	// self-signed certificate is valid for it.
	serviceName = "slipway-apiserver"

	// hostTimeout bounds one request to a management cluster that may not respond.
	hostTimeout = 5 * time.Second
	// hostRetry is the pause between two requests, hostReport between two log lines.
	hostRetry  = time.Second
	hostReport = 10 * time.Second
)

// awaitHost returns when the management cluster has returned the certificate authorities that identify users. Until
// then the server is live but not ready, so the kubelet does not restart it with growing back-off.
func awaitHost(ctx context.Context, o *Options) (*apiserver.ClientAuthorities, error) {
	if err := o.Recommended.SecureServing.MaybeDefaultWithSelfSignedCerts("localhost", []string{serviceName + "." + o.Controllers.LeaderElectNamespace + ".svc"}, []net.IP{net.IPv4(127, 0, 0, 1)}); err != nil {
		return nil, fmt.Errorf("creating the serving certificate: %w", err)
	}
	i, err := apiserver.NewAuthorities(o.Recommended.Authentication)
	if err != nil {
		return nil, err
	}
	read := func() error {
		ctx, cancel := context.WithTimeout(ctx, hostTimeout)
		defer cancel()
		return i.Read(ctx, o.Recommended.Authentication)
	}
	cause := read()
	if cause == nil {
		return i, nil
	}
	leave, err := answerMeanwhile(o, always(apiserver.ReasonWaitingForCAs))
	if err != nil {
		return nil, err
	}
	defer leave()
	return i, repeat(ctx, "the management cluster", cause, read)
}

// always returns a function that always returns text.
func always(text string) func() string { return func() string { return text } }

// answerMeanwhile listens on the server's address and responds with the reason for the wait, until leave is called.
func answerMeanwhile(o *Options, waits func() string) (leave func(), err error) {
	serving := o.Recommended.SecureServing.SecureServingOptions
	given := serving.Listener
	var info *genericapiserver.SecureServingInfo
	if err := serving.ApplyTo(&info); err != nil {
		return nil, fmt.Errorf("listening while the server starts: %w", err)
	}
	info.Listener = apiserver.LimitConnections(info.Listener)
	stop := make(chan struct{})
	stopped, _, err := info.Serve(apiserver.StartingHandler(waits), watchGracePeriod, stop)
	if err != nil {
		return nil, fmt.Errorf("serving while the server starts: %w", err)
	}
	return func() {
		close(stop)
		<-stopped
		serving.Listener = given
	}, nil
}

// hostConfig returns the client configuration of the management cluster before the server exists.
func hostConfig(o *Options) (*rest.Config, error) {
	var config *rest.Config
	var err error
	if path := o.Recommended.CoreAPI.CoreAPIKubeconfigPath; path != "" {
		config, err = clientcmd.BuildConfigFromFlags("", path)
	} else {
		config, err = rest.InClusterConfig()
	}
	if err != nil {
		return nil, fmt.Errorf("locating the management cluster: %w", err)
	}
	return config, nil
}
