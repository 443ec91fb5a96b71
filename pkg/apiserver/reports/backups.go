// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"net/http"

	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/apis/vm/backup"
	"github.com/slipway-dev/slipway/pkg/store/maintenance"
)

// backups answers at backup.Path with snapshots of etcd. As that of a creation its authorization is to
// create backups, which the right to read everything does not give.
type backups struct{ etcd *maintenance.Store }

// ServeHTTP implements http.Handler.
func (b *backups) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := &begun{ResponseWriter: w}
	err := b.etcd.Save(r.Context(), answer)
	switch {
	case err == nil:
		klog.FromContext(r.Context()).Info("A snapshot of etcd was read")
	case !answer.begun:
		later(w, err.Error())
	default:
		klog.FromContext(r.Context()).Error(err, "A snapshot of etcd was not read to its end")
		// Without the end of the answer nobody takes it for whole.
		panic(http.ErrAbortHandler)
	}
}

// begun says of what it is when the first of it is written.
type begun struct {
	http.ResponseWriter
	begun bool
}

// Write implements io.Writer.
func (b *begun) Write(p []byte) (int, error) {
	if !b.begun {
		b.begun = true
		b.Header().Set("Content-Type", backup.MediaType)
	}
	return b.ResponseWriter.Write(p)
}
