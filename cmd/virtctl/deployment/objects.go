// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/slipway-dev/slipway/artifacts"
)

const (
	// Namespace of the server.
	Namespace = "slipway-system"
	// Name of the server's StatefulSet, Service and service account.
	Name = "slipway-apiserver"

	credentialsSecret = "vcenter-credentials"
	etcdSecret        = "slipway-etcd-client"
	etcdMount         = "/etcd"
	etcdCAKey         = "ca.crt"

	kindAPIService = "APIService"
)

// Objects are those of the installation: what the host cluster takes by itself, and what it
// takes as soon as the server serves it.
func Objects(o Options) (host, served []*unstructured.Unstructured, err error) {
	if err := o.Validate(); err != nil {
		return nil, nil, err
	}
	all, err := artifacts.Objects(func(string) bool { return false })
	if err != nil {
		return nil, nil, err
	}
	var secrets []runtime.Object
	if o.VCenter != nil {
		secrets = append(secrets, secret(credentialsSecret, map[string][]byte{"username": []byte(o.VCenter.Username), "password": []byte(o.VCenter.Password)}))
		object, err := unstructuredOf(o.VCenter.object())
		if err != nil {
			return nil, nil, err
		}
		served = append(served, object)
	}
	if files := o.etcdFiles(); len(files) > 0 {
		secrets = append(secrets, secret(etcdSecret, files))
	}
	for _, u := range all {
		if err := o.adapt(u); err != nil {
			return nil, nil, fmt.Errorf("%s %s: %w", u.GetKind(), u.GetName(), err)
		}
		host = append(host, u)
		if u.GetKind() != "Namespace" {
			continue
		}
		for _, s := range secrets { // before the server that reads them
			object, err := unstructuredOf(s)
			if err != nil {
				return nil, nil, err
			}
			host = append(host, object)
		}
	}
	return host, served, nil
}

// APIServices are the names of those among the objects.
func APIServices(objects []*unstructured.Unstructured) []string {
	var names []string
	for _, u := range objects {
		if u.GetKind() == kindAPIService {
			names = append(names, u.GetName())
		}
	}
	return names
}

// adapt changes an object of artifacts/deploy to what is chosen.
func (o *Options) adapt(u *unstructured.Unstructured) error {
	switch {
	case u.GetKind() == "StatefulSet":
		set := &appsv1.StatefulSet{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, set); err != nil {
			return err
		}
		o.adaptServer(set)
		changed, err := unstructuredOf(set)
		if err != nil {
			return err
		}
		u.Object = changed.Object
	case u.GetKind() == "Service" && u.GetName() == Name && o.Replicas == 1:
		// No other one stands for it, and its answer tells users why it is not ready.
		return unstructured.SetNestedField(u.Object, true, "spec", "publishNotReadyAddresses")
	}
	return nil
}

// adaptServer changes the server.
func (o *Options) adaptServer(set *appsv1.StatefulSet) {
	set.Spec.Replicas = ptr.To(int32(o.Replicas))
	pod := &set.Spec.Template.Spec
	c := &pod.Containers[0]
	if o.Image != "" {
		c.Image = o.Image
	}
	if o.Replicas == 1 {
		// Nobody could be sent to another one meanwhile.
		c.Args = replaced(c.Args, "--shutdown-delay-duration", "0s")
	}
	if len(o.EtcdServers) > 0 {
		o.adaptEtcd(set, pod, c)
	}
	for _, arg := range o.ServerArgs {
		name, value, given := strings.Cut(arg, "=")
		if given && slices.ContainsFunc(c.Args, func(a string) bool { return strings.HasPrefix(a, name+"=") }) {
			c.Args = replaced(c.Args, name, value)
			continue
		}
		c.Args = append(c.Args, arg)
	}
}

// adaptEtcd lets the server use an etcd that is not its own.
func (o *Options) adaptEtcd(set *appsv1.StatefulSet, pod *corev1.PodSpec, c *corev1.Container) {
	set.Spec.VolumeClaimTemplates = nil
	drop(pod, c, "data")
	c.Args = slices.DeleteFunc(c.Args, func(arg string) bool {
		return strings.HasPrefix(arg, "--data-dir") || strings.HasPrefix(arg, "--etcd-")
	})
	c.Ports = slices.DeleteFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == "etcd-peers" })
	c.Args = append(c.Args, "--etcd-servers="+strings.Join(o.EtcdServers, ","))
	files := o.etcdFiles()
	for _, f := range []struct{ flag, key string }{{"--etcd-cafile", etcdCAKey}, {"--etcd-certfile", corev1.TLSCertKey}, {"--etcd-keyfile", corev1.TLSPrivateKeyKey}} {
		if len(files[f.key]) > 0 {
			c.Args = append(c.Args, f.flag+"="+etcdMount+"/"+f.key)
		}
	}
	if len(files) > 0 {
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "etcd", MountPath: etcdMount, ReadOnly: true})
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "etcd", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: etcdSecret}}})
	}
}

// etcdFiles are those of the Secret for an external etcd.
func (o *Options) etcdFiles() map[string][]byte {
	files := map[string][]byte{}
	for key, data := range map[string][]byte{etcdCAKey: o.EtcdCA, corev1.TLSCertKey: o.EtcdCert, corev1.TLSPrivateKeyKey: o.EtcdKey} {
		if len(data) > 0 {
			files[key] = data
		}
	}
	return files
}

// drop takes a volume away.
func drop(pod *corev1.PodSpec, c *corev1.Container, volume string) {
	pod.Volumes = slices.DeleteFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == volume })
	c.VolumeMounts = slices.DeleteFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == volume })
}

// replaced are arguments with another value of a flag that is among them.
func replaced(args []string, flag, value string) []string {
	args = slices.Clone(args)
	for i, arg := range args {
		if strings.HasPrefix(arg, flag+"=") {
			args[i] = flag + "=" + value
		}
	}
	return args
}

func secret(name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: Namespace}, Data: data,
	}
}

// unstructuredOf is obj as its author would write it.
func unstructuredOf(obj runtime.Object) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("converting a manifest: %w", err)
	}
	delete(content, "status")
	prune(content)
	return &unstructured.Unstructured{Object: content}, nil
}

// prune takes away what no author writes: empty values that the types of Go have all the same.
func prune(value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			prune(inner)
			m, isMap := inner.(map[string]any)
			if inner == nil || isMap && len(m) == 0 && (key == "status" || key == "updateStrategy" || key == "resources") {
				delete(v, key)
			}
		}
	case []any:
		for _, inner := range v {
			prune(inner)
		}
	}
}
