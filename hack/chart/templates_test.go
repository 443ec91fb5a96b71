// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-dev/slipway/artifacts"
)

// changed is the error of the templates of manifests whose StatefulSet was changed.
func changed(t *testing.T, change func(spec, pod, container map[string]any)) error {
	t.Helper()
	objects, err := artifacts.Objects(func(string) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if o.GetKind() != "StatefulSet" {
			continue
		}
		spec := o.Object["spec"].(map[string]any)
		pod := spec["template"].(map[string]any)["spec"].(map[string]any)
		change(spec, pod, pod["containers"].([]any)[0].(map[string]any))
	}
	_, err = templates(objects)
	return err
}

func TestAManifestThatHasLostWhatAValueStandsForIsAnError(t *testing.T) {
	for want, change := range map[string]func(spec, pod, container map[string]any){
		"replicas is missing":                 func(spec, _, _ map[string]any) { delete(spec, "replicas") },
		"image is missing":                    func(_, _, c map[string]any) { delete(c, "image") },
		"resources is missing":                func(_, _, c map[string]any) { delete(c, "resources") },
		"volumeMounts has no data":            func(_, _, c map[string]any) { c["volumeMounts"] = []any{map[string]any{"name": "other"}} },
		"no argument --data-dir":              func(_, _, c map[string]any) { c["args"] = []any{"--shutdown-delay-duration=10s"} },
		"no argument --shutdown-delay":        func(_, _, c map[string]any) { c["args"] = []any{"--secure-port=8443"} },
		"0 containers, want one":              func(_, pod, _ map[string]any) { pod["containers"] = []any{} },
		"volumeClaimTemplates is a <nil>":     func(spec, _, _ map[string]any) { delete(spec, "volumeClaimTemplates") },
		"the manifest has a mark of its own:": func(_, pod, _ map[string]any) { pod["hostname"] = "@@99@@" },
	} {
		if err := changed(t, change); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if err := changed(t, func(_, _, _ map[string]any) {}); err != nil {
		t.Error(err)
	}
}

func TestWhatLooksLikeATemplateInAManifestIsNone(t *testing.T) {
	got, err := template(map[string]any{"a": "{{ .b }}", "c": expression(".Values.c")})
	if diff := cmp.Diff("a: '{{ \"{{\" }} .b }}'\nc: {{ .Values.c }}\n", got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestACheckNamesEveryTemplateThatDiffersAndAnotherRunMendsIt(t *testing.T) {
	dir := t.TempDir()
	if err := run(dir, false); err != nil {
		t.Fatal(err)
	}
	if err := run(dir, true); err != nil {
		t.Errorf("what was just written differs: %v", err)
	}
	byHand := filepath.Join(dir, "byhand.yaml")
	for path, text := range map[string]string{
		byHand:                              "kind: X\n",
		filepath.Join(dir, "gone.yaml"):     generated + "kind: Gone\n",
		filepath.Join(dir, "service.yaml"):  generated + "kind: Other\n",
		filepath.Join(dir, "_template.tpl"): "x",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "role.yaml")); err != nil {
		t.Fatal(err)
	}
	err := run(dir, true)
	want := "[" + filepath.Join(dir, "gone.yaml") + " " + filepath.Join(dir, "role.yaml") + " " + filepath.Join(dir, "service.yaml") + "]"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
	if err := run(dir, false); err != nil {
		t.Fatal(err)
	}
	if err := run(dir, true); err != nil {
		t.Errorf("it is not mended: %v", err)
	}
	if text, err := os.ReadFile(byHand); string(text) != "kind: X\n" {
		t.Errorf("what is written by hand has become %q, %v", text, err)
	}
}
