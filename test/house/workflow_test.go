// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// workflow contains the checked parts of a workflow.
type workflow struct {
	Permissions map[string]string
	Jobs        map[string]struct {
		Timeout     int               `json:"timeout-minutes"`
		Permissions map[string]string `json:"permissions"`
		Needs       []string
		Steps       []struct {
			Uses, Run string
			With      map[string]any
		}
	}
}

func readWorkflow(t *testing.T) workflow {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, ".github/workflows/ci.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var w workflow
	if err := yaml.Unmarshal(text, &w); err != nil {
		t.Fatal(err)
	}
	return w
}

// The tag of an action can be moved to other code. Its commit cannot.
func TestWorkflow_PinsActionsByCommit(t *testing.T) {
	pinned := regexp.MustCompile(`^actions/[a-z-]+@[0-9a-f]{40}$`)
	uses := 0
	for name, job := range readWorkflow(t).Jobs {
		if job.Timeout == 0 {
			t.Errorf("job %s has no timeout", name)
		}
		for _, step := range job.Steps {
			if step.Uses == "" {
				continue
			}
			uses++
			if !pinned.MatchString(step.Uses) {
				t.Errorf("job %s uses %s: want an action of GitHub's own by its commit", name, step.Uses)
			}
		}
	}
	if uses < 8 {
		t.Errorf("only %d actions found", uses)
	}
}

// Files and image of a release have a signed provenance, which is published with them.
func TestWorkflow_SignsTheProvenanceBeforeTheRelease(t *testing.T) {
	job := readWorkflow(t).Jobs["publish"]
	for _, permission := range []string{"id-token", "attestations"} {
		if job.Permissions[permission] != "write" {
			t.Errorf("publish has the permissions %v, want also %s", job.Permissions, permission)
		}
	}
	var subjects []string
	for _, step := range job.Steps {
		if strings.HasPrefix(step.Uses, "actions/attest@") {
			subjects = append(subjects, fmt.Sprint(cmp.Or(step.With["subject-checksums"], step.With["subject-digest"])))
		}
		if strings.Contains(step.Run, "gh release create") {
			subjects = append(subjects, "release")
		}
	}
	want := []string{"dist/SHA256SUMS", "${{ steps.image.outputs.digest }}", "release"}
	if !slices.Equal(subjects, want) {
		t.Errorf("publish attests %v, want %v", subjects, want)
	}
}

func TestWorkflow_RunsAllChecksBeforeItPublishes(t *testing.T) {
	w := readWorkflow(t)
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for name, job := range w.Jobs {
		for _, step := range job.Steps {
			all = append(all, step.Run)
			words := strings.Fields(step.Run)
			if len(words) > 1 && words[0] == "make" && !strings.Contains(string(makefile), "\n"+words[1]+": ") {
				t.Errorf("job %s runs make %s, which the Makefile does not have", name, words[1])
			}
		}
		if writes := len(job.Permissions) > 0; writes != (name == "publish") {
			t.Errorf("job %s has the permissions %v", name, job.Permissions)
		}
	}
	for _, want := range []string{".ci/run", "make vulncheck", "make release"} {
		if !slices.Contains(all, want) {
			t.Errorf("no step runs %s", want)
		}
	}
	for _, before := range []string{"test", "vulncheck", "release"} {
		if !slices.Contains(w.Jobs["publish"].Needs, before) {
			t.Errorf("publish does not need %s", before)
		}
	}
	if len(w.Permissions) != 1 || w.Permissions["contents"] != "read" {
		t.Errorf("every job may %v", w.Permissions)
	}
}
