// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/google/uuid"
)

// ReplicaName returns the name by which this replica holds Leases. file stores its random part.
//
// Without a file, each process has another name. With a file in the directory of the embedded etcd, the name stays the same,
// so that a process acquires the Lease of a killed process without waiting for its expiry. That is safe, because a process
// locks the directory as long as it lives: the previous holder of the name has ended. The name contains the host's name, so
// that a process with a copy of the directory on another host does not acquire the Lease of the original.
func ReplicaName(file string) (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("naming this replica: %w", err)
	}
	id := uuid.NewString()
	if file != "" {
		if id, err = storedID(file, id); err != nil {
			return "", fmt.Errorf("naming this replica: %w", err)
		}
	}
	return host + "_" + id, nil
}

// storedID returns the ID in the file. If the file does not exist or is incomplete, it writes and returns id.
func storedID(file, id string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	if stored, err := uuid.Parse(strings.TrimSpace(string(data))); err == nil {
		return stored.String(), nil
	}
	return id, os.WriteFile(file, []byte(id+"\n"), 0o600)
}
