// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package scheme

import (
	"encoding/json"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/malformed"
)

// naming gives decoders that name the field of a value that they cannot read.
type naming struct{ runtime.NegotiatedSerializer }

// DecoderToVersion returns a decoder of requests.
func (n naming) DecoderToVersion(decoder runtime.Decoder, version runtime.GroupVersioner) runtime.Decoder {
	return namingDecoder{n.NegotiatedSerializer.DecoderToVersion(decoder, version)}
}

type namingDecoder struct{ runtime.Decoder }

// Decode reads data, unless its lists have too many entries. Types that read themselves, such as
// amounts, return errors that do not name the field.
func (d namingDecoder) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if err := counts(data, into); err != nil {
		return nil, defaults, err
	}
	obj, kind, err := d.Decoder.Decode(data, defaults, into)
	if revision, ok := obj.(*itv1alpha1.ControllerRevision); ok && err == nil {
		err = readable(revision)
	}
	if err == nil || runtime.IsStrictDecodingError(err) || runtime.IsNotRegisteredError(err) {
		return obj, kind, err
	}
	if found := malformed.Find(data, into); found != nil {
		err = errors.New(found.Error())
	}
	return obj, kind, err
}

// readable refuses data that are stored as they were written and are not JSON, for example
// data that are present and empty: the library that computes field ownership panics over them.
func readable(revision *itv1alpha1.ControllerRevision) error {
	var content any
	if revision.Data.Raw == nil {
		return nil
	}
	if err := json.Unmarshal(revision.Data.Raw, &content); err != nil {
		return field.Invalid(field.NewPath("data"), field.OmitValueType{}, err.Error())
	}
	return nil
}
