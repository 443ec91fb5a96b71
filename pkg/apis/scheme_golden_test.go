// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/apitesting/roundtrip"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"github.com/slipway-dev/slipway/pkg/apis/scheme"
)

// golden writes the objects of this build as golden files of a release: go test ./pkg/apis -golden=v0.2.0.
var golden = flag.String("golden", "", "version to write the objects of")

// storageCodec returns the codec for objects in etcd.
func storageCodec(version schema.GroupVersion) runtime.Codec {
	s := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	return scheme.Codecs.CodecForVersions(s, scheme.Codecs.UniversalDeserializer(), version, runtime.InternalGroupVersioner)
}

// versionOf returns the group and version in the name of a golden file.
func versionOf(t *testing.T, file string) schema.GroupVersion {
	t.Helper()
	group, rest, ok := strings.Cut(filepath.Base(file), "_")
	version, _, _ := strings.Cut(rest, "_")
	if !ok || version == "" {
		t.Fatalf("%s is not named GROUP_VERSION_KIND", file)
	}
	return schema.GroupVersion{Group: group, Version: version}
}

// marshalIndented encodes an object as indented JSON.
func marshalIndented(t *testing.T, obj runtime.Object) []byte {
	t.Helper()
	text, err := json.MarshalIndent(obj, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// sortKeys sorts the keys of JSON, because the order of fields is not significant.
func sortKeys(t *testing.T, text []byte) string {
	t.Helper()
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	out, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// filledObjects returns objects of all stored kinds with a value in every field.
func filledObjects(t *testing.T) map[schema.GroupVersionKind]runtime.Object {
	t.Helper()
	o := roundtrip.NewCompatibilityTestOptions(scheme.Scheme)
	for gvk, typ := range scheme.Scheme.AllKnownTypes() {
		_, isObject := typ.FieldByName("ObjectMeta")
		if isObject && strings.HasSuffix(gvk.Group, ".slipway.dev") && gvk.Version != runtime.APIVersionInternal {
			o.Kinds = append(o.Kinds, gvk)
		}
	}
	return o.Complete(t).FilledObjects
}

func writeGolden(t *testing.T, version string) {
	t.Helper()
	dir := filepath.Join("testdata", version)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	for gvk, obj := range filledObjects(t) {
		name := filepath.Join(dir, strings.Join([]string{gvk.Group, gvk.Version, gvk.Kind}, "_"))
		data, err := runtime.Encode(storageCodec(gvk.GroupVersion()), obj)
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := runtime.Decode(storageCodec(gvk.GroupVersion()), data)
		if err != nil {
			t.Fatal(err)
		}
		for file, content := range map[string][]byte{name + ".pb": data, name + ".json": marshalIndented(t, decoded)} {
			if err := os.WriteFile(file, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// During an update both versions write to the same store, and an update can be rolled back.
func TestScheme_ReadsObjectsOfEarlierVersions(t *testing.T) {
	if *golden != "" {
		writeGolden(t, *golden)
	}
	files, err := fs.Glob(os.DirFS("testdata"), "v*/*.pb")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d golden files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", file))
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(filepath.Join("testdata", strings.TrimSuffix(file, ".pb")+".json"))
			if err != nil {
				t.Fatal(err)
			}
			codec := storageCodec(versionOf(t, file))
			obj, err := runtime.Decode(codec, data)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(sortKeys(t, want), sortKeys(t, marshalIndented(t, obj))); diff != "" {
				t.Errorf("the decoded object differs (-stored +read):\n%s", diff)
			}
			again, err := runtime.Encode(codec, obj)
			if err != nil {
				t.Fatal(err)
			}
			if err := checkAddedFields(message(t, data).Raw, message(t, again).Raw); err != nil {
				t.Errorf("the encoding changed: %v. The previous version must still be able to read it", err)
			}
		})
	}
}

// An older version ignores unknown fields and drops them when it writes the object. docs/concepts/availability.md documents this.
func TestScheme_DropsFieldsOfLaterVersions(t *testing.T) {
	for gvk, obj := range filledObjects(t) {
		codec := storageCodec(gvk.GroupVersion())
		data, err := runtime.Encode(codec, obj)
		if err != nil {
			t.Fatal(err)
		}
		later := withField(t, data)
		decoded, err := runtime.Decode(codec, later)
		if err != nil {
			t.Errorf("%s with a field of a later version: %v", gvk.Kind, err)
			continue
		}
		if again, err := runtime.Encode(codec, decoded); err != nil || !bytes.Equal(again, data) {
			t.Errorf("%s: encoded in %d bytes, want %d bytes without the field; error %v", gvk.Kind, len(again), len(data), err)
		}
	}
}

// withField adds a field with an unknown number to a stored object.
func withField(t *testing.T, data []byte) []byte {
	t.Helper()
	const unknown = 9999
	m, value := message(t, data), "of a later version"
	m.Raw = binary.AppendUvarint(binary.AppendUvarint(m.Raw, unknown<<3|text), uint64(len(value)))
	m.Raw = append(m.Raw, value...)
	changed, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append(bytes.Clone(prefix), changed...)
}
