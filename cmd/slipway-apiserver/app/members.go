// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"sync/atomic"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"

	"github.com/slipway-dev/slipway/pkg/etcdmembers"
	"github.com/slipway-dev/slipway/pkg/store/embedded"
)

// startMember starts the embedded etcd as one of a cluster. It may wait for others for
// long: the server is alive meanwhile, and not ready.
func startMember(ctx context.Context, o *Options, etcd embedded.Options) (*etcdmembers.Member, error) {
	name, err := o.Members.name()
	if err != nil {
		return nil, err
	}
	host, err := hostClient(o)
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(o.Members.PeerAddress)
	if err != nil {
		return nil, fmt.Errorf("--etcd-peer-address: %w", err)
	}
	var waits waiting
	leave, err := answerMeanwhile(o, waits.String)
	if err != nil {
		return nil, err
	}
	defer leave()
	namespace := o.Controllers.LeaderElectNamespace
	return etcdmembers.Start(ctx, etcdmembers.Options{
		Etcd: etcd, Name: name, Address: o.Members.PeerAddress,
		Listen: net.JoinHostPort(o.Recommended.SecureServing.BindAddress.String(), port),
		Host:   host, Namespace: namespace,
		Wanted: func(ctx context.Context) (func(string) bool, error) { return wantedMembers(ctx, host, namespace, name) },
		Alone:  func(ctx context.Context) (bool, error) { return aloneInSet(ctx, host, namespace, name) },
		Waits:  waits.say,
	})
}

// waiting says for what the embedded etcd waits.
type waiting struct{ reason atomic.Pointer[string] }

func (w *waiting) say(reason string) { w.reason.Store(&reason) }

// String implements fmt.Stringer.
func (w *waiting) String() string {
	if reason := w.reason.Load(); reason != nil && *reason != "" {
		return "its embedded etcd waits: " + *reason
	}
	return "its embedded etcd waits for other members, which the log names"
}

// hostConfig reaches the host cluster before the server is made.
func hostConfig(o *Options) (*rest.Config, error) {
	var config *rest.Config
	var err error
	if path := o.Recommended.CoreAPI.CoreAPIKubeconfigPath; path != "" {
		config, err = clientcmd.BuildConfigFromFlags("", path)
	} else {
		config, err = rest.InClusterConfig()
	}
	if err != nil {
		return nil, fmt.Errorf("finding the host cluster: %w", err)
	}
	return config, nil
}

// hostClient is a client of hostConfig.
func hostClient(o *Options) (kubernetes.Interface, error) {
	config, err := hostConfig(o)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making the client of the host cluster for etcd's members: %w", err)
	}
	return client, nil
}

// podOfSet is the name of a pod of a StatefulSet.
var podOfSet = regexp.MustCompile("^(.+)-([0-9]+)$")

// wantedMembers says which replicas shall be members: those that the StatefulSet of this one
// has. Without one, and without the right to look, all are. So are they with no replica at
// all, which is a stop and no wish for a smaller cluster.
func wantedMembers(ctx context.Context, host kubernetes.Interface, namespace, name string) (func(string) bool, error) {
	set, err := setOf(ctx, host, namespace, name)
	if err != nil {
		return nil, err
	}
	if set == nil {
		return func(string) bool { return true }, nil
	}
	replicas, first := int(ptr.Deref(set.Spec.Replicas, 1)), 0
	if set.Spec.Ordinals != nil {
		first = int(set.Spec.Ordinals.Start)
	}
	return func(name string) bool {
		pod := podOfSet.FindStringSubmatch(name)
		if pod == nil || pod[1] != set.Name {
			return true
		}
		ordinal, err := strconv.Atoi(pod[2])
		return err != nil || ordinal >= first && ordinal < first+replicas
	}, nil
}

// aloneInSet tells whether the StatefulSet of a replica is to have one only.
func aloneInSet(ctx context.Context, host kubernetes.Interface, namespace, name string) (bool, error) {
	set, err := setOf(ctx, host, namespace, name)
	return set != nil && ptr.Deref(set.Spec.Replicas, 1) == 1, err
}

// setOf is the StatefulSet of a replica, nil if there is none that says how many there are to be.
func setOf(ctx context.Context, host kubernetes.Interface, namespace, name string) (*appsv1.StatefulSet, error) {
	own := podOfSet.FindStringSubmatch(name)
	if own == nil {
		return nil, nil
	}
	set, err := host.AppsV1().StatefulSets(namespace).Get(ctx, own[1], metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading how many replicas there are to be: %w", err)
	case ptr.Deref(set.Spec.Replicas, 1) == 0 || set.DeletionTimestamp != nil:
		return nil, nil
	}
	return set, nil
}

// etcdQuorum tells which members are missing.
func etcdQuorum(etcd *embedded.Server) func(*http.Request) error {
	return func(*http.Request) error { return etcd.Quorum() }
}
