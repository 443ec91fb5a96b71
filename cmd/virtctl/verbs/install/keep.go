// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/slipway-dev/slipway/cmd/virtctl/deployment"
)

// ReleasedImage is the image of this program's release. The release build sets it; builds from source have none.
var ReleasedImage string

var errNoImage = errors.New("--image is required because no image is published for this build of virtctl: in the source directory, " +
	"make image IMAGE=registry.example.com/slipway-apiserver:v0.1.0 builds and pushes one; set --image to the same name")

var statefulSetResource = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}

// keep completes settings without a flag. An existing installation keeps its image and replicas, so that running
// install again does not change them by accident. The first installation needs an image that nodes can pull.
func (i *install) keep(ctx context.Context) error {
	if i.options.Image != "" && i.options.Replicas > 0 {
		return nil
	}
	set, err := i.cluster.Server(ctx)
	switch {
	case apierrors.IsNotFound(err):
		if i.options.Image = cmp.Or(i.options.Image, ReleasedImage); i.options.Image == "" {
			return errNoImage
		}
		return nil
	case err != nil:
		return err
	}
	var kept []string
	if i.options.Image == "" {
		i.options.Image = set.Spec.Template.Spec.Containers[0].Image
		kept = append(kept, "--image="+i.options.Image)
	}
	if i.options.Replicas == 0 {
		i.options.Replicas = int(ptr.Deref(set.Spec.Replicas, 1))
		if i.options.Replicas < 1 {
			return fmt.Errorf("the installation has %d replicas: specify --replicas", i.options.Replicas)
		}
		kept = append(kept, fmt.Sprintf("--replicas=%d", i.options.Replicas))
	}
	_, err = fmt.Fprintf(i.f.Streams.ErrOut, "kept from the existing installation: %s\n", strings.Join(kept, " "))
	return err
}

// Server returns the StatefulSet of the server.
func (a *Applier) Server(ctx context.Context) (*appsv1.StatefulSet, error) {
	u, err := a.Client.Resource(statefulSetResource).Namespace(deployment.Namespace).Get(ctx, deployment.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading statefulset/%s: %w", deployment.Name, err)
	}
	set := &appsv1.StatefulSet{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, set); err != nil {
		return nil, fmt.Errorf("reading statefulset/%s: %w", deployment.Name, err)
	}
	if len(set.Spec.Template.Spec.Containers) == 0 {
		return nil, fmt.Errorf("statefulset/%s has no container", deployment.Name)
	}
	return set, nil
}
