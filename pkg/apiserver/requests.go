// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"

	"github.com/slipway-dev/slipway/pkg/apis/scheme"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
)

// withChecks rejects an invalid resourceVersion, which the store would report as an internal error. It also provides
// the patch to strategies, so that they can check it before it is applied and report errors with the field's path.
func withChecks(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if version := r.URL.Query().Get("resourceVersion"); version != "" {
			if _, err := strconv.ParseUint(version, 10, 64); err != nil {
				responsewriters.ErrorNegotiated(apierrors.NewBadRequest(fmt.Sprintf("resourceVersion: Invalid value: %.64q: must be a number returned by the server", version)),
					scheme.Codecs, schema.GroupVersion{Version: "v1"}, w, r)
				return
			}
		}
		if r.Method == http.MethodPatch {
			kept := &keeping{ReadCloser: r.Body}
			r.Body = kept
			r = r.WithContext(standard.WithPatch(r.Context(), types.PatchType(mediaType(r)), kept.content.Bytes))
		}
		next.ServeHTTP(w, r)
	})
}

// mediaType returns the media type of the body without parameters.
func mediaType(r *http.Request) string {
	name, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return strings.TrimSpace(name)
}

// keeping stores what is read from a body. The reader limits the size.
type keeping struct {
	io.ReadCloser
	content bytes.Buffer
}

func (k *keeping) Read(p []byte) (int, error) {
	n, err := k.ReadCloser.Read(p)
	k.content.Write(p[:n])
	return n, err
}
