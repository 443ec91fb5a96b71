// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package scheme

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-dev/slipway/pkg/apis/malformed"
)

// protobufPrefix is the prefix of an object in protobuf encoding.
var protobufPrefix = []byte{'k', '8', 's', 0}

// checkCounts returns an error if the lists and maps in data have more entries than an object can have. data can have any
// encoding. into is the type of a protobuf object that does not specify its kind.
func checkCounts(data []byte, into runtime.Object) error {
	message, isProtobuf := bytes.CutPrefix(data, protobufPrefix)
	if !isProtobuf {
		return malformed.CheckEntryCount(data)
	}
	var envelope runtime.Unknown
	if envelope.Unmarshal(message) != nil {
		return nil // the decoder reports it
	}
	if named, err := Scheme.New(schema.FromAPIVersionAndKind(envelope.APIVersion, envelope.Kind)); err == nil {
		into = named
	}
	entries := 0
	if into == nil || countMessage(reflect.TypeOf(into).Elem(), envelope.Raw, &entries) {
		return nil
	}
	return malformed.ErrEntries
}

// Wire types of protobuf, which determine the length of a value.
const (
	wireVarint, wire64, wireBytes, wire32 = 0, 1, 2, 5
)

// countMessage adds the number of list and map entries in a message to entries. It returns false as soon as there are
// too many. It ignores malformed messages because the decoder reports them.
func countMessage(of reflect.Type, message []byte, entries *int) bool {
	fields := fieldTypesByNumber(of)
	for len(message) > 0 {
		tag, n := binary.Uvarint(message)
		if n <= 0 {
			return true
		}
		message = message[n:]
		size, header := uint64(0), 0
		switch tag & 7 {
		case wireVarint:
			_, header = binary.Uvarint(message)
		case wire64:
			size = 8
		case wire32:
			size = 4
		case wireBytes:
			size, header = binary.Uvarint(message)
		default:
			return true
		}
		if header < 0 || header == 0 && tag&1 == 0 || size > uint64(len(message)-header) {
			return true
		}
		value := message[header : header+int(size)]
		message = message[header+int(size):]
		typ, repeated := fields[tag>>3], false
		if typ == nil {
			continue
		}
		if k := typ.Kind(); k == reflect.Map || k == reflect.Slice && typ.Elem().Kind() != reflect.Uint8 {
			typ, repeated = pointerElem(typ.Elem()), true
		}
		switch {
		case repeated && tag&7 == wireBytes && typ.Kind() >= reflect.Bool && typ.Kind() <= reflect.Float64:
			*entries += len(value) // packed numbers
		case repeated:
			*entries++
		}
		if *entries > malformed.MaxEntries || typ.Kind() == reflect.Struct && tag&7 == wireBytes && !countMessage(typ, value, entries) {
			return false
		}
	}
	return true
}

// fieldTypes caches, for each type, the types of its fields by protobuf field number.
var fieldTypes sync.Map

func fieldTypesByNumber(of reflect.Type) map[uint64]reflect.Type {
	if known, ok := fieldTypes.Load(of); ok {
		return known.(map[uint64]reflect.Type)
	}
	fields := map[uint64]reflect.Type{}
	for i := range of.NumField() {
		f := of.Field(i)
		if parts := strings.Split(f.Tag.Get("protobuf"), ","); len(parts) > 1 {
			if n, err := strconv.ParseUint(parts[1], 10, 32); err == nil {
				fields[n] = pointerElem(f.Type)
			}
		}
	}
	fieldTypes.Store(of, fields)
	return fields
}

func pointerElem(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}
