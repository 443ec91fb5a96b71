// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

// prefix is the prefix of stored objects.
var prefix = []byte{'k', '8', 's', 0}

// message returns the protobuf message of a stored object.
func message(t *testing.T, data []byte) *runtime.Unknown {
	t.Helper()
	m := &runtime.Unknown{}
	if err := m.Unmarshal(bytes.TrimPrefix(data, prefix)); err != nil {
		t.Fatal(err)
	}
	return m
}

// Wire types of fields: varint and length-delimited.
const number, text = 0, 2

// wireField is an encoded field of a message.
type wireField struct {
	tag   uint64
	value []byte
}

func (f wireField) zero() bool { return f.tag&7 == number && bytes.Equal(f.value, []byte{0}) }

// fieldsOf returns the fields of a message. Malformed data is returned as a last field with tag 0.
func fieldsOf(message []byte) (fields []wireField) {
	for len(message) > 0 {
		tag, begin := binary.Uvarint(message)
		length := -1
		switch rest := message[max(begin, 0):]; tag & 7 {
		case number:
			if _, n := binary.Uvarint(rest); n > 0 {
				length = n
			}
		case text:
			if size, n := binary.Uvarint(rest); n > 0 && size <= uint64(len(rest)-n) {
				begin, length = begin+n, int(size)
			}
		}
		if begin <= 0 || length < 0 {
			return append(fields, wireField{value: message})
		}
		fields = append(fields, wireField{tag, message[begin : begin+length]})
		message = message[begin+length:]
	}
	return fields
}

// checkAddedFields returns an error unless now has all fields of was with the same values in the same order. Additional fields must
// be numbers with the value 0, because fields that were added later are encoded even if they are unset.
func checkAddedFields(was, now []byte) error {
	after := fieldsOf(now)
	for _, old := range fieldsOf(was) {
		for len(after) > 0 && after[0].tag != old.tag && after[0].zero() {
			after = after[1:]
		}
		switch {
		case len(after) == 0 || after[0].tag != old.tag:
			return fmt.Errorf("field %d is missing or in another position", old.tag>>3)
		case bytes.Equal(old.value, after[0].value):
		case old.tag&7 != text:
			return fmt.Errorf("field %d is %x, want %x", old.tag>>3, after[0].value, old.value)
		default:
			if err := checkAddedFields(old.value, after[0].value); err != nil {
				return fmt.Errorf("in field %d: %w", old.tag>>3, err)
			}
		}
		after = after[1:]
	}
	for _, added := range after {
		if !added.zero() {
			return fmt.Errorf("field %d was added with the value %x", added.tag>>3, added.value)
		}
	}
	return nil
}

func TestCheckAddedFields_AllowsOnlyZeroNumbers(t *testing.T) {
	was := []byte{1<<3 | number, 5, 2<<3 | text, 2, 1<<3 | number, 7}
	for name, tc := range map[string]struct {
		now  []byte
		want string
	}{
		"the same":             {was, ""},
		"a number":             {append(bytes.Clone(was), 3<<3|number, 0), ""},
		"a number inside":      {[]byte{1<<3 | number, 5, 2<<3 | text, 4, 1<<3 | number, 7, 4<<3 | number, 0}, ""},
		"a number between":     {[]byte{1<<3 | number, 5, 3<<3 | number, 0, 2<<3 | text, 2, 1<<3 | number, 7}, ""},
		"a value":              {append(bytes.Clone(was), 3<<3|number, 1), "field 3 was added with the value 01"},
		"a text":               {append(bytes.Clone(was), 3<<3|text, 0), "field 3 was added with the value "},
		"another value":        {[]byte{1<<3 | number, 6, 2<<3 | text, 2, 1<<3 | number, 7}, "field 1 is 06, want 05"},
		"another value inside": {[]byte{1<<3 | number, 5, 2<<3 | text, 2, 1<<3 | number, 8}, "in field 2: field 1 is 08, want 07"},
		"another number":       {[]byte{3<<3 | number, 5, 2<<3 | text, 2, 1<<3 | number, 7}, "field 1 is missing or in another position"},
		"a missing field":      {was[:2], "field 2 is missing or in another position"},
		"malformed data":       {[]byte{1<<3 | number, 5, 2<<3 | text, 200}, "field 2 is missing or in another position"},
	} {
		if err := checkAddedFields(was, tc.now); (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}
