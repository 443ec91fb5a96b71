// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package standard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/slipway-dev/slipway/pkg/apis/bounds"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/apis/malformed"
	"github.com/slipway-dev/slipway/pkg/apis/scheme"
)

// patchKey is that of the patch in the context of a request.
type patchKey struct{}

// patch is that of a request. Its content is there when it has been read.
type patch struct {
	format  types.PatchType
	content func() []byte
}

// WithPatch returns a context in which Checked knows the patch: its format, and its
// content as soon as it has been read.
func WithPatch(ctx context.Context, format types.PatchType, content func() []byte) context.Context {
	return context.WithValue(ctx, patchKey{}, patch{format, content})
}

// Checked is info whose object is looked at before anything else is done with it. What
// is wrong with it is the fault of the request, and is answered as such: of a patch that
// does not fit the type, the libraries tell in errors without a status, which the
// server would take for its own.
func Checked(info rest.UpdatedObjectInfo, into runtime.Object) rest.UpdatedObjectInfo {
	return &checked{UpdatedObjectInfo: info, into: into}
}

type checked struct {
	rest.UpdatedObjectInfo
	into runtime.Object
}

// counts returns an error for a patch with too many entries. It names the path of the operation that has them.
func (p patch) counts() error {
	err := malformed.Counts(p.content())
	if err == nil || p.format != types.JSONPatchType {
		return err
	}
	operations := json.NewDecoder(bytes.NewReader(p.content()))
	_, _ = operations.Token() // the beginning of the list
	// With more operations, the list of them has too many entries.
	for n := 0; n < malformed.MaxEntries && operations.More(); n++ {
		var o struct {
			Path  string
			Value json.RawMessage
		}
		if operations.Decode(&o) != nil {
			return err
		}
		if of := malformed.Counts(o.Value); of != nil {
			return fmt.Errorf("%.256s: %w", o.Path, of)
		}
	}
	return err
}

// UpdatedObject returns the object as the request wants it.
func (c *checked) UpdatedObject(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	patch, _ := ctx.Value(patchKey{}).(patch)
	if patch.content != nil {
		if err := patch.counts(); err != nil {
			return nil, apierrors.NewBadRequest("the patch is not applied: " + err.Error())
		}
	}
	if patch.format == types.MergePatchType || patch.format == types.StrategicMergePatchType {
		if err := malformed.Bounded(patch.content()); err != nil {
			return nil, apierrors.NewBadRequest("the patch is not looked at: " + err.Error())
		}
	}
	if patch.format == types.StrategicMergePatchType {
		// The library panics over a key that is an object.
		if found, _ := malformed.Find(patch.content(), c.into); len(found) > 0 {
			return nil, misfit(found.ToAggregate())
		}
	}
	obj, err := c.UpdatedObjectInfo.UpdatedObject(ctx, old)
	if err != nil {
		return obj, c.explain(ctx, patch, err)
	}
	// An update converts the stored object in place, so that it has kind and version, and the new object may lack them.
	// With that difference the store writes an object of which only times in managedFields are new.
	obj.GetObjectKind().SetGroupVersionKind(old.GetObjectKind().GroupVersionKind())
	if version := metaOf(obj).GetResourceVersion(); version != "" {
		if _, err := strconv.ParseUint(version, 10, 64); err != nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("metadata.resourceVersion: Invalid value: %.64q: must be that of the object as it was read", version))
		}
	}
	// Comparing it with the stored object would count all their digits.
	if errs := bounds.Quantities(obj); len(errs) > 0 {
		kinds, _, err := scheme.Scheme.ObjectKinds(obj)
		if err != nil {
			return nil, fmt.Errorf("naming the kind of a %T: %w", obj, err)
		}
		return nil, apierrors.NewInvalid(kinds[0].GroupKind(), metaOf(obj).GetName(), errs)
	}
	return obj, nil
}

// misfit is the answer to a patch that the type cannot take.
func misfit(found error) error {
	return apierrors.NewBadRequest("the patch does not fit the object: " + found.Error())
}

// explain names the field of the patch and whose fault it is.
func (c *checked) explain(ctx context.Context, patch patch, err error) error {
	status := apierrors.APIStatus(nil)
	hasStatus := errors.As(err, &status)
	if ctx.Err() != nil || hasStatus && status.Status().Reason != metav1.StatusReasonInvalid {
		return err
	}
	if patch.content != nil && patch.format != types.JSONPatchType { // which is no part of an object
		if patch.format == types.ApplyYAMLPatchType {
			// It is an object. Unknown fields are refused, whatever fieldValidation is.
			if found := scheme.Malformed(patch.content(), c.into); found != nil {
				return misfit(found)
			}
		}
		if found, _ := malformed.Find(patch.content(), c.into); len(found) > 0 {
			return misfit(found.ToAggregate())
		}
	}
	if hasStatus || patch.content == nil {
		return err
	}
	return apierrors.NewBadRequest(brief(err.Error()))
}

// brief leaves out the middle of what is too long to be read: an apply names all that is
// wrong, however many, and a merge shows all of what it cannot merge before it says why.
func brief(text string) string {
	if len(text) <= conditions.MaxMessage {
		return text
	}
	const half = conditions.MaxMessage / 2
	return strings.ToValidUTF8(text[:half], "") + "…" + strings.ToValidUTF8(text[len(text)-half:], "")
}
