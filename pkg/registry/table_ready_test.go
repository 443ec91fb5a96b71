// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/registry/vm/vcenter"
	"github.com/slipway-dev/slipway/pkg/registry/vm/zone"
)

// cell returns the cell of a column for one object.
func cell(t *testing.T, c rest.TableConvertor, obj runtime.Object, column string) any {
	t.Helper()
	table, err := c.ConvertToTable(t.Context(), obj, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range table.ColumnDefinitions {
		if d.Name == column {
			return table.Rows[0].Cells[i]
		}
	}
	t.Fatalf("column %s not found", column)
	return nil
}

func TestTable_ReadyIsTrueOrTheReason(t *testing.T) {
	condition := func(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: reason}
	}
	good := condition(vmv1alpha1.ConditionReady, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded)
	for want, all := range map[string][]metav1.Condition{
		"":          nil,
		"True":      {good},
		"NotFound":  {condition(vmv1alpha1.ConditionReady, metav1.ConditionFalse, vmv1alpha1.ReasonNotFound)},
		"Untrusted": {condition(vmv1alpha1.ConditionReady, metav1.ConditionFalse, vmv1alpha1.ReasonUntrusted)},
		"InUse":     {good, condition(vmv1alpha1.ConditionDeleting, metav1.ConditionTrue, vmv1alpha1.ReasonInUse)},
	} {
		z, vc := &vmv1alpha1.Zone{}, &vmv1alpha1.VCenter{}
		z.Status.Conditions, vc.Status.Conditions = all, all
		for kind, got := range map[string]any{
			"Zone": cell(t, zone.Kind().Table, z, "Ready"), "VCenter": cell(t, vcenter.Kind().Table, vc, "Ready"),
		} {
			if text, _ := got.(string); text != want {
				t.Errorf("%v of a %s is shown as %q, want %q", all, kind, text, want)
			}
		}
	}
}

func TestTable_FreeResourcesOfAZoneHaveReadableUnits(t *testing.T) {
	z := &vmv1alpha1.Zone{}
	z.Status.Free = &vmv1alpha1.ZoneResources{CPU: new(resource.MustParse("12340M")), Memory: new(resource.MustParse("3071Mi"))}
	for column, want := range map[string]string{"CPU": "12.3GHz", "Memory": "2Gi"} {
		if got := cell(t, zone.Kind().Table, z, column); got != want {
			t.Errorf("%s is shown as %v, want %s", column, got, want)
		}
	}
}
