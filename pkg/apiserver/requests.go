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

// withChecks refuses a version that is none, which the store would take for a fault of
// its own, and keeps what is patched, so that it is looked at before the patch is
// applied and errors about it name the field.
func withChecks(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if version := r.URL.Query().Get("resourceVersion"); version != "" {
			if _, err := strconv.ParseUint(version, 10, 64); err != nil {
				responsewriters.ErrorNegotiated(apierrors.NewBadRequest(fmt.Sprintf("resourceVersion: Invalid value: %.64q: must be a number that the server has given", version)),
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

// mediaType is what the body is said to be, without parameters.
func mediaType(r *http.Request) string {
	name, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return strings.TrimSpace(name)
}

// keeping keeps what was read. Its size is bounded by whoever reads.
type keeping struct {
	io.ReadCloser
	content bytes.Buffer
}

func (k *keeping) Read(p []byte) (int, error) {
	n, err := k.ReadCloser.Read(p)
	k.content.Write(p[:n])
	return n, err
}
