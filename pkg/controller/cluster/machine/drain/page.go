// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Limits of reads from a workload cluster, whose server is not trusted.
const (
	// ReadTimeout is the maximum time for reads in one reconcile. At 20 requests a second this allows 20,000 Pods or
	// 100,000 volumes.
	ReadTimeout = 10 * time.Second
	// podPage is the page size of Pods. A Node has about 100 running Pods (the default of maxPods is 110), and any
	// number of terminated ones.
	podPage = 100
	// maxPods is the maximum number of Pods. A cluster keeps at most 12,500 terminated Pods
	// (--terminated-pod-gc-threshold of kube-controller-manager).
	maxPods = 13_000
	// maxPodBytes is the maximum size of all Pods in memory. 2 KiB per Pod are usual.
	maxPodBytes = 48 << 20
	// maxPages is the maximum number of pages. It allows half a million volumes.
	maxPages = 1000
)

// EachPage calls list for each page until a page has no continue token.
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
	return fmt.Errorf("the list has more than %d pages", maxPages)
}
