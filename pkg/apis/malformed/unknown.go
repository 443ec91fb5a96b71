// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package malformed

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/slipway-dev/slipway/pkg/apis/similar"
)

// unknownField begins the error of a strict decoder about a field that the type does not have.
const unknownField = "unknown field "

// Hinted returns an error of a strict decoder about one field, for an object of the type of into, with the field
// that was probably meant.
func Hinted(err error, into any) string {
	text := err.Error()
	quoted, is := strings.CutPrefix(text, unknownField)
	path, unquoteErr := strconv.Unquote(quoted)
	if !is || unquoteErr != nil || into == nil {
		return text
	}
	t := reflect.TypeOf(into)
	names := strings.Split(path, ".")
	for _, name := range names[:len(names)-1] {
		if t = typeOf(t, name); t == nil {
			return text // a key with a dot, or a type that reads itself
		}
	}
	if t = structOf(t); t == nil {
		return text
	}
	last := len(names) - 1
	meant := similar.Name(names[last], fieldNames(t))
	if meant == "" {
		return text
	}
	names[last] = meant
	return fmt.Sprintf("%s, did you mean %q?", text, strings.Join(names, "."))
}

// typeOf returns the type of a field, or of an entry of a field if name ends with an index; nil if there is none.
func typeOf(t reflect.Type, name string) reflect.Type {
	name, _, _ = strings.Cut(name, "[")
	if t = structOf(t); t == nil {
		return nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		is, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if is == "" && f.Anonymous {
			if found := typeOf(f.Type, name); found != nil {
				return found
			}
		} else if is == name {
			return f.Type
		}
	}
	return nil
}

// structOf returns the struct that a type, its pointers, or its entries are; nil if they are none.
func structOf(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	return t
}
