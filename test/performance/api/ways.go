// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/slipway-dev/slipway/pkg/apis/scheme"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/performance/proc"
	"github.com/slipway-dev/slipway/test/performance/running"
)

const (
	namespace = "default"
	jsonType  = runtime.ContentTypeJSON
	protobuf  = runtime.ContentTypeProtobuf
	// applied is the guestID that server-side apply sets.
	applied = "debian12_64Guest"
)

// way is a way to access an object: the kind, the server and the encoding.
type way struct {
	name string
	// prefix is the prefix of the names of its objects.
	prefix string
	// content is the media type of requests and responses, except patches.
	content      string
	client       *rest.RESTClient
	groupVersion schema.GroupVersion
	// captured is the pinned instance type of the objects.
	captured *vmv1alpha1.InstancetypeRef
	// spent is the processor time of all servers so far, in milliseconds.
	spent func() (float64, error)
	// stream splits the events of a watch.
	stream runtime.Framer
	encode func(*vmv1alpha1.VirtualMachine) ([]byte, error)
}

// waysOf returns the compared ways, the custom resource first.
func waysOf(ctx context.Context, cluster *localcluster.Cluster, spent func() (float64, error)) ([]way, error) {
	direct, err := cluster.DirectConfig("slipway-bench", "system:masters")
	if err != nil {
		return nil, err
	}
	host, err := cluster.UserConfig("slipway-bench", "system:masters")
	if err != nil {
		return nil, err
	}
	if err := makePeer(ctx, host, direct); err != nil {
		return nil, err
	}
	user, err := userByRole(ctx, cluster)
	if err != nil {
		return nil, err
	}
	c, err := versioned.NewForConfig(direct)
	if err != nil {
		return nil, fmt.Errorf("making the client: %w", err)
	}
	captured, err := running.Capture(ctx, c, namespace)
	if err != nil {
		return nil, err
	}
	ours := vmv1alpha1.SchemeGroupVersion
	var ways []way
	for i, w := range []struct {
		name         string
		config       *rest.Config
		groupVersion schema.GroupVersion
		content      string
	}{
		{"custom resource", host, peer.GroupVersion(), jsonType},
		{"aggregated, protobuf", host, ours, protobuf},
		{"… by a user with a role", user, ours, protobuf},
		{"aggregated, JSON", host, ours, jsonType},
		{"direct, protobuf", direct, ours, protobuf},
	} {
		config := rest.CopyConfig(w.config)
		config.QPS = -1
		config.APIPath, config.GroupVersion = "/apis", &w.groupVersion
		config.ContentType, config.AcceptContentTypes = w.content, w.content
		config.NegotiatedSerializer = serializer.WithoutConversionCodecFactory{CodecFactory: scheme.Codecs}
		client, err := rest.RESTClientFor(config)
		if err != nil {
			return nil, fmt.Errorf("making the client of %s: %w", w.name, err)
		}
		info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), w.content)
		if !ok {
			return nil, fmt.Errorf("no client writes %s", w.content)
		}
		kind := w.groupVersion.WithKind("VirtualMachine")
		ways = append(ways, way{name: w.name, prefix: fmt.Sprintf("way%d", i), content: w.content, client: client, groupVersion: w.groupVersion, captured: captured, spent: spent, stream: info.StreamSerializer.Framer, encode: func(vm *vmv1alpha1.VirtualMachine) ([]byte, error) {
			vm.SetGroupVersionKind(kind)
			return runtime.Encode(info.Serializer, vm)
		}})
	}
	return ways, nil
}

// measure creates the objects of a round and calls each verb on all of them. They are kept, because no controller
// removes their finalizers.
func (w way) measure(ctx context.Context, costs *costs, s settings, round int) error {
	do := func(verb string, n int, f func(i int) error) error {
		before, err := w.spent()
		if err != nil {
			return err
		}
		for i := range n {
			if err := f(i); err != nil {
				return fmt.Errorf("%s: %w", verb, err)
			}
		}
		after, err := w.spent()
		if err != nil {
			return err
		}
		if verb != "" {
			costs.add(verb, w.name, (after-before)/float64(n))
		}
		return nil
	}
	named := func(i int) string { return fmt.Sprintf("%s-%d-%d", w.prefix, round, i) }
	patch := func(content types.PatchType, guest string) func(i int) error {
		return func(i int) error { return w.patch(ctx, content, named(i), guest) }
	}
	stored := make([]*vmv1alpha1.VirtualMachine, s.objects)
	verbs := []struct {
		name string
		f    func(i int) error
	}{
		{"create", func(i int) error { return w.write(ctx, w.client.Post(), running.Machine(named(i)), "") }},
		{"", func(i int) (err error) { stored[i], err = w.get(ctx, namespace, named(i), ""); return err }}, // for the status
		{"status PUT", func(i int) error {
			stored[i].Status = running.Status(w.captured, i)
			return w.write(ctx, w.client.Put().Name(named(i)), stored[i], "status")
		}},
		{"GET", func(i int) error { _, err := w.get(ctx, namespace, named(i), ""); return err }},
		{"GET resourceVersion=0", func(i int) error { _, err := w.get(ctx, namespace, named(i), "0"); return err }},
		{"merge PATCH", patch(types.MergePatchType, "ubuntu64Guest")},
		{"server-side apply", patch(types.ApplyPatchType, applied)},
	}
	for _, verb := range verbs {
		if err := do(verb.name, s.objects, verb.f); err != nil {
			return err
		}
	}
	// An update without a change is not stored and would cost almost nothing.
	last, err := w.get(ctx, namespace, named(s.objects-1), "")
	if err != nil {
		return err
	}
	if got, want := last.Status, running.Status(w.captured, s.objects-1); len(got.Conditions) != len(want.Conditions) || got.UniqueID != want.UniqueID || last.Spec.GuestID != applied {
		return fmt.Errorf("the last object differs from the written one: %+v", last)
	}
	return nil
}

// patch sets the guestID of an object, by a merge patch or by server-side apply.
func (w way) patch(ctx context.Context, content types.PatchType, name, guest string) error {
	request := w.client.Patch(content).Namespace(namespace).Resource(peer.Resource).Name(name)
	body := fmt.Sprintf(`{"spec":{"guestID":%q}}`, guest)
	if content == types.ApplyPatchType {
		body = fmt.Sprintf(`{"apiVersion":%q,"kind":"VirtualMachine","metadata":{"name":%q},"spec":{"guestID":%q}}`, w.groupVersion.String(), name, guest)
		request = request.Param("fieldManager", "bench").Param("force", "true")
	}
	return request.Body([]byte(body)).Do(ctx).Error()
}

// write sends vm, or its status.
func (w way) write(ctx context.Context, request *rest.Request, vm *vmv1alpha1.VirtualMachine, subresource string) error {
	_, err := w.send(ctx, request, vm, subresource)
	return err
}

// send is write that returns the response.
func (w way) send(ctx context.Context, request *rest.Request, vm *vmv1alpha1.VirtualMachine, subresource string) ([]byte, error) {
	body, err := w.encode(vm)
	if err != nil {
		return nil, err
	}
	request = request.Namespace(cmp.Or(vm.Namespace, namespace)).Resource(peer.Resource)
	if subresource != "" {
		request = request.SubResource(subresource)
	}
	return request.SetHeader("Content-Type", w.content).Body(body).Do(ctx).Raw()
}

func (w way) get(ctx context.Context, namespace, name, version string) (*vmv1alpha1.VirtualMachine, error) {
	request := w.client.Get().Namespace(namespace).Resource(peer.Resource).Name(name)
	if version != "" {
		request = request.Param("resourceVersion", version)
	}
	data, err := request.Do(ctx).Raw()
	if err != nil {
		return nil, err
	}
	return w.decode(data)
}

func (w way) decode(data []byte) (*vmv1alpha1.VirtualMachine, error) {
	vm := &vmv1alpha1.VirtualMachine{}
	if w.groupVersion == peer.GroupVersion() {
		return vm, json.Unmarshal(data, vm)
	}
	return vm, runtime.DecodeInto(scheme.Codecs.UniversalDeserializer(), data, vm)
}

// processorTime returns the CPU time of these processes so far, in milliseconds.
func processorTime(pids ...int) (float64, error) {
	var total float64
	for _, pid := range pids {
		t, err := proc.CPUTime(pid)
		if err != nil {
			return 0, fmt.Errorf("reading the processor time of a server: %w", err)
		}
		total += float64(t.Microseconds()) / 1000
	}
	return total, nil
}
