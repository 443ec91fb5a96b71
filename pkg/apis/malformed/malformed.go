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

// maxFound is how many errors Find returns.
const maxFound = 16

// Find returns what an object of the type of into cannot take of document, in JSON or YAML: the first errors,
// in the order of the fields of the type. rest is the document in JSON without the values that are wrong, for a
// decoder that ends at the first of them. Find returns nothing if document cannot be read at all.
func Find(document []byte, into any) (errs field.ErrorList, rest []byte) {
	var content any
	if into == nil || json.Unmarshal(document, &content) != nil && yaml.Unmarshal(document, &content) != nil {
		return nil, nil
	}
	f := finder{}
	if f.find(reflect.TypeOf(into), content, nil) {
		return f.errs, nil // nothing is left of the document
	}
	if len(f.errs) > 0 {
		rest, _ = json.Marshal(content) // which came of a decoder
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

// find looks for errors in content and removes the values that are wrong from it, unless that is content itself.
func (f *finder) find(t reflect.Type, content any, path *field.Path) (wrong bool) {
	optional := t.Kind() == reflect.Pointer
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reader, ok := reflect.New(t).Interface().(json.Unmarshaler); ok && !(optional && content == nil) {
		if err := read(reader, content, path); err != nil {
			return f.add(err)
		}
		return false
	}
	if content == nil {
		return false
	}
	if want := form(t); want != "" && want != form(reflect.TypeOf(content)) {
		return f.add(invalid(path, content, "must be "+want+fieldsOf(t)))
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int32, reflect.Int64:
		if n := content.(float64); n != math.Trunc(n) || math.Abs(n) >= math.Pow(2, float64(t.Bits()-1)) {
			return f.add(invalid(path, content, fmt.Sprintf("must be a whole number of %d bits", t.Bits())))
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
				return f.add(invalid(path, content, "must be base64"))
			}
		}
		items, _ := content.([]any)
		for i, item := range items {
			if want := form(t.Elem()); item == nil && want != "" {
				wrong = f.add(invalid(path.Index(i), nil, "must be "+want+fieldsOf(t.Elem())))
			} else if f.find(t.Elem(), item, path.Index(i)) {
				wrong = true // and the whole list is removed: others keep their index
			}
		}
	default: // the form is all that there is to it
	}
	return wrong
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

func (f *finder) findInStruct(t reflect.Type, content map[string]any, path *field.Path) {
	for i := range t.NumField() {
		at := t.Field(i)
		name, _, _ := strings.Cut(at.Tag.Get("json"), ",")
		switch {
		case !at.IsExported() || name == "-":
		case name == "" && at.Anonymous:
			f.find(at.Type, content, path)
		case has(content, name):
			if f.find(at.Type, content[name], path.Child(name)) {
				delete(content, name)
			}
		}
	}
}

// maxNamed is how many fields of an object an error names.
const maxNamed = 12

// fieldsOf names the fields of an object, for a user who has given another value; empty for other types.
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

// fieldNames are those that a struct has in JSON, in their order.
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
	return invalid(path, content, why)
}

// invalid is the error about content, of which it shows the beginning.
func invalid(path *field.Path, content any, why string) *field.Error {
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
