// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slipway-dev/slipway/artifacts"
	"github.com/slipway-dev/slipway/artifacts/kustomized"
)

const (
	// Namespace of the server.
	Namespace = "slipway-system"
	// Name of the server's StatefulSet, Service and service account.
	Name = "slipway-apiserver"

	credentialsSecret = "vcenter-credentials"
	etcdSecret        = "slipway-etcd-client"

	kindAPIService = "APIService"

	base = "resources: [../deploy/base]\n"
	// everything is the base with all components that add objects, and deploy/cluster-api.
	everything = "resources: [../deploy/base, ../deploy/cluster-api]\n" +
		"components: [../deploy/components/monitoring, ../deploy/components/cert-manager, ../deploy/components/egress, ../deploy/components/etcd, ../deploy/components/etcd-cert-manager]\n"
)

// operation is an operation of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// Objects returns the objects of the installation: those that the management cluster supports itself, and those that
// it accepts once the server serves them.
func Objects(o Options) (host, served []*unstructured.Unstructured, err error) {
	if err := o.Validate(); err != nil {
		return nil, nil, err
	}
	kustomization := base
	var components []string
	if len(o.EtcdServers) > 0 {
		components = append(components, "../deploy/components/external-etcd")
	}
	namespaces := o.secretNamespaces()
	if len(namespaces) > 0 {
		components = append(components, "../deploy/components/secret-namespaces")
	}
	if o.hasArg("--probe-networks") && o.hasArg("--workload-networks") {
		components = append(components, "../deploy/components/named-networks")
	}
	if len(components) > 0 {
		kustomization += "components: [" + strings.Join(components, ", ") + "]\n"
	}
	if patch := o.patch(); len(patch) > 0 {
		text, err := json.Marshal(patch)
		if err != nil {
			return nil, nil, fmt.Errorf("encoding a patch: %w", err)
		}
		kustomization += fmt.Sprintf("patches: [{target: {kind: StatefulSet, name: %s}, patch: %q}]\n", Name, text)
	}
	if host, err = kustomized.Build(artifacts.Deploy, kustomization); err != nil {
		return nil, nil, err
	}
	for _, namespace := range namespaces {
		object, err := unstructuredOf(secretReader(namespace))
		if err != nil {
			return nil, nil, err
		}
		host = append(host, object)
	}
	secrets := map[string]map[string][]byte{etcdSecret: o.etcdFiles()}
	if o.VCenter != nil {
		secrets[credentialsSecret] = map[string][]byte{"username": []byte(o.VCenter.Username), "password": []byte(o.VCenter.Password)}
		object, err := unstructuredOf(o.VCenter.object())
		if err != nil {
			return nil, nil, err
		}
		served = append(served, object)
	}
	for _, name := range []string{etcdSecret, credentialsSecret} {
		if len(secrets[name]) == 0 {
			continue
		}
		object, err := unstructuredOf(&corev1.Secret{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: Namespace}, Data: secrets[name],
		})
		if err != nil {
			return nil, nil, err
		}
		host = slices.Insert(host, 1, object) // after the namespace, and before the server that reads it
	}
	return host, served, nil
}

// patch returns the changes of the StatefulSet.
func (o *Options) patch() []operation {
	const container = "/spec/template/spec/containers/0"
	var all []operation
	if o.Replicas > 0 {
		all = append(all, operation{"replace", "/spec/replicas", o.Replicas})
	}
	if o.Image != "" {
		all = append(all, operation{"replace", container + "/image", o.Image})
	}
	if len(o.EtcdServers) > 0 {
		// The component has one argument per file. Remove those of missing files, the last one first.
		files := [][]byte{o.EtcdCA, o.EtcdCert, o.EtcdKey}
		for i, file := range slices.Backward(files) {
			if len(file) == 0 {
				all = append(all, operation{Op: "remove", Path: fmt.Sprintf("%s/args/%d", container, 3+i)})
			}
		}
	}
	for _, arg := range o.ServerArgs { // the last occurrence of a flag takes effect
		all = append(all, operation{"add", container + "/args/-", arg})
	}
	return all
}

// secretNamespaces returns the namespaces of --secret-namespaces among the arguments of the server.
func (o *Options) secretNamespaces() []string {
	var all []string
	for _, arg := range o.ServerArgs {
		if names, found := strings.CutPrefix(arg, "--secret-namespaces="); found {
			all = append(all, strings.Split(names, ",")...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// hasArg reports whether the arguments of the server set a flag.
func (o *Options) hasArg(flag string) bool {
	return slices.ContainsFunc(o.ServerArgs, func(arg string) bool { return strings.HasPrefix(arg, flag+"=") && arg != flag+"=" })
}

// secretReader lets the server read the Secrets of a namespace.
func secretReader(namespace string) *rbacv1.RoleBinding {
	const name = Name + ":secrets"
	return &rbacv1.RoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: Name, Namespace: Namespace}},
	}
}

// etcdFiles returns the content of the Secret of components/external-etcd.
func (o *Options) etcdFiles() map[string][]byte {
	files := map[string][]byte{
		"servers": []byte(strings.Join(o.EtcdServers, ",")), "ca.crt": o.EtcdCA, corev1.TLSCertKey: o.EtcdCert, corev1.TLSPrivateKeyKey: o.EtcdKey,
	}
	for key, data := range files {
		if len(data) == 0 {
			delete(files, key)
		}
	}
	return files
}

// APIServices returns the names of the APIServices among the objects, that of the VMs first.
func APIServices(objects []*unstructured.Unstructured) []string {
	var names []string
	for _, u := range objects {
		if u.GetKind() == kindAPIService {
			names = append(names, u.GetName())
		}
	}
	slices.Sort(names)
	slices.Reverse(names)
	return names
}

// Removable returns the objects that an uninstallation removes, in the reverse order of their
// installation: those of the base, and those that components and deploy/cluster-api add.
func Removable() (ofBase, added []*unstructured.Unstructured, err error) {
	if ofBase, err = kustomized.Build(artifacts.Deploy, base); err != nil {
		return nil, nil, err
	}
	if added, err = kustomized.Build(artifacts.Deploy, everything); err != nil {
		return nil, nil, err
	}
	added = slices.DeleteFunc(added, func(u *unstructured.Unstructured) bool {
		return slices.ContainsFunc(ofBase, func(b *unstructured.Unstructured) bool {
			return b.GetKind() == u.GetKind() && b.GetName() == u.GetName()
		})
	})
	slices.Reverse(ofBase)
	slices.Reverse(added)
	return ofBase, added, nil
}

// unstructuredOf converts an object, without its status.
func unstructuredOf(obj runtime.Object) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("converting a manifest: %w", err)
	}
	delete(content, "status")
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	return &unstructured.Unstructured{Object: content}, nil
}
