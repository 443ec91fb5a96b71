// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const (
	// root is the directory of the project, in which documented commands are typed.
	root            = "../../.."
	systemNamespace = "slipway-system"
)

// keeper stands for the controller of StatefulSets and the kubelets, of which there are none
// here: it makes processes, pods and claims what the StatefulSet and who deletes them ask for.
type keeper struct {
	*set
	// dir has the files that are made by commands, and shims the kubectl that is typed.
	typing, shims string
	// template are the annotations of the pods that run.
	template map[string]string
}

// shim passes on to kubectl all but what runs in a container: that is a process here, and its
// volume a directory. The container that is attached to is that of the pod as it was applied.
const shim = `#!/bin/bash
set -e
case "$1" in
exec)
	while [ "$1" != -- ]; do shift; done
	shift
	command=("$@") ;;
attach)
	pod=(%[1]s/kubectl get pod -n slipway-system "${!#}" -o)
	[ "$("${pod[@]}" jsonpath='{.spec.volumes[0].persistentVolumeClaim.claimName} {.spec.containers[0].stdin}')" = "data-slipway-apiserver-0 true" ]
	mapfile -t command < <("${pod[@]}" jsonpath='{range .spec.containers[0].command[*]}{@}{"\n"}{end}') ;;
*) exec %[1]s/kubectl "$@" ;;
esac
exec %[1]s/"${command[@]/#--data-dir=\/data/--data-dir=%[2]s}"
`

func newKeeper(s *set) *keeper {
	s.Helper()
	k := &keeper{set: s, typing: s.TempDir(), shims: s.TempDir()}
	if err := os.WriteFile(filepath.Join(k.shims, "kubectl"), fmt.Appendf(nil, shim, s.bin, s.pods[0].dir), 0o700); err != nil {
		s.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(s.bin, "virtctl"), filepath.Join(k.shims, "virtctl")); err != nil {
		s.Fatal(err)
	}
	return k
}

// typed runs commands in a shell, as they are typed one after the other.
func (k *keeper) typed(commands ...string) (said string) {
	k.Helper()
	k.Logf("$ %s", strings.Join(commands, "\n$ "))
	said, err := k.try(commands...)
	if err != nil {
		k.Fatal(err)
	}
	return said
}

// try is typed for what may fail.
func (k *keeper) try(commands ...string) (said string, err error) {
	k.Helper()
	cmd := exec.CommandContext(k.Context(), "bash", "-o", "pipefail", "-ec", strings.Join(commands, "\n"))
	project, err := filepath.Abs(root)
	if err != nil {
		k.Fatal(err)
	}
	cmd.Dir = k.typing
	if strings.Contains(commands[0], "artifacts/") {
		cmd.Dir = project
	}
	cmd.Env = append(os.Environ(), "HOME="+k.typing, "KUBECONFIG="+k.AdminKubeconfig, "PATH="+k.shims+":"+os.Getenv("PATH"))
	var errOut strings.Builder
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w\n%s%s", err, out, errOut.String())
	}
	return string(out), err
}

// obey does what the StatefulSet and the objects that are missing ask for, and returns when
// all that shall run is ready.
func (k *keeper) obey() {
	k.Helper()
	sets := k.host().AppsV1().StatefulSets(systemNamespace)
	wanted, err := sets.Get(k.Context(), setName, metav1.GetOptions{})
	if err != nil {
		k.Fatal(err)
	}
	n := int(ptr.Deref(wanted.Spec.Replicas, 1))
	var missing []int
	var stopping sync.WaitGroup
	for i, p := range k.pods {
		there := k.podThere(p.name)
		if k.pid(i) != 0 && (i >= n || !there && k.template != nil) {
			stopping.Go(func() { k.stop(i) })
		}
		if i < n && (!there || k.pid(i) == 0) {
			missing = append(missing, i)
		}
	}
	stopping.Wait()
	for i, p := range k.pods[n:] {
		if k.pid(n+i) == 0 && k.podThere(p.name) {
			if err := k.host().CoreV1().Pods(systemNamespace).Delete(k.Context(), p.name, metav1.DeleteOptions{}); err != nil {
				k.Fatal(err)
			}
		}
	}
	var begin []int
	for _, i := range missing {
		k.claim(i)
		k.pod(i)
		if k.pid(i) == 0 {
			begin = append(begin, i)
		}
	}
	k.start(begin...)
	if annotations := wanted.Spec.Template.Annotations; k.template != nil && !maps.Equal(k.template, annotations) {
		for i := n - 1; i >= 0; i-- {
			k.stop(i)
			k.start(i)
		}
	}
	k.template = maps.Clone(wanted.Spec.Template.Annotations)
	if k.template == nil {
		k.template = map[string]string{}
	}
	wanted.Status.ObservedGeneration, wanted.Status.Replicas, wanted.Status.ReadyReplicas = wanted.Generation, int32(n), int32(n)
	wanted.Status.UpdatedReplicas, wanted.Status.AvailableReplicas = int32(n), int32(n)
	wanted.Status.CurrentRevision, wanted.Status.UpdateRevision = "current", "current"
	if _, err := sets.UpdateStatus(k.Context(), wanted, metav1.UpdateOptions{}); err != nil {
		k.Fatal(err)
	}
}

func (k *keeper) podThere(name string) bool {
	k.Helper()
	_, err := k.host().CoreV1().Pods(systemNamespace).Get(k.Context(), name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		k.Fatal(err)
	}
	return err == nil
}

// claim makes that of a replica if it is not there, with an empty volume: the one of before is
// gone with its claim.
func (k *keeper) claim(i int) {
	k.Helper()
	name := "data-" + k.pods[i].name
	claims := k.host().CoreV1().PersistentVolumeClaims(systemNamespace)
	k.eventually("the claim "+name+" is not being deleted", func() error {
		got, err := claims.Get(k.Context(), name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err == nil && got.DeletionTimestamp != nil:
			return errors.New("it is")
		}
		return err
	})
	_, err := claims.Create(k.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: systemNamespace},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("20Gi")}},
		},
	}, metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
	case err != nil:
		k.Fatal(err)
	case k.pid(i) == 0:
		if err := os.RemoveAll(k.pods[i].dir); err != nil {
			k.Fatal(err)
		}
	}
}

func (k *keeper) pod(i int) {
	k.Helper()
	name := k.pods[i].name
	_, err := k.host().CoreV1().Pods(systemNamespace).Create(k.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: systemNamespace, Labels: map[string]string{"app.kubernetes.io/name": setName}},
		Spec: corev1.PodSpec{
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: ptr.To(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{Name: setName, Image: setName, SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			}}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-" + name},
			}}},
		},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		k.Fatal(err)
	}
}
