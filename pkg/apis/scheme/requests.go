// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package scheme

import (
	"encoding/json"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
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
	switch {
	case err == nil || runtime.IsNotRegisteredError(err):
	case runtime.IsStrictDecodingError(err):
		err = runtime.NewStrictDecodingError(unknown(err, into))
	default:
		if found := malformedBy(d.Decoder, data, defaults, into); found != nil {
			err = found
		}
	}
	return obj, kind, err
}

// strict decodes JSON and YAML and reports unknown fields.
var strict = func() runtime.Decoder {
	info, ok := runtime.SerializerInfoForMediaType(Codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	if !ok {
		panic("the scheme has no serializer for " + runtime.ContentTypeJSON) // a programming error
	}
	return info.StrictSerializer
}()

// Malformed returns an error that names everything in document, in JSON or YAML, that an object of the type of
// into cannot take, with fields that the type does not have. It returns nil if it finds no wrong value.
func Malformed(document []byte, into runtime.Object) error {
	return malformedBy(strict, document, nil, into)
}

// malformedBy is Malformed with the decoder that decides whether unknown fields are reported.
func malformedBy(decoder runtime.Decoder, document []byte, defaults *schema.GroupVersionKind, into runtime.Object) error {
	found, rest := malformed.Find(document, into)
	if len(found) == 0 {
		return nil
	}
	var errs []error
	for _, err := range found {
		errs = append(errs, err)
	}
	if rest != nil {
		// A decoder ends at the first value that it cannot read. Without these values it reads to the end.
		if _, _, err := decoder.Decode(rest, defaults, into.DeepCopyObject()); err != nil {
			errs = append(errs, unknown(err, into)...)
		}
	}
	return utilerrors.NewAggregate(errs)
}

// unknown returns what a strict decoder has found, with suggestions; nothing if err is another error.
func unknown(err error, into runtime.Object) (errs []error) {
	found, ok := runtime.AsStrictDecodingError(err)
	if !ok {
		return nil
	}
	for _, err := range found.Errors() {
		errs = append(errs, errors.New(malformed.Hinted(err, into)))
	}
	return errs
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
