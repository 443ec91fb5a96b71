// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdmembers

import (
	"runtime"
	"strings"
	"testing"
)

// Each entry of the log has the whole object that it wrote.
func TestAReplicaThatIsToBeAloneKeepsNoMemoryForOthersThatLag(t *testing.T) {
	const writes, size = 5000, 20 << 10
	r := newReplicas(t, 1)
	r.start("r-0")
	before := heap()
	for range writes {
		r.put("r-0", "/n", strings.Repeat("v", size))
	}
	// What etcd writes to the database at once it keeps, too; that is less than a fourth of it here.
	grown := heap() - before
	t.Logf("after %d writes of %d KiB the heap has %d KiB more", writes, size>>10, grown>>10)
	if grown > writes*size/2 {
		t.Error("that is what others would need")
	}
}

func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
