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

// maxShown is the maximum length of a value in an error, in bytes.
const maxShown = 64

// maxFound is the maximum number of errors that Find returns.
const maxFound = 16

// Find returns the first errors of decoding document, in JSON or YAML, into the type of into, in the order of the
// fields of the type. rest is the document in JSON without the invalid values, for a decoder that stops at the first
// invalid value. Find returns nil if document is not valid JSON or YAML.
func Find(document []byte, into any) (errs field.ErrorList, rest []byte) {
	var content any
	if into == nil || json.Unmarshal(document, &content) != nil && yaml.Unmarshal(document, &content) != nil {
		return nil, nil
	}
	f := finder{}
	if f.find(reflect.TypeOf(into), content, nil) {
		return f.errs, nil // the whole document is invalid
	}
	if len(f.errs) > 0 {
		rest, _ = json.Marshal(content) // content was decoded, so it can be encoded
	}
	return f.errs, rest
}

// finder collects errors.
type finder struct{ errs field.ErrorList }

func (f *finder) add(err *field.Error) (wrong bool) {
	if len(f.errs) < maxFound {
		f.errs = append(f.errs, err)
	}
	return true
}

// find collects the errors in content and removes invalid values from it. It returns true if content itself is invalid;
// the caller removes it.
func (f *finder) find(t reflect.Type, content any, path *field.Path) (wrong bool) {
	optional := t.Kind() == reflect.Pointer
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reader, ok := reflect.New(t).Interface().(json.Unmarshaler); ok && !(optional && content == nil) {
		if err := decodeWithUnmarshaler(reader, content, path); err != nil {
			return f.add(err)
		}
		return false
	}
	if content == nil {
		return false
	}
	if want := jsonForm(t); want != "" && want != jsonForm(reflect.TypeOf(content)) {
		return f.add(invalidValue(path, content, "must be "+want+fieldsOf(t)))
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int32, reflect.Int64:
		if n := content.(float64); n != math.Trunc(n) || math.Abs(n) >= math.Pow(2, float64(t.Bits()-1)) {
			return f.add(invalidValue(path, content, fmt.Sprintf("must be a whole number of %d bits", t.Bits())))
		}
	case reflect.Struct:
		f.findInStruct(t, content.(map[string]any), path)
	case reflect.Map:
		entries, _ := content.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			if f.find(t.Elem(), entries[key], path.Key(key)) {
				delete(entries, key)
			}
		}
	case reflect.Slice:
		if text, ok := content.(string); ok {
			if _, err := base64.StdEncoding.DecodeString(text); err != nil {
				return f.add(invalidValue(path, content, "must be base64"))
			}
		}
		items, _ := content.([]any)
		for i, item := range items {
			if want := jsonForm(t.Elem()); item == nil && want != "" {
				wrong = f.add(invalidValue(path.Index(i), nil, "must be "+want+fieldsOf(t.Elem())))
			} else if f.find(t.Elem(), item, path.Index(i)) {
				wrong = true // remove the whole list, so that indexes in errors are correct
			}
		}
	default: // only the form can be wrong
	}
	return wrong
}

// jsonForm returns a description of the JSON form of t, or "" if several forms are possible.
func jsonForm(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "a string" // base64-encoded
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

func (f *finder) findInStruct(t reflect.Type, content map[string]any, path *field.Path) {
	for i := range t.NumField() {
		at := t.Field(i)
		name, _, _ := strings.Cut(at.Tag.Get("json"), ",")
		switch {
		case !at.IsExported() || name == "-":
		case name == "" && at.Anonymous:
			f.find(at.Type, content, path)
		case hasKey(content, name):
			if f.find(at.Type, content[name], path.Child(name)) {
				delete(content, name)
			}
		}
	}
}

// maxNamed is the maximum number of fields in an error.
const maxNamed = 12

// fieldsOf returns a description of the fields of a struct type, or "" for other types. It helps a user who specified
// another value.
func fieldsOf(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return ""
	}
	names := fieldNames(t)
	if len(names) > maxNamed {
		names = append(names[:maxNamed:maxNamed], "…")
	}
	return " with the fields: " + strings.Join(names, ", ")
}

// fieldNames returns the JSON names of a struct's fields in their order.
func fieldNames(t reflect.Type) (names []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case !f.IsExported() || name == "-":
		case name == "" && f.Anonymous && f.Type.Kind() == reflect.Struct:
			names = append(names, fieldNames(f.Type)...)
		case name != "":
			names = append(names, name)
		}
	}
	return names
}

func hasKey(content map[string]any, name string) bool {
	_, ok := content[name]
	return ok
}

// decodeWithUnmarshaler decodes content with the type's own unmarshaling.
func decodeWithUnmarshaler(reader json.Unmarshaler, content any, path *field.Path) *field.Error {
	text, err := json.Marshal(content)
	if err != nil {
		return nil // cannot happen: content was decoded
	}
	if err = reader.UnmarshalJSON(text); err == nil {
		return nil
	}
	why := err.Error()
	if len(why) > 4*maxShown {
		why = "is not a valid " + strings.ToLower(reflect.TypeOf(reader).Elem().Name())
	}
	return invalidValue(path, content, why)
}

// invalidValue returns an error for content. The error contains the beginning of the value.
func invalidValue(path *field.Path, content any, why string) *field.Error {
	text, _ := json.Marshal(content) // content was decoded, so it can be encoded
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
