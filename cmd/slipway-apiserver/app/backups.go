// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"net/http"

	"github.com/emicklei/go-restful/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/apis/vm/backup"
	"github.com/slipway-dev/slipway/pkg/store/embedded"
)

// backups answers at backup.Path with snapshots of etcd, which is nil when it is not embedded.
type backups struct{ etcd *embedded.Server }

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
	if b.etcd == nil {
		refuseWith(w, &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusNotImplemented, Reason: metav1.StatusReasonMethodNotAllowed,
			Message: "the store of this server is an etcd of its own elsewhere: save that with etcdctl snapshot save",
		}})
		return
	}
	answer := &begun{ResponseWriter: w}
	err := b.etcd.Save(r.Context(), answer)
	switch {
	case err == nil:
		klog.FromContext(r.Context()).Info("A snapshot of the embedded etcd was read")
	case !answer.begun:
		later(w, err.Error())
	default:
		klog.FromContext(r.Context()).Error(err, "A snapshot of the embedded etcd was not read to its end")
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
