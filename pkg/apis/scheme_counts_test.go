// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/malformed"
	"github.com/slipway-dev/slipway/pkg/apis/scheme"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// bodyOf returns a body with n entries in one list or map.
type bodyOf func(kind string, n int) string

func listOf(path, entry string) bodyOf {
	return func(kind string, n int) string {
		text := "[" + strings.TrimSuffix(strings.Repeat(entry+",", n), ",") + "]"
		names := strings.Split(path, ".")
		for i := len(names) - 1; i >= 0; i-- {
			text = fmt.Sprintf("{%q:%s}", names[i], text)
		}
		return fmt.Sprintf(`{"apiVersion":"vm.slipway.dev/v1alpha1","kind":%q,`, kind) + text[1:]
	}
}

func labels(kind string, n int) string {
	var entries []string
	for i := range n {
		entries = append(entries, fmt.Sprintf(`"%d":""`, i))
	}
	return fmt.Sprintf(`{"apiVersion":"vm.slipway.dev/v1alpha1","kind":%q,"metadata":{"labels":{%s}}}`, kind, strings.Join(entries, ","))
}

// decode decodes text, which is JSON, as a request in the encoding of mediaType.
func decode(t *testing.T, mediaType, text string, into runtime.Object) error {
	t.Helper()
	info, ok := runtime.SerializerInfoForMediaType(scheme.Requests.SupportedMediaTypes(), mediaType)
	if !ok {
		t.Fatalf("no serializer for %s", mediaType)
	}
	data := []byte(text)
	if mediaType == runtime.ContentTypeProtobuf {
		obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if data, err = runtime.Encode(scheme.Codecs.EncoderForVersion(info.Serializer, vmv1alpha1.SchemeGroupVersion), obj); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err := scheme.Requests.DecoderToVersion(info.Serializer, vmv1alpha1.SchemeGroupVersion).Decode(data, &schema.GroupVersionKind{}, into)
	return err
}

func TestRequests_RejectTooManyEntriesBeforeDecoding(t *testing.T) {
	const most = malformed.MaxEntries
	encodings := []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf}
	for name, tc := range map[string]struct {
		kind      string
		body      bodyOf
		entries   int
		encodings []string
		refused   bool
	}{
		"the maximum":                      {"Zone", listOf("metadata.finalizers", `""`), most, encodings, false},
		"finalizers":                       {"Zone", listOf("metadata.finalizers", `""`), most + 1, encodings, true},
		"objects":                          {"Zone", listOf("spec.networks", `{}`), most + 1, encodings, true},
		"a list below pointers":            {"VirtualMachine", listOf("spec.bootstrap.cloudInit.sshAuthorizedKeys", `""`), most + 1, encodings, true},
		"lists in a list":                  {"VirtualMachineGroup", listOf("spec.bootOrder", `{"members":[{},{},{}]}`), most / 3, encodings, true},
		"in the status":                    {"VirtualMachineGroup", listOf("status.members", `{}`), most + 1, encodings, true},
		"a body of another kind":           {"Zone", listOf("spec.devices", `{}`), most + 1, encodings, true},
		"a map, in protobuf":               {"Zone", labels, most + 1, []string{runtime.ContentTypeProtobuf}, true},
		"fewer fields than any object":     {"Zone", labels, most + 1, []string{runtime.ContentTypeJSON}, false},
		"more fields than any object":      {"Zone", labels, 8 * most, []string{runtime.ContentTypeJSON}, true},
		"commas in a text":                 {"Zone", listOf("spec.networks", `{"network":",,,,[[[[{{{{\",,"}`), most - 1, []string{runtime.ContentTypeJSON}, false},
		"JSON with the media type of YAML": {"Zone", listOf("spec.networks", `{}`), most + 1, []string{runtime.ContentTypeYAML}, true},
		"YAML": {"Zone", func(kind string, n int) string {
			return "apiVersion: vm.slipway.dev/v1alpha1\nkind: " + kind + "\nmetadata:\n  finalizers:\n" + strings.Repeat("  - a\n", n)
		}, 4 * most, []string{runtime.ContentTypeYAML}, true},
	} {
		for _, encoding := range tc.encodings {
			t.Run(name+" "+encoding, func(t *testing.T) {
				into := &vmv1alpha1.Zone{}
				err := decode(t, encoding, tc.body(tc.kind, tc.entries), into)
				if refused := err != nil && strings.Contains(err.Error(), "must have at most"); refused != tc.refused {
					t.Errorf("got error %v, want rejected = %t", err, tc.refused)
				}
			})
		}
	}
}

func TestRequests_RejectRevisionDataThatIsNotJSON(t *testing.T) {
	for name, raw := range map[string][]byte{"present and empty": {}, "half an object": []byte("{"), "a huge number": []byte("1e400")} {
		t.Run(name, func(t *testing.T) {
			revision := &itv1alpha1.ControllerRevision{Data: runtime.RawExtension{Raw: raw}}
			info, _ := runtime.SerializerInfoForMediaType(scheme.Requests.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
			data, err := runtime.Encode(scheme.Codecs.EncoderForVersion(info.Serializer, itv1alpha1.SchemeGroupVersion), revision)
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = scheme.Requests.DecoderToVersion(info.Serializer, itv1alpha1.SchemeGroupVersion).Decode(data, nil, &itv1alpha1.ControllerRevision{})
			if wrong := (*field.Error)(nil); !errors.As(err, &wrong) || wrong.Field != "data" {
				t.Errorf("got error %v, want an error about data", err)
			}
		})
	}
}
