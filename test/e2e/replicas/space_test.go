// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apiserver/certs/apiservices"
	"github.com/slipway-dev/slipway/pkg/store/embedded"
)

// room returns an error unless the condition of all APIServices about the store has a status,
// and a reason and message with all texts, beside that of the host cluster.
func (s *scene) room(objects dynamic.Interface, status metav1.ConditionStatus, texts ...string) error {
	for _, name := range apiServiceNames {
		found, err := apiservices.Read(s.Context(), objects, name)
		if err != nil {
			return err
		}
		if found == nil {
			return fmt.Errorf("there is no APIService %s", name)
		}
		c, available := found.Condition("StorageSpace"), found.Condition("Available")
		if c == nil || c.Status != status {
			return fmt.Errorf("%s: %+v", name, c)
		}
		for _, text := range texts {
			if !strings.Contains(c.Reason+" "+c.Message, text) {
				return fmt.Errorf("%s says %q %q, want %q", name, c.Reason, c.Message, text)
			}
		}
		if available == nil || available.Status != metav1.ConditionTrue || available.Reason != "Passed" {
			return fmt.Errorf("%s: Available is %+v", name, available)
		}
	}
	return nil
}

// unlimited reaches the host cluster as fast as it can be asked.
func (s *scene) unlimited() (*rest.Config, dynamic.Interface) {
	s.Helper()
	config := rest.CopyConfig(s.RestConfig())
	config.QPS = -1
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		s.Fatal(err)
	}
	return config, objects
}

func TestAStoreThatRunsOutOfRoomIsToldByAConditionOfTheAPIServices(t *testing.T) {
	t.Parallel()
	s := newScene(t, "--etcd-quota-backend-bytes="+strconv.Itoa(embedded.MinQuota))
	config, objects := s.unlimited()
	s.eventually("there is room", func() error {
		return s.room(objects, metav1.ConditionTrue, "SpaceEnough", "the embedded etcd has room")
	})

	fillers := s.client(config).InstancetypeV1alpha1().VirtualMachineClusterPreferences()
	large := map[string]string{"large": strings.Repeat("v", 200<<10)}
	s.eventually("there is no room", func() error {
		for { // until it refuses; then the server makes some room
			filler := &itv1alpha1.VirtualMachineClusterPreference{ObjectMeta: metav1.ObjectMeta{GenerateName: "filler-", Annotations: large}}
			_, err := fillers.Create(t.Context(), filler, metav1.CreateOptions{})
			if status := apierrors.APIStatus(nil); errors.As(err, &status) && status.Status().Code == http.StatusInsufficientStorage {
				return s.room(objects, metav1.ConditionFalse, "Space", ": the embedded etcd ", " MiB of the quota of 64 MiB, ")
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	})

	if err := fillers.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	s.eventually("there is room again", func() error { return s.room(objects, metav1.ConditionTrue, "SpaceEnough") })
}

func TestWhatWasSaidOfTheRoomOfAnEmbeddedEtcdIsTakenBackWithAnExternalOne(t *testing.T) {
	t.Parallel()
	etcd, err := embedded.Start(t.Context(), embedded.Options{Dir: t.TempDir(), UnsafeNoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(etcd.Close)
	s := newScene(t, "--etcd-servers="+etcd.Endpoint(), "--etcd-unsafe-no-fsync=false")
	_, objects := s.unlimited()
	for _, name := range apiServiceNames {
		s.eventually(name+" says what a replica of before has said", func() error {
			found, err := apiservices.Read(t.Context(), objects, name)
			if err != nil {
				return err
			}
			return found.Say(t.Context(), metav1.Condition{Type: "StorageSpace", Status: metav1.ConditionFalse, Reason: "SpaceFull", Message: "gone: the embedded etcd is full"}, metav1.Now())
		})
	}
	s.serves(s.other().direct)
	s.eventually("that is taken back", func() error { return s.room(objects, metav1.ConditionUnknown, "ExternalEtcd", "not looked at") })
}
