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

// patchKey is the context key of the patch of a request.
type patchKey struct{}

// patch is the patch of a request. content returns what has been read of it so far.
type patch struct {
	format  types.PatchType
	content func() []byte
}

// WithPatch returns a context with the patch of a request for Checked. content returns the patch after it has been
// read.
func WithPatch(ctx context.Context, format types.PatchType, content func() []byte) context.Context {
	return context.WithValue(ctx, patchKey{}, patch{format, content})
}

// WithChecks returns info with checks of the request's object before it is used. It reports malformed objects as client
// errors. For a patch that does not fit the type, the libraries return errors without a status, which the server
// would report as internal errors.
func WithChecks(info rest.UpdatedObjectInfo, into runtime.Object) rest.UpdatedObjectInfo {
	return &checkedInfo{UpdatedObjectInfo: info, into: into}
}

type checkedInfo struct {
	rest.UpdatedObjectInfo
	into runtime.Object
}

// counts returns an error for a patch with too many entries. For a JSON patch the error contains the path of the
// operation.
func (p patch) counts() error {
	err := malformed.CheckEntryCount(p.content())
	if err == nil || p.format != types.JSONPatchType {
		return err
	}
	operations := json.NewDecoder(bytes.NewReader(p.content()))
	_, _ = operations.Token() // the start of the list
	// The number of operations itself is limited to MaxEntries.
	for n := 0; n < malformed.MaxEntries && operations.More(); n++ {
		var o struct {
			Path  string
			Value json.RawMessage
		}
		if operations.Decode(&o) != nil {
			return err
		}
		if of := malformed.CheckEntryCount(o.Value); of != nil {
			return fmt.Errorf("%.256s: %w", o.Path, of)
		}
	}
	return err
}

// UpdatedObject implements rest.UpdatedObjectInfo.
func (c *checkedInfo) UpdatedObject(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	patch, _ := ctx.Value(patchKey{}).(patch)
	if patch.content != nil {
		if err := patch.counts(); err != nil {
			return nil, apierrors.NewBadRequest("the patch was rejected: " + err.Error())
		}
	}
	if patch.format == types.MergePatchType || patch.format == types.StrategicMergePatchType {
		if err := malformed.FindExpensivePatch(patch.content()); err != nil {
			return nil, apierrors.NewBadRequest("the patch was rejected: " + err.Error())
		}
	}
	if patch.format == types.StrategicMergePatchType {
		// The library panics if a key is an object.
		if found, _ := malformed.Find(patch.content(), c.into); len(found) > 0 {
			return nil, patchMisfitError(found.ToAggregate())
		}
	}
	obj, err := c.UpdatedObjectInfo.UpdatedObject(ctx, old)
	if err != nil {
		return obj, c.explain(ctx, patch, err)
	}
	// An update sets kind and version of the stored object, because it converts the object in place. The new object
	// may lack them. With this difference the store would write objects that differ only in times in managedFields.
	obj.GetObjectKind().SetGroupVersionKind(old.GetObjectKind().GroupVersionKind())
	if version := metaOf(obj).GetResourceVersion(); version != "" {
		if _, err := strconv.ParseUint(version, 10, 64); err != nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("metadata.resourceVersion: Invalid value: %.64q: must be the resourceVersion of the object that was read", version))
		}
	}
	// Check quantities first, because a comparison with the stored object would process all of their digits.
	if errs := bounds.ValidateQuantities(obj); len(errs) > 0 {
		kinds, _, err := scheme.Scheme.ObjectKinds(obj)
		if err != nil {
			return nil, fmt.Errorf("determining the kind of a %T: %w", obj, err)
		}
		return nil, apierrors.NewInvalid(kinds[0].GroupKind(), metaOf(obj).GetName(), errs)
	}
	return obj, nil
}

// patchMisfitError returns the error for a patch that does not fit the type.
func patchMisfitError(found error) error {
	return apierrors.NewBadRequest("the patch does not fit the object: " + found.Error())
}

// explain returns err with the field of the patch and the right status.
func (c *checkedInfo) explain(ctx context.Context, patch patch, err error) error {
	status := apierrors.APIStatus(nil)
	hasStatus := errors.As(err, &status)
	if ctx.Err() != nil || hasStatus && status.Status().Reason != metav1.StatusReasonInvalid {
		return err
	}
	if patch.content != nil && patch.format != types.JSONPatchType { // a JSON patch is not part of an object
		if patch.format == types.ApplyYAMLPatchType {
			// An apply patch is a full object. Unknown fields are rejected regardless of fieldValidation.
			if found := scheme.Malformed(patch.content(), c.into); found != nil {
				return patchMisfitError(found)
			}
		}
		if found, _ := malformed.Find(patch.content(), c.into); len(found) > 0 {
			return patchMisfitError(found.ToAggregate())
		}
	}
	if hasStatus || patch.content == nil {
		return err
	}
	return apierrors.NewBadRequest(shorten(err.Error()))
}

// shorten shortens text by removing its middle. Errors of an apply list everything that is wrong, and errors of a merge
// contain the values before the reason.
func shorten(text string) string {
	if len(text) <= conditions.MaxMessage {
		return text
	}
	const half = conditions.MaxMessage / 2
	return strings.ToValidUTF8(text[:half], "") + "…" + strings.ToValidUTF8(text[len(text)-half:], "")
}
