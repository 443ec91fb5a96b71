// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Store keeps authorities and keys as PEM files NAME.crt, NAME.key and NAME.pub in
// one directory.
type Store struct{ dir string }

// NewStore opens dir, and makes it if it does not exist.
func NewStore(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory of certificates: %w", err)
	}
	return &Store{dir: dir}, nil
}

// CertFile is the path of the certificate called name.
func (s *Store) CertFile(name string) string { return filepath.Join(s.dir, name+".crt") }

// KeyFile is the path of the private key called name.
func (s *Store) KeyFile(name string) string { return filepath.Join(s.dir, name+".key") }

// PublicKeyFile is the path of the public key called name.
func (s *Store) PublicKeyFile(name string) string { return filepath.Join(s.dir, name+".pub") }

// Authority returns the authority called name, and makes it if neither its
// certificate nor its key is there.
func (s *Store) Authority(now time.Time, name string) (*Authority, error) {
	cert, certErr := os.ReadFile(s.CertFile(name))
	key, keyErr := os.ReadFile(s.KeyFile(name))
	if errors.Is(certErr, os.ErrNotExist) && errors.Is(keyErr, os.ErrNotExist) {
		a, pair, err := newAuthority(now, name)
		if err != nil {
			return nil, err
		}
		return a, s.Write(name, pair)
	}
	if err := errors.Join(certErr, keyErr); err != nil {
		return nil, fmt.Errorf("reading authority %q: %w", name, err)
	}
	a, err := parseAuthority(Pair{CertPEM: cert, KeyPEM: key})
	if err != nil {
		return nil, fmt.Errorf("reading authority %q from %s: %w", name, s.CertFile(name), err)
	}
	return a, nil
}

// SigningKey creates the key pair for service account tokens if it does not exist.
func (s *Store) SigningKey(name string) error {
	data, err := os.ReadFile(s.KeyFile(name))
	if err == nil {
		if _, err = decodeKey(data); err != nil {
			return fmt.Errorf("reading signing key %s: %w", s.KeyFile(name), err)
		}
		return nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("reading signing key %q: %w", name, err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("making signing key %q: %w", name, err)
	}
	private, err := encodeKey(key)
	if err != nil {
		return err
	}
	public, err := encodePublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	// The private key is written last, because later calls check for it.
	return errors.Join(writeFile(s.PublicKeyFile(name), public, 0o644), writeFile(s.KeyFile(name), private, 0o600))
}

// Write stores a pair under name, and replaces one that is there.
func (s *Store) Write(name string, p Pair) error {
	if err := writeFile(s.KeyFile(name), p.KeyPEM, 0o600); err != nil {
		return err
	}
	return writeFile(s.CertFile(name), p.CertPEM, 0o644)
}

// writeFile replaces path in one step, so that a reader never sees half a file.
func writeFile(path string, data []byte, mode os.FileMode) error {
	temp := path + ".new"
	if err := os.WriteFile(temp, data, mode); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.Rename(temp, path); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
