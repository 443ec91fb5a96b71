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

// knownHosts is the storage of a virtual machine's host key.
type knownHosts struct {
	// file is the known_hosts file in ssh's format.
	file string
	// alias is the HostKeyAlias for ssh.
	alias string
	// another is true if the file has keys, but none of this virtual machine. Then a previous virtual machine had
	// the same name.
	another bool
}

// knownHosts returns the storage for vm. Unless a file is given, it is in directories by API server and namespace.
func (f command) knownHosts(vm *vmv1alpha1.VirtualMachine, given string) (*knownHosts, error) {
	k := &knownHosts{file: given, alias: string(vm.UID) + ".vm.slipway.dev"}
	if given != "" {
		return k, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, fmt.Errorf("locating the home directory for host keys: %w; use --known-hosts to specify a file", err)
	}
	config, err := f.Config()
	if err != nil {
		return nil, err
	}
	k.file = filepath.Join(home, ".ssh", "slipway", FileName(config.Host), FileName(vm.Namespace), FileName(vm.Name))
	if err := os.MkdirAll(filepath.Dir(k.file), 0o700); err != nil {
		return nil, fmt.Errorf("creating the directory for host keys: %w", err)
	}
	keys, err := os.ReadFile(k.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the known host keys: %w", err)
	}
	k.another = len(bytes.TrimSpace(keys)) > 0 && !bytes.Contains(keys, []byte(k.alias))
	return k, nil
}

// FileName returns text as a file name, without characters that have a meaning in paths.
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
