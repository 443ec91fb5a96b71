// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/slipway-dev/slipway/pkg/apis/bounds"
	"github.com/slipway-dev/slipway/pkg/apis/scheme"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachine"
)

func TestStatusStrategy_LimitsTheNumberOfErrors(t *testing.T) {
	s := standard.StatusStrategy[*vmv1alpha1.VirtualMachine]{Strategy: standard.NewStrategy(scheme.Scheme, virtualmachine.Kind(time.Now))}
	stored := virtualmachine.Kind(time.Now).New()
	stored.Name, stored.ResourceVersion = "a", "1"
	updated := stored.DeepCopy()
	updated.Status.Conditions = make([]metav1.Condition, 10_000)
	if errs := s.ValidateUpdate(t.Context(), updated, stored); len(errs) != 1 || errs[0].Type != field.ErrorTypeTooMany || errs[0].Field != "status.conditions" {
		t.Errorf("10,000 conditions: %d errors, want one about the list alone", len(errs))
	}
	updated.Status.Conditions = make([]metav1.Condition, bounds.MaxItems)
	errs := s.ValidateUpdate(t.Context(), updated, stored)
	if len(errs) != bounds.MaxErrors {
		t.Fatalf("%d errors, want %d: joining them takes quadratic time", len(errs), bounds.MaxErrors)
	}
	if last := errs[len(errs)-1].Detail; !strings.Contains(last, "more errors") {
		t.Errorf("the last error is %q, want the number of omitted errors", last)
	}
}
