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

// protobufPrefix begins an object in protobuf.
var protobufPrefix = []byte{'k', '8', 's', 0}

// counts returns an error if the lists and maps in data, in any encoding, have more entries than those of an
// object may have. An object in protobuf that names no kind is read into into.
func counts(data []byte, into runtime.Object) error {
	message, isProtobuf := bytes.CutPrefix(data, protobufPrefix)
	if !isProtobuf {
		return malformed.Counts(data)
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

// Wire types of protobuf: how the length of a value is found.
const (
	wireVarint, wire64, wireBytes, wire32 = 0, 1, 2, 5
)

// countMessage adds the entries of lists and maps in a message of a type to entries, until they are too many. It
// returns false then. What it cannot read the decoder cannot read either, and reports it.
func countMessage(of reflect.Type, message []byte, entries *int) bool {
	fields := fieldsByNumber(of)
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
			typ, repeated = indirect(typ.Elem()), true
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

// fieldTypes are the types of the fields of each type that was read, by their numbers in protobuf.
var fieldTypes sync.Map

func fieldsByNumber(of reflect.Type) map[uint64]reflect.Type {
	if known, ok := fieldTypes.Load(of); ok {
		return known.(map[uint64]reflect.Type)
	}
	fields := map[uint64]reflect.Type{}
	for i := range of.NumField() {
		f := of.Field(i)
		if parts := strings.Split(f.Tag.Get("protobuf"), ","); len(parts) > 1 {
			if n, err := strconv.ParseUint(parts[1], 10, 32); err == nil {
				fields[n] = indirect(f.Type)
			}
		}
	}
	fieldTypes.Store(of, fields)
	return fields
}

func indirect(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}
