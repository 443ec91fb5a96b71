// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"net/http"

	"github.com/emicklei/go-restful/v3"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/apis/vm/backup"
	"github.com/slipway-dev/slipway/pkg/store/maintenance"
)

// backups answers at backup.Path with snapshots of etcd.
type backups struct{ etcd *maintenance.Store }

// install adds the path to the group. As that of a creation its authorization is to create
// backups, which the right to read everything does not give.
func (b *backups) install(server *genericapiserver.GenericAPIServer) error {
	return addPath(server, backup.Path, func(ws *restful.WebService) *restful.RouteBuilder {
		return ws.POST("/" + backup.Resource).Operation("createVmV1alpha1Backup").
			Doc("save the store of the server").Produces(backup.MediaType)
	}, b)
}

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
