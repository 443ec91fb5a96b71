// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package table converts objects into the table rows that kubectl prints.
//
// Guarantees:
//   - Lists and single objects of a kind have the same columns in the same order. Wide columns have priority 1 and are
//     last.
//   - A cell without a value is empty. It never contains a word such as <none> that a script could take for a value.
//   - Resource version, continue token and remaining item count of a list are preserved, so that tables can be watched
//     and paged.
//   - If a row contains object metadata, managed fields are omitted, because they are the largest part of it.
package table

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metatable "k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
)

// Column is one column of the table of T.
type Column[T runtime.Object] struct {
	// Name is the header; kubectl prints it in capitals.
	Name string
	// Type is an OpenAPI type: string, integer, boolean.
	Type string
	// Description describes the cell in the table's column definition.
	Description string
	// Wide columns are shown by -o wide only.
	Wide bool
	// Value returns the content of the cell. Nil is printed as an empty cell.
	Value func(T) any
}

// Convertor converts objects of type T into tables.
type Convertor[T runtime.Object] struct {
	headers []metav1.TableColumnDefinition
	columns []Column[T]
}

// New returns a Convertor. The columns are the name, the given columns that are not wide, the age, and the wide
// columns.
func New[T runtime.Object](columns ...Column[T]) *Convertor[T] {
	c := &Convertor[T]{headers: []metav1.TableColumnDefinition{
		{Name: "Name", Type: "string", Format: "name", Description: "Name of the object, unique within its namespace or the cluster."},
	}}
	var wide []Column[T]
	for _, column := range columns {
		if column.Wide {
			wide = append(wide, column)
			continue
		}
		c.columns = append(c.columns, column)
	}
	c.columns = append(c.columns, age[T]())
	c.columns = append(c.columns, wide...)
	for _, column := range c.columns {
		header := metav1.TableColumnDefinition{Name: column.Name, Type: column.Type, Description: column.Description}
		if column.Wide {
			header.Priority = 1
		}
		c.headers = append(c.headers, header)
	}
	return c
}

var _ rest.TableConvertor = &Convertor[runtime.Object]{}

// ConvertToTable implements rest.TableConvertor.
func (c *Convertor[T]) ConvertToTable(_ context.Context, object, options runtime.Object) (*metav1.Table, error) {
	out := &metav1.Table{}
	asked, _ := options.(*metav1.TableOptions)
	if asked == nil {
		asked = &metav1.TableOptions{}
	}
	if !asked.NoHeaders {
		out.ColumnDefinitions = c.headers
	}
	if list, err := meta.ListAccessor(object); err == nil {
		out.ResourceVersion = list.GetResourceVersion()
		out.Continue = list.GetContinue()
		out.RemainingItemCount = list.GetRemainingItemCount()
	} else if single, err := meta.CommonAccessor(object); err == nil {
		out.ResourceVersion = single.GetResourceVersion()
	}
	if !meta.IsListType(object) {
		row, err := c.row(object, asked.IncludeObject)
		if err != nil {
			return nil, err
		}
		out.Rows = []metav1.TableRow{row}
		return out, nil
	}
	out.Rows = make([]metav1.TableRow, 0, meta.LenList(object))
	err := meta.EachListItem(object, func(item runtime.Object) error {
		row, err := c.row(item, asked.IncludeObject)
		if err != nil {
			return err
		}
		out.Rows = append(out.Rows, row)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *Convertor[T]) row(object runtime.Object, include metav1.IncludeObjectPolicy) (metav1.TableRow, error) {
	typed, ok := object.(T)
	if !ok {
		var want T
		return metav1.TableRow{}, fmt.Errorf("creating a table row: got a %T, expected a %T", object, want)
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return metav1.TableRow{}, fmt.Errorf("creating a table row of a %T: %w", object, err)
	}
	cells := make([]any, 0, len(c.headers))
	cells = append(cells, accessor.GetName())
	for _, column := range c.columns {
		cell := column.Value(typed)
		if cell == nil {
			cell = ""
		}
		cells = append(cells, cell)
	}
	if include != metav1.IncludeObject {
		told := meta.AsPartialObjectMetadata(accessor)
		told.ManagedFields = nil
		object = told
	}
	return metav1.TableRow{Cells: cells, Object: runtime.RawExtension{Object: object}}, nil
}

func age[T runtime.Object]() Column[T] {
	return Column[T]{
		Name: "Age", Type: "string", Description: "Time since the object was created.",
		Value: func(object T) any {
			accessor, err := meta.Accessor(object)
			if err != nil {
				return nil
			}
			return metatable.ConvertToHumanReadableDateType(accessor.GetCreationTimestamp())
		},
	}
}
