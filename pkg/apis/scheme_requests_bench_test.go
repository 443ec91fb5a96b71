// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slipway-dev/slipway/pkg/apis/scheme"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// bodySize is the size of the request bodies, in bytes.
const bodySize = 2 << 20

// listPaths returns the JSON paths of lists in a struct that are not nested in another list or map.
func listPaths(typ reflect.Type, path []string, depth int) [][]string {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if typ.Kind() == reflect.Slice && typ.Elem().Kind() != reflect.Uint8 {
		return [][]string{path}
	}
	if typ.Kind() != reflect.Struct || depth == 0 {
		return nil
	}
	var found [][]string
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && name != "-" && name != "managedFields" {
			next := path
			if name != "" {
				next = append(path[:len(path):len(path)], name)
			}
			found = append(found, listPaths(f.Type, next, depth-1)...)
		}
	}
	return found
}

// BenchmarkRequests_RejectLongLists measures the rejection of a body that is filled with the entries of one list.
func BenchmarkRequests_RejectLongLists(b *testing.B) {
	for kind, typ := range scheme.Scheme.AllKnownTypes() {
		if kind.Version == runtime.APIVersionInternal || !strings.HasSuffix(kind.Group, ".slipway.dev") || !scheme.Scheme.Recognizes(kind.GroupVersion().WithKind(kind.Kind+"List")) {
			continue
		}
		for _, path := range listPaths(typ, nil, 4) {
			list := func(entry string, size int) []byte {
				text := listOf(strings.Join(path, "."), entry)(kind.Kind, size/(len(entry)+1))
				return []byte(strings.Replace(text, vmv1alpha1.SchemeGroupVersion.String(), kind.GroupVersion().String(), 1))
			}
			entry, read := "{}", scheme.Codecs.UniversalDeserializer()
			obj, _, err := read.Decode(list(entry, bodySize/2*3), nil, nil) // 2 bytes each in protobuf
			if err != nil {
				entry = `""`
				if obj, _, err = read.Decode(list(entry, bodySize/2*3), nil, nil); err != nil {
					continue // a list of numbers
				}
			}
			for _, info := range scheme.Requests.SupportedMediaTypes() {
				text := list(entry, bodySize)
				if info.MediaType == runtime.ContentTypeProtobuf {
					if text, err = runtime.Encode(scheme.Codecs.EncoderForVersion(info.Serializer, kind.GroupVersion()), obj); err != nil {
						b.Fatal(err)
					}
				}
				decoder := scheme.Requests.DecoderToVersion(info.Serializer, kind.GroupVersion())
				b.Run(kind.Kind+"/"+strings.Join(path, ".")+"/"+info.MediaType, func(b *testing.B) {
					for b.Loop() {
						into, err := scheme.Scheme.New(kind)
						if err != nil {
							b.Fatal(err)
						}
						if _, _, err = decoder.Decode(text, &kind, into); err == nil {
							b.Fatal("it was accepted")
						}
					}
				})
			}
		}
	}
}
