// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apiserver/certs/servingcert"
)

// apiServices are the names of the APIServices that route to the server.
func apiServices() []string {
	var names []string
	for _, gv := range []schema.GroupVersion{vmv1alpha1.SchemeGroupVersion, itv1alpha1.SchemeGroupVersion, clusterv1alpha1.SchemeGroupVersion} {
		names = append(names, gv.Version+"."+gv.Group)
	}
	return names
}

// manageCertificate gives the server a certificate that it renews itself, unless flags specify one or there is no
// management cluster to store its authority. Like awaitHost it waits for the management cluster, during which the
// server is live but not ready.
func manageCertificate(ctx context.Context, o *Options) (*servingcert.Manager, error) {
	cert := &o.Recommended.SecureServing.ServerCert
	if cert.GeneratedCert == nil || o.Recommended.CoreAPI == nil {
		return nil, nil
	}
	config, err := hostConfig(o)
	if err != nil {
		return nil, err
	}
	host, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating the management cluster client for the serving certificate: %w", err)
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating the management cluster client for APIServices: %w", err)
	}
	m := servingcert.New(servingcert.Options{
		Host: host, Dynamic: objects, Namespace: o.Controllers.LeaderElectNamespace, Service: serviceName,
		Names: []string{"localhost", "127.0.0.1"}, APIServices: apiServices(),
	})
	load := func() error {
		ctx, cancel := context.WithTimeout(ctx, hostTimeout)
		defer cancel()
		return m.Load(ctx)
	}
	if cause := load(); cause != nil {
		leave, err := answerMeanwhile(o, always("it has no serving certificate; the authority is in the Secret "+o.Controllers.LeaderElectNamespace+"/"+servingcert.SecretName+" of the management cluster"))
		if err != nil {
			return nil, err
		}
		defer leave()
		if err := repeat(ctx, "the serving certificate", cause, load); err != nil {
			return nil, err
		}
	}
	cert.GeneratedCert = m
	return m, nil
}

// repeat retries read until it succeeds, and logs the wait. cause is the error of the first attempt.
func repeat(ctx context.Context, what string, cause error, ask func() error) error {
	retry := time.NewTicker(hostRetry)
	defer retry.Stop()
	began, reported := time.Now(), time.Time{}
	for {
		if time.Since(reported) >= hostReport {
			klog.FromContext(ctx).Info("Waiting for "+what, "for", time.Since(began).Round(time.Second), "cause", cause)
			reported = time.Now()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w; last error: %w", what, ctx.Err(), cause)
		case <-retry.C:
		}
		if cause = ask(); cause == nil {
			klog.FromContext(ctx).Info("Waited for "+what, "after", time.Since(began).Round(time.Second))
			return nil
		}
	}
}
