// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package charge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"github.com/slipway-dev/slipway/pkg/apis/scheme"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/registry/quota"
)

// plugin returns a fixed result.
type plugin struct{ answer error }

func (plugin) Handles(admission.Operation) bool { return true }

func (p plugin) Validate(context.Context, admission.Attributes, admission.ObjectInterfaces) error {
	return p.answer
}

func TestQuotaAdmission_DistinguishesRejectionsFromFailures(t *testing.T) {
	quotas := corev1.Resource("resourcequotas")
	request := admission.NewAttributesRecord(nil, nil, vmv1alpha1.SchemeGroupVersion.WithKind("VirtualMachine"), "ns", "vm",
		vmv1alpha1.SchemeGroupVersion.WithResource("virtualmachines"), "", admission.Create, nil, false, nil)
	if err := (&charge{evaluate: plugin{}.Validate}).Validate(t.Context(), request, nil); err != nil {
		t.Errorf("a charged request was rejected: %v", err)
	}
	for name, tc := range map[string]struct {
		answer error
		code   int32
		says   string
	}{
		"exceeded":                       {apierrors.NewForbidden(quotas, "team", errors.New("exceeded quota: team")), http.StatusForbidden, "exceeded quota: team"},
		"conflict":                       {apierrors.NewConflict(quotas, "team", errors.New("it changed")), http.StatusTooManyRequests, "namespace ns were changed by other requests"},
		"management cluster unreachable": {errors.New("connection refused"), http.StatusServiceUnavailable, "cannot charge the ResourceQuotas of namespace ns: connection refused"},
		"the plugin timed out":           {apierrors.NewInternalError(errors.New("resource quota evaluation timed out")), http.StatusServiceUnavailable, "namespace ns: it timed out, because the management cluster did not answer in time"},
		"management cluster timed out":   {fmt.Errorf("writing: %w", context.DeadlineExceeded), http.StatusServiceUnavailable, "namespace ns: it timed out, because the management cluster did not answer in time"},
	} {
		t.Run(name, func(t *testing.T) {
			err := (&charge{evaluate: plugin{tc.answer}.Validate}).Validate(t.Context(), request, nil)
			var status apierrors.APIStatus
			if !errors.As(err, &status) || status.Status().Code != tc.code || !strings.Contains(err.Error(), tc.says) {
				t.Fatalf("got error %v, want status %d with %q", err, tc.code, tc.says)
			}
			if seconds, again := apierrors.SuggestsClientDelay(err); again != (tc.code != http.StatusForbidden) || again && seconds != chargeRetry {
				t.Errorf("status %d has Retry-After %t, %d seconds", tc.code, again, seconds)
			}
		})
	}
}

// counting counts its calls.
type counting struct {
	plugin
	asked *int
}

func (c counting) Validate(context.Context, admission.Attributes, admission.ObjectInterfaces) error {
	*c.asked++
	return c.answer
}

func TestQuotaAdmission_EvaluatesOnlyWhereAQuotaMayApply(t *testing.T) {
	const limits = `{"apiVersion": "apiserver.config.k8s.io/v1", "kind": "ResourceQuotaConfiguration", "limitedResources": [{"resource": "virtualmachines", "apiGroup": "vm.slipway.dev", "matchContains": ["vcpus"]}]}`
	for name, tc := range map[string]struct {
		config    io.Reader
		namespace string
		unsynced  bool
		want      int
	}{
		"a namespace with a quota":                            {namespace: "limited", want: 1},
		"a namespace without one":                             {namespace: "free"},
		"quotas that have not been read":                      {namespace: "free", unsynced: true, want: 1},
		"a configuration that limits resources without quota": {config: strings.NewReader(limits), namespace: "free", want: 1},
		"a cluster-scoped object":                             {want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			made, err := newCharge(tc.config)
			if err != nil {
				t.Fatal(err)
			}
			asked := 0
			c := made.(*charge)
			c.evaluate = counting{plugin{}, &asked}.Validate
			quotas := informers.NewSharedInformerFactory(fake.NewClientset(&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "limited", Name: "team"}}), 0)
			c.SetExternalKubeInformerFactory(quotas)
			if !tc.unsynced {
				quotas.StartWithContext(t.Context())
				quotas.WaitForCacheSync(t.Context().Done())
			}
			request := admission.NewAttributesRecord(nil, nil, vmv1alpha1.SchemeGroupVersion.WithKind("VirtualMachine"), tc.namespace, "vm",
				vmv1alpha1.SchemeGroupVersion.WithResource("virtualmachines"), "", admission.Create, nil, false, nil)
			if err := c.Validate(t.Context(), request, nil); err != nil || asked != tc.want {
				t.Errorf("the evaluator was called %d times with error %v, want %d calls", asked, err, tc.want)
			}
		})
	}
}

// client is a plugin that records the client of the management cluster that it gets.
type client struct{ kubernetes.Interface }

func (*client) Handles(admission.Operation) bool { return true }

func (*client) ValidateInitialization() error { return nil }

// SetExternalKubeClientSet implements initializer.WantsExternalKubeClientSet.
func (c *client) SetExternalKubeClientSet(i kubernetes.Interface) { c.Interface = i }

func TestQuotaAdmission_UsesTheRateLimitOfTheServer(t *testing.T) {
	recommended := genericapiserver.NewRecommendedConfig(scheme.Codecs)
	recommended.ClientConfig = &rest.Config{Host: "https://management.example.com"}
	initializers, err := Initializers(quota.New(), 200, 400)(recommended)
	if err != nil {
		t.Fatal(err)
	}
	var c client
	for _, i := range initializers {
		i.Initialize(&c)
	}
	if c.Interface == nil {
		t.Fatal("the plugins use the client of the library, which is limited to 5 requests per second")
	}
	limiter := c.CoreV1().RESTClient().GetRateLimiter()
	if limiter.QPS() != 200 {
		t.Errorf("the plugins may send %v requests per second, want %d", limiter.QPS(), 200)
	}
}
