// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package resourcequota

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	corev1listers "k8s.io/client-go/listers/core/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
)

func vcpus(n int64) corev1.ResourceList {
	return corev1.ResourceList{vmv1alpha1.QuotaVCPUs: *resource.NewQuantity(n, resource.DecimalSI)}
}

func TestSettled_ReducesOnlyObservedCharges(t *testing.T) {
	for name, tc := range map[string]struct {
		before              *observation
		charged, used, want corev1.ResourceList
	}{
		"never counted":                                    {nil, corev1.ResourceList{}, vcpus(3), vcpus(3)},
		"more is used":                                     {nil, vcpus(2), vcpus(3), vcpus(3)},
		"as much is used":                                  {nil, vcpus(3), vcpus(3), vcpus(3)},
		"less is used, for the first time":                 {nil, vcpus(5), vcpus(3), vcpus(5)},
		"less is used, and nothing was charged since":      {&observation{used: vcpus(5)}, vcpus(5), vcpus(3), vcpus(3)},
		"two were charged since, and may not be stored":    {&observation{used: vcpus(5)}, vcpus(7), vcpus(3), vcpus(5)},
		"later charges may be stored":                      {&observation{used: vcpus(5)}, vcpus(7), vcpus(6), vcpus(7)},
		"another client has charged less since":            {&observation{used: vcpus(5)}, vcpus(4), vcpus(3), vcpus(3)},
		"more is used than was charged, whatever was seen": {&observation{used: vcpus(5)}, vcpus(5), vcpus(6), vcpus(6)},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, settled(tc.before, tc.charged, tc.used)); diff != "" {
				t.Errorf("charge (-want +got):\n%s", diff)
			}
		})
	}
}

// fixture is a reconciler with one quota, whose usage the tests set.
type fixture struct {
	*reconciler
	host    *fake.Clientset
	indexer cache.Indexer
	now     time.Time
	used    corev1.ResourceList
	failure error
}

func newFixture(t *testing.T, charged corev1.ResourceList) *fixture {
	t.Helper()
	hard := vcpus(10)
	hard[corev1.ResourcePods] = resource.MustParse("4")
	q := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "team", UID: "1"},
		Spec:       corev1.ResourceQuotaSpec{Hard: hard}, Status: corev1.ResourceQuotaStatus{Hard: hard, Used: charged},
	}
	f := &fixture{host: fake.NewClientset(q), indexer: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}), now: time.Unix(1000, 0)}
	f.reconciler = &reconciler{
		host: f.host, quotas: corev1listers.NewResourceQuotaLister(f.indexer), now: func() time.Time { return f.now },
		usage: func(*corev1.ResourceQuota) (corev1.ResourceList, error) { return f.used, f.failure }, excess: map[types.NamespacedName]*observation{},
	}
	f.updateInformer(t)
	return f
}

// updateInformer updates the informer.
func (f *fixture) updateInformer(t *testing.T) *corev1.ResourceQuota {
	t.Helper()
	q, err := f.host.CoreV1().ResourceQuotas("ns").Get(t.Context(), "team", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.indexer.Add(q); err != nil {
		t.Fatal(err)
	}
	return q
}

func (f *fixture) reconcileOnce(t *testing.T) (controller.Result, corev1.ResourceList) {
	t.Helper()
	result, err := f.Reconcile(t.Context(), types.NamespacedName{Namespace: "ns", Name: "team"})
	if err != nil {
		t.Fatal(err)
	}
	return result, f.updateInformer(t).Status.Used
}

func TestReconcile_ReducesTheChargeAfterSettleTime(t *testing.T) {
	charged := vcpus(5)
	charged[corev1.ResourcePods] = resource.MustParse("2")
	f := newFixture(t, charged)
	f.used = vcpus(3)
	result, used := f.reconcileOnce(t)
	if diff := cmp.Diff(charged, used); diff != "" || result.RequeueAfter != settleTime {
		t.Errorf("the first reconcile is requeued after %v and wrote (-want +got):\n%s", result.RequeueAfter, diff)
	}
	f.now = f.now.Add(settleTime - time.Second)
	if result, _ := f.reconcileOnce(t); result.RequeueAfter != time.Second {
		t.Errorf("a reconcile in between is requeued after %v, want the remaining second", result.RequeueAfter)
	}
	f.now = f.now.Add(time.Second)
	charged[vmv1alpha1.QuotaVCPUs] = vcpus(3)[vmv1alpha1.QuotaVCPUs]
	if result, used := f.reconcileOnce(t); result != (controller.Result{}) || cmp.Diff(charged, used) != "" {
		t.Errorf("the last reconcile returns %+v and wrote (-want +got):\n%s", result, cmp.Diff(charged, used))
	}
}

func TestReconcile_CountsANewQuotaImmediately(t *testing.T) {
	f := newFixture(t, nil)
	f.used = vcpus(3)
	if _, used := f.reconcileOnce(t); cmp.Diff(vcpus(3), used) != "" {
		t.Errorf("used is %v, want 3", used)
	}
}

func TestReconcile_ChangesNothingIfUsageIsUnknown(t *testing.T) {
	f := newFixture(t, vcpus(5))
	f.used, f.failure = vcpus(3), errors.New("the store is unavailable")
	if _, err := f.Reconcile(t.Context(), types.NamespacedName{Namespace: "ns", Name: "team"}); !errors.Is(err, f.failure) {
		t.Errorf("the error is %v, want that of counting", err)
	}
	if used := f.updateInformer(t).Status.Used; cmp.Diff(vcpus(5), used) != "" {
		t.Errorf("used is %v, want 5", used)
	}
}

func TestReconcile_IsRequeuedAfterAConflict(t *testing.T) {
	f := newFixture(t, vcpus(2))
	f.used = vcpus(3)
	f.host.PrependReactor("update", "resourcequotas", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewConflict(corev1.Resource("resourcequotas"), "team", errors.New("it changed"))
	})
	result, err := f.Reconcile(context.Background(), types.NamespacedName{Namespace: "ns", Name: "team"})
	if err != nil || result.RequeueAfter != controller.ShortConflict || len(f.excess) != 0 {
		t.Errorf("a conflict returns %+v, %v and stores %v", result, err, f.excess)
	}
}
