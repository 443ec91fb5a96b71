// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package bounds

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateSpec returns errors for values in spec that are too long, have too many items or contain invalid characters. spec is
// an API type or a pointer to one, and path is its location. At most MaxErrors errors are returned.
func ValidateSpec(spec any, path *field.Path) field.ErrorList {
	w := walker{}
	w.value(reflect.ValueOf(spec), bound{}, path)
	return w.errs
}

// ValidateQuantities returns errors for quantities in obj that have too many digits. obj is an API object or a pointer to one.
// It must be called before quantities are compared, because a comparison takes time in proportion to the number of
// digits.
func ValidateQuantities(obj any) field.ErrorList {
	w := walker{quantities: true}
	w.value(reflect.ValueOf(obj), bound{}, nil)
	return w.errs
}

// ValidateMeta returns errors for metadata fields of obj that have too many entries. More entries are allowed if before, which
// can be nil, has as many.
func ValidateMeta(obj, before metav1.Object, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	count := func(name string, of func(metav1.Object) int) {
		limit := maxLabels
		if before != nil {
			limit = max(limit, of(before))
		}
		if n := of(obj); n > limit {
			errs = append(errs, field.TooMany(path.Child(name), n, limit))
		}
	}
	count("labels", func(o metav1.Object) int { return len(o.GetLabels()) })
	count("annotations", func(o metav1.Object) int { return len(o.GetAnnotations()) })
	count("finalizers", func(o metav1.Object) int { return len(o.GetFinalizers()) })
	count("ownerReferences", func(o metav1.Object) int { return len(o.GetOwnerReferences()) })
	return errs
}

// TruncateErrors returns at most MaxErrors of errs. The last error contains the number of errors that were removed.
func TruncateErrors(errs field.ErrorList) field.ErrorList {
	if len(errs) <= MaxErrors {
		return errs
	}
	last := *errs[MaxErrors-1]
	last.Detail += fmt.Sprintf(" (and %d more errors)", len(errs)-MaxErrors)
	return append(errs[:MaxErrors-1:MaxErrors-1], &last)
}

// walker collects errors. If quantities is true, it checks only quantities.
type walker struct {
	errs       field.ErrorList
	quantities bool
}

func (w *walker) add(err *field.Error) { w.errs = append(w.errs, err) }

// value checks v. b is the bound of the field that contains it.
func (w *walker) value(v reflect.Value, b bound, path *field.Path) {
	if len(w.errs) >= MaxErrors {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			w.value(v.Elem(), b, path)
		}
	case reflect.Struct:
		if q, ok := v.Interface().(resource.Quantity); ok {
			w.quantity(q, path)
		} else if !isLeaf(v.Type()) {
			w.fields(v, path)
		}
	case reflect.String:
		if w.quantities {
			return
		}
		w.text(v.String(), v.String(), b, path)
	case reflect.Slice:
		w.list(v, b, path)
	case reflect.Map:
		if w.quantities {
			return // all maps are maps of strings
		}
		w.entries(v, b, path)
	default: // validation checks the ranges of numbers
	}
}

// isLeaf reports whether t is a struct that is a single value in JSON.
func isLeaf(t reflect.Type) bool {
	return t == reflect.TypeFor[resource.Quantity]() || t == reflect.TypeFor[metav1.Time]()
}

// fields checks the fields of a struct.
func (w *walker) fields(v reflect.Value, path *field.Path) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			w.value(v.Field(i), bound{}, path)
			continue
		}
		w.value(v.Field(i), table[v.Type().Name()+"."+name], path.Child(name))
	}
}

// list checks a list and, if it is not too long, its items. A byte slice has a limit on its size.
func (w *walker) list(v reflect.Value, b bound, path *field.Path) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		if limit := valueOr(b.text, MaxObject); v.Len() > limit && !w.quantities {
			w.add(field.TooLong(path, nil, limit))
		}
		return
	}
	if limit := valueOr(b.items, MaxItems); v.Len() > limit && !w.quantities {
		w.add(field.TooMany(path, v.Len(), limit))
		return
	}
	for i := range v.Len() {
		w.value(v.Index(i), b, path.Index(i))
	}
}

// entries checks a map of strings and, if it is not too large, its entries.
func (w *walker) entries(v reflect.Value, b bound, path *field.Path) {
	if limit := valueOr(b.items, MaxItems); v.Len() > limit {
		w.add(field.TooMany(path, v.Len(), limit))
		return
	}
	for each := v.MapRange(); each.Next(); {
		key := each.Key().String()
		before := len(w.errs)
		w.text(key, key, bound{}, path)
		if len(w.errs) == before {
			w.text(each.Value().String(), field.OmitValueType{}, b, path.Key(key))
		}
	}
}

// quantity checks that a quantity has at most 40 digits. Comparing 1e999999999 with another number would require as
// many digits.
func (w *walker) quantity(q resource.Quantity, path *field.Path) {
	if number := q.AsDec(); number.Scale() < -40 || number.Scale() > 40 || number.UnscaledBig().BitLen() > 128 {
		w.add(field.Invalid(path, field.OmitValueType{}, "must have at most 40 digits"))
	}
}

// text checks a string. shown is the value in errors.
func (w *walker) text(text string, shown any, b bound, path *field.Path) {
	if len(w.errs) >= MaxErrors {
		return
	}
	if limit := valueOr(b.text, MaxText); len(text) > limit {
		w.add(field.TooLong(path, nil, limit))
		return
	}
	if wrong := Text(text, b.lines); wrong != "" {
		w.add(field.Invalid(path, shown, wrong))
	}
}

func valueOr(n, otherwise int) int {
	if n > 0 {
		return n
	}
	return otherwise
}
