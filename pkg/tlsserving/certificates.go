// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package tlsserving

import (
	"context"
	"crypto/tls"
	"log"
	"os"
	"strings"

	"k8s.io/apiserver/pkg/endpoints/metrics"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/klog/v2"
)

// baseConfig is what does not change while it is served.
func baseConfig(info *genericapiserver.SecureServingInfo) *tls.Config {
	config := &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		CipherSuites: info.CipherSuites, CurvePreferences: info.CurvePreferences,
	}
	if info.MinTLSVersion > 0 {
		config.MinVersion = info.MinTLSVersion
	}
	if info.DisableHTTP2 {
		config.NextProtos = []string{"http/1.1"}
	}
	if info.ClientCA != nil {
		// Who has no certificate may be known otherwise, and who has one is asked for it by
		// authentication.
		config.ClientAuth = tls.RequestClientCert
	}
	return config
}

// follow lets base have the certificates and authorities of info, as they are until ctx is done.
func follow(ctx context.Context, info *genericapiserver.SecureServingInfo, base *tls.Config) {
	certificates := dynamiccertificates.NewDynamicServingCertificateController(base, info.ClientCA, info.Cert, info.SNICerts, nil)
	base.GetConfigForClient = certificates.GetConfigForClient
	var sources []dynamiccertificates.Notifier
	if info.ClientCA != nil {
		sources = append(sources, info.ClientCA)
	}
	if info.Cert != nil {
		sources = append(sources, info.Cert)
	}
	for _, c := range info.SNICerts {
		sources = append(sources, c)
	}
	for _, source := range sources {
		source.AddListener(certificates)
		runner, ok := source.(dynamiccertificates.ControllerRunner)
		if !ok {
			continue
		}
		// Without its content nobody is let in whom it should prove, and Run tries it again.
		if err := runner.RunOnce(ctx); err != nil {
			klog.FromContext(ctx).Error(err, "Reading certificates and authorities at first")
		}
		go runner.Run(ctx, 1)
	}
	if err := certificates.RunOnce(); err != nil {
		klog.FromContext(ctx).Error(err, "Loading certificates and authorities at first")
	}
	go certificates.Run(1, ctx.Done())
}

// errorLog writes what goes wrong on connections to standard error, and of handshakes that fail,
// with which everybody who reaches the port could fill it, counts each.
func errorLog() *log.Logger { return log.New(errorWriter{}, "", 0) }

type errorWriter struct{}

// Write implements io.Writer.
func (errorWriter) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "http: TLS handshake error") {
		klog.V(5).Info(string(p))
		metrics.TLSHandshakeErrors.Inc()
		return len(p), nil
	}
	return os.Stderr.Write(p)
}
