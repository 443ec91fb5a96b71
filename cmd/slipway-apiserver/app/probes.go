// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/controller/vm/probe"
	"github.com/slipway-dev/slipway/pkg/networks"
)

// rangesTimeout bounds how long controllers wait for the ranges of Services of a host
// cluster that answers with errors.
const rangesTimeout = 30 * time.Second

// newProber makes what connects to guests for their readiness probes. ranges are those of
// Services.
func newProber(ctx context.Context, o *ProbeOptions, ranges func() ([]netip.Prefix, error)) (*probe.Prober, error) {
	allowed, err := o.networks()
	if err != nil {
		return nil, err
	}
	to := reachable(ctx, allowed, ranges, "No readiness probe connects to a guest")
	return probe.New(probe.Options{Connections: o.Connections, Networks: to}), nil
}

// reachable are the networks that are named, or if none are, all but those of Services. lost is
// what the log says when these are not known.
func reachable(ctx context.Context, named []netip.Prefix, ranges func() ([]netip.Prefix, error), lost string) networks.Networks {
	to := networks.Networks{Allowed: named}
	if len(named) == 0 {
		to.Denied, to.Unknown = ranges()
		if to.Unknown != nil {
			klog.FromContext(ctx).Error(to.Unknown, lost)
		}
	}
	return to
}

// serviceRanges are the addresses that Services of the host cluster may have: a guest that
// reports one of them would have the server find out what listens in the cluster.
func serviceRanges(ctx context.Context, host kubernetes.Interface) ([]netip.Prefix, error) {
	var ranges []netip.Prefix
	var cause error
	err := wait.PollUntilContextTimeout(ctx, hostRetry, rangesTimeout, true, func(ctx context.Context) (bool, error) {
		all, err := host.NetworkingV1().ServiceCIDRs().List(ctx, metav1.ListOptions{})
		if err != nil {
			cause = err
			final := apierrors.IsNotFound(err) || apierrors.IsForbidden(err)
			return final, nil
		}
		cause = nil
		for i := range all.Items {
			for _, text := range all.Items[i].Spec.CIDRs {
				network, err := netip.ParsePrefix(text)
				if err != nil {
					cause = err
					return true, nil
				}
				ranges = append(ranges, network)
			}
		}
		return true, nil
	})
	if cause == nil {
		cause = err
	}
	if cause != nil {
		return nil, fmt.Errorf("the ranges of Services of the host cluster, which the server must not connect to for others, could not be read; --probe-networks and --workload-networks say to what probes and kubeconfigs may lead: %w", cause)
	}
	return ranges, nil
}
