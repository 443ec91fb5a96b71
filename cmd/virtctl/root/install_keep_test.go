// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/install"
)

const externalEtcd = "--etcd-servers=https://etcd.example.com:2379"

const serverPath = "/apis/apps/v1/namespaces/slipway-system/statefulsets/slipway-apiserver"

// runs reports whether the server that was applied last has an image and replicas.
func (h *installHost) runs(image, replicas string) bool {
	applied, _ := h.objects[serverPath]["applied"].(string)
	return strings.Contains(applied, `"image":"`+image+`"`) && strings.Contains(applied, `"replicas":`+replicas+`,`)
}

func TestInstall_KeepsTheRunningImageAndReplicasByDefault(t *testing.T) {
	h := newInstallHost()
	if code, _, errOut := h.install(t, "--apply", imageFlag, "--replicas=1", externalEtcd); code != 0 || errOut != "" {
		t.Fatalf("exit %d: %s", code, errOut)
	}
	for _, c := range []struct{ args, says, image, replicas string }{
		{"", "kept from the existing installation: --image=registry.example.com/s:v1 --replicas=1\n", "registry.example.com/s:v1", "1"},
		{"--image=registry.example.com/s:v2", "kept from the existing installation: --replicas=1\n", "registry.example.com/s:v2", "1"},
		{"--replicas=3", "kept from the existing installation: --image=registry.example.com/s:v2\n", "registry.example.com/s:v2", "3"},
		{"--replicas=1 --image=registry.example.com/s:v3", "", "registry.example.com/s:v3", "1"},
	} {
		code, _, errOut := h.install(t, append([]string{"--apply", externalEtcd}, strings.Fields(c.args)...)...)
		if code != 0 || errOut != c.says || !h.runs(c.image, c.replicas) {
			t.Errorf("%q: exit %d %s, want %s; and %s with %s replicas, not %v", c.args, code, errOut, c.says, c.image, c.replicas, h.objects[serverPath]["spec"])
		}
	}
}

// An installation with several replicas cannot go back to the embedded etcd because a flag was forgotten.
func TestInstall_RejectsSeveralReplicasWithoutEtcdServers(t *testing.T) {
	h := newInstallHost()
	if code, _, errOut := h.install(t, "--apply", imageFlag, externalEtcd); code != 0 || !h.runs("registry.example.com/s:v1", "2") {
		t.Fatalf("exit %d with %v: %s", code, h.objects[serverPath]["spec"], errOut)
	}
	before := h.versions
	if code, out, errOut := h.install(t, "--apply"); code != 1 || out != "" || h.versions != before || !strings.Contains(errOut, "--replicas 2: more than 1 requires --etcd-servers") {
		t.Errorf("exit %d: %s%s", code, out, errOut)
	}
}

func TestInstall_RejectsReplicasThatItDoesNotSupport(t *testing.T) {
	h := newInstallHost()
	if code, _, errOut := h.install(t, "--apply", imageFlag); code != 0 {
		t.Fatal(errOut)
	}
	h.objects[serverPath]["spec"].(map[string]any)["replicas"] = 0
	if code, out, errOut := h.install(t, "--apply"); code != 1 || out != "" || !strings.Contains(errOut, "the installation has 0 replicas: specify --replicas") {
		t.Errorf("exit %d: %s%s", code, out, errOut)
	}
}

func TestInstall_RequiresAnImageUnlessTheReleaseHasOne(t *testing.T) {
	h := newInstallHost()
	if code, out, errOut := h.install(t, "--apply"); code != 1 || out != "" || len(h.order) > 0 || !strings.Contains(errOut, "--image is required") || !strings.Contains(errOut, "make image IMAGE=") {
		t.Errorf("without an image: exit %d, %d objects applied: %s%s", code, len(h.order), out, errOut)
	}
	if code, out, errOut := h.install(t); code != 0 || !strings.Contains(errOut, "warning: --image is not set") || !strings.Contains(out, "image: slipway-apiserver:") {
		t.Errorf("printed without an image: exit %d: %s", code, errOut)
	}
	install.ReleasedImage = "registry.example.com/released:v1"
	t.Cleanup(func() { install.ReleasedImage = "" })
	if code, out, errOut := h.install(t); code != 0 || errOut != "" || !strings.Contains(out, "image: "+install.ReleasedImage+"\n") {
		t.Errorf("printed by a release: exit %d: %s", code, errOut)
	}
	if code, _, errOut := h.install(t, "--apply"); code != 0 || errOut != "" || !h.runs(install.ReleasedImage, "1") {
		t.Errorf("by a release: exit %d: %s", code, errOut)
	}
}

// The linker passes over what it does not find.
func TestInstall_UsesTheImageOfMakeRelease(t *testing.T) {
	makefile, err := os.ReadFile("../../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	if want := "-X " + reflect.TypeFor[install.Applier]().PkgPath() + ".ReleasedImage=$(IMAGE)\n"; !strings.Contains(string(makefile), want) {
		t.Errorf("the Makefile does not have %q", want)
	}
}
