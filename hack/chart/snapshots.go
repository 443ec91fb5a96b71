// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

// withSnapshots is given with the embedded etcd only.
const withSnapshots = ".Values.snapshots.enabled"

// scheduled are the arguments for snapshots on a schedule.
func scheduled() guarded {
	return guarded{withSnapshots, []any{
		"--etcd-snapshot-dir=/snapshots",
		expression(`printf "--etcd-snapshot-interval=%s" .Values.snapshots.interval | quote`),
		expression(`printf "--etcd-snapshot-retention=%d" (int .Values.snapshots.retention) | quote`),
	}}
}

// snapshotClaim is the volume of snapshots.
func snapshotClaim() guarded {
	return guarded{withSnapshots, []any{map[string]any{
		"metadata": map[string]any{"name": "snapshots"},
		"spec": map[string]any{
			"accessModes":      []any{"ReadWriteOnce"},
			"resources":        map[string]any{"requests": map[string]any{"storage": expression(".Values.snapshots.size")}},
			"storageClassName": guarded{".Values.snapshots.storageClass", expression(".Values.snapshots.storageClass | quote")},
		},
	}}}
}

// mountSnapshots shows the volume of snapshots to the server.
func mountSnapshots(container map[string]any) error {
	mounts, err := field[[]any](container, "volumeMounts")
	if err != nil {
		return err
	}
	container["volumeMounts"] = append(mounts, guarded{withSnapshots, []any{map[string]any{"name": "snapshots", "mountPath": "/snapshots"}}})
	return nil
}
