// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// plugin answers with what it is.
type plugin struct{ answer error }

func (plugin) Handles(admission.Operation) bool { return true }

func (p plugin) Validate(context.Context, admission.Attributes, admission.ObjectInterfaces) error {
	return p.answer
}

func TestARefusalIsToldFromAHostClusterThatCannotBeWrittenTo(t *testing.T) {
	quotas := corev1.Resource("resourcequotas")
	for name, tc := range map[string]struct {
		answer error
		code   int32
		says   string
	}{
		"exceeded":                 {apierrors.NewForbidden(quotas, "team", errors.New("exceeded quota: team")), http.StatusForbidden, "exceeded quota: team"},
		"others charge too":        {apierrors.NewConflict(quotas, "team", errors.New("it changed")), http.StatusTooManyRequests, "namespace ns are being charged by others too"},
		"the host is away":         {errors.New("connection refused"), http.StatusServiceUnavailable, "namespace ns in the host cluster, without which nothing more is admitted there: connection refused"},
		"the host does not answer": {apierrors.NewInternalError(errors.New("timed out")), http.StatusServiceUnavailable, "timed out"},
	} {
		t.Run(name, func(t *testing.T) {
			request := admission.NewAttributesRecord(nil, nil, vmv1alpha1.SchemeGroupVersion.WithKind("VirtualMachine"), "ns", "vm",
				vmv1alpha1.SchemeGroupVersion.WithResource("virtualmachines"), "", admission.Create, nil, false, nil)
			err := (&charge{plugin{tc.answer}}).Validate(t.Context(), request, nil)
			var status apierrors.APIStatus
			if !errors.As(err, &status) || status.Status().Code != tc.code || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("the answer is %v, want status %d that says %q", err, tc.code, tc.says)
			}
		})
	}
	if err := (&charge{plugin{}}).Validate(t.Context(), nil, nil); err != nil {
		t.Errorf("what was charged is refused: %v", err)
	}
}

func TestQuotasAreChargedLastOfAllPlugins(t *testing.T) {
	order := NewOptions().Recommended.Admission.RecommendedPluginOrder
	if last := order[len(order)-1]; last != "ResourceQuota" || slices.Index(order, last) != len(order)-1 {
		t.Errorf("the order of plugins is %v, want ResourceQuota last", order)
	}
}
