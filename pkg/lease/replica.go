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

// ReplicaName returns the name by which this replica holds the Lease. file keeps its random part.
//
// Without a file it is another one in every process. With one, in the directory of the embedded
// etcd, it stays the same, so that a process takes over the Lease of one that was
// killed at once instead of waiting until it has run out. That is safe because the
// directory is locked for as long as its process lives, and this process has the
// lock: the holder of that name is dead. The name of the host keeps a copy of the
// directory on another host from taking the Lease of the original.
func ReplicaName(file string) (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("naming this replica: %w", err)
	}
	id := uuid.NewString()
	if file != "" {
		if id, err = keptID(file, id); err != nil {
			return "", fmt.Errorf("naming this replica: %w", err)
		}
	}
	return host + "_" + id, nil
}

// keptID returns the ID in the file. If there is none, or one that was not written
// completely, it keeps id for the next time.
func keptID(file, id string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	if kept, err := uuid.Parse(strings.TrimSpace(string(data))); err == nil {
		return kept.String(), nil
	}
	return id, os.WriteFile(file, []byte(id+"\n"), 0o600)
}
