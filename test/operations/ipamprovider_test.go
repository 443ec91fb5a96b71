// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/slipway-dev/slipway/test/testenv"
)

// releases is the finalizer of the test's provider on claims. protects is its finalizer on addresses.
const (
	releases = "test.slipway.dev/release-address"
	protects = "ipam.cluster.x-k8s.io/protect-address"
)

// ipamProvider has one pool in one namespace and fulfills claims as Cluster API's contract requires. Every existing
// IPAddress is in use.
type ipamProvider struct {
	claims, addresses dynamic.ResourceInterface
	pool              string

	mu    sync.Mutex
	free  []string
	away  bool
	wrong bool
}

// startIPAM runs a provider until the test ends.
func startIPAM(t *testing.T, namespace, pool string, addresses ...string) *ipamProvider {
	t.Helper()
	client, err := dynamic.NewForConfig(testenv.Of(t).RestConfig())
	if err != nil {
		t.Fatal(err)
	}
	resource := func(name string) dynamic.ResourceInterface {
		return client.Resource(schema.GroupVersionResource{Group: "ipam.cluster.x-k8s.io", Version: "v1beta2", Resource: name}).Namespace(namespace)
	}
	p := &ipamProvider{claims: resource("ipaddressclaims"), addresses: resource("ipaddresses"), pool: pool, free: addresses}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				p.look(ctx)
			}
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	return p
}

// set changes the behaviour of the provider.
func (p *ipamProvider) set(change func(*ipamProvider)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

// look reconciles all claims, and repeats failed ones.
func (p *ipamProvider) look(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away {
		return
	}
	claims, err := p.claims.List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	addresses, err := p.addresses.List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	given := map[string]bool{}
	for _, a := range addresses.Items {
		address, _, _ := unstructured.NestedString(a.Object, "spec", "address")
		given[address] = true
	}
	for i := range claims.Items {
		claim := &claims.Items[i]
		if claim.GetDeletionTimestamp() != nil {
			p.release(ctx, claim)
			continue
		}
		if address := p.fulfil(ctx, claim, given); address != "" {
			given[address] = true
		}
	}
}

func without(finalizers []string, f string) []string {
	return slices.DeleteFunc(finalizers, func(s string) bool { return s == f })
}

func (p *ipamProvider) release(ctx context.Context, claim *unstructured.Unstructured) {
	address, err := p.addresses.Get(ctx, claim.GetName(), metav1.GetOptions{})
	if err == nil {
		address.SetFinalizers(without(address.GetFinalizers(), protects))
		if _, err = p.addresses.Update(ctx, address, metav1.UpdateOptions{}); err == nil {
			err = p.addresses.Delete(ctx, address.GetName(), metav1.DeleteOptions{})
		}
	}
	if (err == nil || apierrors.IsNotFound(err)) && slices.Contains(claim.GetFinalizers(), releases) {
		claim.SetFinalizers(without(claim.GetFinalizers(), releases))
		_, _ = p.claims.Update(ctx, claim, metav1.UpdateOptions{})
	}
}

// fulfil allocates an address for a claim and returns it.
func (p *ipamProvider) fulfil(ctx context.Context, claim *unstructured.Unstructured, given map[string]bool) string {
	if ref, _, _ := unstructured.NestedString(claim.Object, "status", "addressRef", "name"); ref != "" {
		return ""
	}
	at := slices.IndexFunc(p.free, func(a string) bool { return !given[a] })
	if pool, _, _ := unstructured.NestedString(claim.Object, "spec", "poolRef", "name"); pool != p.pool || at < 0 {
		reason, message := "PoolNotReady", "there is no such pool"
		if at < 0 {
			reason, message = "PoolExhausted", "all addresses are given"
		}
		p.status(ctx, claim, map[string]any{"conditions": []any{map[string]any{
			"type": "Ready", "status": "False", "reason": reason, "message": message, "lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
		}}})
		return ""
	}
	if !slices.Contains(claim.GetFinalizers(), releases) {
		claim.SetFinalizers(append(claim.GetFinalizers(), releases))
		updated, err := p.claims.Update(ctx, claim, metav1.UpdateOptions{})
		if err != nil {
			return ""
		}
		claim = updated
	}
	of := claim.GetName()
	if p.wrong {
		of = "of-another-owner"
	}
	pool, _, _ := unstructured.NestedMap(claim.Object, "spec", "poolRef")
	address := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "ipam.cluster.x-k8s.io/v1beta2", "kind": "IPAddress",
		"spec": map[string]any{"address": p.free[at], "prefix": int64(24), "gateway": "192.0.2.1", "claimRef": map[string]any{"name": of}, "poolRef": pool},
	}}
	address.SetName(claim.GetName())
	address.SetFinalizers([]string{protects})
	yes := true
	address.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: claim.GetAPIVersion(), Kind: claim.GetKind(), Name: claim.GetName(), UID: claim.GetUID(), Controller: &yes, BlockOwnerDeletion: &yes}})
	if _, err := p.addresses.Create(ctx, address, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return ""
	}
	p.status(ctx, claim, map[string]any{"addressRef": map[string]any{"name": claim.GetName()}})
	return p.free[at]
}

func (p *ipamProvider) status(ctx context.Context, claim *unstructured.Unstructured, status map[string]any) {
	if before, ok, _ := unstructured.NestedSlice(claim.Object, "status", "conditions"); ok && len(before) > 0 && status["addressRef"] == nil {
		if was, _ := before[0].(map[string]any); was["reason"] == status["conditions"].([]any)[0].(map[string]any)["reason"] {
			return
		}
	}
	claim.Object["status"] = status
	_, _ = p.claims.UpdateStatus(ctx, claim, metav1.UpdateOptions{})
}
