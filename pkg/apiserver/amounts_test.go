// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"math/rand"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/resource"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/randfill"

	"github.com/slipway-dev/slipway/pkg/apis/scheme"
	vmfuzzer "github.com/slipway-dev/slipway/pkg/apis/vm/fuzzer"
)

// sixteen is a quantity without text after decoding. Only the text of multiples of 8 would be preserved.
const sixteen = "16Gi"

// amountsWithoutText returns the number of quantities in v, and the paths of those without stored text. Values in
// maps are skipped, because a reader gets a copy.
func amountsWithoutText(path string, v reflect.Value) (all int, without []string) {
	visit := func(path string, v reflect.Value) {
		n, more := amountsWithoutText(path, v)
		all, without = all+n, append(without, more...)
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			visit(path, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			visit(path+"[]", v.Index(i))
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[resource.Quantity]() {
			if v.FieldByName("s").Len() == 0 {
				return 1, []string{path}
			}
			return 1, nil
		}
		for i := range v.NumField() {
			visit(path+"."+v.Type().Field(i).Name, v.Field(i))
		}
	}
	return all, without
}

func TestSharingCodec_ReadingAQuantityDoesNotModifyIt(t *testing.T) {
	codec := newStorageCodec()
	fill := fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, vmfuzzer.Funcs, func(serializer.CodecFactory) []any {
		return []any{func(q *resource.Quantity, _ randfill.Continue) { *q = resource.MustParse(sixteen) }}
	}), rand.NewSource(1), scheme.Codecs).NilChance(0).NumElements(1, 1).MaxDepth(40)
	amounts := 0
	for kind := range scheme.Scheme.AllKnownTypes() {
		if kind.Version == runtime.APIVersionInternal || !scheme.Scheme.Recognizes(kind.GroupVersion().WithKind(kind.Kind+"List")) {
			continue // not a stored kind
		}
		obj, err := scheme.Scheme.New(kind)
		if err != nil {
			t.Fatal(err)
		}
		fill.Fill(obj)
		data, err := runtime.Encode(codec, obj)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		stored, err := runtime.Decode(codec, data)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		n, without := amountsWithoutText(kind.Kind, reflect.ValueOf(stored))
		if len(without) > 0 {
			t.Errorf("reading these modifies the watch cache: %s", strings.Join(without, ", "))
		}
		amounts += n
	}
	if amounts < 30 {
		t.Errorf("checked only %d quantities, want those of all kinds", amounts)
	}
}
