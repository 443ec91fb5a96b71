// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// inCluster are the kinds that only work in a cluster: Pods, and the inputs for cert-manager.
var inCluster = []string{"Deployment", "Service", "Certificate", "Issuer"}

// version is the one that all kinds of this Cluster API have.
const version = "v1beta2"

// decode reads the objects of a YAML stream.
func decode(data []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
		u := &unstructured.Unstructured{}
		err := decoder.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("decoding the manifests of Cluster API: %w", err)
		}
		if len(u.Object) > 0 {
			objects = append(objects, u)
		}
	}
}

// adapt drops the objects that only work in a cluster, and sets the webhooks' URL to url, whose certificate ca
// signed.
func adapt(objects []*unstructured.Unstructured, url string, ca []byte) ([]*unstructured.Unstructured, error) {
	objects = slices.DeleteFunc(objects, func(u *unstructured.Unstructured) bool {
		return slices.Contains(inCluster, u.GetKind())
	})
	bundle := base64.StdEncoding.EncodeToString(ca)
	for _, u := range objects {
		if err := atURL(u, url, bundle); err != nil {
			return nil, fmt.Errorf("adapting %s %s: %w", u.GetKind(), u.GetName(), err)
		}
	}
	return objects, nil
}

// atURL replaces the Services in the webhooks that an object has.
func atURL(u *unstructured.Unstructured, url, bundle string) error {
	path := []string{"spec", "conversion", "webhook"}
	if conversion, found, err := unstructured.NestedMap(u.Object, path...); err != nil {
		return err
	} else if found {
		if err := redirect(conversion, url, bundle); err != nil {
			return err
		}
		return unstructured.SetNestedMap(u.Object, conversion, path...)
	}
	hooks, found, err := unstructured.NestedSlice(u.Object, "webhooks")
	if err != nil || !found {
		return err
	}
	for _, hook := range hooks {
		hook, ok := hook.(map[string]any)
		if !ok {
			return fmt.Errorf("webhooks: got %T, want an object", hook)
		}
		if err := redirect(hook, url, bundle); err != nil {
			return err
		}
	}
	return unstructured.SetNestedSlice(u.Object, hooks, "webhooks")
}

// redirect replaces the Service of a clientConfig.
func redirect(hook map[string]any, url, bundle string) error {
	path, found, err := unstructured.NestedString(hook, "clientConfig", "service", "path")
	if err != nil {
		return err
	}
	if !found {
		return errors.New("a webhook names no path of a Service")
	}
	hook["clientConfig"] = map[string]any{"url": url + path, "caBundle": bundle}
	return nil
}

// encode makes a YAML stream of objects.
func encode(objects []*unstructured.Unstructured) ([]byte, error) {
	var stream bytes.Buffer
	for _, u := range objects {
		data, err := json.Marshal(u)
		if err != nil {
			return nil, fmt.Errorf("encoding %s %s: %w", u.GetKind(), u.GetName(), err)
		}
		stream.WriteString("---\n")
		stream.Write(data)
		stream.WriteByte('\n')
	}
	return stream.Bytes(), nil
}

// resources are those that the definitions among objects define.
func resources(objects []*unstructured.Unstructured) []schema.GroupVersionResource {
	var all []schema.GroupVersionResource
	for _, u := range objects {
		plural, group, _ := strings.Cut(u.GetName(), ".")
		if u.GetKind() == "CustomResourceDefinition" {
			all = append(all, schema.GroupVersionResource{Group: group, Version: version, Resource: plural})
		}
	}
	return all
}
