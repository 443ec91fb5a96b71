// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"
	"fmt"
	"strings"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/apis/similar"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// vSphereProvisioner is the provisioner of the vSphere CSI driver. The other constants are the parameters of a
// StorageClass that it reads, in any letter case (vsphere-csi-driver, ParseStorageClassParams).
const (
	vSphereProvisioner     = "csi.vsphere.vmware.com"
	storagePolicyParameter = "storagepolicyname"
	datastoreParameter     = "datastoreurl"
)

// classesReadTimeout limits the wait for the first list of StorageClasses. If it is exceeded, only virtual machines
// that refer to a StorageClass wait.
const classesReadTimeout = 10 * time.Second

// StorageClasses reads the StorageClasses of the management cluster.
type StorageClasses struct {
	factory  informers.SharedInformerFactory
	informer cache.SharedIndexInformer
}

// NewStorageClasses returns the StorageClasses of the cluster of host. They are read after Start.
func NewStorageClasses(host kubernetes.Interface) *StorageClasses {
	f := informers.NewSharedInformerFactoryWithOptions(host, 0, informers.WithTransform(controller.StripManagedFields))
	return &StorageClasses{factory: f, informer: f.Storage().V1().StorageClasses().Informer()}
}

// Start reads the classes until ctx is done, and enqueues the virtual machines that refer to a changed class. The
// returned function waits until reading has ended.
func (s *StorageClasses) Start(ctx context.Context, related Related) (end func(), err error) {
	if _, err := controller.Register(controller.Source{Informer: s.informer, Handler: related(metav1.Object.GetName)}); err != nil {
		return nil, err
	}
	s.factory.StartWithContext(ctx)
	wait, cancel := context.WithTimeout(ctx, classesReadTimeout)
	defer cancel()
	if !cache.WaitForCacheSync(wait.Done(), s.informer.HasSynced) && ctx.Err() == nil {
		klog.FromContext(ctx).Info("The StorageClasses of the management cluster could not be read yet, virtual machines that refer to one wait")
	}
	return s.factory.Shutdown, nil
}

// Get returns the StorageClasses with the given names, in the provider's form.
func (s *StorageClasses) Get(names []string) map[string]provider.StorageClass {
	if len(names) == 0 {
		return nil
	}
	out := make(map[string]provider.StorageClass, len(names))
	for _, name := range names {
		obj, found, err := s.informer.GetStore().GetByKey(name)
		class, ok := obj.(*storagev1.StorageClass)
		switch {
		case err == nil && found && ok:
			out[name] = storageClassOf(class)
		case !s.informer.HasSynced():
			out[name] = unusableClass(false, "StorageClass %q: the StorageClasses of the cluster could not be read yet", name)
		default:
			out[name] = unusableClass(true, "StorageClass %q does not exist%s", name, similar.Suggestion(name, s.informer.GetStore().ListKeys()))
		}
	}
	return out
}

func unusableClass(missing bool, format string, args ...any) provider.StorageClass {
	return provider.StorageClass{Problem: &provider.NotUsableError{Message: fmt.Sprintf(format, args...), Missing: missing}}
}

// storageClassOf reads a class as the vSphere CSI driver does.
func storageClassOf(class *storagev1.StorageClass) provider.StorageClass {
	if class.Provisioner != vSphereProvisioner {
		return unusableClass(false, "StorageClass %q has provisioner %.63q; disks of virtual machines require a StorageClass of %s",
			class.Name, class.Provisioner, vSphereProvisioner)
	}
	var out provider.StorageClass
	for key, value := range class.Parameters {
		switch strings.ToLower(key) {
		case storagePolicyParameter:
			out.Policy = strings.TrimSpace(value)
		case datastoreParameter:
			out.DatastoreURL = strings.TrimSpace(value)
		}
	}
	if len(out.Policy) > maxPolicyName || len(out.DatastoreURL) > maxDatastoreURL {
		return unusableClass(false, "StorageClass %q: parameter %s is longer than %d bytes, or %s than %d",
			class.Name, storagePolicyParameter, maxPolicyName, datastoreParameter, maxDatastoreURL)
	}
	return out
}

// maxPolicyName and maxDatastoreURL are the maximum lengths of a storage policy's name and of a URL, in bytes. vSphere
// limits the name to 80 characters.
const (
	maxPolicyName   = 255
	maxDatastoreURL = 1024
)
