// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Bounds of what is read of a workload cluster, whose server may be anybody's.
const (
	// MaxReading is how long one pass reads: 20 requests in a second, as workload clusters are asked,
	// are 20,000 Pods or 100,000 volumes.
	MaxReading = 10 * time.Second
	// podPage is how many Pods are read at once. A Node has about 100 (kubelet's maxPods is
	// 110 by default), and any number of those that have ended.
	podPage = 100
	// maxPods is near the 12,500 Pods that have ended of which a whole cluster keeps no more
	// (--terminated-pod-gc-threshold of kube-controller-manager).
	maxPods = 13_000
	// maxPodBytes bounds what is kept of all of them in memory: two KiB of each are usual.
	maxPodBytes = 48 << 20
	// maxPages has room for half a million volumes.
	maxPages = 1000
)

// EachPage calls list for page after page until one names no next.
func EachPage(ctx context.Context, options metav1.ListOptions, list func(metav1.ListOptions) (next string, err error)) error {
	for range maxPages {
		next, err := list(options)
		if err != nil || next == "" {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		options.Continue = next
	}
	return fmt.Errorf("there are more than %d pages", maxPages)
}
