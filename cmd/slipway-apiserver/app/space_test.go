// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	eventsv1 "k8s.io/api/events/v1"
)

func TestScarceRoomIsToldByEventsWhenItChangesAndFromTimeToTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		var refuse error
		host := fake.NewClientset()
		host.PrependReactor("create", "events", func(a clienttesting.Action) (bool, runtime.Object, error) {
			e := a.(clienttesting.CreateAction).GetObject().(*eventsv1.Event)
			if refuse == nil {
				told = append(told, e.Type+" "+e.Reason+" "+e.Regarding.Kind+"/"+e.Regarding.Name+": "+e.Note)
			}
			return refuse != nil, nil, refuse
		})
		e := &spaceEvents{host: host, namespace: defaultNamespace, told: levelEnough}
		for i, tc := range []struct {
			size    int64
			after   time.Duration
			refused bool
			want    []string
		}{
			0: {size: 79, want: nil},
			1: {size: 80, refused: true, want: nil},
			2: {size: 80, want: []string{"Warning SpaceScarce ConfigMap/slipway-store: the embedded etcd is nearly full: 80 MiB of the quota of 100 MiB, 80 MiB of it in use, 1024 MiB of disk free"}},
			3: {size: 81, after: time.Minute, want: nil},
			4: {size: 81, after: time.Hour, want: []string{"Warning SpaceScarce ConfigMap/slipway-store: the embedded etcd is nearly full: 81 MiB of the quota of 100 MiB, 81 MiB of it in use, 1024 MiB of disk free"}},
			5: {size: 100, want: []string{"Warning SpaceFull ConfigMap/slipway-store: the embedded etcd is full and takes deletions only: 100 MiB of the quota of 100 MiB, 100 MiB of it in use, 1024 MiB of disk free"}},
			6: {size: 10, want: []string{"Normal SpaceEnough ConfigMap/slipway-store: the embedded etcd has room: 10 MiB of the quota of 100 MiB, 10 MiB of it in use, 1024 MiB of disk free"}},
			7: {size: 10, after: 24 * time.Hour, want: nil},
		} {
			told, refuse = nil, nil
			if tc.refused {
				refuse = errors.New("the host cluster is away")
			}
			time.Sleep(tc.after + time.Second)
			e.look(t.Context(), taken(tc.size))
			if diff := cmp.Diff(tc.want, told); diff != "" {
				t.Errorf("step %d (-want +got):\n%s", i, diff)
			}
		}
	})
}
