// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/scheme"
	"github.com/slipway-dev/slipway/pkg/registry/cluster/cluster"
	"github.com/slipway-dev/slipway/pkg/registry/cluster/machine"
	"github.com/slipway-dev/slipway/pkg/registry/cluster/machinedeployment"
	"github.com/slipway-dev/slipway/pkg/registry/cluster/machinedrainrule"
	"github.com/slipway-dev/slipway/pkg/registry/cluster/machinehealthcheck"
	"github.com/slipway-dev/slipway/pkg/registry/cluster/machineset"
	"github.com/slipway-dev/slipway/pkg/registry/instancetype/controllerrevision"
	"github.com/slipway-dev/slipway/pkg/registry/instancetype/instancetype"
	"github.com/slipway-dev/slipway/pkg/registry/instancetype/preference"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
	"github.com/slipway-dev/slipway/pkg/registry/vm/contentlibrary"
	"github.com/slipway-dev/slipway/pkg/registry/vm/slipwaycluster"
	"github.com/slipway-dev/slipway/pkg/registry/vm/vcenter"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachine"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachineclass"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachinegroup"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachineimage"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachineimagecache"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachineinstance"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachinepublishrequest"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachinesnapshot"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachinetemplate"
	"github.com/slipway-dev/slipway/pkg/registry/vm/zone"
)

func TestKinds_FollowTheConventions(t *testing.T) {
	short := map[string]schema.GroupResource{}
	keepsConventions(t, short, virtualmachine.Kind(time.Now))
	keepsConventions(t, short, virtualmachineinstance.Kind())
	keepsConventions(t, short, virtualmachineclass.Kind())
	keepsConventions(t, short, vcenter.Kind())
	keepsConventions(t, short, zone.Kind())
	keepsConventions(t, short, contentlibrary.Kind())
	keepsConventions(t, short, virtualmachineimagecache.Kind())
	keepsConventions(t, short, virtualmachinepublishrequest.Kind())
	keepsConventions(t, short, virtualmachinegroup.Kind())
	keepsConventions(t, short, virtualmachinesnapshot.Kind())
	keepsConventions(t, short, virtualmachineimage.Namespaced())
	keepsConventions(t, short, virtualmachineimage.Cluster())
	keepsConventions(t, short, instancetype.Namespaced())
	keepsConventions(t, short, instancetype.Cluster())
	keepsConventions(t, short, preference.Namespaced())
	keepsConventions(t, short, preference.Cluster())
	keepsConventions(t, short, virtualmachinetemplate.Kind())
	keepsConventions(t, short, slipwaycluster.Kind())
	keepsConventions(t, short, cluster.Kind())
	keepsConventions(t, short, machine.Kind())
	keepsConventions(t, short, machineset.Kind())
	keepsConventions(t, short, machinedeployment.Kind())
	keepsConventions(t, short, machinehealthcheck.Kind())
	keepsConventions(t, short, machinedrainrule.Kind())
	keepsConventions(t, short, controllerrevision.Kind())
}

// keepsConventions checks one kind. short contains the short names of the kinds checked before.
func keepsConventions[T runtime.Object](t *testing.T, short map[string]schema.GroupResource, kind standard.Kind[T]) {
	t.Run(kind.Plural.Resource, func(t *testing.T) {
		s := standard.NewStrategy(scheme.Scheme, kind)
		version, err := schema.ParseGroupVersion(kind.Version)
		if err != nil || !scheme.Scheme.IsVersionRegistered(version) || version.Group != kind.Plural.Group || kind.Singular.Group != kind.Plural.Group {
			t.Errorf("tracked in %q (error %v), which is not a version of %s and %s", kind.Version, err, kind.Plural, kind.Singular)
		}
		for _, obj := range []runtime.Object{kind.New(), kind.NewList()} {
			if _, _, err := scheme.Scheme.ObjectKinds(obj); err != nil {
				t.Error(err)
			}
		}
		for _, name := range kind.ShortNames {
			if other, taken := short[name]; taken {
				t.Errorf("short name %s is also used by %s", name, other)
			}
			short[name] = kind.Plural
			// The short names of machines are those of Cluster API, which has no plurals.
			if !strings.HasSuffix(name, "s") && kind.Plural.Group != clusterv1alpha1.GroupName && !slices.Contains(kind.ShortNames, name+"s") {
				t.Errorf("there is a short name %s but not %ss", name, name)
			}
		}
		if s.AllowCreateOnUpdate(t.Context()) || s.AllowUnconditionalUpdate(t.Context()) {
			t.Error("a PUT can create, or replace an object without a resource version")
		}

		created := kind.New()
		s.PrepareForCreate(t.Context(), created)
		if got := generation(t, created); got != 1 {
			t.Errorf("created with generation %d, want 1", got)
		}
		same := created.DeepCopyObject()
		s.PrepareForUpdate(t.Context(), same, created)
		if got := generation(t, same); got != 1 {
			t.Errorf("generation %d after an unchanged update, want 1", got)
		}
		if ignored := len(s.GetResetFields()) > 0; ignored != (kind.Status != nil) {
			t.Errorf("main endpoint ignores status: %t, kind has status: %t", ignored, kind.Status != nil)
		}
	})
}

func generation(t *testing.T, obj runtime.Object) int64 {
	t.Helper()
	accessor, err := meta.Accessor(obj)
	if err != nil {
		t.Fatal(err)
	}
	return accessor.GetGeneration()
}
