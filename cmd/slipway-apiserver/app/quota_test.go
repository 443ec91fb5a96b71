// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
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

// counting counts what it is asked to charge.
type counting struct {
	plugin
	asked *int
}

func (c counting) Validate(context.Context, admission.Attributes, admission.ObjectInterfaces) error {
	*c.asked++
	return c.answer
}

func TestAnUpdateThatIsTriedAgainIsChargedOnce(t *testing.T) {
	of := func(vcpus uint32, phase vmv1alpha1.VirtualMachinePhase) *vmv1alpha1.VirtualMachine {
		vm := &vmv1alpha1.VirtualMachine{}
		vm.Spec.Instancetype = &vmv1alpha1.InstancetypeMatcher{Name: fmt.Sprintf("of-%d", vcpus)}
		vm.Status.Phase = phase
		return vm
	}
	update := func(stored, updated *vmv1alpha1.VirtualMachine) admission.Attributes {
		return admission.NewAttributesRecord(updated, stored, vmv1alpha1.SchemeGroupVersion.WithKind("VirtualMachine"), "ns", "vm",
			vmv1alpha1.SchemeGroupVersion.WithResource("virtualmachines"), "", admission.Update, nil, false, nil)
	}
	grows, later := update(of(1, ""), of(2, "")), update(of(1, vmv1alpha1.PhaseRunning), of(2, vmv1alpha1.PhaseRunning))
	more := update(of(3, ""), of(2, ""))
	for name, tc := range map[string]struct {
		answer error
		tries  []admission.Attributes
		want   int
	}{
		"the status was written between": {nil, []admission.Attributes{grows, later}, 1},
		"the size was changed between":   {nil, []admission.Attributes{grows, more}, 2},
		"it was refused":                 {apierrors.NewForbidden(corev1.Resource("resourcequotas"), "team", nil), []admission.Attributes{grows, later}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			c := &charge{counting{plugin{tc.answer}, &asked}}
			serve := func() {
				withPaid(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					for _, try := range tc.tries {
						if err := c.Validate(r.Context(), try, nil); (err == nil) != (tc.answer == nil) {
							t.Errorf("the answer is %v", err)
						}
					}
				})).ServeHTTP(nil, httptest.NewRequest(http.MethodPut, "/", nil))
			}
			serve()
			if asked != tc.want {
				t.Errorf("charged %d times, want %d", asked, tc.want)
			}
			if serve(); asked != 2*tc.want {
				t.Errorf("another request is charged %d times, want %d", asked-tc.want, tc.want)
			}
		})
	}
}

func TestQuotasAreChargedLastOfAllPlugins(t *testing.T) {
	order := NewOptions().Recommended.Admission.RecommendedPluginOrder
	if last := order[len(order)-1]; last != "ResourceQuota" || slices.Index(order, last) != len(order)-1 {
		t.Errorf("the order of plugins is %v, want ResourceQuota last", order)
	}
}
