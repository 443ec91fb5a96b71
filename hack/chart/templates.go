// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	external = ".Values.etcd.servers"
	embedded = "not " + external

	withVCenter          = ".Values.vcenter.url"
	withVCenterCA        = ".Values.vcenter.caConfigMap"
	withCertificate      = ".Values.tls.secret"
	withEtcdCertificates = "and " + external + " .Values.etcd.tlsSecret"
)

func isGenerated(text []byte) bool { return strings.HasPrefix(string(text), generated) }

// templates are those of all objects, by the name of their file: one for each kind. The
// namespace is none of them: Helm installs into one that there is.
func templates(objects []*unstructured.Unstructured) (map[string]string, error) {
	files, led := map[string]string{}, false
	for _, o := range objects {
		kind := o.GetKind()
		if kind == "Namespace" {
			continue
		}
		var err error
		switch kind {
		case "StatefulSet":
			err = server(o.Object)
		case "APIService":
			err = service(o.Object)
		case "Service":
			if o.GetName() == frontend {
				err = published(o.Object)
				led = true
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", kind, o.GetName(), err)
		}
		text, err := template(o.Object)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", kind, o.GetName(), err)
		}
		name := strings.ToLower(kind) + ".yaml"
		if files[name] == "" {
			files[name] = generated
		}
		files[name] += "---\n" + text
	}
	if files["statefulset.yaml"] == "" {
		return nil, fmt.Errorf("artifacts/deploy has no StatefulSet")
	}
	if !led {
		return nil, fmt.Errorf("artifacts/deploy has no Service %s", frontend)
	}
	return files, nil
}

// server puts the values of the chart into the StatefulSet.
func server(set map[string]any) error {
	spec, err := field[map[string]any](set, "spec")
	if err != nil {
		return err
	}
	pod, err := field[map[string]any](spec, "template", "spec")
	if err != nil {
		return err
	}
	containers, err := field[[]any](pod, "containers")
	if err != nil {
		return err
	}
	if len(containers) != 1 {
		return fmt.Errorf("%d containers, want one", len(containers))
	}
	container, ok := containers[0].(map[string]any)
	if !ok {
		return fmt.Errorf("a container is a %T", containers[0])
	}
	for _, change := range []func() error{
		func() error { return replace(spec, "replicas", expression(".Values.replicas")) },
		func() error { return storage(spec) },
		func() error { return replace(container, "image", expression(`include "slipway.image" . | quote`)) },
		func() error { return replace(container, "resources", block(".Values.resources")) },
		func() error { return arguments(container) },
		func() error { return guardItem(container, "volumeMounts", "data", embedded) },
		func() error { return mountSnapshots(container) },
		func() error {
			return mounted(container, pod, "vcenter-ca", withVCenterCA, map[string]any{"configMap": map[string]any{"name": expression(withVCenterCA)}})
		},
		func() error { return mounted(container, pod, "tls", withCertificate, secret(withCertificate)) },
		func() error {
			return mounted(container, pod, "etcd-tls", withEtcdCertificates, secret(".Values.etcd.tlsSecret"))
		},
	} {
		if err := change(); err != nil {
			return err
		}
	}
	container["imagePullPolicy"] = guarded{".Values.image.pullPolicy", expression(".Values.image.pullPolicy")}
	pod["imagePullSecrets"] = block(".Values.image.pullSecrets")
	pod["nodeSelector"] = block(".Values.nodeSelector")
	pod["tolerations"] = block(".Values.tolerations")
	return nil
}

// storage are the sizes and the classes of the volumes, which an external etcd needs none of.
func storage(spec map[string]any) error {
	claims, err := field[[]any](spec, "volumeClaimTemplates")
	if err != nil {
		return err
	}
	if len(claims) != 1 {
		return fmt.Errorf("%d volumeClaimTemplates, want one", len(claims))
	}
	claim, ok := claims[0].(map[string]any)
	if !ok {
		return fmt.Errorf("a volumeClaimTemplate is a %T", claims[0])
	}
	wanted, err := field[map[string]any](claim, "spec")
	if err != nil {
		return err
	}
	requests, err := field[map[string]any](wanted, "resources", "requests")
	if err != nil {
		return err
	}
	wanted["storageClassName"] = guarded{".Values.persistence.storageClass", expression(".Values.persistence.storageClass | quote")}
	spec["volumeClaimTemplates"] = guarded{embedded, append(claims, snapshotClaim())}
	return replace(requests, "storage", expression(".Values.persistence.size"))
}

// secret is what a volume is of: the Secret whose name is a value.
func secret(value string) map[string]any {
	return map[string]any{"secret": map[string]any{"secretName": expression(value)}}
}

// mounted adds a volume of its own, under a condition.
func mounted(container, pod map[string]any, name, condition string, volume map[string]any) error {
	mounts, err := field[[]any](container, "volumeMounts")
	if err != nil {
		return err
	}
	volumes := []any{}
	if pod["volumes"] != nil {
		if volumes, err = field[[]any](pod, "volumes"); err != nil {
			return err
		}
	}
	volume["name"] = name
	mount := map[string]any{"name": name, "mountPath": "/" + name, "readOnly": true}
	container["volumeMounts"] = append(mounts, guarded{condition, []any{mount}})
	pod["volumes"] = append(volumes, guarded{condition, []any{volume}})
	return nil
}

// service puts the values for a certificate that the server does not manage into an APIService.
func service(o map[string]any) error {
	metadata, err := field[map[string]any](o, "metadata")
	if err != nil {
		return err
	}
	spec, err := field[map[string]any](o, "spec")
	if err != nil {
		return err
	}
	if metadata["annotations"] != nil || spec["caBundle"] != nil {
		return fmt.Errorf("it has annotations or a caBundle, which are values of the chart")
	}
	metadata["annotations"] = block(".Values.tls.annotations")
	spec["caBundle"] = guarded{".Values.tls.caBundle", expression(".Values.tls.caBundle")}
	return nil
}
