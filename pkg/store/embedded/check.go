// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"fmt"
	"os"

	"github.com/slipway-dev/slipway/pkg/store/maintenance"
)

// Check reads all pages of the database of a directory that no process uses. The content of objects
// has no checksum.
func Check(dir string) (maintenance.Content, error) {
	dir, err := existing(dir)
	if err != nil {
		return maintenance.Content{}, err
	}
	lock, err := lockDir(dir)
	if err != nil {
		return maintenance.Content{}, fmt.Errorf("%w; check a snapshot of it instead", err)
	}
	defer func() { _ = lock.Close() }()
	if err := inspect(dir); err != nil {
		return maintenance.Content{}, err
	}
	if info, err := os.Stat(databasePath(dir)); err != nil || info.Size() == 0 {
		return maintenance.Content{}, nil // etcd creates it again from the log
	}
	content, err := maintenance.CheckDatabase(databasePath(dir))
	if err != nil {
		return content, damaged(dir, fmt.Sprintf("its database is damaged: %v", err))
	}
	return content, nil
}
