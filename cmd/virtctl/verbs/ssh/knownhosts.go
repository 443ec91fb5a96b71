// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package ssh

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// knownHosts is where the host key of a virtual machine is kept.
type knownHosts struct {
	// file of ssh, in its format.
	file string
	// alias is what ssh calls the host.
	alias string
	// another is true when the file has keys, and none of this virtual machine: one that was
	// before had its name.
	another bool
}

// knownHosts finds the file of vm, in directories by the API server and the namespace unless
// it is given.
func (f command) knownHosts(vm *vmv1alpha1.VirtualMachine, given string) (*knownHosts, error) {
	k := &knownHosts{file: given, alias: string(vm.UID) + ".vm.slipway.dev"}
	if given != "" {
		return k, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, fmt.Errorf("looking for the home directory, in which host keys are kept: %w; --known-hosts names another file", err)
	}
	config, err := f.Config()
	if err != nil {
		return nil, err
	}
	k.file = filepath.Join(home, ".ssh", "slipway", FileName(config.Host), FileName(vm.Namespace), FileName(vm.Name))
	if err := os.MkdirAll(filepath.Dir(k.file), 0o700); err != nil {
		return nil, fmt.Errorf("making the directory for host keys: %w", err)
	}
	keys, err := os.ReadFile(k.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the host keys that are known: %w", err)
	}
	k.another = len(bytes.TrimSpace(keys)) > 0 && !bytes.Contains(keys, []byte(k.alias))
	return k, nil
}

// FileName makes a name of a file of text, without what has a meaning in paths.
func FileName(text string) string {
	if u, err := url.Parse(text); err == nil && u.Host != "" {
		text = u.Host + strings.TrimSuffix(u.Path, "/")
	}
	return strings.TrimLeft(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-':
			return r
		}
		return '_'
	}, text), ".")
}
