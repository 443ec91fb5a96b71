// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"debug/elf"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/slipway-dev/slipway/hack/release/build"
)

// of returns the image of a platform.
func of(t *testing.T, index v1.ImageIndex, p build.Platform) v1.Image {
	t.Helper()
	list, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list.Manifests {
		if d.Platform != nil && d.Platform.OS == p.OS && d.Platform.Architecture == p.Arch {
			image, err := index.Image(d.Digest)
			if err != nil {
				t.Fatal(err)
			}
			return image
		}
	}
	t.Fatalf("no image for %s among %+v", p, list.Manifests)
	return nil
}

// unpacked returns the file system of an image after it has verified that only root can change its files.
func unpacked(t *testing.T, image v1.Image) string {
	t.Helper()
	root := t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	content := mutate.Extract(image)
	defer content.Close()
	for in := tar.NewReader(content); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return root
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Mode&0o022 != 0 || h.Uid != 0 || h.Gid != 0 || !h.ModTime.Equal(made) {
			t.Errorf("%s has mode %o, owner %d:%d and time %s", h.Name, h.Mode, h.Uid, h.Gid, h.ModTime)
		}
		path := filepath.Join(root, h.Name)
		if h.Typeflag == tar.TypeDir {
			err = os.Mkdir(path, 0o755)
		} else {
			var data []byte
			if data, err = io.ReadAll(in); err == nil {
				err = os.WriteFile(path, data, os.FileMode(h.Mode))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// machineOf returns the machine type of a program, which must be static.
func machineOf(t *testing.T, program string) elf.Machine {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Errorf("%s is not static", program)
		}
	}
	return f.Machine
}

// inside runs the entrypoint like a container. As root it changes the root directory and the user to those of the
// image.
func inside(t *testing.T, root string, file *v1.ConfigFile, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), file.Config.Entrypoint[0], args...)
	cmd.Env, cmd.Dir = file.Config.Env, file.Config.WorkingDir
	if os.Getuid() == 0 {
		uid, gid, _ := strings.Cut(file.Config.User, ":")
		u, err := strconv.ParseUint(uid, 10, 32)
		g, err2 := strconv.ParseUint(gid, 10, 32)
		if err := errors.Join(err, err2); err != nil {
			t.Fatalf("the user %q is not numeric: %v", file.Config.User, err)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: uint32(u), Gid: uint32(g)}}
	} else {
		cmd.Path = filepath.Join(root, cmd.Path)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v: %s", cmd.Args, err, out)
	}
	return string(out)
}
