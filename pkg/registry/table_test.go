// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/registry/table"
)

func convertor() *table.Convertor[*vmv1alpha1.VirtualMachineClass] {
	return table.New(
		table.Column[*vmv1alpha1.VirtualMachineClass]{Name: "Wide", Type: "string", Wide: true, Value: func(*vmv1alpha1.VirtualMachineClass) any { return "w" }},
		table.Column[*vmv1alpha1.VirtualMachineClass]{Name: "Unset", Type: "string", Value: func(*vmv1alpha1.VirtualMachineClass) any { return nil }},
	)
}

func TestTable_ColumnOrder(t *testing.T) {
	list := &vmv1alpha1.VirtualMachineClassList{
		ListMeta: metav1.ListMeta{ResourceVersion: "9", Continue: "c"},
		Items:    []vmv1alpha1.VirtualMachineClass{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, {ObjectMeta: metav1.ObjectMeta{Name: "b"}}},
	}
	got, err := convertor().ConvertToTable(t.Context(), list, nil)
	if err != nil {
		t.Fatal(err)
	}
	var headers []string
	var priorities []int32
	for _, h := range got.ColumnDefinitions {
		headers, priorities = append(headers, h.Name), append(priorities, h.Priority)
	}
	if diff := cmp.Diff([]string{"Name", "Unset", "Age", "Wide"}, headers); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int32{0, 0, 0, 1}, priorities); diff != "" {
		t.Errorf("priorities (-want +got):\n%s", diff)
	}
	if got.ResourceVersion != "9" || got.Continue != "c" {
		t.Errorf("list metadata = %+v", got.ListMeta)
	}
	var cells [][]any
	for _, row := range got.Rows {
		cells = append(cells, row.Cells)
	}
	if diff := cmp.Diff([][]any{{"a", "", "<unknown>", "w"}, {"b", "", "<unknown>", "w"}}, cells); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
}

func TestTable_SingleObjectAndNoHeaders(t *testing.T) {
	one := &vmv1alpha1.VirtualMachineClass{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "3"}}
	got, err := convertor().ConvertToTable(t.Context(), one, &metav1.TableOptions{NoHeaders: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.ColumnDefinitions) != 0 || len(got.Rows) != 1 || got.ResourceVersion != "3" {
		t.Errorf("%d headers, %d rows, resource version %q; want none, 1 and 3", len(got.ColumnDefinitions), len(got.Rows), got.ResourceVersion)
	}
}

func TestTable_OmitsManagedFieldsFromMetadata(t *testing.T) {
	one := &vmv1alpha1.VirtualMachineClass{ObjectMeta: metav1.ObjectMeta{
		Name: "a", Labels: map[string]string{"app": "web"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
	}}
	metadata := one.ObjectMeta
	metadata.ManagedFields = nil
	for include, want := range map[metav1.IncludeObjectPolicy]runtime.Object{
		"":                     &metav1.PartialObjectMetadata{ObjectMeta: metadata},
		metav1.IncludeMetadata: &metav1.PartialObjectMetadata{ObjectMeta: metadata},
		metav1.IncludeObject:   one,
	} {
		got, err := convertor().ConvertToTable(t.Context(), one, &metav1.TableOptions{IncludeObject: include})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Rows[0].Object.Object); diff != "" {
			t.Errorf("%q (-want +got):\n%s", include, diff)
		}
	}
	if len(one.ManagedFields) != 1 {
		t.Error("the object itself lost its managed fields")
	}
}

func TestTable_ReturnsAnErrorForAnotherKind(t *testing.T) {
	var other runtime.Object = &vmv1alpha1.VirtualMachineImage{}
	if _, err := convertor().ConvertToTable(t.Context(), other, nil); err == nil {
		t.Error("no error for another kind")
	}
}
