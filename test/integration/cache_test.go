// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/integration/framework"
)

// All requests get the same objects from the watch cache. A request that modified an object would change it for all
// clients.
func TestWatchCache_IsNotModifiedByRequests(t *testing.T) {
	const machines, rounds = 3, 10
	const json, meta = "application/json", ";v=v1;g=meta.k8s.io"
	// Requests for one object, a list and a watch.
	encodings := [][2]string{
		{json, json},
		{"application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf"},
		{json + ";as=Table" + meta, json + ";as=Table" + meta},
		{json + ";as=PartialObjectMetadata" + meta, json + ";as=PartialObjectMetadataList" + meta},
	}
	s := framework.StartStandalone(t)
	c := s.Client(t)
	vms := c.VmV1alpha1().VirtualMachines(namespace)
	createClusterInstancetype(t, c, "small", 2, "2Gi")
	var names []string
	fromCache := "?resourceVersion=" // and not older than the last VM
	for i := range machines {
		created := createVM(t, c, typedVM(fmt.Sprintf("vm-%d", i), "small"))
		names = append(names, created.Name)
		if i == machines-1 {
			fromCache += created.ResourceVersion
		}
	}

	watching, stopWatching := context.WithCancel(t.Context())
	var watchers, all sync.WaitGroup
	for _, encoding := range encodings {
		// With three watchers or more the cache encodes an event only once.
		for range 3 {
			watchers.Go(func() {
				if err := read(watching, s.Config(), machinesPath+"?watch=true&resourceVersion=0", encoding[0]); err != nil {
					t.Error(err)
				}
			})
		}
	}
	for _, name := range names {
		all.Go(func() {
			for round := range rounds {
				patch := fmt.Sprintf(`{"metadata":{"labels":{"round":"%d"}}}`, round)
				if _, err := vms.Patch(t.Context(), name, "application/merge-patch+json", []byte(patch), metav1.PatchOptions{}); err != nil {
					t.Errorf("changing %s: %v", name, err)
				}
				_, err := vms.RefreshInstancetype(t.Context(), name, &vmv1alpha1.RefreshOptions{DryRun: []string{metav1.DryRunAll}}, metav1.CreateOptions{})
				if err != nil && !apierrors.IsInvalid(err) && !apierrors.IsConflict(err) {
					t.Errorf("refreshing %s: %v", name, err)
				}
			}
		})
		for _, encoding := range encodings {
			all.Go(func() {
				for range rounds {
					err := errors.Join(
						read(t.Context(), s.Config(), machinesPath+"/"+name+fromCache, encoding[0]),
						read(t.Context(), s.Config(), machinesPath+fromCache, encoding[1]),
						read(t.Context(), s.Config(), machinesPath+"/"+name+"/expand-spec?generation=latest", json),
					)
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	all.Wait()
	stopWatching()
	watchers.Wait()

	for _, name := range names {
		stored := getVM(t, c, name) // without a resource version from etcd
		cached, err := vms.Get(t.Context(), name, metav1.GetOptions{ResourceVersion: stored.ResourceVersion})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(stored, cached); diff != "" {
			t.Errorf("%s differs in the watch cache (-stored +cached):\n%s", name, diff)
		}
	}
}

// read requests path and reads the whole response. The end of ctx is not an error.
func read(ctx context.Context, config *rest.Config, path, accept string) error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", accept)
	response, err := client.Do(request)
	if ctx.Err() != nil {
		return nil
	} else if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s in %s: %s", path, accept, response.Status)
	}
	if _, err := io.Copy(io.Discard, response.Body); err != nil && ctx.Err() == nil {
		return fmt.Errorf("%s in %s: %w", path, accept, err)
	}
	return nil
}
