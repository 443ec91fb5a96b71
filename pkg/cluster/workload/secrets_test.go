// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
)

func TestClusters_TryToWatchSecretsOnceWithoutPermission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scheme := fake.NewTestScheme()
		if err := metav1.AddMetaToScheme(scheme); err != nil {
			t.Fatal(err)
		}
		client := fake.NewSimpleMetadataClient(scheme)
		requests := 0
		client.PrependReactor("*", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
			requests++
			return true, nil, apierrors.NewForbidden(corev1.Resource("secrets"), "", nil)
		})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go New(Options{Metadata: client}).watchSecrets(ctx)
		time.Sleep(time.Hour)
		if synctest.Wait(); requests != 1 {
			t.Errorf("%d requests in an hour, want 1", requests)
		}
	})
}
