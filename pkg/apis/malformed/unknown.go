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

// unknownField is the prefix of a strict decoder's error about an unknown field.
const unknownField = "unknown field "

// WithSuggestion returns the text of a strict decoder's error. For an unknown field, it adds the name of the most similar field
// of the type of into.
func WithSuggestion(err error, into any) string {
	text := err.Error()
	quoted, isUnknownField := strings.CutPrefix(text, unknownField)
	path, unquoteErr := strconv.Unquote(quoted)
	if !isUnknownField || unquoteErr != nil || into == nil {
		return text
	}
	t := reflect.TypeOf(into)
	names := strings.Split(path, ".")
	for _, name := range names[:len(names)-1] {
		if t = typeOf(t, name); t == nil {
			return text // a key with a dot, or a type with its own unmarshaling
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

// typeOf returns the type of a field, or of an entry of the field if name ends with an index. It returns nil if t has
// no such field.
func typeOf(t reflect.Type, name string) reflect.Type {
	name, _, _ = strings.Cut(name, "[")
	if t = structOf(t); t == nil {
		return nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		jsonName, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if jsonName == "" && f.Anonymous {
			if found := typeOf(f.Type, name); found != nil {
				return found
			}
		} else if jsonName == name {
			return f.Type
		}
	}
	return nil
}

// structOf returns the struct that t, its element or the element of its pointer is, or nil if it is not a struct.
func structOf(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	return t
}
