// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"net/http"

	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/apis/vm/backup"
	"github.com/slipway-dev/slipway/pkg/store/maintenance"
)

// backups serves snapshots of etcd at backup.Path. The required permission is to create backups, because permission
// to read everything must not include it.
type backups struct{ etcd *maintenance.Store }

// ServeHTTP implements http.Handler.
func (b *backups) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := &contentTypeWriter{ResponseWriter: w}
	err := b.etcd.Save(r.Context(), answer)
	switch {
	case err == nil:
		klog.FromContext(r.Context()).Info("Sent a snapshot of etcd")
	case !answer.begun:
		serveRetryLater(w, err.Error())
	default:
		klog.FromContext(r.Context()).Error(err, "Failed to send a snapshot of etcd completely")
		// Abort the response so that the client does not take it for complete.
		panic(http.ErrAbortHandler)
	}
}

// contentTypeWriter is a ResponseWriter that sets the Content-Type at the first write.
type contentTypeWriter struct {
	http.ResponseWriter
	begun bool
}

// Write implements io.Writer.
func (b *contentTypeWriter) Write(p []byte) (int, error) {
	if !b.begun {
		b.begun = true
		b.Header().Set("Content-Type", backup.MediaType)
	}
	return b.ResponseWriter.Write(p)
}
