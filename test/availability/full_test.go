// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package availability

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
)

// The etcd cluster is filled with objects until the servers reject new ones. All of them can be deleted. New objects
// fit again after a compaction, and after an administrator has defragmented the members.
func TestServers_DeleteObjectsWhenEtcdIsFull(t *testing.T) {
	t.Parallel()
	etcd := newEtcd(t, 3, "--quota-backend-bytes="+strconv.Itoa(64<<20))
	s := newSet(t, etcd)
	config := rest.CopyConfig(s.RestConfig())
	config.QPS = -1
	fillers := s.client(config).InstancetypeV1alpha1().VirtualMachineClusterPreferences()
	create := func() error {
		filler := &itv1alpha1.VirtualMachineClusterPreference{ObjectMeta: metav1.ObjectMeta{
			GenerateName: "filler-", Annotations: map[string]string{"large": strings.Repeat("v", 200<<10)},
		}}
		_, err := fillers.Create(t.Context(), filler, metav1.CreateOptions{})
		return err
	}
	refused := func(err error) bool {
		status := apierrors.APIStatus(nil)
		return errors.As(err, &status) && status.Status().Code == http.StatusInsufficientStorage
	}
	var acknowledged int
	s.eventually("etcd is full", func() error {
		for {
			err := create()
			if refused(err) {
				return nil
			}
			if err != nil {
				return err
			}
			acknowledged++
		}
	})
	list, err := fillers.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != acknowledged {
		t.Errorf("there are %d objects, and %d were acknowledged; error %v", len(list.Items), acknowledged, err)
	}
	for i := range list.Items {
		if err := fillers.Delete(t.Context(), list.Items[i].Name, metav1.DeleteOptions{}); err != nil {
			t.Fatalf("deletion %d of %d: %v", i+1, len(list.Items), err)
		}
	}
}
