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

// fieldErrorSerializer is a serializer whose decoders report the field of a value that cannot be decoded.
type fieldErrorSerializer struct{ runtime.NegotiatedSerializer }

// DecoderToVersion returns a decoder for requests.
func (n fieldErrorSerializer) DecoderToVersion(decoder runtime.Decoder, version runtime.GroupVersioner) runtime.Decoder {
	return fieldErrorDecoder{n.NegotiatedSerializer.DecoderToVersion(decoder, version)}
}

type fieldErrorDecoder struct{ runtime.Decoder }

// Decode decodes data. It rejects data whose lists have too many entries. If decoding fails, the error contains the
// paths of invalid fields.
func (d fieldErrorDecoder) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if err := checkCounts(data, into); err != nil {
		return nil, defaults, err
	}
	obj, kind, err := d.Decoder.Decode(data, defaults, into)
	if revision, ok := obj.(*itv1alpha1.ControllerRevision); ok && err == nil {
		err = validateRevisionData(revision)
	}
	switch {
	case err == nil || runtime.IsNotRegisteredError(err):
	case runtime.IsStrictDecodingError(err):
		err = runtime.NewStrictDecodingError(unknownFieldErrors(err, into))
	default:
		if found := malformedBy(d.Decoder, data, defaults, into); found != nil {
			err = found
		}
	}
	return obj, kind, err
}

// strictDecoder is a decoder for JSON and YAML that reports unknown fields.
var strictDecoder = func() runtime.Decoder {
	info, ok := runtime.SerializerInfoForMediaType(Codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	if !ok {
		panic("the scheme has no serializer for " + runtime.ContentTypeJSON) // a programming error
	}
	return info.StrictSerializer
}()

// Malformed returns an error that lists all values and unknown fields in document, in JSON or YAML, that cannot be
// decoded into the type of into. It returns nil if no value is invalid.
func Malformed(document []byte, into runtime.Object) error {
	return malformedBy(strictDecoder, document, nil, into)
}

// malformedBy is like Malformed. decoder determines whether unknown fields are reported.
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
		// A decoder stops at the first invalid value. Without these values it processes the whole document.
		if _, _, err := decoder.Decode(rest, defaults, into.DeepCopyObject()); err != nil {
			errs = append(errs, unknownFieldErrors(err, into)...)
		}
	}
	return utilerrors.NewAggregate(errs)
}

// unknownFieldErrors returns the errors of a strict decoder with suggestions, or nil if err is another error.
func unknownFieldErrors(err error, into runtime.Object) (errs []error) {
	found, ok := runtime.AsStrictDecodingError(err)
	if !ok {
		return nil
	}
	for _, err := range found.Errors() {
		errs = append(errs, errors.New(malformed.WithSuggestion(err, into)))
	}
	return errs
}

// validateRevisionData returns an error for data that are not valid JSON, for example empty data. Such data would be stored
// unchanged, and the library that computes field ownership would panic.
func validateRevisionData(revision *itv1alpha1.ControllerRevision) error {
	var content any
	if revision.Data.Raw == nil {
		return nil
	}
	if err := json.Unmarshal(revision.Data.Raw, &content); err != nil {
		return field.Invalid(field.NewPath("data"), field.OmitValueType{}, err.Error())
	}
	return nil
}
