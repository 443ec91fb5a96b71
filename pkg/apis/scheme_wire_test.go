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

// prefix begins what is stored.
var prefix = []byte{'k', '8', 's', 0}

// message is that of a stored object.
func message(t *testing.T, data []byte) *runtime.Unknown {
	t.Helper()
	m := &runtime.Unknown{}
	if err := m.Unmarshal(bytes.TrimPrefix(data, prefix)); err != nil {
		t.Fatal(err)
	}
	return m
}

// Kinds of fields: a number, and what has a length.
const number, text = 0, 2

// wireField is a field of a message as it is stored.
type wireField struct {
	tag   uint64
	value []byte
}

func (f wireField) zero() bool { return f.tag&7 == number && bytes.Equal(f.value, []byte{0}) }

// fieldsOf are the fields of a message. What is none ends with one of the tag 0.
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

// adds is an error unless now has all fields of was, as they were and in their order, and
// beside them only numbers that are zero: fields that were added since are written without
// a value, too.
func adds(was, now []byte) error {
	after := fieldsOf(now)
	for _, old := range fieldsOf(was) {
		for len(after) > 0 && after[0].tag != old.tag && after[0].zero() {
			after = after[1:]
		}
		switch {
		case len(after) == 0 || after[0].tag != old.tag:
			return fmt.Errorf("field %d is not where it was", old.tag>>3)
		case bytes.Equal(old.value, after[0].value):
		case old.tag&7 != text:
			return fmt.Errorf("field %d is %x, and was %x", old.tag>>3, after[0].value, old.value)
		default:
			if err := adds(old.value, after[0].value); err != nil {
				return fmt.Errorf("in field %d: %w", old.tag>>3, err)
			}
		}
		after = after[1:]
	}
	for _, added := range after {
		if !added.zero() {
			return fmt.Errorf("field %d is new, with the value %x", added.tag>>3, added.value)
		}
	}
	return nil
}

func TestOnlyNumbersWithoutAValueMayBeAddedToWhatIsStored(t *testing.T) {
	was := []byte{1<<3 | number, 5, 2<<3 | text, 2, 1<<3 | number, 7}
	for name, tc := range map[string]struct {
		now  []byte
		want string
	}{
		"the same":         {was, ""},
		"a number":         {append(bytes.Clone(was), 3<<3|number, 0), ""},
		"a number inside":  {[]byte{1<<3 | number, 5, 2<<3 | text, 4, 1<<3 | number, 7, 4<<3 | number, 0}, ""},
		"one between":      {[]byte{1<<3 | number, 5, 3<<3 | number, 0, 2<<3 | text, 2, 1<<3 | number, 7}, ""},
		"a value":          {append(bytes.Clone(was), 3<<3|number, 1), "field 3 is new, with the value 01"},
		"a text":           {append(bytes.Clone(was), 3<<3|text, 0), "field 3 is new, with the value "},
		"another value":    {[]byte{1<<3 | number, 6, 2<<3 | text, 2, 1<<3 | number, 7}, "field 1 is 06, and was 05"},
		"another inside":   {[]byte{1<<3 | number, 5, 2<<3 | text, 2, 1<<3 | number, 8}, "in field 2: field 1 is 08, and was 07"},
		"another number":   {[]byte{3<<3 | number, 5, 2<<3 | text, 2, 1<<3 | number, 7}, "field 1 is not where it was"},
		"less":             {was[:2], "field 2 is not where it was"},
		"nothing readable": {[]byte{1<<3 | number, 5, 2<<3 | text, 200}, "field 2 is not where it was"},
	} {
		if err := adds(was, tc.now); (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}
