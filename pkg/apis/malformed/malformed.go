// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package malformed

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// maxShown is how much of a value is shown, in bytes.
const maxShown = 64

// Find returns the first place of document, in JSON or YAML, whose value an object of the
// type of into cannot take. It returns nil when there is none, or when document cannot be
// read at all.
func Find(document []byte, into any) *field.Error {
	var content any
	if into == nil || json.Unmarshal(document, &content) != nil && yaml.Unmarshal(document, &content) != nil {
		return nil
	}
	return find(reflect.TypeOf(into), content, nil)
}

func find(t reflect.Type, content any, path *field.Path) *field.Error {
	optional := t.Kind() == reflect.Pointer
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reader, ok := reflect.New(t).Interface().(json.Unmarshaler); ok && !(optional && content == nil) {
		return read(reader, content, path)
	}
	if content == nil {
		return nil
	}
	if want := form(t); want != "" && want != form(reflect.TypeOf(content)) {
		return wrong(path, content, "must be "+want)
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int32, reflect.Int64:
		if n := content.(float64); n != math.Trunc(n) || math.Abs(n) >= math.Pow(2, float64(t.Bits()-1)) {
			return wrong(path, content, fmt.Sprintf("must be a whole number of %d bits", t.Bits()))
		}
	case reflect.Struct:
		return findInStruct(t, content.(map[string]any), path)
	case reflect.Map:
		entries, _ := content.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			if err := find(t.Elem(), entries[key], path.Key(key)); err != nil {
				return err
			}
		}
	case reflect.Slice:
		if text, ok := content.(string); ok {
			if _, err := base64.StdEncoding.DecodeString(text); err != nil {
				return wrong(path, content, "must be base64")
			}
		}
		items, _ := content.([]any)
		for i, item := range items {
			if want := form(t.Elem()); item == nil && want != "" {
				return wrong(path.Index(i), nil, "must be "+want)
			}
			if err := find(t.Elem(), item, path.Index(i)); err != nil {
				return err
			}
		}
	default: // the form is all that there is to it
	}
	return nil
}

// form is what a type is in JSON, in words; empty if it may be more than one.
func form(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "a string" // of base64
		}
		return "a list"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Float64:
		return "a number"
	default:
		return ""
	}
}

func findInStruct(t reflect.Type, content map[string]any, path *field.Path) *field.Error {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case !f.IsExported() || name == "-":
		case name == "" && f.Anonymous:
			if err := find(f.Type, content, path); err != nil {
				return err
			}
		case has(content, name):
			if err := find(f.Type, content[name], path.Child(name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func has(content map[string]any, name string) bool {
	_, ok := content[name]
	return ok
}

// read lets a type read content.
func read(reader json.Unmarshaler, content any, path *field.Path) *field.Error {
	text, err := json.Marshal(content)
	if err != nil {
		return nil // content came of a decoder
	}
	if err = reader.UnmarshalJSON(text); err == nil {
		return nil
	}
	why := err.Error()
	if len(why) > 4*maxShown {
		why = "is no " + strings.ToLower(reflect.TypeOf(reader).Elem().Name())
	}
	return wrong(path, content, why)
}

// wrong is the error about content, of which it shows the beginning.
func wrong(path *field.Path, content any, why string) *field.Error {
	text, _ := json.Marshal(content) // which came of a decoder
	shown := string(text)
	if value, ok := content.(string); ok {
		shown = value
	}
	if len(shown) > maxShown {
		shown = fmt.Sprintf("%.*q… (%d bytes)", maxShown, shown, len(shown))
	} else {
		shown = strconv.Quote(shown)
	}
	return field.Invalid(path, field.OmitValueType{}, shown+": "+why)
}
